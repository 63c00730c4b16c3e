"""Another exporter's metrics read back into the totals they came from."""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from fss_exporter.catalogue.client import MOUNT
from fss_exporter.errors import SourceError
from fss_exporter.model.estimate import NOTHING, Bounds
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.nfs.superblocks import SeriesKey
from fss_exporter.nfs.totals import MountTotals, OperationTotals
from fss_exporter.nfs.traffic import Totals

RESTARTED = "the exporter was restarted between two scrapes: its counters went back"


@dataclass(frozen=True, slots=True)
class Scraped:
    """One scrape.

    Attributes:
        totals: by mount.
        mount_points: by mount.
        estimated_seconds: how long READs and WRITEs were not counted by size; not a number where nobody counts.
    """

    totals: Totals
    mount_points: Mapping[SeriesKey, tuple[str, ...]]
    estimated_seconds: float


def _set_cost(totals: OperationTotals, value: float) -> None:
    totals.estimated = Bounds(value, value, value)


def _set_bound(part: str) -> Callable[[OperationTotals, float], None]:
    def put(totals: OperationTotals, value: float) -> None:
        totals.estimated = (totals.estimated or NOTHING)._replace(**{part: value})

    return put


def _set(name: str, factor: int = 1) -> Callable[[OperationTotals | MountTotals, float], None]:
    return lambda totals, value: setattr(totals, name, round(value * factor))


_BY_OPERATION: Mapping[str, Callable[[OperationTotals, float], None]] = {
    "fss_client_operations_total": _set("operations"),
    "fss_client_estimated_io_operations_total": _set_cost,
    "fss_client_retransmissions_total": _set("retransmissions"),
    "fss_client_timeouts_total": _set("timeouts"),
    "fss_client_errors_total": _set("errors"),
    "fss_client_queue_seconds_total": _set("queue_ms", 1000),
    "fss_client_rtt_seconds_total": _set("rtt_ms", 1000),
    "fss_client_execute_seconds_total": _set("execute_ms", 1000),
}
_BY_MOUNT: Mapping[str, Callable[[MountTotals, float], None]] = {
    "fss_client_read_bytes_total": _set("read_bytes"),
    "fss_client_written_bytes_total": _set("written_bytes"),
    "fss_client_sent_bytes_total": _set("sent_bytes"),
    "fss_client_received_bytes_total": _set("received_bytes"),
    "fss_client_estimated_lock_io_operations_total": _set("lock_io_operations"),
}
_BOUNDS: Mapping[str, Callable[[OperationTotals, float], None]] = {
    "fss_client_estimated_io_operations_lower_bound_total": _set_bound("lower"),
    "fss_client_estimated_io_operations_upper_bound_total": _set_bound("upper"),
}
# Exported after the cost itself; those of READ and WRITE only, since all others cost exactly what the estimate says.

_INFO = "fss_client_mount_info"
_SECONDS = "fss_client_cost_seconds_total"


def read_totals(source: str, text: str) -> Scraped:
    """Totals by mount from the text of a scrape.

    Args:
        source: the URL, for messages.
        text: Prometheus text format.

    Raises:
        SourceError: not that format, or no client metrics in it.
    """
    totals: dict[SeriesKey, MountTotals] = defaultdict(MountTotals)
    points: dict[SeriesKey, tuple[str, ...]] = {}
    names = set()
    estimated: list[float] = []
    try:
        for family in text_string_to_metric_families(text):
            names.add(family.name)
            for sample in family.samples:
                _take(sample, totals, points)
                if sample.name == _SECONDS and sample.labels["mode"] == "estimated":
                    estimated.append(sample.value)
    except (ValueError, KeyError, OverflowError) as error:
        raise SourceError(f"{source}: not the metrics of an exporter: {error}") from error
    if not any(name.startswith("fss_client_") for name in names):
        raise SourceError(f"{source}: no fss_client_ metrics; is it the exporter of an NFS client, its path included?")
    return Scraped(dict(totals), points, sum(estimated) if estimated else math.nan)


def _take(sample: Sample, totals: dict[SeriesKey, MountTotals], points: dict[SeriesKey, tuple[str, ...]]) -> None:
    if not any(sample.name in known for known in (_BY_OPERATION, _BY_MOUNT, _BOUNDS, (_INFO,))):
        return
    labels = sample.labels
    key = SeriesKey(*(labels[name] for name in MOUNT))
    if sample.name == _INFO:
        points[key] = (*points.get(key, ()), labels["mount_point"])
    elif sample.name in _BOUNDS:
        if labels["operation"] in (READ, WRITE):
            _BOUNDS[sample.name](totals[key].operations[labels["operation"]], sample.value)
    elif sample.name in _BY_MOUNT:
        _BY_MOUNT[sample.name](totals[key], sample.value)
    else:
        _BY_OPERATION[sample.name](totals[key].operations[labels["operation"]], sample.value)


def went_back(old: Totals, new: Totals) -> bool:
    """Whether the counters of the exporter began anew between two scrapes."""
    for key, before in old.items():
        after = new.get(key)
        if after is None:
            return True
        for name, counters in before.operations.items():
            if name not in after.operations or after.operations[name].operations < counters.operations:
                return True
    return False
