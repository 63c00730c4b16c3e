"""The busiest five minutes of a week, from a Prometheus that scrapes the clients."""

import json
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from fss_exporter.cli.plan_report import Load, SizeClass
from fss_exporter.errors import SourceError
from fss_exporter.model.estimate import Bounds
from fss_exporter.model.limits import Limits
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.model.traffic import OperationTraffic, Traffic
from fss_exporter.model.utilisation import fullest, uses

_WEEK_S = 7 * 86400
_STEP_S = 300

Get = Callable[[str], str]

_COST = "fss_client_estimated_io_operations"
_READ = "fss_client_read_bytes_total"
_WRITTEN = "fss_client_written_bytes_total"
_SIZES = "fss_client_io_size_bytes"


def busiest(
    get: Get, limits: Callable[[str], Limits], address: str | None, now: float | None = None
) -> dict[str, Load]:
    """The five minutes of the last week in which each mount target was nearest to a ceiling.

    Args:
        get: the text behind a path and query of the Prometheus API.
        limits: ceilings of the mount target at an address.
        address: only this one; None for all.
        now: end of the week, epoch seconds; None for now.

    Raises:
        SourceError: Prometheus does not answer, or has no client metrics of that week.
    """
    now = time.time() if now is None else now
    loads = {}
    for where, history in _histories(get, address, now).items():
        at = max(history, key=lambda moment: _fullness(history[moment], limits(where)))
        when = datetime.fromtimestamp(at, UTC)
        source = f"busiest 5 minutes of the last week, until {when:%Y-%m-%dT%H:%M:%SZ}"
        loads[where] = Load(source, _load(get, where, at), _sizes(get, where, at))
    if not loads:
        raise SourceError(
            "Prometheus has no fss_client_ metrics of the last week"
            + (f" with address {address}" if address else "")
            + "; are the clients scraped?"
        )
    return loads


def _histories(get: Get, address: str | None, now: float) -> dict[str, dict[float, Traffic]]:
    """Traffic of each five minutes by address and end, as far as ceilings are about it."""
    figures: dict[str, dict[float, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for name in (f"{_COST}_total", _READ, _WRITTEN):
        query = f"sum by (address) (rate({name}{_selector(address)}[5m]))"
        span = {"query": query, "start": now - _WEEK_S, "end": now, "step": _STEP_S}
        for series in _result(get(f"/api/v1/query_range?{urlencode(span)}")):
            for moment, value in series["values"]:
                figures[series["metric"].get("address", "")][float(moment)][name] = _number(value)
    return {
        where: {at: _rough(values) for at, values in moments.items()} for where, moments in figures.items() if where
    }


def _rough(values: dict[str, float]) -> Traffic:
    iops = values.get(f"{_COST}_total", 0.0)
    every = OperationTraffic(0.0, Bounds(iops, iops, iops))
    return Traffic({READ: every}, values.get(_READ, 0.0), values.get(_WRITTEN, 0.0))


def _fullness(traffic: Traffic, limits: Limits) -> tuple[float, float]:
    """Share of the fullest ceiling; the cost decides between equals and where no ceiling is known."""
    first = fullest(uses(traffic, limits))
    return (first.ratio or 0.0) if first else 0.0, traffic.iops.point if traffic.iops else 0.0


def _load(get: Get, address: str, at: float) -> Traffic:
    def by_operation(name: str) -> dict[str, float]:
        query = f"sum by (operation) (rate({name}{_selector(address)}[5m]))"
        answer = _result(get(f"/api/v1/query?{urlencode({'query': query, 'time': at})}"))
        return {series["metric"].get("operation", ""): _number(series["value"][1]) for series in answer}

    def whole(name: str) -> float | None:
        return by_operation(name).get("")

    point, lower, upper = (by_operation(f"{_COST}{part}_total") for part in ("", "_lower_bound", "_upper_bound"))
    execute = by_operation("fss_client_execute_seconds_total")
    rtt = by_operation("fss_client_rtt_seconds_total")
    return Traffic(
        operations={
            name: OperationTraffic(
                operations=rate,
                iops=Bounds(lower.get(name, point[name]), point[name], upper.get(name, point[name]))
                if name in point
                else None,
                rtt_seconds=rtt.get(name, 0.0),
                execute_seconds=execute.get(name, 0.0),
            )
            for name, rate in by_operation("fss_client_operations_total").items()
            if rate or name in {READ, WRITE}
        },
        read_bytes=whole(_READ) or 0.0,
        written_bytes=whole(_WRITTEN) or 0.0,
        lock_iops=whole("fss_client_estimated_lock_io_operations_total"),
    )


def _sizes(get: Get, address: str, at: float) -> dict[str, tuple[SizeClass, ...]]:
    """Classes of sizes that occur, by operation, as far as clients are in exact mode."""
    query = f"sum by (operation, le) (rate({_SIZES}_bucket{_selector(address)}[5m]))"
    counts: dict[str, dict[float, float]] = defaultdict(dict)
    for series in _result(get(f"/api/v1/query?{urlencode({'query': query, 'time': at})}")):
        labels = series["metric"]
        counts[labels.get("operation", "")][float(labels.get("le", "nan"))] = _number(series["value"][1])
    return {
        operation: tuple(_classes(sorted(buckets.items())))
        for operation, buckets in sorted(counts.items())
        if buckets.get(math.inf)
    }


def _classes(buckets: list[tuple[float, float]]) -> Iterator[SizeClass]:
    whole, before = buckets[-1][1], 0.0
    for bound, count in buckets:
        if count > before:
            yield SizeClass(bound, (count - before) / whole)
        before = count


def _selector(address: str | None) -> str:
    return "" if address is None else f"{{address={json.dumps(address, ensure_ascii=False)}}}"


def _result(text: str) -> list[Any]:
    try:
        document = json.loads(text)
        if document["status"] != "success":
            raise SourceError(f"Prometheus refuses the query: {document.get('error', 'no reason given')}")
        result = document["data"]["result"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise SourceError(f"not an answer of the Prometheus API: {text[:80]!r}; is this the right URL?") from error
    if not isinstance(result, list):
        raise SourceError(f"not an answer of the Prometheus API: {text[:80]!r}; is this the right URL?")
    return result


def _number(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else 0.0
