"""Metrics of an agent read back: counters, and durations of requests, and the traffic between two scrapes."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from fss_exporter.catalogue import CATALOGUE
from fss_exporter.errors import SourceError
from fss_exporter.model.cost_overrides import NO_OVERRIDES, CostOverride, CostOverrides
from fss_exporter.model.estimate import Bounds
from fss_exporter.model.histograms import CallsByEdge, in_classes
from fss_exporter.model.operations import READ, READ_CLASS, WRITE, WRITE_CLASS
from fss_exporter.model.service_table import SERVICES
from fss_exporter.model.traffic import OperationTraffic, Traffic
from fss_exporter.nfs.superblocks import SeriesKey

_COST_SECONDS = "fss_client_cost_seconds_total"


_DURATION_BUCKET = "fss_client_request_duration_seconds_bucket"


class ScrapedDurations:
    """Histograms of one scrape, of all classes of operations together.

    Attributes:
        at_most: requests up to an edge in seconds, by address and edge.
    """

    def __init__(self) -> None:
        self.at_most: dict[str, Counter[float]] = defaultdict(Counter)

    def take(self, sample: Sample) -> None:
        """Take a sample of any metric.

        Raises:
            KeyError: a bucket lacks a label.
            ValueError: an edge is not a number.
        """
        if sample.name == _DURATION_BUCKET:
            edges = self.at_most[sample.labels["address"]]
            edges[float(sample.labels["le"])] += sample.value  # type: ignore[assignment]  # a float counts as well

    def since(self, before: "ScrapedDurations") -> dict[str, CallsByEdge]:
        """Return the requests since an earlier scrape by address and class; without addresses that one scrape lacks."""
        return {
            address: in_classes(_grown(before.at_most[address], edges))
            for address, edges in self.at_most.items()
            if address in before.at_most
        }


def _grown(before: Mapping[float, float], after: Mapping[float, float]) -> Mapping[float, float]:
    return {edge: count - before.get(edge, 0.0) for edge, count in after.items()}


RESTARTED = "the exporter was restarted between two scrapes: its counters went back"

_OPERATIONS: Final = "fss_client_operations_total"
_REQUESTS: Final = "fss_client_requests_total"
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
_MOUNT: Final = CATALOGUE[_READ_BYTES].labels  # label names of a mount
_LOCKS: Final = "fss_client_estimated_lock_io_operations_total"
COUNTERS: Final = frozenset(
    (_OPERATIONS, _REQUESTS, _POINT, _LOWER, _UPPER, *_FIGURES, _READ_BYTES, _WRITTEN_BYTES, _LOCKS)
)
"""Every counter of a mount that describes a workload."""
_INFO: Final = "fss_client_mount_info"
COST_MODEL: Final = "fss_cost_model_info"
_NETWORK: Final = "fss_client_network_bytes_per_second_limit"

_Counter = tuple[str, str, str]
# Metric, class and operation; the last two are empty where the metric has no such label.


@dataclass(frozen=True, slots=True)
class Scraped:
    """One scrape."""

    counters: Mapping[SeriesKey, Mapping[_Counter, float]]  # by mount, then by metric, class and operation
    mount_points: Mapping[SeriesKey, tuple[str, ...]]  # by mount
    estimated_seconds: float  # seconds with estimated sizes of READs and WRITEs. Not a number if exact mode is off
    overrides: CostOverrides = NO_OVERRIDES  # measured costs that the agent counts by
    durations: ScrapedDurations = field(default_factory=ScrapedDurations)  # histograms of requests
    network_bytes_per_second: float | None = None  # bandwidth of the agent's host. None if the agent does not know it


def read_scrape(source: str, text: str) -> Scraped:
    """Read the client metrics in the text of a scrape.

    Args:
        source: URL or file, for messages.
        text: Prometheus text format.

    Raises:
        SourceError: the text has another format, or contains no client metrics.
    """
    counters: dict[SeriesKey, dict[_Counter, float]] = defaultdict(dict)
    points: dict[SeriesKey, tuple[str, ...]] = {}
    names = set()
    estimated: list[float] = []
    durations = ScrapedDurations()
    overrides = []
    network = None
    try:
        for family in text_string_to_metric_families(text):
            names.add(family.name)
            for sample in family.samples:
                _take(sample, counters, points)
                durations.take(sample)
                if sample.name == _COST_SECONDS and sample.labels["mode"] == "estimated":
                    estimated.append(sample.value)
                if sample.name == COST_MODEL:
                    overrides.append(override_of(sample.labels))
                if sample.name == _NETWORK:
                    network = sample.value
    except (ValueError, KeyError, OverflowError) as error:
        raise SourceError(f"{source}: not the metrics of an exporter of this version: {error}") from error
    if not any(name.startswith("fss_client_") for name in names):
        raise SourceError(f"{source}: no fss_client_ metrics. Give the URL of an agent, with its path")
    seconds = sum(estimated) if estimated else math.nan
    return Scraped(dict(counters), points, seconds, CostOverrides(tuple(overrides)), durations, network)


def _take(
    sample: Sample, counters: dict[SeriesKey, dict[_Counter, float]], points: dict[SeriesKey, tuple[str, ...]]
) -> None:
    if sample.name not in COUNTERS and sample.name != _INFO:
        return
    labels = sample.labels
    key = SeriesKey(*(labels[name] for name in _MOUNT))
    if sample.name == _INFO:
        points[key] = (*points.get(key, ()), labels["mount_point"])
        return
    if not math.isfinite(sample.value):
        raise ValueError(f"{sample.name} is {sample.value}")
    needs_class = sample.name not in (_READ_BYTES, _WRITTEN_BYTES, _LOCKS)
    place = labels["class"] if needs_class else ""
    counters[key][sample.name, place, labels.get("operation", "")] = sample.value


def went_back(before: Scraped, after: Scraped) -> bool:
    """Whether a counter of a mount in both scrapes started at zero again."""
    return any(
        value < old.get(counter, 0.0)
        for key, old in before.counters.items()
        for counter, value in after.counters.get(key, {}).items()
        if counter[0] in (_OPERATIONS, _REQUESTS)
    )


def traffic_between(before: Scraped, after: Scraped, seconds: float) -> dict[SeriesKey, Traffic]:
    """Return the traffic of each mount between two scrapes. A mount without an earlier scrape began at zero."""
    found = {}
    for key, counters in after.counters.items():
        old = before.counters.get(key, {})
        rates = {counter: (value - old.get(counter, 0.0)) / seconds for counter, value in counters.items()}
        found[key] = traffic_of(key.service, rates, after.overrides)
    return found


def override_of(labels: Mapping[str, str]) -> CostOverride:
    """Return an override from the labels of its info series. Prometheus leaves out a label with an empty value.

    Raises:
        KeyError: there is no operation.
        ValueError: a cost is not a number.
    """
    fixed, factor, date, source = (labels.get(name, "") for name in ("io_operations", "factor", "date", "source"))
    return CostOverride(labels["operation"], float(fixed) if fixed else None, float(factor or 1), date, source)


def traffic_of(service: str, rates: Mapping[_Counter, float], overrides: CostOverrides = NO_OVERRIDES) -> Traffic:
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


def _class_traffic(of_class: str, operations: float, rates: Mapping[_Counter, float]) -> OperationTraffic:
    point = rates.get((_POINT, of_class, ""))
    iops = None
    if point is not None:
        iops = Bounds(rates.get((_LOWER, of_class, ""), point), point, rates.get((_UPPER, of_class, ""), point))
    figures = {figure: rates.get((name, of_class, "")) for name, figure in _FIGURES.items()}
    return OperationTraffic(operations, iops, **figures)


def _operation_traffic(
    service: str, name: str, rate: float, of_class: OperationTraffic, overrides: CostOverrides
) -> OperationTraffic:
    """Return the traffic of one operation. READ and WRITE are their whole class. Metadata has number and cost only."""
    if name in (READ, WRITE) or name not in overrides.weights:
        return replace(of_class, operations=rate) if rate == of_class.operations else OperationTraffic(rate)
    known = SERVICES.get(service)
    if of_class.iops is None or known is None or known.cost != "weighted":
        return OperationTraffic(rate)
    return OperationTraffic(rate, Bounds.exact(rate * overrides.weights[name]))
