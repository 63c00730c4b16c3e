# SPDX-License-Identifier: Apache-2.0
"""Read the metrics of an agent back: counters and histograms of a scrape, and the traffic between two scrapes."""

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from operator import itemgetter
from typing import Final

from fss_exporter.model.client_load import ClientLoad, near_ceilings, with_near
from fss_exporter.model.cost_overrides import NO_OVERRIDES, CostOverride, CostOverrides
from fss_exporter.model.estimate import Bounds
from fss_exporter.model.histograms import CallsByEdge, in_classes
from fss_exporter.model.operations import READ, READ_CLASS, WRITE, WRITE_CLASS
from fss_exporter.model.service_table import SERVICES, SeriesKey
from fss_exporter.model.state import StateNow
from fss_exporter.model.traffic import OperationTraffic, Traffic, together
from fss_exporter.samples import Samples
from fss_exporter.served_ceilings import ServedCeilings, served_ceilings
from fss_exporter.served_states import states_of_addresses

_OPERATIONS: Final = "fss_client_operations_total"
_REQUESTS: Final = "fss_client_requests_total"

# Counters of the requests of a mount, by operation and by class. The first is off with --nfs.operations=none.
REQUESTS_BY: Final = (_OPERATIONS, _REQUESTS)

_POINT: Final = "fss_client_estimated_io_operations_total"
_LOWER: Final = "fss_client_estimated_io_operations_lower_bound_total"
_UPPER: Final = "fss_client_estimated_io_operations_upper_bound_total"
_FIGURES: Final[Mapping[str, str]] = {
    "fss_client_retransmissions_total": "retransmissions",
    "fss_client_timeouts_total": "timeouts",
    "fss_client_errors_total": "errors",
    "fss_client_queue_seconds_total": "queue_seconds",
    "fss_client_rtt_seconds_total": "rtt_seconds",
    "fss_client_execute_seconds_total": "execute_seconds",
}
_READ_BYTES: Final = "fss_client_read_bytes_total"
_WRITTEN_BYTES: Final = "fss_client_written_bytes_total"
_MOUNT: Final = itemgetter(*SeriesKey._fields)
_LOCKS: Final = "fss_client_estimated_lock_io_operations_total"
_SIZES: Final = "fss_client_io_size_bytes"

# Every counter of a mount that describes a workload.
COUNTERS: Final = frozenset(
    (_OPERATIONS, _REQUESTS, _POINT, _LOWER, _UPPER, *_FIGURES, _READ_BYTES, _WRITTEN_BYTES, _LOCKS)
)

COST_MODEL: Final = "fss_cost_model_info"

# Metric, class and operation; the last two are empty where the metric has no such label.
_Counter = tuple[str, str, str]
Rates = Mapping[_Counter, float]  # rates of one mount or of several, per second, by metric, class and operation


@dataclass(frozen=True, slots=True)
class Scraped:
    """The counters and mount points of one scrape of an agent."""

    # by mount, then by metric, class and operation
    counters: Mapping[SeriesKey, Mapping[_Counter, float]] = field(default_factory=dict)
    mount_points: Mapping[SeriesKey, tuple[str, ...]] = field(default_factory=dict)  # by mount
    overrides: CostOverrides = NO_OVERRIDES  # measured costs that the agent counts by
    # requests of all classes up to an edge in seconds, by address and edge
    durations: Mapping[str, Mapping[float, float]] = field(default_factory=dict)
    # READs or WRITEs up to an edge in bytes, by address and operation, and by edge
    sizes: Mapping[tuple[str, ...], Mapping[float, float]] = field(default_factory=dict)
    # seconds with estimated sizes of READs and WRITEs, of all mounts. Not a number if exact mode is off
    estimated_seconds: float = math.nan
    # Unix time of the agent's last reading of mountstats. 0 if the scrape does not have the time
    ticked_at: float = 0.0
    is_read: bool = True  # whether the agent can read the counters. Those of before stay while it cannot
    network_bytes_per_second: float | None = None  # bandwidth of the agent's host. None if the agent does not know it
    ceilings: Mapping[str, ServedCeilings] = field(default_factory=dict)  # ceilings on the page, by address
    states: Mapping[str, StateNow] = field(default_factory=dict)  # how each address serves the agent's host
    peak_iops: Mapping[str, float] = field(default_factory=dict)  # IOPS of the busiest second, by address


def scrape_of(samples: Samples) -> Scraped:
    """Return the client metrics among some samples.

    Raises:
        KeyError: a label is missing.
        ValueError: a counter or the edge of a bucket is not a number, or negative.
    """
    mount_points: dict[SeriesKey, list[str]] = defaultdict(list)
    for labels, _ in samples.all("fss_client_mount_info"):
        mount_points[_mount(labels)].append(labels["mount_point"])
    durations = _histograms(samples, "fss_client_request_duration_seconds", "address")
    modes = samples.by("fss_client_cost_seconds_total", "mode")
    return Scraped(
        counters=_counters(samples),
        mount_points={mount: tuple(points) for mount, points in mount_points.items()},
        overrides=CostOverrides(tuple(override_of(labels) for labels, _ in samples.all(COST_MODEL))),
        durations={address: at_most for (address,), at_most in durations.items()},
        sizes=_histograms(samples, _SIZES, "address", "operation"),
        estimated_seconds=modes.get(("estimated",), 0.0) if modes else math.nan,
        ticked_at=samples.by("fss_collector_last_success_timestamp_seconds", "collector").get(("nfs",), 0.0),
        # An agent that reads its own mounts in place of the host's fails too, and has their mount points.
        is_read=bool(mount_points) or samples.by("fss_collector_success", "collector").get(("nfs",)) != 0,
        network_bytes_per_second=samples.by("fss_client_network_bytes_per_second_limit").get(()),
        ceilings=served_ceilings(samples),
        states=states_of_addresses(samples),
        peak_iops={
            address: peak for (address,), peak in samples.by("fss_client_peak_estimated_iops", "address").items()
        },
    )


def _counters(samples: Samples) -> Mapping[SeriesKey, Mapping[_Counter, float]]:
    counters: dict[SeriesKey, dict[_Counter, float]] = defaultdict(dict)
    for name in sorted(COUNTERS):
        for labels, value in samples.all(name):
            of_class = "" if name in (_READ_BYTES, _WRITTEN_BYTES, _LOCKS) else labels["class"]
            counter = _counter(name, of_class, labels.get("operation", ""))
            counters[_mount(labels)][counter] = _amount(name, value)
    return counters


def _histograms(samples: Samples, name: str, *labels: str) -> Mapping[tuple[str, ...], Mapping[float, float]]:
    """Return the cumulative histograms of a metric: what is counted up to an edge, by these labels, and by the edge."""
    histograms: dict[tuple[str, ...], dict[float, float]] = defaultdict(dict)
    for (*key, edge), count in samples.by(f"{name}_bucket", *labels, "le").items():
        if not float(edge) > 0:
            raise ValueError(f"{name} has a bucket up to {edge}")
        histograms[tuple(key)][float(edge)] = _amount(name, count)
    return histograms


def _amount(name: str, value: float) -> float:
    """Return the value of a counter, or raise ValueError for a damaged one."""
    if not 0 <= value < math.inf:
        raise ValueError(f"{name} is {value}")
    return value


@lru_cache(maxsize=1000)
def _counter(name: str, of_class: str, operation: str) -> _Counter:
    """Return one key for the counters of all mounts, because thousands of equal keys take several times the memory."""
    return name, of_class, operation


def _mount(labels: Mapping[str, str]) -> SeriesKey:
    return SeriesKey(*_MOUNT(labels))


def durations_between(before: Scraped, after: Scraped) -> dict[str, CallsByEdge]:
    """Return the requests between two scrapes by address and class. An address without an earlier scrape began at zero."""
    durations = {}
    for address, edges in after.durations.items():
        began = before.durations.get(address, {})
        durations[address] = in_classes({edge: count - began.get(edge, 0.0) for edge, count in edges.items()})
    return durations


def rates_between(before: Scraped, after: Scraped, seconds: float) -> dict[SeriesKey, Rates]:
    """Return the growth of each mount's counters per second between two scrapes.

    A mount without an earlier scrape began at zero. A counter that went back counts as unchanged.
    """
    rates: dict[SeriesKey, Rates] = {}
    for key, counters in after.counters.items():
        old = before.counters.get(key, {})
        rates[key] = {counter: max(0.0, value - old.get(counter, 0.0)) / seconds for counter, value in counters.items()}
    return rates


def override_of(labels: Mapping[str, str]) -> CostOverride:
    """Return an override from the labels of its info series. Prometheus leaves out a label with an empty value.

    Raises:
        KeyError: there is no operation.
        ValueError: a cost is not a number.
    """
    fixed, factor, date, source = (labels.get(name, "") for name in ("io_operations", "factor", "date", "source"))
    return CostOverride(labels["operation"], float(fixed) if fixed else None, float(factor or 1), date, source)


def traffic_of(service: str, rates: Rates, overrides: CostOverrides = NO_OVERRIDES) -> Traffic:
    """Return traffic from rates by metric, class and operation. Class and operation are empty for a metric without the
    label. `overrides` are the measured costs that the agent counts by.
    """
    counted = {
        (of_class, operation): rate for (name, of_class, operation), rate in rates.items() if name == _OPERATIONS
    }
    if not counted:  # with --nfs.operations=none the class stands for its operations
        counted = {(of_class, ""): rate for (name, of_class, _), rate in rates.items() if name == _REQUESTS}
    by_class: dict[str, float] = defaultdict(float)
    for (of_class, _), rate in counted.items():
        by_class[of_class] += rate
    classes = {of_class: _class_traffic(of_class, operations, rates) for of_class, operations in by_class.items()}
    operations = {}
    for (of_class, operation), rate in counted.items():
        name = operation or {READ_CLASS: READ, WRITE_CLASS: WRITE}.get(of_class, of_class)
        operations[name] = _operation_traffic(service, name, rate, classes[of_class], overrides)
    return Traffic(
        operations=operations,
        read_bytes=rates.get((_READ_BYTES, "", ""), 0.0),
        written_bytes=rates.get((_WRITTEN_BYTES, "", ""), 0.0),
        lock_iops=rates.get((_LOCKS, "", "")),
        classes=classes,
    )


def states_with_load(scrape: Scraped, traffic: Mapping[SeriesKey, Traffic]) -> dict[str, StateNow]:
    """Return the state of each address: that of the agent, or near where its traffic brings a ceiling on the page near."""
    loads: dict[str, list[Traffic]] = defaultdict(list)
    for mount, own in traffic.items():
        loads[mount.address].append(own)
    states = dict(scrape.states)
    for address in states.keys() & scrape.ceilings.keys():
        load = ClientLoad.of(together(loads[address]), scrape.peak_iops.get(address))
        served = scrape.ceilings[address]
        states[address] = with_near(states[address], near_ceilings(load, served.limits, served.warning_ratio))
    return states


def _class_traffic(of_class: str, operations: float, rates: Rates) -> OperationTraffic:
    figures = {figure: rates.get((name, of_class, "")) for name, figure in _FIGURES.items()}
    iops = _class_cost(of_class, rates) if (_POINT, of_class, "") in rates else None
    return OperationTraffic(operations, iops, **figures)


def _class_cost(of_class: str, rates: Rates) -> Bounds:
    """Return the I/O operations of a class. Only READs and WRITEs have bounds, the cost of the rest is exact."""
    point = rates[_POINT, of_class, ""]
    return Bounds(rates.get((_LOWER, of_class, ""), point), point, rates.get((_UPPER, of_class, ""), point))


def cost_of(rates: Rates) -> Bounds:
    """Return the I/O operations of all classes together, 0 if no cost is known."""
    return Bounds.total(_class_cost(of_class, rates) for name, of_class, _ in rates if name == _POINT)


def _operation_traffic(
    service: str, name: str, rate: float, of_class: OperationTraffic, overrides: CostOverrides
) -> OperationTraffic:
    """Return the traffic of one operation. READ and WRITE are their whole class. Metadata has number and cost only."""
    if name in (READ, WRITE) or name not in overrides.weights:
        return replace(of_class, operations=rate) if rate == of_class.operations else OperationTraffic(rate)
    named = SERVICES.get(service)
    if of_class.iops is None or named is None or named.cost != "weighted":
        return OperationTraffic(rate)
    return OperationTraffic(rate, Bounds.exact(rate * overrides.weights[name]))
