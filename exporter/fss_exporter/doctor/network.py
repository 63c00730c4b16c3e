"""Checks of the way to the mount targets, and of directories. Pure."""

from collections.abc import Iterator
from typing import Final

from fss_exporter.doctor.client_facts import ClientFacts
from fss_exporter.doctor.findings import KERNEL, PROJECT, WHITE_PAPER, Finding, Severity
from fss_exporter.model.limits import Limits

NFS_PORT: Final = 2049
LARGE_DIRECTORY: Final = 10_000
"""Entries above which a directory is slow to list over NFS (white paper, version 2.0, August 2023)."""

FAR_SECONDS: Final = 0.002
"""Round trip above which client and mount target are hardly in one availability domain. Assumption, November 2026."""

_MS: Final = 1000


def check_network(facts: ClientFacts, limits: Limits) -> Iterator[Finding]:
    """Reachability, distance, bandwidth-delay product and availability domain of each mount target.

    Args:
        facts: this client.
        limits: ceilings of a mount target; its read bandwidth is what one client could want.
    """
    connections = _connections(facts)
    for (address, port), connect in sorted(facts.connects.items()):
        subject = address if port == NFS_PORT else f"{address} port {port}"
        if connect.seconds is None:
            message = f"no TCP connection to port {port}: {connect.error}"
            fix = f"allow TCP and UDP 111 and 2048-2050 to it in security lists, NSGs and the host's firewall (port {port} here)"
            yield Finding("reachable", Severity.PROBLEM, subject, message, fix, KERNEL)
            continue
        yield _distance(subject, connect.seconds)
        yield from _window(subject, connect.seconds, connections.get(address, 1), facts, limits)
    yield from _availability_domains(facts)


def _distance(subject: str, seconds: float) -> Finding:
    message = f"round trip of {seconds * _MS:.2f} ms"
    if seconds <= FAR_SECONDS:
        return Finding("round-trip", Severity.OK, subject, message)
    fix = "keep clients and mount target in the same availability domain; serial programs do one request per round trip"
    source = f"{WHITE_PAPER}; threshold of {FAR_SECONDS * _MS:g} ms: {PROJECT}"
    return Finding("round-trip", Severity.WARNING, subject, f"{message}: far away", fix, source)


def _window(subject: str, seconds: float, connections: int, facts: ClientFacts, limits: Limits) -> Iterator[Finding]:
    """Bandwidth-delay product: what the connections can have in flight in one round trip."""
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
    """Without the prefix that is different in every tenancy."""
    return domain.rpartition(":")[2].lower()


def _connections(facts: ClientFacts) -> dict[str, int]:
    found: dict[str, int] = {}
    for superblock in facts.reading.superblocks if facts.reading else ():
        address = superblock.mounts[0].address
        found[address] = max(found.get(address, 1), len(superblock.record.transports))
    return found


def check_directories(facts: ClientFacts) -> Iterator[Finding]:
    """Directories named on the command line."""
    for directory in facts.directories:
        if directory.entries is None:
            message = f"cannot be counted: {directory.error}"
            fix = "check its mount target and the path; nothing was done but listing it"
            yield Finding("directory", Severity.WARNING, directory.path, message, fix)
        elif directory.entries > LARGE_DIRECTORY:
            message = (
                f"more than {LARGE_DIRECTORY:,} entries: listing it is slow and costs READDIRPLUS after READDIRPLUS"
            )
            fix = "spread the files over sub-directories; where it is quiet, mounting with nordirplus helps"
            yield Finding("directory", Severity.WARNING, directory.path, message, fix, WHITE_PAPER)
        else:
            yield Finding("directory", Severity.OK, directory.path, f"{directory.entries:,} entries")
