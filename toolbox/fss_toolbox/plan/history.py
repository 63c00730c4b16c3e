# SPDX-License-Identifier: Apache-2.0
"""The busiest five minutes of a week, from a Prometheus: of each mount target, or of another storage service.

OCI knows the amount: the series of a poller have the load of all clients. Clients know the mix: only clients count by
operation. So the amount comes from the poller, the mix from the scraped clients, and the load says how much of it they are.
Without a poller the clients are all that is known: theirs is a part of the load.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
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
from fss_toolbox.plan.client_moments import ClientsMoment, client_sizes, client_traffic
from fss_toolbox.plan.load import EVERYTHING, Load, ended, fullness
from fss_toolbox.plan.prometheus_api import Fullness, Peak, Prometheus, any_of, client_rate, mean, place_in, selector
from fss_toolbox.plan.recorded_mount_targets import RecordedMountTarget, further_places, named_services, ocid_of
from fss_toolbox.sizing.growth import DailyPeak, growth_of
from fss_toolbox.sizing.placement import Amounts
from fss_toolbox.sizing.uses import BOTH_DIRECTIONS, IOPS, READ_BANDWIDTH, WRITE_BANDWIDTH
from fss_toolbox.sizing.workload import with_amount

# Ceilings of the mount target at an address, with a shape and the ceilings that Prometheus has. An empty shape is not known.
LimitsOf = Callable[[str, str, Limits | None], Limits]

CLIENTS_ALONE: Final = "a part: the load of the scraped clients alone. How large a part it is, is not known"
MEASURED_BY_OCI: Final = "reads and writes of all clients as OCI measured them"

_MEASURED: Final = "fss_mount_target_iops"
_ESTIMATED: Final = "fss_mount_target_estimated_iops"
_READ: Final = "fss_mount_target_read_bytes_per_second"
_WRITTEN: Final = "fss_mount_target_write_bytes_per_second"
_CONNECTIONS: Final = "fss_mount_target_connections"
_OF_CLIENTS: Final = (
    "fss_client_estimated_io_operations_total",
    "fss_client_read_bytes_total",
    "fss_client_written_bytes_total",
)
_OF_SERVICE: Final = (
    "fss_service_read_operations_per_second",
    "fss_service_write_operations_per_second",
    "fss_service_read_bytes_per_second",
    "fss_service_write_bytes_per_second",
)
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

    @cache
    def ceilings_of(target: RecordedMountTarget) -> Limits:
        address = target.place.address if target.place else target.name or target.id
        return limits(address, target.shape, target.limits)

    loads = _polled(prometheus, recorded, ceilings_of, address)
    polled = {load.place for load in loads.values() if load.place}
    # A poller may know a mount target of which OCI publishes nothing.
    known = {target.place: target for target in recorded.values()}

    def target_at(place: NetworkAddress | None) -> RecordedMountTarget:
        return known.get(place) or RecordedMountTarget("", place=place)

    further = further_places(prometheus, recorded)
    for place, target in further.items():
        prometheus.note(f"{place.address} is a further address of {target.name}: its clients are left out of the mix")

    def is_alone(place: NetworkAddress) -> bool:
        return place not in polled and place not in elsewhere and place not in further

    of_clients = client_loads(prometheus, address, lambda place: ceilings_of(target_at(place)), is_alone, polled)
    for name, load in of_clients.items():
        iops, target = load.traffic.iops, target_at(load.place)
        figure = KnownFigure(iops.point, FigureSource.CLIENTS, prometheus.now - load.moment) if iops else None
        loads[name] = replace(_known(load, target, figure), limits=ceilings_of(target))
    if not loads:
        of = f" with address {address}" if address else ""
        raise SourceError(
            f"Prometheus has no fss_client_ and no fss_mount_target_ metrics of the last week{of}. "
            "Are the clients, or is a poller, scraped?"
        )
    return loads


def of_service(prometheus: Prometheus, service: str, ceilings: Limits, wanted: str | None) -> dict[str, Load]:
    """Return loads of file systems and volumes by name, from a poller, else loads of clients by address. In order of the names.

    Without ceilings, the limits that OCI publishes decide which moment is the busiest. `wanted` is a name, OCID or address.

    Raises:
        SourceError: Prometheus does not answer, or has no series of the service.
    """
    loads = _polled_resources(prometheus, service, ceilings, wanted)
    if not loads:
        named = {place for place, services in named_services(prometheus).items() if service in services}
        # Where no client names the service, all places count, as if they moved there.
        loads = client_loads(prometheus, wanted, lambda _: ceilings, lambda place: not named or place in named)
    if not loads:
        of = f" called {wanted}" if wanted else ""
        raise SourceError(
            f"Prometheus has nothing of {service}{of} of the last week. Is a poller or are clients scraped?"
        )
    return dict(sorted(loads.items()))


def client_loads(
    prometheus: Prometheus,
    address: str | None,
    limits_of: Callable[[NetworkAddress], Limits],
    is_wanted: Callable[[NetworkAddress], bool] = lambda _: True,
    others: Iterable[NetworkAddress] = (),
) -> dict[str, Load]:
    """Return the busiest five minutes of the clients of each wanted place, or of those with an address, by name of the place.

    Each is a part of the load of the mount target. `others` are further places that need a name.

    Raises:
        SourceError: Prometheus does not answer, or has metrics of another version.
    """
    of = selector("address", address)
    queries = {name: f"sum by (network, address) ({client_rate(name, of, 'class')})" for name in _OF_CLIENTS}

    def full(place: NetworkAddress, figures: Mapping[str, float]) -> Fullness:
        cost, read, written = (figures.get(name, 0.0) for name in queries)
        return fullness(cost, read, written, limits_of(place))

    found = prometheus.busiest(queries, place_in, full)
    peaks = {place: peak for place, peak in found.items() if place.address}
    names = names_of((*peaks, *others))
    subjects = [ClientsMoment(place, peak.moment) for place, peak in peaks.items() if is_wanted(place)]
    traffic, sizes = client_traffic(prometheus, subjects), client_sizes(prometheus, subjects)
    return {
        names[subject.place]: Load(
            ended(subject.moment),
            traffic[subject],
            sizes[subject],
            remark=CLIENTS_ALONE,
            place=subject.place,
            moment=subject.moment,
        )
        for subject in subjects
    }


def _known(load: Load, target: RecordedMountTarget, figure: KnownFigure | None) -> Load:
    """Return the load of a mount target with what a poller knows about it."""
    return replace(load, iops_figure=figure, shape=target.shape, observed=target.observed)


def _polled(
    prometheus: Prometheus,
    recorded: Mapping[str, RecordedMountTarget],
    ceilings_of: Callable[[RecordedMountTarget], Limits],
    address: str | None,
) -> dict[str, Load]:
    places = names_of(target.place for target in recorded.values() if target.place)

    def target_of(ocid: str) -> RecordedMountTarget:
        return recorded.get(ocid, RecordedMountTarget(ocid))

    def name_of(target: RecordedMountTarget) -> str:
        return places[target.place] if target.place else target.name or target.id

    def full(ocid: str, figures: Mapping[str, float]) -> Fullness:
        iops = figures.get(_MEASURED, figures.get(_ESTIMATED, 0.0))
        ceilings = ceilings_of(target_of(ocid))
        return fullness(iops, figures[_READ], figures[_WRITTEN], ceilings, figures.get(_CONNECTIONS, 0.0))

    # The figures do not have the address.
    of = "" if address is None else any_of("mount_target_id", recorded)
    queries = _means(of) | {_CONNECTIONS: _mean(_CONNECTIONS, of)}
    peaks = prometheus.busiest(queries, ocid_of, full, needed=(_READ, _WRITTEN)) if address is None or recorded else {}
    loads: dict[str, Load] = {}
    for target, load in _loads(prometheus, {target_of(ocid): peak for ocid, peak in peaks.items()}).items():
        # A mount target that takes over an address within the week goes by its OCID.
        name = target.id if name_of(target) in loads else name_of(target)
        loads[name] = replace(load, limits=ceilings_of(target))
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
    own = mix.iops if mix else None
    coverage = own.point / whole.iops.point if own and whole.iops and whole.iops.point else None
    traffic = None if mix is None else with_amount(mix, whole)
    iops = (traffic or whole).iops
    source = None
    if whole.iops:
        source = FigureSource.MEASURED if _MEASURED in figures else FigureSource.OCI
    elif iops:
        source = FigureSource.CLIENTS
    load = Load(
        ended(at),
        traffic or whole,
        connections=figures.get(_CONNECTIONS),
        remark=_remark(source, coverage, has_clients=mix is not None, is_split=traffic is not None),
        mount_target_id=target.id,
        place=target.place,
        moment=at,
    )
    return _known(load, target, KnownFigure(iops.point, source, now - at, coverage) if iops and source else None)


_AMOUNTS: Final[Mapping[FigureSource | None, str]] = {
    FigureSource.MEASURED: "IOPS of all clients as OCI measured them",
    FigureSource.OCI: (
        "IOPS of all clients estimated from requests that OCI publishes, which leave out LOOKUP, ACCESS and others: it may"
        " be more"
    ),
    FigureSource.CLIENTS: (
        "a part: OCI published neither IOPS nor requests. READs and WRITEs follow its bytes, and other operations are"
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


def _polled_resources(prometheus: Prometheus, service: str, ceilings: Limits, wanted: str | None) -> dict[str, Load]:
    """Return the busiest five minutes of file systems and volumes of a poller, by the name in `wanted`, else by name or OCID.

    A renamed resource is one, and has its present name.
    """
    own = _published_limits(prometheus, service) if ceilings == Limits() else {}
    of = selector("service", service)
    queries = {name: f"max by (resource_id, resource) ({mean(name, of)})" for name in _OF_SERVICE}

    def full(resource: tuple[str, str], figures: Mapping[str, float]) -> Fullness:
        reads, writes, read_bytes, written_bytes = (figures[name] for name in _OF_SERVICE)
        return fullness(reads + writes, read_bytes, written_bytes, own.get(resource[0], ceilings))

    peaks = prometheus.busiest(queries, _resource, full, needed=_OF_SERVICE)
    by_ocid: dict[str, dict[str, Peak]] = defaultdict(dict)
    for (ocid, name), peak in peaks.items():
        by_ocid[ocid][name] = peak
    loads = {}
    for ocid, by_name in by_ocid.items():
        if wanted in {None, ocid, *by_name}:
            peak = max(by_name.values(), key=lambda peak: (peak.fullness, peak.moment))
            present = max(by_name, key=lambda name: by_name[name].newest)
            name = wanted or present or ocid
            load = Load(ended(peak.moment), _service_traffic(peak.figures), remark=MEASURED_BY_OCI)
            loads[ocid if name in loads else name] = load
    return loads


def _published_limits(prometheus: Prometheus, service: str) -> dict[str, Limits]:
    """Return the newest published limits by OCID."""

    def newest(name: str) -> dict[str, float]:
        query = f"max by (resource_id) (last_over_time({name}{selector('service', service)}[7d]))"
        return {ocid: value for (ocid,), value in prometheus.by(query, prometheus.now, "resource_id").items()}

    iops, both = newest("fss_service_iops_limit"), newest("fss_service_bytes_per_second_limit")
    return {key: Limits(iops=iops.get(key), bytes_per_second=both.get(key)) for key in iops | both}


def _resource(labels: Mapping[str, str]) -> tuple[str, str]:
    return labels.get("resource_id", ""), labels.get("resource", "")


def _service_traffic(figures: Mapping[str, float]) -> Traffic:
    reads, writes, read_bytes, written_bytes = (figures[name] for name in _OF_SERVICE)
    operations = {name: OperationTraffic(rate, Bounds.exact(rate)) for name, rate in ((READ, reads), (WRITE, writes))}
    return Traffic(operations, read_bytes, written_bytes)
