"""The busiest five minutes of a week, from a Prometheus: of the clients of an address, or of another storage service."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from fss_exporter.addresses import NetworkAddress, names_of
from fss_exporter.catalogue import CATALOGUE
from fss_exporter.client_scrape import COST_MODEL, COUNTERS, override_of, traffic_of
from fss_exporter.errors import SourceError
from fss_exporter.model.cost_overrides import CostOverrides
from fss_exporter.model.estimate import Bounds
from fss_exporter.model.limits import Limits
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.model.traffic import OperationTraffic, Traffic
from fss_toolbox.plan.load import Load, SizeShare, busiest_moment, ended, size_shares
from fss_toolbox.plan.prometheus_api import Prometheus, at_place, client_rate, place_in, selector

CLIENTS_ALONE: Final = (
    "at least: the load of the scraped clients alone. Which part of the load these clients are is not known"
)
MEASURED_BY_OCI: Final = "reads and writes of all clients as OCI measured them"


def of_service(prometheus: Prometheus, service: str, ceilings: Limits, wanted: str | None) -> dict[str, Load]:
    """Return loads of file systems and volumes by name, from a poller, else loads of clients by address.

    Without ceilings, the limits that OCI publishes decide which moment is the busiest. `wanted` is a name, OCID or address.

    Raises:
        SourceError: Prometheus does not answer, or has no series of the service.
    """
    loads = _polled_resources(prometheus, service, ceilings, wanted)
    if not loads:
        query = f"last_over_time(fss_client_service_info{selector('service', service)}[7d])"
        # The addresses of the service. All addresses where no client names the service.
        named = {place_in(labels) for labels, _ in prometheus.at(query, prometheus.now)}
        histories = client_histories(prometheus, wanted)
        names = names_of(histories)
        loads = {
            names[place]: of_clients(prometheus, place, history, ceilings)
            for place, history in histories.items()
            if not named or place in named
        }
    if not loads:
        of = f" called {wanted}" if wanted else ""
        raise SourceError(
            f"Prometheus has nothing of {service}{of} of the last week. Is a poller or are clients scraped?"
        )
    return loads


_CLIENT_COST: Final = "fss_client_estimated_io_operations_total"
_CLIENT_READ: Final = "fss_client_read_bytes_total"
_CLIENT_WRITTEN: Final = "fss_client_written_bytes_total"


def client_histories(
    prometheus: Prometheus, address: str | None
) -> dict[NetworkAddress, dict[float, dict[str, float]]]:
    """Return what the clients of each place, or of those with an address, did in the week, by epoch second and metric.

    Raises:
        SourceError: Prometheus does not answer.
    """
    of = selector("address", address)
    queries = {
        name: f"sum by (network, address) ({client_rate(name, of, 'class')})"
        for name in (_CLIENT_COST, _CLIENT_READ, _CLIENT_WRITTEN)
    }
    return {place: history for place, history in prometheus.figures(queries, place_in).items() if place.address}


def of_clients(
    prometheus: Prometheus, place: NetworkAddress, history: Mapping[float, dict[str, float]], limits: Limits
) -> Load:
    """Return the busiest five minutes of the clients of a place, whose load is at least that of the mount target.

    Raises:
        SourceError: Prometheus does not answer, or has metrics of another version.
    """
    at = busiest_moment({moment: _rough(values) for moment, values in history.items()}, limits)
    traffic, sizes = client_traffic(prometheus, place, at), client_sizes(prometheus, place, at)
    return Load(ended(at), traffic, sizes, remark=CLIENTS_ALONE, place=place, moment=at)


def _rough(values: dict[str, float]) -> Traffic:
    iops = values.get(_CLIENT_COST, 0.0)
    every = OperationTraffic(iops, Bounds.exact(iops))  # a READ for each, for ceilings of other services
    return Traffic({READ: every}, values.get(_CLIENT_READ, 0.0), values.get(_CLIENT_WRITTEN, 0.0))


@contextmanager
def _of_this_version() -> Iterator[None]:
    """Raise SourceError for series that an agent of this version does not have."""
    try:
        yield
    except (ValueError, KeyError) as error:
        raise SourceError(f"Prometheus has not the metrics of an agent of this version: {error}") from error


@_of_this_version()
def client_traffic(prometheus: Prometheus, place: NetworkAddress, at: float) -> Traffic:
    """Return the traffic of the clients of a mount target at one moment, epoch seconds, by class and operation.

    Raises:
        SourceError: Prometheus does not answer, or its metrics are not those of an agent of this version.
    """
    rates: dict[tuple[str, str, str], float] = defaultdict(float)
    services = set()
    for name in sorted(COUNTERS):
        each = client_rate(name, at_place(place), "class", "operation")
        grouped = f"sum by (service, class, operation) ({each})"
        for (service, of_class, operation), value in prometheus.by(
            grouped, at, "service", "class", "operation"
        ).items():
            rates[name, of_class, operation] += value
            services.add(service)
    # If agents disagree about a measured cost, the newest date wins.
    of_costs = f"group by ({', '.join(CATALOGUE[COST_MODEL].labels)}) ({COST_MODEL})"  # of thousands of agents, once
    known = sorted(
        (override_of(labels) for labels, _ in prometheus.at(of_costs, at)), key=lambda override: override.date
    )
    overrides = CostOverrides(tuple({override.operation: override for override in known}.values()))
    return traffic_of(services.pop() if len(services) == 1 else "", rates, overrides)


@_of_this_version()
def client_sizes(prometheus: Prometheus, place: NetworkAddress, at: float) -> dict[str, tuple[SizeShare, ...]]:
    """Return the size classes in use by operation, as far as clients are in exact mode.

    A server has either the buckets of the agents as series, or a native histogram that it made of them at the scrape.

    Raises:
        SourceError: as `client_traffic`.
    """
    each = client_rate(f"{_SIZES}_bucket", at_place(place), "operation", "le")
    counts: dict[str, dict[float, float]] = defaultdict(dict)
    for labels, value in prometheus.at(f"sum by (operation, le) ({each})", at):
        counts[labels.get("operation", "")][float(labels["le"])] = value
    copies = f"avg by (network, instance, address, operation) (rate({_SIZES}{at_place(place)}[5m]))"
    for labels, at_most in prometheus.histograms_at(f"sum by (operation) ({copies})", at):
        counts.setdefault(labels.get("operation", ""), at_most)
    return {operation: size_shares(at_most) for operation, at_most in sorted(counts.items()) if any(at_most.values())}


_SIZES: Final = "fss_client_io_size_bytes"
_SERVICE_RATES: Final = (
    "fss_service_read_operations_per_second",
    "fss_service_write_operations_per_second",
    "fss_service_read_bytes_per_second",
    "fss_service_write_bytes_per_second",
)


def _polled_resources(prometheus: Prometheus, service: str, ceilings: Limits, wanted: str | None) -> dict[str, Load]:
    """Return the busiest five minutes of file systems and volumes of a poller, by the name in `wanted`, else by name or OCID.

    A renamed resource is one, and has its present name.
    """
    own = _published_limits(prometheus, service) if ceilings == Limits() else {}
    of = selector("service", service)
    queries = {name: f"max by (resource_id, resource) (avg_over_time({name}{of}[5m]))" for name in _SERVICE_RATES}
    by_resource = prometheus.figures(queries, _resource, needed=_SERVICE_RATES)
    histories: dict[str, dict[float, Traffic]] = defaultdict(dict)
    names: dict[str, list[str]] = defaultdict(list)
    # The present name comes last: the name with the newest moment.
    for (ocid, name), figures in sorted(by_resource.items(), key=lambda entry: max(entry[1])):
        histories[ocid] |= {moment: _service_traffic(rates) for moment, rates in figures.items()}
        names[ocid].append(name)
    loads = {}
    for ocid, history in histories.items():
        if wanted in {None, ocid, *names[ocid]}:
            at = busiest_moment(history, own.get(ocid, ceilings))
            name = wanted or names[ocid][-1] or ocid
            loads[ocid if name in loads else name] = Load(ended(at), history[at], remark=MEASURED_BY_OCI)
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
    reads, writes, read_bytes, written_bytes = (figures[name] for name in _SERVICE_RATES)
    operations = {name: OperationTraffic(rate, Bounds.exact(rate)) for name, rate in ((READ, reads), (WRITE, writes))}
    return Traffic(operations, read_bytes, written_bytes)
