# SPDX-License-Identifier: Apache-2.0
"""What to change in a fleet of clients and mount targets, what each change saves and what it costs.

Every advice has a figure and says how it was computed. An advice without saved I/O operations has another figure: a time or
a share. A mount target above the wanted share of a ceiling always has one: more mount targets. Limits below which nothing is said are
decisions of this project, November 2026.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from fss_exporter.model.limits import SHAPES, Shape
from fss_exporter.model.operations import (
    LARGEST_TRANSFER_BYTES,
    READ,
    WRITE,
    read_io_operations,
    write_io_operations,
)
from fss_exporter.model.service_table import GB
from fss_exporter.model.thresholds import WARNING_RATIO
from fss_exporter.model.traffic import Traffic
from fss_toolbox.sizing.capacity import DEFAULT_WINDOW_BYTES, pieces_for
from fss_toolbox.sizing.domain_bill import DomainBill
from fss_toolbox.sizing.options import Price
from fss_toolbox.sizing.uses import IOPS, READ_BANDWIDTH, Use, even_move, fullest

LEAST_IOPS: Final = 100.0  # a smaller saving is no advice: 0.2 % of the ceiling of a standard mount target

STORM_SHARE: Final = 0.5  # share of a client's cost from which one kind of work is a storm

UNEVEN: Final = 0.2  # difference between the shares of two mount targets from which the placement is uneven

# Kinds that need something new, and so come behind a change of what is there at the same price.
_BUYS: Final = ("mount-target", "shape")

_LOOKING: Final = ("GETATTR", "ACCESS", "LOOKUP")
_DELETING: Final = ("REMOVE", "RMDIR")
_AT_CAP: Final = 0.9  # A mean size of this share of rsize means that rsize limits the size
_SERIAL: Final = (0.5, 1.5)  # requests in flight of one process that waits for each answer
_SERIAL_LEAST: Final = 50.0  # operations a second
_PARALLEL: Final = 16


@dataclass(frozen=True, slots=True)
class MountLoad:
    """One export on one client, in the busiest five minutes of its mount target."""

    client: str
    place: str  # name of the mount target's place, as in its `TargetLoad`
    export: str
    traffic: Traffic  # per second
    rsize: int | None = None  # bytes. None if unknown
    wsize: int | None = None
    nconnect: int | None = None

    @property
    def iops(self) -> float:
        """Estimated I/O operations per second."""
        return self.traffic.iops.point if self.traffic.iops else 0.0

    def cost_of(self, operations: Iterable[str]) -> float:
        """I/O operations per second of some operations."""
        counted = (self.traffic.operations.get(name) for name in operations)
        return sum(operation.iops.point for operation in counted if operation and operation.iops)


@dataclass(frozen=True, slots=True)
class TargetLoad:
    """One mount target in its busiest five minutes."""

    name: str
    place: str  # name of the mount target's place, as in the `MountLoad` of its clients
    uses: tuple[Use, ...]  # the load of all clients against each ceiling
    file_systems: Mapping[str, float]  # IOPS on each file system behind it, by OCID
    exports: Mapping[str, str]  # OCID of the file system by path of the export
    names: Mapping[str, str] = field(default_factory=dict)  # name of each file system by OCID. Names can be equal
    shape: str = ""  # empty if unknown
    bill: DomainBill | None = None  # of the availability domain. None if unknown
    # reads and writes of each file system, bytes per second, by OCID
    transfers: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    network: str = ""  # empty if unknown

    @property
    def iops(self) -> float:
        """IOPS of all clients. 0 if unknown."""
        return self.use(IOPS).demand or 0.0

    @property
    def fullest(self) -> Use:
        """The resource nearest to its ceiling. IOPS if no ceiling is known."""
        return fullest(self.uses) or self.use(IOPS)

    @property
    def ratio(self) -> float:
        """Share of the fullest ceiling. 0 if no ceiling is known."""
        return self.fullest.ratio or 0.0

    def use(self, resource: str) -> Use:
        """Return the load on one resource."""
        return next((use for use in self.uses if use.resource == resource), Use(resource, "", None, None))

    def with_share(self, share: float, of: "TargetLoad") -> "TargetLoad":
        """Return the mount target with a share of the load of one more, or less where the share is negative."""
        uses = (
            use
            if use.demand is None
            else replace(use, demand=use.demand + share * (of.use(use.resource).demand or 0.0))
            for use in self.uses
        )
        return replace(self, uses=tuple(uses))


@dataclass(frozen=True, slots=True)
class Advice:
    """One change."""

    kind: str  # move, mount-target, shape, transfer-size, stat-storm, delete-storm, network, nconnect or serial
    mount_target: str  # name or address
    client: str  # empty for a change of several clients
    text: str  # what to do
    saves_iops: float  # I/O operations per second that the mount target no longer sees in its busiest five minutes
    computed: str  # how
    relieves: bool = False  # whether the fullest resource of the mount target falls to the wanted share or less
    usd_per_month: float | None = 0.0  # what the bill grows by, or the most. None without a known price


def ranked(
    targets: Sequence[TargetLoad],
    mounts: Sequence[MountLoad],
    networks: Mapping[str, tuple[float, float]],
    prices: Mapping[str, Price],
    most: float = WARNING_RATIO,
) -> list[Advice]:
    """Return every advice: first what brings a mount target to the wanted share or less, then by money, then by what it saves.

    `networks` has the busier direction and the bandwidth of each client's network, in bytes per second. `prices` are by shape. `most` is the
    wanted share of every ceiling.
    """
    by_place = {target.place: target for target in targets}
    advice = [*_moves(targets, mounts, most), *_networks(networks, most)]
    for target in targets:
        advice += _of_full_target(target, prices, most)
    for mount in mounts:
        own = by_place.get(mount.place)
        changes = _of_mount(mount, own.name if own else mount.place, most)
        advice += [
            replace(change, relieves=own is not None and _relieves(own, change.saves_iops, most)) for change in changes
        ]
    return sorted(
        advice,
        key=lambda change: (
            not change.relieves,
            math.inf if change.usd_per_month is None else change.usd_per_month,
            change.kind in _BUYS,
            -change.saves_iops,
            change.kind,
            change.mount_target,
            change.client,
        ),
    )


def _relieves(target: TargetLoad, saved_iops: float, most: float) -> bool:
    cost = target.use(IOPS)
    rest = (replace(cost, demand=target.iops - saved_iops), *(use for use in target.uses if use.resource != IOPS))
    return all((use.ratio or 0.0) <= most for use in rest) and target.ratio > most


def _of_full_target(target: TargetLoad, prices: Mapping[str, Price], most: float) -> Iterator[Advice]:
    """Yield more mount targets for one above the wanted share, and a larger shape where its reads are what is full."""
    if target.ratio <= most:
        return
    full, count = target.fullest, pieces_for(target.ratio, most)
    more = "a mount target" if count == 2 else f"{count - 1} mount targets"
    shape = target.shape or "the same shape"
    yield Advice(
        "mount-target",
        target.name,
        "",
        f"add {more} of {shape} with the exports of {target.name}, and spread the clients evenly:"
        f" {full.resource} falls from {target.ratio:.0%} to {target.ratio / count:.0%} of each",
        target.iops * (1 - 1 / count),
        f"{target.ratio:.0%} of a ceiling in {count} even shares. A cache of the mount target no longer helps serial work",
        relieves=True,
        usd_per_month=_usd(target, target.shape, count, prices),
    )
    reads = target.use(READ_BANDWIDTH)
    larger = next((shape for shape in SHAPES.values() if _carries_reads(shape, reads, most)), None)
    if full is reads and larger is not None:
        limit = larger.limits.read_bytes_per_second or math.inf
        yield Advice(
            "shape",
            target.name,
            "",
            f"change {target.name} to {larger.name}: reads fall from {target.ratio:.0%} to {(reads.demand or 0) / limit:.0%}",
            0.0,
            f"{(reads.demand or 0) / 1e6:,.0f} MB/s of {limit / 1e6:,.0f} MB/s. No document states the IOPS and the writes of"
            f" {larger.name}",
            relieves=True,
            usd_per_month=_usd(target, larger.name, 1, prices),
        )


def _carries_reads(shape: Shape, reads: Use, most: float) -> bool:
    limit = shape.limits.read_bytes_per_second
    return limit is not None and reads.demand is not None and reads.demand <= most * limit


def _usd(target: TargetLoad, shape: str, count: int, prices: Mapping[str, Price]) -> float | None:
    """Return what the bill of a month grows by with mount targets of a shape in place of one, or the most where it is not known."""
    if shape not in SHAPES or shape not in prices:
        return None
    wanted = SHAPES[shape].entitlement_bytes * count
    return (target.bill.extra_bytes(wanted) if target.bill else wanted) / GB * prices[shape].usd_per_gb


def _moves(targets: Sequence[TargetLoad], mounts: Sequence[MountLoad], most: float) -> Iterator[Advice]:
    """Yield a move for each mount target, the fullest first. Each starts where the earlier moves end, so all can be made."""
    present = {target.place: target for target in targets}
    for place in sorted(present, key=lambda place: -present[place].ratio):
        full = present[place]
        emptier = [
            target for target in present.values() if _can_take(target, full) and full.ratio - target.ratio >= UNEVEN
        ]
        if not emptier:
            continue
        free = min(emptier, key=lambda target: target.ratio)
        shared = sorted(free.file_systems.keys() & full.file_systems.keys())
        movable = sum(full.file_systems[ocid] for ocid in shared)
        even = _even_share(full, free) * full.iops
        moved = min(even, movable)
        if moved < LEAST_IOPS:
            continue
        share = moved / full.iops
        rest, fuller = full.with_share(-share, full), free.with_share(share, full)
        present[full.place], present[free.place] = rest, fuller
        clients = _clients_of(full, shared, mounts, moved)
        first = f", first {', '.join(clients)}" if clients else ""
        named = ", ".join(sorted(full.names.get(ocid, ocid) for ocid in shared))
        yield Advice(
            "move",
            full.name,
            "",
            f"move {moved / movable:.0%} of the load of {named} from {full.name} to {free.name}{first}:"
            f" {full.name} falls from {full.ratio:.0%} to {rest.ratio:.0%},"
            f" {free.name} rises from {free.ratio:.0%} to {fuller.ratio:.0%}",
            moved,
            f"both export {named}, which is {movable:,.0f} of the {full.iops:,.0f} IOPS of {full.name}. Equal shares"
            f" of both ceilings of {full.fullest.resource} need {even:,.0f} IOPS to move. A cache of the mount target no longer"
            " helps serial work",
            relieves=rest.ratio <= most < full.ratio,
        )


def _can_take(target: TargetLoad, full: TargetLoad) -> bool:
    """Whether clients of `full` reach their files at a target too. An unknown load is no room."""
    loads = {target.use(resource).demand for resource in (IOPS, full.fullest.resource)}
    shared = target.file_systems.keys() & full.file_systems.keys()
    return bool(shared) and target.network == full.network and None not in loads


def _even_share(full: TargetLoad, free: TargetLoad) -> float:
    """Return the share of the load of `full` that makes the shares of its fullest ceiling equal. 0 if `free` has no such ceiling."""
    first, other = full.fullest, free.use(full.fullest.resource)
    if not first.demand or not first.limit or not other.limit:
        return 0.0
    return max(0.0, even_move(first.demand, first.limit, other.demand or 0.0, other.limit) / first.demand)


def _clients_of(full: TargetLoad, shared: Sequence[str], mounts: Sequence[MountLoad], most: float) -> list[str]:
    """Return the clients with the largest load on the shared file systems that together move at most `most`."""
    clients, total = [], 0.0
    for mount in sorted(mounts, key=lambda mount: -mount.iops):
        fits = mount.place == full.place and full.exports.get(mount.export) in shared
        if fits and mount.iops >= 1 and total + mount.iops <= most:
            clients.append(mount.client)
            total += mount.iops
    return list(dict.fromkeys(clients))[:5]


def _networks(networks: Mapping[str, tuple[float, float]], most: float) -> Iterator[Advice]:
    for client, (used, bandwidth) in networks.items():
        if bandwidth and used >= most * bandwidth:
            yield Advice(
                "network",
                "",
                client,
                f"give {client} more network, or spread its work over more clients: {used / 1e6:,.0f} of"
                f" {bandwidth / 1e6:,.0f} MB/s are used, {used / bandwidth:.0%}",
                0.0,
                "the busier direction of all NFS traffic of the host over the bandwidth of the instance",
            )


def _of_mount(mount: MountLoad, target: str, most: float) -> Iterator[Advice]:
    where = f"{mount.client}, {mount.export}"
    yield from _transfer_size(mount, target, where)
    looking, deleting = mount.cost_of(_LOOKING), mount.cost_of(_DELETING)
    if looking >= max(LEAST_IOPS, STORM_SHARE * mount.iops):
        yield Advice(
            "stat-storm",
            target,
            mount.client,
            f"let {where} look less often: mount with a longer attribute cache (actimeo) and without noac, or list less",
            looking,
            f"{looking:,.0f} of {mount.iops:,.0f} IOPS are GETATTR, ACCESS and LOOKUP. The saving is at most all of them",
        )
    if deleting >= max(LEAST_IOPS, STORM_SHARE * mount.iops):
        yield Advice(
            "delete-storm",
            target,
            mount.client,
            f"let {where} delete at quiet hours, or slower: rm -rf of a tree costs 8 for each file",
            deleting,
            f"{deleting:,.0f} of {mount.iops:,.0f} IOPS are REMOVE and RMDIR in the busiest five minutes",
        )
    every = mount.traffic.all_operations
    in_flight = every.execute_seconds
    if in_flight and _SERIAL[0] <= in_flight <= _SERIAL[1] and every.operations >= _SERIAL_LEAST:
        yield Advice(
            "serial",
            target,
            mount.client,
            f"let {where} do {_PARALLEL} things at a time (partar, parcp, parrm or more processes): up to"
            f" {every.operations * _PARALLEL / in_flight:,.0f} operations/s in place of {every.operations:,.0f}",
            0.0,
            f"{in_flight:.1f} requests in flight at {in_flight / every.operations * 1000:,.2f} ms each (Little's law)",
        )
    rtt = every.mean_rtt_seconds
    payload = max(mount.traffic.read_bytes, mount.traffic.written_bytes)
    if mount.nconnect == 1 and rtt and payload >= most * DEFAULT_WINDOW_BYTES / rtt:
        bound = DEFAULT_WINDOW_BYTES / rtt
        yield Advice(
            "nconnect",
            target,
            mount.client,
            f"mount {where} with nconnect: {payload / 1e6:,.0f} MB/s are {payload / bound:.0%} of one connection's window",
            0.0,
            f"a window of {DEFAULT_WINDOW_BYTES >> 20} MiB every {rtt * 1000:,.1f} ms is {bound / 1e6:,.0f} MB/s",
        )


def _transfer_size(mount: MountLoad, target: str, where: str) -> Iterator[Advice]:
    traffic = mount.traffic
    directions = (
        (READ, "rsize", mount.rsize, traffic.mean_read_bytes, traffic.read_bytes, read_io_operations),
        (WRITE, "wsize", mount.wsize, traffic.mean_written_bytes, traffic.written_bytes, write_io_operations),
    )
    for name, option, cap, mean, payload, cost in directions:
        if cap is None or cap >= LARGEST_TRANSFER_BYTES or mean is None or mean < _AT_CAP * cap:
            continue
        now = mount.cost_of((name,))
        then = payload / LARGEST_TRANSFER_BYTES * cost(LARGEST_TRANSFER_BYTES)
        if now - then >= LEAST_IOPS:
            yield Advice(
                "transfer-size",
                target,
                mount.client,
                f"mount {where} without {option}={cap}",
                now - then,
                f"{name}s of {cap // 1024} KiB cost {now:,.0f} IOPS. The same bytes in {name}s of 1 MiB cost {then:,.0f}",
            )
