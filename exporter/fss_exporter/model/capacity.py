"""Capacity: what binds a workload first, how far one mount target can take it, and how many it needs.

A mount target is bound by whichever of its ceilings is used up first; reads and writes add up by their costs (white
paper "OCI File Storage Performance Characteristics", version 2.0, August 2023). A client is bound by its own network,
by what its TCP connections can have in flight, and by latency: c requests in flight of t seconds each complete c/t a
second (Little's law). Mount targets add up where the load is spread evenly over them; none of them helps a client.

Formulas and worked examples: docs/cost-model.md.
"""

import math
from dataclasses import dataclass

from fss_exporter.model.estimate import Bounds
from fss_exporter.model.limits import Limits
from fss_exporter.model.traffic import Traffic, times
from fss_exporter.model.utilisation import IOPS, Use, fullest, uses

LATENCY = "latency x concurrency"
CLIENT_NETWORK = "client network"
TCP_WINDOW = "TCP window / network RTT"

DEFAULT_WINDOW_BYTES = 3 * 1024 * 1024
"""What one connection can have in flight: half of the largest receive buffer of Linux, tcp_rmem[2] = 6 MiB."""

_ROUNDING = 1e-9
# Keeps 1.6 / 0.8 from being three mount targets.


@dataclass(frozen=True, slots=True)
class Clients:
    """What the clients bring along, all of them together unless said otherwise; None where unknown.

    Attributes:
        count: how many hosts.
        nconnect: TCP connections of each host to its mount target.
        concurrency: requests in flight at the same time.
        latency_seconds: mean time of a request.
        bandwidth: bytes per second of one host's network, in each direction.
        network_rtt_seconds: round trip of the network alone.
        window_bytes: what one connection can have in flight.
    """

    count: int | None = None
    nconnect: int = 1
    concurrency: float | None = None
    latency_seconds: float | None = None
    bandwidth: float | None = None
    network_rtt_seconds: float | None = None
    window_bytes: int = DEFAULT_WINDOW_BYTES

    @property
    def connections(self) -> int | None:
        """TCP connections of all hosts."""
        return None if self.count is None else self.count * self.nconnect

    @property
    def highest_rate(self) -> float | None:
        """Requests per second that latency and concurrency allow (Little's law)."""
        if self.concurrency is None or self.latency_seconds is None:
            return None
        return self.concurrency / self.latency_seconds


@dataclass(frozen=True, slots=True)
class Best:
    """The most of a workload that something can carry, its mix unchanged; all per second.

    Attributes:
        factor: times the workload.
        operations: NFS operations.
        iops: mount-target I/O operations; None where no cost is known.
        read_bytes, written_bytes: payload.
    """

    factor: float
    operations: float
    iops: Bounds | None
    read_bytes: float
    written_bytes: float


@dataclass(frozen=True, slots=True)
class Plan:
    """The answer.

    Attributes:
        mount_target: every ceiling of one mount target and what the whole workload takes of it.
        clients: every bound of the clients and what the whole workload takes of it.
        binds: the fullest of all; None where no bound is known.
        best: the most of this mix one mount target can carry; None where no ceiling is known.
        attainable: the most of this mix these clients get out of `mount_targets` of them; None where nothing is known.
        mount_targets: how many keep every known ceiling at or below the target; None where no ceiling is known.
        mount_targets_at_worst: the same with the upper bound of an estimate.
        target: share of a ceiling to stay at or below.
    """

    mount_target: tuple[Use, ...]
    clients: tuple[Use, ...]
    binds: Use | None
    best: Best | None
    attainable: Best | None
    mount_targets: int | None
    mount_targets_at_worst: int | None
    target: float

    @property
    def client_bound(self) -> bool:
        """Whether the clients cannot bring the workload about, however many mount targets there are."""
        first = fullest(self.clients)
        return first is not None and (first.ratio or 0.0) > 1.0


def plan(traffic: Traffic, limits: Limits, clients: Clients, target: float) -> Plan:
    """What a workload needs.

    Args:
        traffic: the whole workload.
        limits: ceilings of one mount target.
        clients: what the clients bring along.
        target: share of a ceiling to stay at or below, above 0 and up to 1.
    """
    server = uses(traffic, limits, clients.connections)
    own = _client_uses(traffic, clients)
    first = fullest(server)
    needed = _mount_targets(first, target)
    return Plan(
        mount_target=server,
        clients=own,
        binds=fullest((*server, *own)),
        best=_best(traffic, first.ratio if first else None),
        attainable=_best(traffic, _tightest(first, fullest(own), needed)),
        mount_targets=needed,
        mount_targets_at_worst=_mount_targets(fullest((*server, _worst_iops(traffic, limits))), target),
        target=target,
    )


def _client_uses(traffic: Traffic, clients: Clients) -> tuple[Use, ...]:
    operations = traffic.all_operations.operations
    # A network carries both directions at once, so the busier one counts.
    payload = max(traffic.read_bytes, traffic.written_bytes)
    hosts, rtt = clients.count, clients.network_rtt_seconds
    found = []
    if clients.latency_seconds is not None:
        in_flight = operations * clients.latency_seconds
        found.append(Use(LATENCY, "requests in flight", in_flight, clients.concurrency))
    if clients.bandwidth is not None:
        found.append(Use(CLIENT_NETWORK, "B/s", payload, None if hosts is None else hosts * clients.bandwidth))
    if rtt is not None:
        connections = clients.connections
        found.append(
            Use(TCP_WINDOW, "B/s", payload, None if connections is None else connections * clients.window_bytes / rtt)
        )
    return tuple(found)


def _worst_iops(traffic: Traffic, limits: Limits) -> Use:
    iops = traffic.iops
    return Use(IOPS, "IOPS", None if iops is None else iops.upper, limits.iops)


def _mount_targets(first: Use | None, target: float) -> int | None:
    if first is None or first.ratio is None:
        return None
    return max(1, math.ceil(first.ratio / target - _ROUNDING))


def _tightest(server: Use | None, own: Use | None, mount_targets: int | None) -> float | None:
    """The highest share any bound is used to, with that many mount targets."""
    ratios = [own.ratio] if own is not None and own.ratio else []
    if server is not None and server.ratio and mount_targets:
        ratios.append(server.ratio / mount_targets)
    return max(ratios, default=None)


def _best(traffic: Traffic, ratio: float | None) -> Best | None:
    if not ratio:
        return None
    factor = 1.0 / ratio
    return Best(
        factor=factor,
        operations=traffic.all_operations.operations * factor,
        iops=None if traffic.iops is None else times(traffic.iops, factor),
        read_bytes=traffic.read_bytes * factor,
        written_bytes=traffic.written_bytes * factor,
    )
