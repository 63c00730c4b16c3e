# SPDX-License-Identifier: Apache-2.0
"""Find the first bound of a workload, the most that one mount target carries, and the number of mount targets needed.

The ceiling with the highest use binds a mount target. Reads and writes add up by cost (white paper "OCI File Storage
Performance Characteristics", version 2.0, August 2023). A client has three bounds: the network card, the window of the
TCP connections, and latency. With c requests in flight of t seconds each, c/t requests complete in a second (Little's
law). Several mount targets share a load evenly, but do not help a client.

A job that needs n times a bound in one second takes n seconds. Requests complete in rounds: 250 requests with 125 in
flight take two rounds of one latency each. Formulas and worked examples: docs/cost-model.md.
"""

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

from fss_exporter.model.limits import ROUNDING, STUNNEL_CONNECTIONS, Limits
from fss_exporter.model.traffic import Traffic
from fss_toolbox.sizing.uses import BOTH_DIRECTIONS, CONNECTIONS, IOPS, Use, fullest, uses
from fss_toolbox.sizing.workload import scaled

LATENCY = "latency x concurrency"
CLIENT_NETWORK = "client network"
TCP_WINDOW = "TCP window / network RTT"
ENCRYPTED_CONNECTIONS = "encrypted connections"
CONNECTION_BOUNDS = frozenset((CONNECTIONS, ENCRYPTED_CONNECTIONS))

# Bytes that one connection can have in flight: half of the largest receive buffer of Linux, tcp_rmem[2] = 6 MiB.
DEFAULT_WINDOW_BYTES = 3 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ClientHosts:
    """All hosts that mount a file system. None means unknown."""

    count: int | None = None  # number of hosts
    nconnect: int = 1  # TCP connections of each host to the mount target
    counted_connections: float | None = None  # TCP connections as recorded, of an unknown number of hosts
    concurrency: float | None = None  # requests in flight at a time, on all hosts together
    latency_seconds: float | None = None  # mean time of a request
    bandwidth: float | None = None  # bytes per second of the network of one host, in each direction
    network_rtt_seconds: float | None = None  # round trip of the network alone
    window_bytes: int = DEFAULT_WINDOW_BYTES  # bytes that one connection can have in flight
    encrypted: bool = False  # whether the connections are encrypted in transit (TLS)
    stunnel: bool = False  # whether Windows with stunnel encrypts them

    @property
    def connections(self) -> float | None:
        """TCP connections of all hosts. Without their number, nobody knows what nconnect makes of the counted connections."""
        if self.count is None:
            return self.counted_connections if self.nconnect == 1 else None
        return self.count * self.nconnect

    @property
    def highest_rate(self) -> float | None:
        """Requests per second that latency and concurrency allow (Little's law)."""
        if self.concurrency is None or self.latency_seconds is None:
            return None
        return self.concurrency / self.latency_seconds


@dataclass(frozen=True, slots=True)
class JobTime:
    """Time of a job."""

    seconds: float  # from start to end
    binds: Use  # the bound that sets the time
    operations: float  # requests of the job

    @property
    def operations_per_second(self) -> float:
        """Mean rate of the job."""
        return self.operations / self.seconds


@dataclass(frozen=True, slots=True)
class CapacityAnswer:
    """Bounds and mount targets for a workload."""

    mount_target: tuple[Use, ...]  # every ceiling of one mount target, with the mount target's share of the workload
    clients: tuple[Use, ...]  # every bound of the clients, with the workload
    binds: Use | None  # the fullest bound. Of a job the bound that sets the time. None if no bound is known
    # multiple of the workload that one mount target carries, whatever its connections. None if no ceiling is known
    best: float | None
    # multiple of the workload that the clients and all mount targets together carry. None if no ceiling is known
    attainable: float | None
    # number that keeps every known ceiling at or below the target. None for a job, or if no ceiling is known
    mount_targets: int | None
    mount_targets_at_worst: int | None  # the number for the upper bound of an estimate
    # reads and writes together against the single bandwidth of the white paper. None if the workload uses a single
    # direction, or if the ceilings of the directions differ
    both_directions: Use | None
    job: JobTime | None = None  # None for a rate, or if no bound is known

    @property
    def client_bound(self) -> bool:
        """Whether the clients cannot reach the workload with any number of mount targets."""
        first = fullest(self.clients)
        return first is not None and (first.ratio or 0.0) > 1.0 + ROUNDING


def capacity_answer(
    traffic: Traffic, limits: Limits, clients: ClientHosts, target: float, mount_targets: int | None = None
) -> CapacityAnswer:
    """Compare a whole workload with the ceilings of one mount target and with the clients.

    `target` is the share of a ceiling to stay at or below. `mount_targets` share the load evenly. None stands for 1, and for
    the needed number in `attainable`.
    """
    shared = mount_targets or 1
    server = server_uses(traffic, limits, clients, shared)
    own = client_uses(traffic, clients)
    # Connections follow the number of clients. More or fewer requests do not change them.
    first = fullest(use for use in server if use.resource not in CONNECTION_BOUNDS)
    whole = first.ratio * shared if first and first.ratio else None
    any_first = fullest(server)
    needed = pieces_for(any_first.ratio * shared, target) if any_first and any_first.ratio else None
    each = scaled(traffic, 1 / shared)
    worst = fullest((*server, Use(IOPS, "IOPS", each.iops.upper if each.iops else None, limits.iops)))
    return CapacityAnswer(
        mount_target=server,
        clients=own,
        binds=fullest((*server, *own)),
        best=1.0 / whole if whole else None,
        attainable=_attainable(whole, fullest(own), mount_targets or needed),
        mount_targets=needed,
        mount_targets_at_worst=pieces_for(worst.ratio * shared, target) if worst and worst.ratio else None,
        both_directions=_both_directions(each, limits),
    )


def server_uses(traffic: Traffic, limits: Limits, clients: ClientHosts, mount_targets: int = 1) -> tuple[Use, ...]:
    """Compare every ceiling of one mount target with an even share of a load."""
    connections = None if clients.connections is None else clients.connections / mount_targets
    used = uses(scaled(traffic, 1 / mount_targets), limits, connections)
    if clients.encrypted or clients.stunnel:
        most = STUNNEL_CONNECTIONS if clients.stunnel else limits.encrypted_connections
        used += (Use(ENCRYPTED_CONNECTIONS, "connections", connections, most),)
    return used


def client_uses(traffic: Traffic, clients: ClientHosts) -> tuple[Use, ...]:
    """Compare every stated bound of the clients with a load."""
    operations = traffic.all_operations.operations
    # A network carries both directions at once, so the busier one counts.
    payload = max(traffic.read_bytes, traffic.written_bytes)
    hosts, connections = clients.count, clients.connections
    used = []
    if clients.latency_seconds is not None:
        # OCI publishes payload without the number of operations.
        in_flight = operations * clients.latency_seconds if operations or not traffic.payload else None
        used.append(Use(LATENCY, "requests in flight", in_flight, clients.concurrency))
    if clients.bandwidth is not None:
        used.append(Use(CLIENT_NETWORK, "B/s", payload, None if hosts is None else hosts * clients.bandwidth))
    if clients.network_rtt_seconds is not None:
        each = clients.window_bytes / clients.network_rtt_seconds
        used.append(Use(TCP_WINDOW, "B/s", payload, None if connections is None else connections * each))
    return tuple(used)


def pieces_for(ratio: float, target: float = 1.0) -> int:
    """Return the mount targets, servers or clients that keep a load of `ratio` times one of them at or below `target`."""
    return max(1, math.ceil(ratio / target - ROUNDING))


def _both_directions(traffic: Traffic, limits: Limits) -> Use | None:
    """Compare both directions with the white paper's single bandwidth, measured in one direction at a time."""
    ceiling = limits.read_bytes_per_second
    is_both = traffic.read_bytes and traffic.written_bytes
    if not is_both or ceiling is None or ceiling != limits.write_bytes_per_second:
        return None
    return Use(BOTH_DIRECTIONS, "B/s", traffic.payload, ceiling)


def _attainable(whole: float | None, own: Use | None, mount_targets: int | None) -> float | None:
    """Return the largest multiple of a workload that the clients and that many mount targets carry."""
    ratios = [own.ratio] if own is not None and own.ratio else []
    if whole and mount_targets:
        ratios.append(whole / mount_targets)
    return 1.0 / max(ratios) if ratios else None


def job_time(used: tuple[Use, ...], operations: float, clients: ClientHosts) -> JobTime | None:
    """Time of a job. None where no bound is known. `used` are all bounds against the whole job, as if the job took one second."""
    times = [
        JobTime(seconds, use, operations)
        for use in used
        if use.resource not in CONNECTION_BOUNDS and (seconds := job_seconds(use, operations, clients))
    ]
    return max(times, key=lambda time: time.seconds, default=None)


def job_seconds(use: Use, operations: float, clients: ClientHosts) -> float | None:
    """Return the seconds that a bound alone makes a job last. None if the bound is not known. Arguments as `job_time`."""
    if use.ratio is not None and use.resource == LATENCY and clients.concurrency and clients.latency_seconds:
        return math.ceil(operations / clients.concurrency - ROUNDING) * clients.latency_seconds
    return use.ratio


# A longer round trip means that client and mount target are in different availability domains. Assumption, November 2026.
FAR_SECONDS: Final = 0.002

# A longer round trip means that client and mount target are in different regions. Assumption, November 2026.
_OTHER_REGION_SECONDS: Final = 0.010


class Distance(NamedTuple):
    """Where a mount target is that is far from its client, and the advice of the white paper (version 2.0, August 2023) for it."""

    where: str
    advice: str


def distance(round_trip_seconds: float) -> Distance | None:
    """Return where the mount target is. None for a short distance."""
    if round_trip_seconds > _OTHER_REGION_SECONDS:
        return Distance(
            "another region",
            "do not mount across regions: run the program on an instance near the data. For a migration, copy between an instance"
            " in each region (instance streaming, fpsync)",
        )
    if round_trip_seconds > FAR_SECONDS:
        return Distance("another availability domain", "keep clients and mount target in the same availability domain")
    return None
