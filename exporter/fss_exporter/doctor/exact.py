"""Check whether the kernel of this client can count sizes for exact mode. Nothing is changed."""

from collections.abc import Iterator
from pathlib import Path

from fss_exporter.doctor.client_facts import ClientFacts, Exactness
from fss_exporter.doctor.findings import Finding, Severity
from fss_exporter.doctor.probes import read_text
from fss_exporter.nfs.exact.tracefs import OF_SIZES, NotYet, Unavailable, find
from fss_exporter.nfs.exact.trigger_session import source_of

SOURCE = "docs/cost-model.md, Exact mode"
_COST = "about 1,300 instructions for each READ or WRITE"


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
    in_use = bool(root) and (Path(root) / "instances" / OF_SIZES).is_dir()
    return Exactness(reason, waits, root, in_use, "" if lockdown == "none" else lockdown, selinux)


def check_exact(facts: ClientFacts) -> Iterator[Finding]:
    """Yield missing requirements of exact mode on this client, or the way to turn exact mode on."""
    known = facts.exactness
    if known is None:
        return
    if known.reason and not known.waits:
        message = f"READ and WRITE are estimated, and this host could not count them: {known.reason}"
        yield Finding("exact-mode", Severity.OK, "", message)
        return
    if known.in_use:
        message = (
            f"{known.root}/instances/{OF_SIZES} counts READ and WRITE by size: of an agent, or of one that was killed"
        )
        fix = f"if no agent with --nfs.exact runs: rmdir {known.root}/instances/{OF_SIZES}"
        yield Finding("exact-mode", Severity.OK, "", message, fix, SOURCE)
    else:
        begin = "From the first NFS mount on the kernel" if known.waits else "The kernel"
        message = f"READ and WRITE are estimated. {begin} could count them by size, for {_COST}"
        fix = "where a decision hangs on their cost, start the agent with --nfs.exact=auto"
        yield Finding("exact-mode", Severity.OK, "", message, fix, SOURCE)
    if known.lockdown == "confidentiality":
        message = "kernel lockdown is in mode confidentiality, which forbids to read the tables"
        yield Finding("exact-mode", Severity.OK, "", message, "leave exact mode off, or boot without it", SOURCE)
    if known.selinux:
        message = "SELinux enforces: the agent's domain must be allowed to write to tracefs_t for exact mode"
        yield Finding(
            "exact-mode", Severity.OK, "", message, "try exact mode. ausearch -m avc names what is denied", SOURCE
        )
