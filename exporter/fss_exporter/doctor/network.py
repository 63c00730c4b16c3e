"""Checks of the network to the mount targets, and of directories. Pure."""

from collections.abc import Iterator
from typing import Final

from fss_exporter.doctor.client_facts import ClientFacts
from fss_exporter.doctor.findings import APSARA, KERNEL, PROJECT, WHITE_PAPER, Finding, Severity
from fss_exporter.model.capacity import FAR_SECONDS, OTHER_REGION_SECONDS, distance_advice
from fss_exporter.model.limits import NFS_PORT, Limits
from fss_exporter.model.service_table import OCI_FSS

LARGE_DIRECTORY: Final = 10_000
"""A directory with fewer entries lists well over NFS (white paper, version 2.0, August 2023)."""

_MS: Final = 1000
_MB: Final = 1e6


def check_network(facts: ClientFacts, limits: Limits) -> Iterator[Finding]:
    """Check reachability, distance, bandwidth-delay product and availability domain of each mount target.

    Args:
        facts: facts of this client.
        limits: ceilings of a mount target. A client can want the whole read bandwidth.
    """
    connections = _connections(facts)
    superblocks = facts.reading.superblocks if facts.reading else ()
    others = {one.key.address for one in superblocks if one.known.service is not OCI_FSS}
    for (address, port), connect in sorted(facts.connects.items()):
        subject = address if port == NFS_PORT else f"{address} port {port}"
        if connect.seconds is None:
            message = f"no TCP connection to port {port}: {connect.error}"
            fix = f"allow TCP and UDP 111 and 2048-2050 to it in security lists, NSGs and the host's firewall (port {port} here)"
            yield Finding("reachable", Severity.PROBLEM, subject, message, fix, KERNEL)
            continue
        yield _distance(subject, connect.seconds)
        if address not in others:
            yield from _window(subject, connect.seconds, connections.get(address, 1), facts, limits)
    yield from _availability_domains(facts)
    yield from _own_network(facts, limits)


def _own_network(facts: ClientFacts, limits: Limits) -> Iterator[Finding]:
    """Check the network of the instance, because a client moves no more than the network card."""
    own = facts.instance.network_bytes_per_second if facts.instance else None
    if own is None:
        return
    message = f"the network of this instance carries {own * 8 / 1e9:g} Gbit/s, which is {own / _MB:,.0f} MB/s in each direction"
    wanted = limits.read_bytes_per_second
    if wanted is None or own >= wanted:
        yield Finding("client-network", Severity.OK, "", message)
        return
    fix = "for more throughput of one client use a shape with more network bandwidth"
    message = f"{message}. A mount target reads {wanted / _MB:,.0f} MB/s"
    yield Finding("client-network", Severity.ADVICE, "", message, fix, WHITE_PAPER)


def _distance(subject: str, seconds: float) -> Finding:
    message = f"round trip of {seconds * _MS:.2f} ms"
    if seconds <= FAR_SECONDS:
        return Finding("round-trip", Severity.OK, subject, message)
    fix = f"{distance_advice(seconds)}. Serial programs do one request per round trip: use parallel tools (partar, parcp, parrm)"
    source = f"{WHITE_PAPER}; threshold of {FAR_SECONDS * _MS:g} ms: {PROJECT}"
    return Finding(
        "round-trip",
        Severity.WARNING,
        subject,
        f"{message}: {'another region' if seconds > OTHER_REGION_SECONDS else 'another availability domain'}",
        fix,
        source,
    )


def _window(subject: str, seconds: float, connections: int, facts: ClientFacts, limits: Limits) -> Iterator[Finding]:
    """Compare the bandwidth-delay product with the bytes that the connections can have in flight in one round trip."""
    buffer = facts.sysctls.get("net.ipv4.tcp_rmem")
    wanted = limits.read_bytes_per_second
    if not buffer or not wanted or seconds <= 0:
        return
    possible = connections * buffer / 2 / seconds
    message = (
        f"{connections} connection{'s' if connections > 1 else ''} with a window of {buffer / 2 / 2**20:.1f} MiB each carry at"
        f" most {possible / 1e6:,.0f} MB/s at this distance"
    )
    if possible >= wanted:
        yield Finding("bandwidth-delay", Severity.OK, subject, message)
        return
    fix = "mount with nconnect=16, or raise the last figure of net.ipv4.tcp_rmem"
    source = f"{WHITE_PAPER}; window is half of the buffer: {KERNEL}"
    yield Finding(
        "bandwidth-delay", Severity.WARNING, subject, f"{message}, a mount target {wanted / 1e6:,.0f}", fix, source
    )


def _availability_domains(facts: ClientFacts) -> Iterator[Finding]:
    here = facts.instance.availability_domain if facts.instance else ""
    if not here or facts.reading is None:
        return
    for address in sorted({superblock.key.address for superblock in facts.reading.superblocks}):
        there = facts.availability_domains.get(address)
        if there is None:
            continue
        if _bare(there) == _bare(here):
            yield Finding("availability-domain", Severity.OK, address, f"in {there}, as this client")
        else:
            message = f"in {there}, this client in {here}: every request crosses over"
            fix = "use a mount target in the client's availability domain, or move the client"
            yield Finding("availability-domain", Severity.WARNING, address, message, fix, WHITE_PAPER)


def _bare(domain: str) -> str:
    """Return a domain without the prefix, because the prefix differs between tenancies."""
    return domain.rpartition(":")[2].lower()


def _connections(facts: ClientFacts) -> dict[str, int]:
    found: dict[str, int] = {}
    for superblock in facts.reading.superblocks if facts.reading else ():
        address = superblock.mounts[0].address
        found[address] = max(found.get(address, 1), len(superblock.record.transports))
    return found


def check_directories(facts: ClientFacts) -> Iterator[Finding]:
    """Check the directories of the command line."""
    for directory in facts.directories:
        if directory.entries is None:
            message = f"cannot be counted: {directory.error}"
            fix = "check its mount target and the path. Nothing was done but listing it"
            yield Finding("directory", Severity.WARNING, directory.path, message, fix)
        elif directory.entries >= LARGE_DIRECTORY:
            message = f"{LARGE_DIRECTORY:,} entries or more: listing it is slow and costs READDIRPLUS after READDIRPLUS"
            fix = f"keep fewer than {LARGE_DIRECTORY:,} files in a directory. For a large, quiet directory mount with nordirplus"
            source = f"{WHITE_PAPER}; nordirplus: {APSARA}"
            yield Finding("directory", Severity.WARNING, directory.path, message, fix, source)
        else:
            yield Finding("directory", Severity.OK, directory.path, f"{directory.entries:,} entries")
