# SPDX-License-Identifier: Apache-2.0
"""The busiest five minutes of a week, from a Prometheus: of the clients of an address, or of another storage service."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, NamedTuple, TypeVar

from fss_exporter.addresses import NetworkAddress, names_of
from fss_exporter.catalogue import CATALOGUE
from fss_exporter.client_scrape import COST_MODEL, COUNTERS, override_of, traffic_of
from fss_exporter.errors import SourceError
from fss_exporter.model.cost_overrides import CostOverrides
from fss_exporter.model.estimate import Bounds
from fss_exporter.model.limits import Limits
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.model.traffic import OperationTraffic, Traffic
from fss_toolbox.plan.load import Load, SizeShare, ended, fullness, size_shares
from fss_toolbox.plan.prometheus_api import (
    Fullness,
    Peak,
    Prometheus,
    at_place,
    client_rate,
    mean,
    place_in,
    selector,
    texts,
)
from fss_toolbox.plan.recorded_mount_targets import named_services

_Subject = TypeVar("_Subject")

CLIENTS_ALONE: Final = (
    "at least: the load of the scraped clients alone. Which part of the load these clients are is not known"
)
MEASURED_BY_OCI: Final = "reads and writes of all clients as OCI measured them"


def of_service(prometheus: Prometheus, service: str, ceilings: Limits, wanted: str | None) -> dict[str, Load]:
    """Return loads of file systems and volumes by name, from a poller, else loads of clients by address. In order of the names.

    Without ceilings, the limits that OCI publishes decide which moment is the busiest. `wanted` is a name, OCID or address.

    Raises:
        SourceError: Prometheus does not answer, or has no series of the service.
    """
    loads = _polled_resources(prometheus, service, ceilings, wanted)
    if not loads:
        named = {place for place, services in named_services(prometheus).items() if service in services}
        peaks = client_peaks(prometheus, wanted, lambda _: ceilings)
        names = names_of(peaks)
        # Where no client names the service, all places count, as if they moved there.
        own = {place: peak.moment for place, peak in peaks.items() if not named or place in named}
        loads = {names[place]: load for place, load in of_clients(prometheus, own).items()}
    if not loads:
        of = f" called {wanted}" if wanted else ""
        raise SourceError(
            f"Prometheus has nothing of {service}{of} of the last week. Is a poller or are clients scraped?"
        )
    return dict(sorted(loads.items()))


# Counters of the amount of a load and of its time. A load says nothing of faults.
_COUNTERS: Final = sorted(
    COUNTERS - {f"fss_client_{name}_total" for name in ("retransmissions", "timeouts", "errors", "queue_seconds")}
)

_CLIENT_COST: Final = "fss_client_estimated_io_operations_total"
_CLIENT_READ: Final = "fss_client_read_bytes_total"
_CLIENT_WRITTEN: Final = "fss_client_written_bytes_total"


class ClientsMoment(NamedTuple):
    """The clients of a mount target in five minutes."""

    place: NetworkAddress
    moment: float  # end, epoch seconds


def client_peaks(
    prometheus: Prometheus, address: str | None, limits_of: Callable[[NetworkAddress], Limits]
) -> dict[NetworkAddress, Peak]:
    """Return the busiest five minutes of the clients of each place, or of those with an address.

    Raises:
        SourceError: Prometheus does not answer.
    """
    of = selector("address", address)
    queries = {
        name: f"sum by (network, address) ({client_rate(name, of, 'class')})"
        for name in (_CLIENT_COST, _CLIENT_READ, _CLIENT_WRITTEN)
    }

    def full(place: NetworkAddress, figures: Mapping[str, float]) -> Fullness:
        cost, read, written = (figures.get(name, 0.0) for name in queries)
        return fullness(cost, read, written, limits_of(place))

    peaks = prometheus.busiest(queries, place_in, full)
    return {place: peak for place, peak in peaks.items() if place.address}


def of_clients(prometheus: Prometheus, moments: Mapping[NetworkAddress, float]) -> dict[NetworkAddress, Load]:
    """Return the load of the clients of each place at a moment. The load of the mount target is at least as high.

    Raises:
        SourceError: Prometheus does not answer, or has metrics of another version.
    """
    subjects = [ClientsMoment(place, moment) for place, moment in moments.items()]
    traffic, sizes = client_traffic(prometheus, subjects), client_sizes(prometheus, subjects)
    return {
        subject.place: Load(
            ended(subject.moment),
            traffic[subject],
            sizes[subject],
            remark=CLIENTS_ALONE,
            place=subject.place,
            moment=subject.moment,
        )
        for subject in subjects
    }


@contextmanager
def _of_this_version() -> Iterator[None]:
    """Raise SourceError for series that an agent of this version does not have."""
    try:
        yield
    except (ValueError, KeyError) as error:
        raise SourceError(f"Prometheus has not the metrics of an agent of this version: {error}") from error


@_of_this_version()
def client_traffic(prometheus: Prometheus, subjects: Collection[ClientsMoment]) -> dict[ClientsMoment, Traffic]:
    """Return the traffic of the clients of mount targets, by class and operation.

    Raises:
        SourceError: Prometheus does not answer, or its metrics are not those of an agent of this version.
    """
    overrides = _overrides(prometheus, {subject.moment for subject in subjects})
    selected = {subject: (at_place(subject.place), subject.moment) for subject in subjects}
    traffic = {}
    for subject, by_service in counter_rates(prometheus, selected, "service").items():
        rates: dict[tuple[str, str, str], float] = defaultdict(float)
        for of_service in by_service.values():
            for counter, rate in of_service.items():
                rates[counter] += rate
        services = [service for (service,) in by_service]
        traffic[subject] = traffic_of(services[0] if len(services) == 1 else "", rates, overrides[subject.moment])
    return traffic


def counter_rates(
    prometheus: Prometheus, selected: Mapping[_Subject, tuple[str, float]], *names: str
) -> dict[_Subject, dict[tuple[str, ...], dict[tuple[str, str, str], float]]]:
    """Return the rates of the client counters of a load by these labels, as `traffic_of` takes them.

    `selected` has the selector of the series and the end of five minutes, epoch seconds, of each subject.

    Raises:
        SourceError: Prometheus does not answer.
    """
    by = ", ".join((*names, "class", "operation"))
    queries = {
        (subject, counter): f"sum by ({by}) ({client_rate(counter, of, 'class', 'operation', at=moment)})"
        for subject, (of, moment) in selected.items()
        for counter in _COUNTERS
    }
    rates: dict[_Subject, dict[tuple[str, ...], dict[tuple[str, str, str], float]]] = {
        subject: defaultdict(dict) for subject in selected
    }
    for (subject, counter), samples in prometheus.together(queries).items():
        for labels, value in samples:
            of_class, operation = texts(labels, "class", "operation")
            rates[subject][texts(labels, *names)][counter, of_class, operation] = value
    return rates


def _overrides(prometheus: Prometheus, moments: Collection[float]) -> dict[float, CostOverrides]:
    """Return the measured costs that the agents counted by at each moment. Where agents disagree, the newest date wins."""
    of_thousands_of_agents_once = f"group by ({', '.join(CATALOGUE[COST_MODEL].labels)}) ({COST_MODEL}"
    answers = prometheus.together({moment: f"{of_thousands_of_agents_once} @ {moment})" for moment in moments})
    overrides = {}
    for moment, samples in answers.items():
        by_date = sorted((override_of(labels) for labels, _ in samples), key=lambda override: override.date)
        overrides[moment] = CostOverrides(tuple({override.operation: override for override in by_date}.values()))
    return overrides


@_of_this_version()
def client_sizes(
    prometheus: Prometheus, subjects: Collection[ClientsMoment]
) -> dict[ClientsMoment, dict[str, tuple[SizeShare, ...]]]:
    """Return the size classes in use by operation, as far as clients are in exact mode.

    A server has either the buckets of the agents as series, or a native histogram that it made of them at the scrape.

    Raises:
        SourceError: as `client_traffic`.
    """
    buckets, native = {}, {}
    for subject in subjects:
        of = at_place(subject.place)
        each = client_rate(f"{_SIZES}_bucket", of, "operation", "le", at=subject.moment)
        buckets[subject] = f"sum by (operation, le) ({each})"
        copies = f"avg by (network, instance, address, operation) (rate({_SIZES}{of}[5m] @ {subject.moment}))"
        native[subject] = f"sum by (operation) ({copies})"
    counts: dict[ClientsMoment, dict[str, dict[float, float]]] = {subject: defaultdict(dict) for subject in subjects}
    for subject, samples in prometheus.together(buckets).items():
        for labels, value in samples:
            counts[subject][labels.get("operation", "")][float(labels["le"])] = value
    for subject, histograms in prometheus.histograms_together(native).items():
        for labels, at_most in histograms:
            counts[subject].setdefault(labels.get("operation", ""), at_most)
    return {subject: _shares(by_operation) for subject, by_operation in counts.items()}


def _shares(counts: Mapping[str, Mapping[float, float]]) -> dict[str, tuple[SizeShare, ...]]:
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
    queries = {name: f"max by (resource_id, resource) ({mean(name, of)})" for name in _SERVICE_RATES}

    def full(resource: tuple[str, str], figures: Mapping[str, float]) -> Fullness:
        reads, writes, read_bytes, written_bytes = (figures[name] for name in _SERVICE_RATES)
        return fullness(reads + writes, read_bytes, written_bytes, own.get(resource[0], ceilings))

    peaks = prometheus.busiest(queries, _resource, full, needed=_SERVICE_RATES)
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
    reads, writes, read_bytes, written_bytes = (figures[name] for name in _SERVICE_RATES)
    operations = {name: OperationTraffic(rate, Bounds.exact(rate)) for name, rate in ((READ, reads), (WRITE, writes))}
    return Traffic(operations, read_bytes, written_bytes)
