"""Check whether the kernel of this client can count sizes for exact mode. Nothing is changed."""

from collections.abc import Iterator
from pathlib import Path

from fss_exporter.doctor.client_facts import ClientFacts, Exactness
from fss_exporter.doctor.findings import Finding, Severity
from fss_exporter.doctor.probes import read_text
from fss_exporter.nfs.exact.request_durations import check_latency
from fss_exporter.nfs.exact.size_triggers import source_of
from fss_exporter.nfs.exact.tracefs import INSTANCES, NotYet, Unavailable, find

SOURCE = "docs/cost-model.md, Exact mode"
_COST = "about 1,300 instructions for each READ or WRITE and 2,900 for each request"


def look(places: tuple[Path, ...], sysfs: Path) -> Exactness:
    """Read the requirements of exact mode on this host.

    Args:
        places: possible mount points of tracefs.
        sysfs: mount point of sysfs.
    """
    lockdown = read_text(sysfs / "kernel/security/lockdown").partition("[")[2].partition("]")[0]
    selinux = read_text(sysfs / "fs/selinux/enforce").strip() == "1"
    root, reason, waits = "", "", False
    try:
        found = find(places)
        root = str(found)
        source_of(found)
    except NotYet as error:
        reason, waits = str(error), True
    except Unavailable as error:
        reason = str(error)
    return Exactness(
        reason,
        waits,
        root,
        instances=tuple(name for name in INSTANCES if root and (Path(root) / "instances" / name).is_dir()),
        latency_reason="" if reason and not waits else _latency_reason(root),
        lockdown="" if lockdown == "none" else lockdown,
        selinux=selinux,
    )


def _latency_reason(root: str) -> str:
    try:
        check_latency(Path(root))
    except NotYet:
        return ""
    except Unavailable as error:
        return str(error)
    return ""


def check_exact(facts: ClientFacts) -> Iterator[Finding]:
    """Yield missing requirements of exact mode on this client, or the way to turn exact mode on."""
    known = facts.exactness
    if known is None:
        return
    if known.reason and not known.waits:
        message = f"READ and WRITE are estimated, and this host could not count them: {known.reason}"
        yield Finding("exact-mode", Severity.OK, "", message)
        return
    if known.instances:
        places = " ".join(f"{known.root}/instances/{name}" for name in known.instances)
        message = f"{places}: the kernel counts for an agent, or for one that was killed"
        fix = f"if no agent with --nfs.exact runs: rmdir {places}"
        yield Finding("exact-mode", Severity.OK, "", message, fix, SOURCE)
    else:
        begin = "From the first NFS mount on the kernel" if known.waits else "The kernel"
        message = (
            f"READ and WRITE are estimated. {begin} could count them by size and all requests by duration, for {_COST}"
        )
        fix = "where a decision hangs on their cost, start the agent with --nfs.exact=auto"
        yield Finding("exact-mode", Severity.OK, "", message, fix, SOURCE)
    if known.latency_reason:
        message = f"durations of requests cannot be counted on this host: {known.latency_reason}"
        yield Finding("exact-mode", Severity.OK, "", message, source=SOURCE)
    if known.lockdown == "confidentiality":
        message = "kernel lockdown is in mode confidentiality, which forbids to read the tables"
        yield Finding("exact-mode", Severity.OK, "", message, "leave exact mode off, or boot without it", SOURCE)
    if known.selinux:
        message = "SELinux enforces: the agent's domain must be allowed to write to tracefs_t for exact mode"
        yield Finding(
            "exact-mode", Severity.OK, "", message, "try exact mode. ausearch -m avc names what is denied", SOURCE
        )
