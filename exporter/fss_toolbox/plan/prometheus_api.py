"""Queries to the HTTP API of a Prometheus."""

import json
import math
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import accumulate
from typing import Any, TypeVar
from urllib.parse import urlencode

from fss_exporter.addresses import NetworkAddress
from fss_exporter.errors import SourceError
from fss_toolbox.sizing.growth import DailyPeak

_Key = TypeVar("_Key")
_Content = TypeVar("_Content")

DAY_S = 86400
WEEK_S = 7 * DAY_S
STEP_S = 300


_Series = tuple[Mapping[str, str], list[tuple[float, float]]]  # labels, and values by epoch second


class Prometheus:
    """One Prometheus. `get` returns the text of a path with its query. `now` is the end of the week in epoch seconds."""

    def __init__(self, get: Callable[[str], str], now: float | None = None) -> None:
        self._get = get
        self.now = time.time() if now is None else now

    def present(self) -> float:
        """Return the present time in epoch seconds, for a query of now."""
        return time.time()

    def figures(
        self,
        queries: Mapping[str, str],
        key: Callable[[Mapping[str, str]], _Key],
        needed: Collection[str] = (),
    ) -> dict[_Key, dict[float, dict[str, float]]]:
        """Return the values of several queries, every five minutes of the week, by key of the labels, moment and name of the query.

        Moments without a value of each needed query are left out.

        Raises:
            SourceError: no answer, or an answer of another program.
        """
        week = {"start": self.now - WEEK_S, "end": self.now, "step": STEP_S}
        series: dict[_Key, dict[float, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
        for name, query in queries.items():
            for labels, values in self._series("query_range", {"query": query, **week}):
                for moment, value in values:
                    series[key(labels)][moment][name] = value
        whole = {
            subject: {moment: values for moment, values in moments.items() if values.keys() >= set(needed)}
            for subject, moments in series.items()
        }
        return {subject: moments for subject, moments in whole.items() if moments}

    def daily(self, query: str, days: int) -> list[DailyPeak]:
        """Return the value of a query for one series at the end of each of the last days, the day counted from 1970.

        Raises:
            SourceError: no answer, or an answer of another program.
        """
        span = {"start": self.now - (days - 1) * DAY_S, "end": self.now, "step": DAY_S}
        series = self._series("query_range", {"query": query, **span})
        return [DailyPeak(moment / DAY_S, value) for _, values in series[:1] for moment, value in values]

    def at(self, query: str, moment: float) -> Iterator[tuple[Mapping[str, str], float]]:
        """Labels and values at a moment, epoch seconds.

        Raises:
            SourceError: no answer, or an answer of another program.
        """
        for labels, values in self._series("query", {"query": query, "time": moment}):
            for _, value in values:
                yield labels, value

    def by(self, query: str, moment: float, *names: str) -> dict[tuple[str, ...], float]:
        """Values at a moment, epoch seconds, by the labels of these names. A label that a series lacks is empty.

        Raises:
            SourceError: no answer, or an answer of another program.
        """
        return {tuple(labels.get(name, "") for name in names): value for labels, value in self.at(query, moment)}

    def histograms_at(self, query: str, moment: float) -> Iterator[tuple[Mapping[str, str], dict[float, float]]]:
        """Labels and native histograms at a moment, epoch seconds: by the upper edge of a bucket, the values up to that edge.

        Raises:
            SourceError: no answer, or an answer of another program.
        """
        yield from self._parsed("query", {"query": query, "time": moment}, _histogram)

    def _series(self, endpoint: str, parameters: Mapping[str, str | float]) -> list[_Series]:
        return self._parsed(endpoint, parameters, _values)

    def _parsed(
        self, endpoint: str, parameters: Mapping[str, str | float], parse: Callable[[Any], _Content]
    ) -> list[tuple[Mapping[str, str], _Content]]:
        text = self._get(f"/api/v1/{endpoint}?{urlencode(parameters, errors='replace')}")
        try:
            document = json.loads(text)
            if document["status"] != "success":
                raise SourceError(f"Prometheus refuses the query: {document.get('error', 'no reason given')}")
            return [(_labels(series), parse(series)) for series in document["data"]["result"]]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise SourceError(f"not an answer of the Prometheus API: {text[:80]!r}. Is this the right URL?") from error


def _labels(series: Any) -> Mapping[str, str]:
    return {name: str(value) for name, value in series["metric"].items()}


def _values(series: Any) -> list[tuple[float, float]]:
    """Parse a series of a matrix (`values`) or of a vector (`value`), without NaN and infinity."""
    pairs = series["values"] if "values" in series else [series["value"]]
    values = [(float(moment), float(value)) for moment, value in pairs]
    return [pair for pair in values if math.isfinite(pair[1])]


def _histogram(series: Any) -> dict[float, float]:
    """Parse a series of a vector of native histograms. Empty buckets are not in the answer."""
    buckets = series["histogram"][1].get("buckets", [])
    counts = accumulate(float(count) for _, _, _, count in buckets)
    return {float(edge): count for (_, _, edge, _), count in zip(buckets, counts, strict=True)}


def selector(label: str, value: str | None) -> str:
    """Return `{label="value"}` with the value escaped, or an empty text for None."""
    return "" if value is None else f"{{{_equals(label, value)}}}"


def at_place(place: NetworkAddress) -> str:
    """Return the selector of series with a network and an address."""
    return f"{{{_equals('address', place.address)},{_equals('network', place.network)}}}"


def _equals(label: str, value: str) -> str:
    return f"{label}={json.dumps(value, ensure_ascii=False)}"


def place_in(labels: Mapping[str, str]) -> NetworkAddress:
    """Return network and address of a series. Prometheus leaves out a label with an empty value."""
    return NetworkAddress(labels.get("network", ""), labels.get("address", ""))


def client_rate(name: str, selected: str, *labels: str) -> str:
    """Return the query of a client counter's growth per second, with a series for each mount and each of `labels`.

    A pair of Prometheus servers that write to one store keeps each series twice. Copies are the same client, so one counts.
    """
    by = ", ".join(("network", "instance", "address", "server", "export", "service", *labels))
    return f"max by ({by}) (rate({name}{selected}[5m]))"
