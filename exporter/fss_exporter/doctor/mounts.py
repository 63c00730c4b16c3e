"""Check the mounts: found, readable, and mounted with the recommended options. Pure."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from fss_exporter.doctor.client_facts import ClientFacts
from fss_exporter.doctor.findings import (
    APSARA,
    KERNEL,
    MOUNT_TARGETS,
    MOUNTING,
    PROJECT,
    TLS,
    WHITE_PAPER,
    Finding,
    Severity,
)
from fss_exporter.model.purchase import Flow
from fss_exporter.model.service_table import APSARA_NAS, NONE, OCI_FSS
from fss_exporter.nfs.superblocks import Superblock

_LARGEST_TRANSFER: Final = 1 << 20
_SHORTEST_SOFT_TIMEOUT: Final = 300  # deciseconds
_NCONNECT: Final = 16
_NCONNECT_KERNEL: Final = (5, 3)
_ATTRIBUTE_CACHES: Final = ("acregmin", "acregmax", "acdirmin", "acdirmax")
_NAS_IN_FLIGHT: Final = 128
_NAS_SECONDS: Final = 0.010
_PAGE_BYTES: Final = 4096
_FIRST_SLOTS: Final = "sunrpc.tcp_slot_table_entries"
_SLOTS: Final = 128
# Slots that make 128 requests in flight possible. Apsara NAS takes so many at a time, and states 10 ms of a 4 KiB write.

_MUCH_QUEUEING: Final = 0.2
"""Share of the round-trip time that a request may wait before transmission. Assumption of this project, November 2026.
"""


def check_mounts(facts: ClientFacts) -> Iterator[Finding]:
    """Check the mounts of this client."""
    yield from _found(facts)
    if facts.reading is None:
        return
    for superblock in facts.reading.superblocks:
        subject = f"{superblock.record.device} on {superblock.record.mount_point}"
        for check in _OF_MOUNTS:
            yield from check(superblock, subject, facts)
    yield from _fstab(facts.fstab)


def _found(facts: ClientFacts) -> Iterator[Finding]:
    reading = facts.reading
    if reading is None:
        yield Finding("mounts", Severity.PROBLEM, "", facts.reading_error, "run it as root on the client")
        return
    for reason, count in Counter(reading.skipped).items():
        message = f"{count} records of mountstats cannot be read: {reason}"
        yield Finding("mounts", Severity.WARNING, "", message, "attach /proc/1/mountstats to a bug report", PROJECT)
    count = len(reading.superblocks)
    if not count:
        yield Finding("mounts", Severity.WARNING, "", "no NFS mounts", "mount a file system, or run doctor on a client")
        return
    places = sum(len(superblock.mounts) for superblock in reading.superblocks)
    yield Finding("mounts", Severity.OK, "", f"{count} NFS mounts readable, at {places} mount points")


def _version(superblock: Superblock, subject: str, _: ClientFacts) -> Iterator[Finding]:
    version = superblock.record.options.get("vers", "")
    if superblock.known.stated and superblock.known.service is not NONE:
        yield Finding("service", Severity.OK, subject, f"a mount of {superblock.known.service.title}")
        return
    if superblock.record.fstype != "nfs" or not version.startswith("3"):
        message = (
            f"NFS version {version or superblock.record.fstype}: OCI File Storage speaks 3 only, nothing is estimated"
        )
        yield Finding(
            "version", Severity.WARNING, subject, message, "if this is OCI File Storage, mount with vers=3", MOUNTING
        )


def _soft(superblock: Superblock, subject: str, _: ClientFacts) -> Iterator[Finding]:
    options = superblock.record.options
    if "soft" not in options and "softerr" not in options:
        return
    if "ro" not in options:
        message = "soft and writable: a time-out loses writes without telling the program, files get corrupted"
        yield Finding("soft-mount", Severity.PROBLEM, subject, message, "mount with hard", MOUNTING)
    elif _whole(options.get("timeo")) < _SHORTEST_SOFT_TIMEOUT:
        message = f"soft with timeo={options.get('timeo', 'unknown')}: gives up before a mount target has failed over"
        yield Finding(
            "soft-mount", Severity.WARNING, subject, message, "mount with hard, or with timeo=300 or more", MOUNTING
        )


def _transfer_sizes(superblock: Superblock, subject: str, _: ClientFacts) -> Iterator[Finding]:
    options = superblock.record.options
    small = [
        f"{name}={options[name]}" for name in ("rsize", "wsize") if 0 < _whole(options.get(name)) < _LARGEST_TRANSFER
    ]
    if small:
        message = f"{', '.join(small)}: less than the 1,048,576 that are negotiated by themselves, so large I/O costs more IOPS"
        fix = "leave rsize and wsize out of the mount options"
        yield Finding("transfer-size", Severity.WARNING, subject, message, fix, MOUNTING)


def _nconnect(superblock: Superblock, subject: str, facts: ClientFacts) -> Iterator[Finding]:
    options = superblock.record.options
    if superblock.record.fstype != "nfs" or options.get("proto", "tcp") not in {"tcp", "tcp6"}:
        return
    count = _whole(options.get("nconnect")) or len(superblock.record.transports) or 1
    if count >= _NCONNECT or superblock.known.service is not OCI_FSS:
        # The advice is Oracle's; another service's document has none about nconnect.
        yield Finding("nconnect", Severity.OK, subject, f"{count} connection{'s' if count > 1 else ''}")
    elif count > 1:
        message = f"{count} connections, where the white paper uses {_NCONNECT}"
        fix = f"for high throughput mount with nconnect={_NCONNECT} (the first mount of a server decides for all)"
        yield Finding("nconnect", Severity.ADVICE, subject, message, fix, f"{WHITE_PAPER}; {MOUNT_TARGETS}")
    elif _has_nconnect(facts.kernel):
        message = "1 connection: its window and one flow of the network bound this client"
        fix = "for high throughput mount with nconnect=16 (the first mount of a server decides for all)"
        yield Finding("nconnect", Severity.ADVICE, subject, message, fix, f"{WHITE_PAPER}; {MOUNT_TARGETS}")
    elif facts.kernel:
        message = f"1 connection, and kernel {facts.kernel} is too old for nconnect (5.3, or 4.18 of el8)"
        yield Finding(
            "nconnect", Severity.ADVICE, subject, message, "use a newer kernel for high throughput", MOUNT_TARGETS
        )


def _has_nconnect(kernel: str) -> bool:
    match = re.match(r"(\d+)\.(\d+)", kernel)
    if not match:
        return False
    version = (int(match[1]), int(match[2]))
    return version >= _NCONNECT_KERNEL or (version == (4, 18) and ".el8" in kernel)


def _caching(superblock: Superblock, subject: str, _: ClientFacts) -> Iterator[Finding]:
    options = superblock.record.options
    share = _share(superblock, "GETATTR", "ACCESS", "LOOKUP")
    if "noac" in options or all(options.get(name) == "0" for name in _ATTRIBUTE_CACHES):
        message = (
            f"attributes are not cached (noac or actimeo=0): GETATTR, ACCESS and LOOKUP are {share} of its operations"
        )
        fix = "leave noac and actimeo out unless several clients must see each other's changes at once"
        yield Finding("attribute-cache", Severity.WARNING, subject, message, fix, f"{KERNEL}; cost: {WHITE_PAPER}")
    if "sync" in options:
        message = (
            f"sync: every write waits for the mount target. WRITE is {_share(superblock, 'WRITE')} of its operations"
        )
        fix = "leave sync out. Programs that need it call fsync"
        yield Finding("sync", Severity.WARNING, subject, message, fix, KERNEL)


def _forwarder(superblock: Superblock, subject: str, facts: ClientFacts) -> Iterator[Finding]:
    addresses = {mount.address for mount in superblock.mounts}
    unresolved = addresses & (facts.reading.unresolved if facts.reading else frozenset())
    for address in sorted(unresolved):
        message = f"{address} is the forwarder of in-transit TLS, so the mount target behind it is not known"
        fix = f"name it in the configuration: address_map: {{{address}: ADDRESS_OF_THE_MOUNT_TARGET}}"
        yield Finding("tls-forwarder", Severity.WARNING, subject, message, fix, TLS)
    if superblock.encrypted and not unresolved:
        yield Finding(
            "tls-forwarder", Severity.OK, subject, "in-transit TLS. A mount target has 4,096 such connections", "", TLS
        )


def _slots(superblock: Superblock, subject: str, facts: ClientFacts) -> Iterator[Finding]:
    """Check the slot table, because requests wait for a slot if the table is small."""
    first = facts.sysctls.get(_FIRST_SLOTS)
    operations = superblock.record.operations.values()
    queue, rtt = sum(one.queue_ms for one in operations), sum(one.rtt_ms for one in operations)
    if rtt <= 0 or queue <= _MUCH_QUEUEING * rtt or first is None or superblock.known.service is APSARA_NAS:
        return
    most = _most_slots(facts, first)
    if most < _SLOTS:
        waits = f"requests wait {queue / rtt:.0%} of their time on the wire before they are sent"
        message = f"{waits}, and the slot table of a connection has {first} entries and grows to {most}"
        fix = f"set {_FIRST_SLOTS}={_SLOTS} before mounting (options sunrpc in /etc/modprobe.d), or nconnect"
        yield Finding("slot-table", Severity.WARNING, subject, message, fix, f"{KERNEL}; threshold: {PROJECT}")


def _most_slots(facts: ClientFacts, first: int) -> int:
    """Return the most entries of a slot table. Linux lets the table grow from the first to the second setting."""
    return max(first, facts.sysctls.get("sunrpc.tcp_max_slot_table_entries", first))


def _nas_slots(superblock: Superblock, subject: str, facts: ClientFacts) -> Iterator[Finding]:
    """Check the slot table for Apsara NAS, where a client with two requests in flight reaches a few MB/s."""
    first = facts.sysctls.get(_FIRST_SLOTS)
    if superblock.known.service is not APSARA_NAS or first is None or _most_slots(facts, first) >= _NAS_IN_FLIGHT:
        return
    most = _most_slots(facts, first)
    now, then = Flow(most, _NAS_SECONDS, _PAGE_BYTES), Flow(_NAS_IN_FLIGHT, _NAS_SECONDS, _PAGE_BYTES)
    message = (
        f"the slot table of a connection grows to {most} entries: at the stated 10 ms of a 4 KiB write that is"
        f" {now.iops:,.0f} a second, with {_NAS_IN_FLIGHT} it is {then.iops:,.0f}"
    )
    fix = f"set {_FIRST_SLOTS}={_NAS_IN_FLIGHT} before mounting (options sunrpc in /etc/modprobe.d)"
    yield Finding("slot-table", Severity.WARNING, subject, message, fix, APSARA)


def _nas_listing(superblock: Superblock, subject: str, _: ClientFacts) -> Iterator[Finding]:
    """Check READDIRPLUS for Apsara NAS, because listing a large directory with attributes is slow there."""
    if superblock.known.service is not APSARA_NAS or "nordirplus" in superblock.record.options:
        return
    many = superblock.record.operations.get("READDIRPLUS")
    if many is not None and many.operations:
        message = f"{many.operations:,} READDIRPLUS so far: listing large directories asks for every attribute"
        fix = "for large directories that rarely change mount with vers=3,nordirplus. Stay below 10,000 files in each"
        yield Finding("listing", Severity.ADVICE, subject, message, fix, APSARA)


def _fstab(text: str) -> Iterator[Finding]:
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if len(words) < 4 or words[0].startswith("#") or words[2] not in {"nfs", "nfs4"}:
            continue
        by_hand = [option for option in words[3].split(",") if option.startswith(("rsize=", "wsize="))]
        if by_hand:
            message = f"/etc/fstab line {number} sets {', '.join(by_hand)} by hand"
            fix = "take them out: the largest are negotiated"
            yield Finding("transfer-size", Severity.WARNING, f"{words[0]} on {words[1]}", message, fix, MOUNTING)


def _share(superblock: Superblock, *names: str) -> str:
    """Return share of some operations in all since the mount."""
    operations = superblock.record.operations
    whole = sum(counters.operations for counters in operations.values())
    part = sum(operations[name].operations for name in names if name in operations)
    return f"{part / whole:.0%}" if whole else "none"


def _whole(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() else 0


_OF_MOUNTS: Final[tuple[Callable[[Superblock, str, ClientFacts], Iterator[Finding]], ...]] = (
    _version,
    _soft,
    _transfer_sizes,
    _nconnect,
    _caching,
    _forwarder,
    _slots,
    _nas_slots,
    _nas_listing,
)
