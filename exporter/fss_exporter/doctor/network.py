"""Checks of the network to the mount targets, and of directories. Pure."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from fss_exporter.doctor.client_facts import ClientFacts
from fss_exporter.doctor.findings import Finding, found
from fss_exporter.model.capacity import FAR_SECONDS, OTHER_REGION_SECONDS, distance_advice
from fss_exporter.model.limits import NFS_PORT, Limits
from fss_exporter.model.service_table import OCI_FSS

LARGE_DIRECTORY: Final = 10_000
"""A directory with fewer entries lists well over NFS (white paper, version 2.0, August 2023)."""

_MS: Final = 1000
_MB: Final = 1e6


def check_network(facts: ClientFacts, limits: Limits) -> Iterator[Finding]:
    """Check reachability, distance, bandwidth-delay product and availability domain of each mount target.

    A client can want the whole read bandwidth of a mount target's ceilings.
    """
    superblocks = facts.reading.superblocks if facts.reading else ()
    others = {one.key.address for one in superblocks if one.known.service is not OCI_FSS}
    connections: Counter[str] = Counter()
    for one in superblocks:
        connections |= Counter({one.mounts[0].address: len(one.record.transports)})
    for (address, port), connect in sorted(facts.connects.items()):
        subject = address if port == NFS_PORT else f"{address} port {port}"
        if connect.seconds is None:
            yield found("reachable.no", subject, port=port, error=connect.error)
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
    yield found(kind, gbps=own * 8 / 1e9, mb=own / _MB, wanted=wanted / _MB)


def _distance(subject: str, seconds: float) -> Finding:
    if seconds <= FAR_SECONDS:
        return found("round-trip.near", subject, ms=seconds * _MS)
    where = "another region" if seconds > OTHER_REGION_SECONDS else "another availability domain"
    advice = distance_advice(seconds)
    return found("round-trip.far", subject, ms=seconds * _MS, where=where, advice=advice, far_ms=FAR_SECONDS * _MS)


def _window(subject: str, seconds: float, connections: int, facts: ClientFacts, limits: Limits) -> Iterator[Finding]:
    """Compare the bandwidth-delay product with the bytes that the connections can have in flight in one round trip."""
    buffer = facts.sysctls.get("net.ipv4.tcp_rmem")
    wanted = limits.read_bytes_per_second
    if not buffer or not wanted or seconds <= 0:
        return
    possible = connections * buffer / 2 / seconds
    yield found(
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
            yield found(kind, address, there=there, here=here)


def _bare(domain: str) -> str:
    """Return a domain without the prefix, because the prefix differs between tenancies."""
    return domain.rpartition(":")[2].lower()


def check_directories(facts: ClientFacts) -> Iterator[Finding]:
    """Check the directories of the command line."""
    for directory in facts.directories:
        if directory.entries is None:
            yield found("directory.uncounted", directory.path, error=directory.error)
        elif directory.entries >= LARGE_DIRECTORY:
            yield found("directory.large", directory.path, most=LARGE_DIRECTORY)
        else:
            yield found("directory.small", directory.path, count=directory.entries)
