# SPDX-License-Identifier: Apache-2.0
"""The busiest five minutes of each mount target in a week, from a Prometheus.

OCI knows the amount: the series of a poller have the load of all clients. Clients know the mix: only clients count by
operation. So the amount comes from the poller, the mix from the scraped clients, and the load says how much of it they are.
Without a poller the clients are all that is known: the load is at least theirs.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Final

from fss_exporter.addresses import NetworkAddress, names_of
from fss_exporter.errors import SourceError
from fss_exporter.model.estimate import Bounds
from fss_exporter.model.knowledge import FigureSource, KnownFigure
from fss_exporter.model.limits import Limits
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.model.traffic import OperationTraffic, Traffic
from fss_toolbox import printed
from fss_toolbox.plan.history import ClientsMoment, client_peaks, client_sizes, client_traffic, of_clients
from fss_toolbox.plan.load import EVERYTHING, Load, ended, fullness
from fss_toolbox.plan.prometheus_api import Fullness, Peak, Prometheus, any_of, mean, selector
from fss_toolbox.plan.recorded_mount_targets import RecordedMountTarget, ocid_of
from fss_toolbox.sizing.growth import DailyPeak, growth_of
from fss_toolbox.sizing.placement import Amounts
from fss_toolbox.sizing.uses import BOTH_DIRECTIONS, IOPS, READ_BANDWIDTH, WRITE_BANDWIDTH
from fss_toolbox.sizing.workload import scaled

# Limits of the mount target at an address, with a shape and the limits that Prometheus has. An empty shape is not known.
LimitsOf = Callable[[str, str, Limits | None], Limits]

_MEASURED: Final = "fss_mount_target_iops"
_ESTIMATED: Final = "fss_mount_target_estimated_iops"
_READ: Final = "fss_mount_target_read_bytes_per_second"
_WRITTEN: Final = "fss_mount_target_write_bytes_per_second"
_CONNECTIONS: Final = "fss_mount_target_connections"
HISTORY_DAYS: Final = 28
_FEW: Final = 10  # Mount targets that a query can name


def of_mount_targets(
    prometheus: Prometheus,
    recorded: Mapping[str, RecordedMountTarget],
    limits: LimitsOf,
    address: str | None,
    elsewhere: Collection[NetworkAddress],
) -> dict[str, Load]:
    """Return the busiest five minutes of each mount target, or of those with an address, by name of the place.

    A mount target without a known address goes by its own name. `recorded` are the mount targets by OCID, and `elsewhere` the
    places of other storage services, which are left out.

    Raises:
        SourceError: Prometheus does not answer, or has no metrics of clients or mount targets of the week.
    """
    loads = _polled(prometheus, recorded, limits, address)
    polled = {load.place for load in loads.values() if load.place}
    # A poller may know a mount target of which OCI publishes nothing.
    by_place = defaultdict(lambda: RecordedMountTarget(""), {target.place: target for target in recorded.values()})

    @cache
    def ceilings_of(place: NetworkAddress) -> Limits:
        return limits(place.address, by_place[place].shape, by_place[place].limits)

    peaks = client_peaks(prometheus, address, ceilings_of)
    names = names_of((*peaks, *polled))
    alone = {place: peak.moment for place, peak in peaks.items() if place not in polled and place not in elsewhere}
    for place, load in of_clients(prometheus, alone).items():
        iops, target = load.traffic.iops, by_place[place]
        figure = KnownFigure(iops.point, FigureSource.CLIENTS, prometheus.now - load.moment) if iops else None
        loads[names[place]] = replace(
            load, iops_figure=figure, shape=target.shape, limits=target.limits, observed=target.observed
        )
    if not loads:
        of = f" with address {address}" if address else ""
        raise SourceError(
            f"Prometheus has no fss_client_ and no fss_mount_target_ metrics of the last week{of}. "
            "Are the clients, or is a poller, scraped?"
        )
    return loads


def _polled(
    prometheus: Prometheus, recorded: Mapping[str, RecordedMountTarget], limits: LimitsOf, address: str | None
) -> dict[str, Load]:
    places = names_of(target.place for target in recorded.values() if target.place)

    def target_of(ocid: str) -> RecordedMountTarget:
        return recorded.get(ocid, RecordedMountTarget(ocid))

    def name_of(target: RecordedMountTarget) -> str:
        return places[target.place] if target.place else target.name or target.id

    @cache
    def ceilings_of(ocid: str) -> Limits:
        target = target_of(ocid)
        return limits(target.place.address if target.place else name_of(target), target.shape, target.limits)

    def full(ocid: str, figures: Mapping[str, float]) -> Fullness:
        iops = figures.get(_MEASURED, figures.get(_ESTIMATED, 0.0))
        return fullness(iops, figures[_READ], figures[_WRITTEN], ceilings_of(ocid), figures.get(_CONNECTIONS, 0.0))

    # The figures do not have the address.
    of = "" if address is None else any_of("mount_target_id", recorded)
    queries = _means(of) | {_CONNECTIONS: _mean(_CONNECTIONS, of)}
    peaks = prometheus.busiest(queries, ocid_of, full, needed=(_READ, _WRITTEN)) if address is None or recorded else {}
    loads: dict[str, Load] = {}
    for target, load in _loads(prometheus, {target_of(ocid): peak for ocid, peak in peaks.items()}).items():
        # A mount target that takes over an address within the week goes by its OCID.
        loads[target.id if name_of(target) in loads else name_of(target)] = load
    return loads


def _mean(name: str, of: str, at: float | None = None) -> str:
    """Return the query of a mean. Of several pollers the largest counts, and a renamed mount target is one."""
    return f"max by (mount_target_id) ({mean(name, of, at)})"


def _means(of: str) -> dict[str, str]:
    """Return the queries of the figures that say how busy mount targets are, by name, of the series of a selector."""
    return {name: _mean(name, of) for name in (_MEASURED, _ESTIMATED, _READ, _WRITTEN)}


def minute_queries(ocids: Collection[str]) -> dict[str, str]:
    """Return the queries of the load of mount targets in a minute, for `minute_load`. A minute without a scrape has none."""
    of = any_of("mount_target_id", ocids) if len(ocids) <= _FEW else ""
    return {
        name: f"max by (mount_target_id) (last_over_time({name}{of}[2m]))"
        for name in (_MEASURED, _ESTIMATED, _READ, _WRITTEN)
    }


def minute_load(figures: Mapping[str, float]) -> Amounts | None:
    """Return the load of a minute from the answers to `minute_queries`. None without reads or writes."""
    if _READ not in figures or _WRITTEN not in figures:
        return None
    return Amounts(figures.get(_MEASURED, figures.get(_ESTIMATED)), figures[_READ], figures[_WRITTEN])


def _target_traffic(figures: Mapping[str, float]) -> Traffic:
    cost = None
    if _MEASURED in figures:
        cost = Bounds.exact(figures[_MEASURED])
    elif (point := figures.get(_ESTIMATED)) is not None:
        lower, upper = (figures.get(f"{_ESTIMATED}_{which}_bound", point) for which in ("lower", "upper"))
        cost = Bounds(lower, point, upper)
    # OCI does not publish the number of operations behind the cost.
    return Traffic({EVERYTHING: OperationTraffic(0.0, cost)}, figures[_READ], figures[_WRITTEN])


def _loads(prometheus: Prometheus, peaks: Mapping[RecordedMountTarget, Peak]) -> dict[RecordedMountTarget, Load]:
    """Return the loads of mount targets at their busiest moments, with the mix of the clients."""
    names = (f"{_ESTIMATED}_lower_bound", f"{_ESTIMATED}_upper_bound")
    queries = {
        (target, name): _mean(name, selector("mount_target_id", target.id), peak.moment)
        for target, peak in peaks.items()
        for name in names
    }
    more: dict[RecordedMountTarget, dict[str, float]] = defaultdict(dict)
    for (target, name), samples in prometheus.together(queries).items():
        more[target].update((name, value) for _, value in samples)
    subjects = [ClientsMoment(target.place, peak.moment) for target, peak in peaks.items() if target.place]
    traffic, sizes = client_traffic(prometheus, subjects), client_sizes(prometheus, subjects)
    loads = {}
    for target, peak in peaks.items():
        subject = ClientsMoment(target.place, peak.moment) if target.place else None
        mix = traffic[subject] if subject and traffic[subject].all_operations.operations else None
        load = _load(target, {**more[target], **peak.figures}, mix, peak.moment, prometheus.now)
        loads[target] = replace(load, sizes=sizes[subject]) if subject and load.is_split else load
    return loads


def _load(
    target: RecordedMountTarget, figures: Mapping[str, float], mix: Traffic | None, at: float, now: float
) -> Load:
    """Return the load of a mount target at a moment, with the mix of its scraped clients, None without any."""
    whole = _target_traffic(figures)
    coverage = _coverage(mix, whole)
    traffic = None if mix is None else with_amount(mix, whole)
    iops = (traffic or whole).iops
    source = None
    if whole.iops:
        source = FigureSource.MEASURED if _MEASURED in figures else FigureSource.OCI
    elif iops:
        source = FigureSource.CLIENTS
    return Load(
        ended(at),
        traffic or whole,
        shape=target.shape,
        limits=target.limits,
        observed=target.observed,
        connections=figures.get(_CONNECTIONS),
        remark=_remark(source, coverage, has_clients=mix is not None, is_split=traffic is not None),
        iops_figure=KnownFigure(iops.point, source, now - at, coverage) if iops and source else None,
        mount_target_id=target.id,
        place=target.place,
        moment=at,
    )


def with_growth(prometheus: Prometheus, loads: Mapping[str, Load]) -> dict[str, Load]:
    """Return loads with the growth of the daily peaks of their mount targets. Prometheus reads four weeks for each resource.

    Raises:
        SourceError: Prometheus does not answer.
    """
    polled = {load.mount_target_id for load in loads.values()} - {""}
    means = _means(any_of("mount_target_id", polled) if len(polled) <= _FEW else "")
    means[BOTH_DIRECTIONS] = f"({means[_READ]} + {means[_WRITTEN]})"
    peaks = {
        name: prometheus.daily(f"max_over_time({series}[1d:5m])", HISTORY_DAYS, ocid_of) if polled else {}
        for name, series in means.items()
    }
    return {name: _grown(load, peaks) for name, load in loads.items()}


def _grown(load: Load, peaks: Mapping[str, Mapping[str, Sequence[DailyPeak]]]) -> Load:
    """Return the load with its growth. `peaks` has the daily peaks by series and OCID."""
    is_measured = load.iops_figure is not None and load.iops_figure.source is FigureSource.MEASURED
    series = {
        IOPS: _MEASURED if is_measured else _ESTIMATED,
        READ_BANDWIDTH: _READ,
        WRITE_BANDWIDTH: _WRITTEN,
        BOTH_DIRECTIONS: BOTH_DIRECTIONS,
    }
    own = {resource: peaks[name].get(load.mount_target_id, ()) for resource, name in series.items()}
    growths = {resource: growth for resource, daily in own.items() if (growth := growth_of(daily))}
    return replace(load, growth=growths, days=max(map(len, own.values())))


def _coverage(mix: Traffic | None, whole: Traffic) -> float | None:
    own = mix.iops if mix else None
    return own.point / whole.iops.point if own and whole.iops and whole.iops.point else None


_AMOUNTS: Final[Mapping[FigureSource | None, str]] = {
    FigureSource.MEASURED: "IOPS of all clients as OCI measured them",
    FigureSource.OCI: (
        "IOPS of all clients estimated from requests that OCI publishes, which leave out LOOKUP, ACCESS and others: it may"
        " be more"
    ),
    FigureSource.CLIENTS: (
        "at least: OCI published neither IOPS nor requests. READs and WRITEs follow its bytes, and other operations are"
        " those of the scraped clients alone"
    ),
    None: "IOPS not known: OCI published neither them nor requests",
}


def _remark(source: FigureSource | None, coverage: float | None, *, has_clients: bool, is_split: bool) -> str:
    amount = _AMOUNTS[source]
    if source is FigureSource.CLIENTS:
        return amount
    if not has_clients:
        return f"{amount}. No client of this mount target is scraped, so there is no split by operation"
    part = "" if coverage is None else f". The scraped clients are {printed.percent(coverage)} of this load"
    if not is_split:
        return f"{amount}{part}. The operations of the scraped clients do not explain it, so there is no split by operation"
    return f"{amount}{part}. Their mix of operations stands for all clients"


def with_amount(mix: Traffic, whole: Traffic) -> Traffic | None:
    """Return the operations of a mix with the amount of a whole load: its bytes in each direction and its IOPS.

    READs and WRITEs follow the bytes, and other operations take the rest of the IOPS. Where the bytes cost more than all IOPS,
    the mix is scaled to the IOPS. Where the IOPS are not known, other operations stay as they are: a lower bound. None for
    bytes without READs or WRITEs in the mix, and for a mix without a cost.
    """
    if mix.iops is None or not mix.iops.point:
        return None
    transfers = {READ: (mix.read_bytes, whole.read_bytes), WRITE: (mix.written_bytes, whole.written_bytes)}
    operations: dict[str, OperationTraffic] = {}
    for name, (own, wanted) in transfers.items():
        if own and name in mix.operations:
            operations[name] = scaled(Traffic({name: mix.operations[name]}), wanted / own).operations[name]
        elif wanted:
            return None
    others = {name: rate for name, rate in mix.operations.items() if name not in transfers}
    if whole.iops is None:
        return Traffic(operations | others, whole.read_bytes, whole.written_bytes)
    left = whole.iops.point - sum(rate.iops.point for rate in operations.values() if rate.iops)
    cost = sum(rate.iops.point for rate in others.values() if rate.iops) or (
        mix.iops.point - sum(rate.iops.point for name in transfers if (rate := mix.operations.get(name)) and rate.iops)
    )
    if left < 0 or cost <= 0:
        factor = whole.iops.point / mix.iops.point
        return replace(scaled(mix, factor), read_bytes=whole.read_bytes, written_bytes=whole.written_bytes)
    operations |= scaled(Traffic(others), left / cost).operations
    return Traffic(operations, whole.read_bytes, whole.written_bytes)
