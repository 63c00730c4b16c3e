# SPDX-License-Identifier: Apache-2.0
"""Check what the kernel of this client can count: sizes for exact mode, and the load of each process. Nothing is changed."""

from collections.abc import Iterator
from pathlib import Path

from fss_kernel_counting.durations.request_durations import check_latency
from fss_kernel_counting.processes.process_session import missing
from fss_kernel_counting.remains import instances
from fss_kernel_counting.sizes.size_triggers import source_of
from fss_kernel_counting.tracefs import NotYet, Sources, Tracefs, Unavailable, find
from fss_toolbox.doctor.client_facts import ClientFacts, Exactness
from fss_toolbox.doctor.findings import Finding, finding_of


def read_text(path: Path) -> str:
    """Return the text of a small file of this host. Empty for an unreadable file."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def exactness_of(places: tuple[Path, ...], sysfs: Path) -> Exactness:
    """Read the requirements of exact mode and of the load by process on this host. `places` may be mount points of tracefs."""
    tracefs, reason, waits = None, "", False
    try:
        tracefs = find(Sources(tracefs=places, sysfs=sysfs))
        source_of(tracefs)
    except Unavailable as error:
        reason, waits = str(error), isinstance(error, NotYet)
    return Exactness(
        reason,
        waits,
        root=str(tracefs.root) if tracefs else "",
        instances=tuple(path.name for path in instances((tracefs.root,))) if tracefs else (),
        latency_reason="" if tracefs is None or (reason and not waits) else _latency_reason(tracefs),
        missing_parts=missing(tracefs) if tracefs else {},
        selinux=read_text(sysfs / "fs/selinux/enforce").strip() == "1",
    )


def _latency_reason(tracefs: Tracefs) -> str:
    try:
        check_latency(tracefs)
    except Unavailable as error:
        return "" if isinstance(error, NotYet) else str(error)
    return ""


def check_exact(facts: ClientFacts) -> Iterator[Finding]:
    """Yield missing requirements of exact mode on this client, or the way to turn exact mode on."""
    exactness = facts.exactness
    if exactness is None:
        return
    if exactness.reason and not exactness.waits:
        yield finding_of("exact-mode.impossible", reason=exactness.reason)
        return
    if exactness.instances:
        yield finding_of(
            "exact-mode.running", places=" ".join(f"{exactness.root}/instances/{name}" for name in exactness.instances)
        )
    else:
        begin = "From the first NFS mount on the kernel" if exactness.waits else "The kernel"
        yield finding_of("exact-mode.possible", begin=begin)
    if exactness.latency_reason:
        yield finding_of("exact-mode.no-durations", reason=exactness.latency_reason)
    if exactness.selinux:
        yield finding_of("exact-mode.selinux")


def check_load_by_process(facts: ClientFacts) -> Iterator[Finding]:
    """Yield the command that shows the load by process, and the parts that this kernel cannot count."""
    exactness = facts.exactness
    if exactness is None or exactness.waits or (exactness.reason and not exactness.instances):
        return
    for part, reason in exactness.missing_parts.items():
        yield finding_of("load-by-process.part", part, part=part, reason=reason)
    yield finding_of("load-by-process.possible")
