# SPDX-License-Identifier: Apache-2.0
"""Check the mounts, the network to the mount targets, and directories of this client. Pure."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from fss_exporter.model.limits import NFS_PORT, Limits
from fss_exporter.model.service_table import APSARA_NAS, NONE, OCI_FSS
from fss_exporter.nfs.fstab import Fstab
from fss_exporter.nfs.records import is_tcp, whole_number
from fss_exporter.nfs.superblocks import Superblock
from fss_toolbox.doctor.client_facts import LARGE_DIRECTORY, ClientFacts
from fss_toolbox.doctor.findings import Finding, finding_of
from fss_toolbox.sizing.capacity import FAR_SECONDS, distance

_LARGEST_TRANSFER: Final = 1 << 20
_SHORTEST_SOFT_TIMEOUT: Final = 300  # deciseconds
_NCONNECT: Final = 16
_NCONNECT_KERNEL: Final = (5, 3)
_ATTRIBUTE_CACHES: Final = ("acregmin", "acregmax", "acdirmin", "acdirmax")
_NAS_SECONDS: Final = 0.010
_FIRST_SLOTS: Final = "sunrpc.tcp_slot_table_entries"
_MOST_SLOTS: Final = "sunrpc.tcp_max_slot_table_entries"

# Slots that make 128 requests in flight possible. Apsara NAS takes so many at a time, and states 10 ms of a 4 KiB write.
_SLOTS: Final = 128

# Share of the round-trip time that a request may wait before transmission. Assumption of this project, November 2026.
_MUCH_QUEUEING: Final = 0.2

_MS: Final = 1000
_MB: Final = 1e6


def check_mounts(facts: ClientFacts) -> Iterator[Finding]:
    """Check the mounts of this client."""
    yield from _readable(facts)
    for superblock in facts.reading.superblocks if facts.reading else ():
        subject = f"{superblock.record.device} on {superblock.record.mount_point}"
        for check in (_version, _soft, _transfer_sizes, _nconnect, _caching, _forwarder, _slots, _nas_listing):
            yield from check(superblock, subject, facts)
    if facts.fstab is not None:
        yield from _fstab(facts.fstab)
    elif facts.fstab_error:
        yield finding_of("fstab.unseen", error=facts.fstab_error)


def _readable(facts: ClientFacts) -> Iterator[Finding]:
    reading = facts.reading
    if reading is None:
        yield finding_of("mounts.unreadable", error=facts.reading_error)
        return
    for reason, count in Counter(reading.skipped).items():
        yield finding_of("mounts.skipped", count=count, reason=reason)
    places = sum(len(superblock.mounts) for superblock in reading.superblocks)
    if reading.unread:
        yield finding_of("mounts.unread", count=reading.unread)
    if reading.superblocks:
        yield finding_of("mounts.readable", count=len(reading.superblocks), places=places)
    elif not reading.unread:
        yield finding_of("mounts.none")


def _version(superblock: Superblock, subject: str, _: ClientFacts) -> Iterator[Finding]:
    version, fstype, storage = superblock.record.options.get("vers", ""), superblock.record.fstype, superblock.storage
    if storage.stated and storage.service is not NONE:
        yield finding_of("service.stated", subject, service=storage.service.title)
    elif fstype != "nfs" or not version.startswith("3"):
        yield finding_of("version.other", subject, version=version or fstype)
    elif not is_tcp(superblock.record.options):
        yield finding_of("transport.other", subject, transport=superblock.record.options["proto"])


def _soft(superblock: Superblock, subject: str, _: ClientFacts) -> Iterator[Finding]:
    options = superblock.record.options
    if "soft" not in options and "softerr" not in options:
        return
    if "ro" not in options:
        yield finding_of("soft-mount.writable", subject)
    elif whole_number(options.get("timeo")) < _SHORTEST_SOFT_TIMEOUT:
        yield finding_of("soft-mount.short", subject, timeo=options.get("timeo", "unknown"))


def _transfer_sizes(superblock: Superblock, subject: str, _: ClientFacts) -> Iterator[Finding]:
    sizes = {name: superblock.record.options.get(name) for name in ("rsize", "wsize")}
    small = [f"{name}={size}" for name, size in sizes.items() if 0 < whole_number(size) < _LARGEST_TRANSFER]
    if small:
        yield finding_of("transfer-size.small", subject, options=", ".join(small))


def _nconnect(superblock: Superblock, subject: str, facts: ClientFacts) -> Iterator[Finding]:
    options = superblock.record.options
    if superblock.record.fstype != "nfs" or not is_tcp(options):
        return
    count = whole_number(options.get("nconnect")) or len(superblock.record.transports) or 1
    if count >= _NCONNECT or superblock.storage.service is not OCI_FSS:
        # The advice is Oracle's. The document of another service has no advice about nconnect.
        yield finding_of("nconnect.enough", subject, connections=f"{count} connection{'s' if count > 1 else ''}")
    elif count > 1:
        yield finding_of("nconnect.few", subject, count=count, most=_NCONNECT)
    elif _has_nconnect(facts.kernel):
        yield finding_of("nconnect.one", subject, most=_NCONNECT)
    elif facts.kernel:
        yield finding_of("nconnect.impossible", subject, kernel_release=facts.kernel)


def _has_nconnect(kernel: str) -> bool:
    match = re.match(r"([0-9]{1,9})\.([0-9]{1,9})", kernel)
    if not match:
        return False
    version = (int(match[1]), int(match[2]))
    return version >= _NCONNECT_KERNEL or (version == (4, 18) and ".el8" in kernel)


def _caching(superblock: Superblock, subject: str, _: ClientFacts) -> Iterator[Finding]:
    options = superblock.record.options
    if "noac" in options or all(options.get(name) == "0" for name in _ATTRIBUTE_CACHES):
        yield finding_of("attribute-cache.off", subject, share=_share(superblock, "GETATTR", "ACCESS", "LOOKUP"))
    if "sync" in options:
        yield finding_of("sync.on", subject, share=_share(superblock, "WRITE"))


def _forwarder(superblock: Superblock, subject: str, facts: ClientFacts) -> Iterator[Finding]:
    addresses = {mount.address for mount in superblock.mounts}
    unresolved = addresses & (facts.reading.unresolved if facts.reading else frozenset())
    for address in sorted(unresolved | (addresses & facts.forwarded.keys())):
        if address in facts.forwarded:
            yield finding_of("tls-forwarder.found", subject, address=address, target=facts.forwarded[address])
        else:
            yield finding_of("tls-forwarder.unknown", subject, address=address)
    if superblock.encrypted and not unresolved:
        yield finding_of("tls-forwarder.known", subject)


def _slots(superblock: Superblock, subject: str, facts: ClientFacts) -> Iterator[Finding]:
    """Check the slot table, because requests wait for a slot if the table is small.

    A client of Apsara NAS with two requests in flight reaches only a few MB/s, even if no request waits yet.
    """
    first = facts.sysctls.get(_FIRST_SLOTS)
    if first is None:
        return
    most = max(first, facts.sysctls.get(_MOST_SLOTS, first))  # Linux lets the table grow from the first to the second
    if most >= _SLOTS:
        return
    of_table = {"first": first, "most": most, "wanted": _SLOTS, "setting": _FIRST_SLOTS}
    if superblock.storage.service is APSARA_NAS:
        now, then = (slots / _NAS_SECONDS for slots in (most, _SLOTS))
        yield finding_of("slot-table.nas", subject, now=now, then=then, **of_table)
        return
    operations = superblock.record.operations.values()
    queue, rtt = sum(operation.queue_ms for operation in operations), sum(operation.rtt_ms for operation in operations)
    if rtt > 0 and queue > _MUCH_QUEUEING * rtt:
        yield finding_of("slot-table.small", subject, share=queue / rtt, **of_table)


def _nas_listing(superblock: Superblock, subject: str, _: ClientFacts) -> Iterator[Finding]:
    """Check READDIRPLUS for Apsara NAS, because listing a large directory with attributes is slow there."""
    if superblock.storage.service is not APSARA_NAS or "nordirplus" in superblock.record.options:
        return
    many = superblock.record.operations.get("READDIRPLUS")
    if many is not None and many.operations:
        yield finding_of("listing.nas", subject, count=many.operations)


def _fstab(fstab: Fstab) -> Iterator[Finding]:
    path = str(fstab.path)
    for entry in fstab.entries:
        by_hand = [option for option in entry.options if option.startswith(("rsize=", "wsize="))]
        if by_hand:
            subject = f"{entry.device} on {entry.mount_point}"
            yield finding_of("transfer-size.by-hand", subject, path=path, line=entry.line, options=", ".join(by_hand))
    for entry in fstab.missing:
        yield finding_of("fstab.missing", f"{entry.device} on {entry.mount_point}", path=path, line=entry.line)
    wanted = sum(entry.is_mounted_at_boot for entry in fstab.entries)
    if wanted and not fstab.missing:
        yield finding_of("fstab.mounted", count=wanted, path=path)


def _share(superblock: Superblock, *names: str) -> str:
    operations = superblock.record.operations
    whole = sum(counters.operations for counters in operations.values())
    part = sum(operations[name].operations for name in names if name in operations)
    return f"{part / whole:.0%}" if whole else "none"


def check_network(facts: ClientFacts, limits: Limits) -> Iterator[Finding]:
    """Check reachability, distance, bandwidth-delay product and availability domain of each mount target.

    A client can want the whole read bandwidth of a mount target's ceilings.
    """
    superblocks = facts.reading.superblocks if facts.reading else ()
    others = {superblock.key.address for superblock in superblocks if superblock.storage.service is not OCI_FSS}
    connections: Counter[str] = Counter()
    for superblock in superblocks:
        connections |= Counter({superblock.mounts[0].address: len(superblock.record.transports)})
    for (address, port), connect in sorted(facts.connects.items()):
        subject = address if port == NFS_PORT else f"{address} port {port}"
        if connect.seconds is None:
            yield finding_of("reachable.no", subject, port=port, error=connect.error)
            continue
        yield _distance(subject, connect.seconds)
        if address not in others:
            yield from _window(subject, connect.seconds, max(1, connections[address]), facts, limits)
    yield from _availability_domains(facts)
    yield from _own_network(facts, limits)


def _own_network(facts: ClientFacts, limits: Limits) -> Iterator[Finding]:
    """Check the network of the instance, because a client moves no more than the network card."""
    own = facts.instance.network_bytes_per_second if facts.instance else None
    if own is None:
        return
    wanted = limits.read_bytes_per_second or 0.0
    kind = "client-network.enough" if own >= wanted else "client-network.small"
    yield finding_of(kind, gbps=own * 8 / 1e9, mb=own / _MB, wanted=wanted / _MB)


def _distance(subject: str, seconds: float) -> Finding:
    far = distance(seconds)
    if far is None:
        return finding_of("round-trip.near", subject, ms=seconds * _MS)
    return finding_of("round-trip.far", subject, ms=seconds * _MS, far_ms=FAR_SECONDS * _MS, **far._asdict())


def _window(subject: str, seconds: float, connections: int, facts: ClientFacts, limits: Limits) -> Iterator[Finding]:
    """Compare the bandwidth-delay product with the bytes that the connections can have in flight in one round trip."""
    buffer = facts.sysctls.get("net.ipv4.tcp_rmem")
    wanted = limits.read_bytes_per_second
    if not buffer or not wanted or seconds <= 0:
        return
    possible = connections * buffer / 2 / seconds
    yield finding_of(
        "bandwidth-delay.enough" if possible >= wanted else "bandwidth-delay.small",
        subject,
        connections=f"{connections} connection{'s' if connections > 1 else ''}",
        window=buffer / 2 / 2**20,
        possible=possible / _MB,
        wanted=wanted / _MB,
    )


def _availability_domains(facts: ClientFacts) -> Iterator[Finding]:
    here = facts.instance.availability_domain if facts.instance else ""
    if not here or facts.reading is None:
        return
    for address in sorted({superblock.key.address for superblock in facts.reading.superblocks}):
        there = facts.availability_domains.get(address)
        if there is not None:
            is_same = _bare(there) == _bare(here)
            kind = "availability-domain.same" if is_same else "availability-domain.other"
            yield finding_of(kind, address, there=there, here=here)


def _bare(domain: str) -> str:
    """Return a domain without the prefix, because the prefix differs between tenancies."""
    return domain.rpartition(":")[2].lower()


def check_directories(facts: ClientFacts) -> Iterator[Finding]:
    """Check the directories of the command line."""
    for directory in facts.directories:
        if directory.entries is None:
            yield finding_of("directory.uncounted", directory.path, error=directory.error)
        elif directory.entries >= LARGE_DIRECTORY:
            yield finding_of("directory.large", directory.path, most=LARGE_DIRECTORY)
        else:
            yield finding_of("directory.small", directory.path, count=directory.entries)
