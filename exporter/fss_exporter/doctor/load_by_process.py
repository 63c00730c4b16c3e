"""Check whether the kernel of this client can count the load of each process. Nothing is changed."""

from collections.abc import Iterator
from pathlib import Path

from fss_exporter.doctor.client_facts import ClientFacts
from fss_exporter.doctor.findings import Finding, Severity
from fss_exporter.nfs.exact.tracefs import Unavailable, find
from fss_exporter.nfs.processes.process_session import missing

SOURCE = "docs/cost-model.md, Load by process"
_CHECK = "load-by-process"


def missing_parts(places: tuple[Path, ...]) -> dict[str, str]:
    """Return the parts of the load by process that this kernel cannot count, each with the reason.

    Args:
        places: possible mount points of tracefs.
    """
    try:
        return missing(find(places))
    except Unavailable:
        return {}  # the check of exact mode names the reason


def check_load_by_process(facts: ClientFacts) -> Iterator[Finding]:
    """Yield the command that shows the load by process, and the parts that this kernel cannot count."""
    known = facts.exactness
    if known is None or known.waits or (known.reason and not known.instances):
        return
    for part, reason in facts.missing_parts.items():
        message = f"the load by process would lack the part {part}: {reason}"
        yield Finding(_CHECK, Severity.OK, part, message, "", SOURCE)
    message = "the kernel can count the load of each process, for 2,800 to 4,300 instructions for each call"
    fix = "fss-exporter iostat --by process 5 shows it now, and an agent with --nfs.exact.processes=10 all the time"
    yield Finding(_CHECK, Severity.OK, "", message, fix, SOURCE)
