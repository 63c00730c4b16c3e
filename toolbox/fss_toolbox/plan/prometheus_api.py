# SPDX-License-Identifier: Apache-2.0
"""Queries to the HTTP API of a Prometheus."""

import json
import math
import re
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import urlencode

from fss_exporter.addresses import NetworkAddress
from fss_exporter.errors import SourceError
from fss_toolbox.sizing.growth import DailyPeak

_Key = TypeVar("_Key")
_Content = TypeVar("_Content")

DAY_S = 86400
WEEK_S = 7 * DAY_S
STEP_S = 300

# Characters of the queries of one request. Written as a URL they stay below 8 KiB, the least that proxies accept.
_LONGEST_UNION: Final = 5000

_LARGEST: Final = 1e150  # Value of which products and sums are still numbers
_LATEST: Final = 1e11  # Epoch seconds that no clock reaches for a thousand years

_MOST_NOTES: Final = 5

_PART: Final = "part"  # label of a series in the answer to several queries: the number of the query


_Series = tuple[Mapping[str, str], list[tuple[float, float]]]  # labels, and values by epoch second
_Sample = tuple[Mapping[str, str], float]
_Histogram = tuple[Mapping[str, str], dict[float, float]]


Fullness = tuple[float, ...]  # how near a load is to its ceilings, to be compared


class Peak(NamedTuple):
    """The busiest five minutes of a week."""

    fullness: Fullness
    moment: float  # end, epoch seconds
    figures: Mapping[str, float]  # by name of the query
    newest: float  # last moment of the week with all figures, epoch seconds


class Prometheus:
    """One Prometheus. `get` returns the text of a path with its query. `now` is the end of the week in epoch seconds.

    `note` takes the first remarks about the answers, each once. A server warns of an answer from a part of its stores.
    """

    def __init__(
        self, get: Callable[[str], str], now: float | None = None, note: Callable[[str], None] = lambda _: None
    ) -> None:
        self._get = get
        self.now = time.time() if now is None else now
        self._note = note
        self._noted: set[str] = set()

    def note(self, remark: str) -> None:
        """Pass on a remark about the answers, if it is new and not too many came before."""
        if remark not in self._noted and len(self._noted) < _MOST_NOTES:
            self._noted.add(remark)
            self._note(remark)

    def present(self) -> float:
        """Return the present time in epoch seconds, for a query of now."""
        return time.time()

    def busiest(
        self,
        queries: Mapping[str, str],
        key: Callable[[Mapping[str, str]], _Key],
        fullness: Callable[[_Key, Mapping[str, float]], Fullness],
        needed: Collection[str] = (),
    ) -> dict[_Key, Peak]:
        """Return the five minutes of the week with the greatest fullness, for each key of the labels of the series.

        `fullness` judges a key with the figures of one moment, by name of the query. Moments without a figure of each needed
        query do not count. Of equal moments the latest counts. A day is asked for at a time, because a week of a thousand
        mount targets is too long for one answer.

        Raises:
            SourceError: no answer, or an answer of another program.
        """
        peaks: dict[_Key, Peak] = {}
        for _, history in self.days(queries, key, STEP_S):
            for subject, moments in history.items():
                whole = {at: figures for at, figures in moments.items() if all(name in figures for name in needed)}
                if whole:
                    fullest, moment = max((fullness(subject, figures), at) for at, figures in whole.items())
                    peak = Peak(fullest, moment, whole[moment], newest=max(whole))
                    earlier = peaks.get(subject, peak)
                    is_busier = peak.fullness >= earlier.fullness
                    peaks[subject] = peak if is_busier else earlier._replace(newest=peak.newest)
        return peaks

    def days(
        self, queries: Mapping[str, str], key: Callable[[Mapping[str, str]], _Key], step: int
    ) -> Iterator[tuple[float, dict[_Key, dict[float, dict[str, float]]]]]:
        """Yield begin and figures of each day of the week: by key of the labels, moment and name of the query.

        Moments are epoch seconds, the first a step after the begin, and a step apart.

        Raises:
            SourceError: no answer, or an answer of another program.
        """
        for day in range(7):
            begin = self.now - WEEK_S + day * DAY_S
            span = {"start": begin + step, "end": begin + DAY_S, "step": step}
            history: dict[_Key, dict[float, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
            for name, query in queries.items():
                for labels, values in self._series("query_range", {"query": query, **span}):
                    moments = history[key(labels)]
                    for moment, value in values:
                        moments[moment][name] = value
            yield begin, history

    def daily(self, query: str, days: int, key: Callable[[Mapping[str, str]], _Key]) -> dict[_Key, list[DailyPeak]]:
        """Return the value of a query at the end of each of the last days, by key of the labels. The day is counted from 1970.

        A week is asked for at a time, because four weeks of a thousand mount targets take a server too long for one answer.

        Raises:
            SourceError: no answer, or an answer of another program.
        """
        peaks: dict[_Key, list[DailyPeak]] = defaultdict(list)
        for day in range(0, days, 7):
            begin = self.now - (days - 1 - day) * DAY_S
            span = {"start": begin, "end": min(begin + 6 * DAY_S, self.now), "step": DAY_S}
            for labels, values in self._series("query_range", {"query": query, **span}):
                peaks[key(labels)] += [DailyPeak(moment / DAY_S, value) for moment, value in values]
        return peaks

    def at(self, query: str, moment: float) -> Iterator[tuple[Mapping[str, str], float]]:
        """Labels and values at a moment, epoch seconds.

        Raises:
            SourceError: no answer, or an answer of another program.
        """
        for labels, values in self._series("query", {"query": query, "time": moment}):
            for _, value in values:
                yield labels, value

    def by(self, query: str, moment: float, *names: str) -> dict[tuple[str, ...], float]:
        """Values at a moment, epoch seconds, by the labels of these names.

        Raises:
            SourceError: no answer, or an answer of another program.
        """
        return {texts(labels, *names): value for labels, value in self.at(query, moment)}

    def together(self, queries: Mapping[_Key, str]) -> dict[_Key, list[_Sample]]:
        """Return labels and values of many queries by their keys, with as many queries in a request as a URL can hold.

        Each query says its moments itself (`@`).

        Raises:
            SourceError: no answer, or an answer of another program.
        """
        answers = self._together(queries, _values)
        return {
            key: [(labels, value) for labels, values in series for _, value in values]
            for key, series in answers.items()
        }

    def histograms_together(self, queries: Mapping[_Key, str]) -> dict[_Key, list[_Histogram]]:
        """Return labels and native histograms of many queries as `together`: the values up to each upper edge of a bucket.

        Raises:
            SourceError: no answer, or an answer of another program.
        """
        return self._together(queries, _histogram)

    def _together(
        self, queries: Mapping[_Key, str], parse: Callable[[Any], _Content]
    ) -> dict[_Key, list[tuple[Mapping[str, str], _Content]]]:
        parts: dict[str, list[tuple[Mapping[str, str], _Content]]] = {str(number): [] for number in range(len(queries))}
        for union in _unions(queries.values()):
            for labels, content in self._parsed("query", {"query": union, "time": self.now}, parse):
                part = parts.get(labels.get(_PART, ""))
                if part is None:
                    raise SourceError(f"not an answer of the Prometheus API: no query has the number in {labels}")
                part.append((labels, content))
        return dict(zip(queries, parts.values(), strict=True))

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
            for warning in document.get("warnings") or ():
                self.note(f"Prometheus warns: {warning[:200]}")
            return [(_labels(series), parse(series)) for series in document["data"]["result"]]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise SourceError(f"not an answer of the Prometheus API: {text[:80]!r}. Is this the right URL?") from error


def _unions(queries: Iterable[str]) -> Iterator[str]:
    """Return the queries joined by `or`. The label `part` of a series has the number of its query."""
    union = ""
    for number, query in enumerate(queries):
        part = f'label_replace({query}, "{_PART}", "{number}", "", "")'
        if union and len(union) + len(part) > _LONGEST_UNION:
            yield union
            union = ""
        union = f"{union} or {part}" if union else part
    if union:
        yield union


def _labels(series: Any) -> Mapping[str, str]:
    return {name: str(value) for name, value in series["metric"].items()}


def _values(series: Any) -> list[tuple[float, float]]:
    """Parse a series of a matrix (`values`) or of a vector (`value`), without values that are NaN or infinite."""
    pairs = series["values"] if "values" in series else [series["value"]]
    values = [(float(moment), float(value)) for moment, value in pairs]
    if not all(0 <= moment <= _LATEST for moment, _ in values):
        raise ValueError("a moment that no clock has")
    finite = [pair for pair in values if math.isfinite(pair[1])]
    if any(abs(value) > _LARGEST for _, value in finite):
        raise ValueError("a value whose sums are no numbers")
    return finite


def _histogram(series: Any) -> dict[float, float]:
    """Parse a series of a vector of native histograms. Empty buckets are not in the answer."""
    buckets = series["histogram"][1].get("buckets", [])
    counts = accumulate(float(count) for _, _, _, count in buckets)
    return {float(edge): count for (_, _, edge, _), count in zip(buckets, counts, strict=True)}


def selector(label: str, value: str | None) -> str:
    """Return `{label="value"}` with the value escaped, or an empty text for None."""
    return "" if value is None else f"{{{_equals(label, value)}}}"


def any_of(label: str, values: Iterable[str]) -> str:
    """Return the selector of the series whose label has one of some values."""
    pattern = "|".join(map(re.escape, sorted(values)))
    return f"{{{label}=~{json.dumps(pattern, ensure_ascii=False)}}}"


def at_place(place: NetworkAddress, *further: NetworkAddress) -> str:
    """Return the selector of series with a network and an address, or with one of its further addresses in this network."""
    network = _equals("network", place.network)
    if not further:
        return f"{{{_equals('address', place.address)},{network}}}"
    addresses = any_of("address", (one.address for one in (place, *further)))
    return f"{addresses[:-1]},{network}}}"


def _equals(label: str, value: str) -> str:
    return f"{label}={json.dumps(value, ensure_ascii=False)}"


def texts(labels: Mapping[str, str], *names: str) -> tuple[str, ...]:
    """Return labels of a series by their names. Prometheus leaves out a label with an empty value."""
    return tuple(labels.get(name, "") for name in names)


def place_in(labels: Mapping[str, str]) -> NetworkAddress:
    """Return network and address of a series."""
    return NetworkAddress(*texts(labels, "network", "address"))


def client_rate(name: str, selected: str, *labels: str, at: float | None = None) -> str:
    """Return the query of a client counter's growth per second, with a series for each mount and each of `labels`.

    The five minutes end at the moment `at`, epoch seconds, and at the moment of the query for None.
    A pair of Prometheus servers that write to one store keeps each series twice. Copies are the same client, so one counts. Of two
    agents on one host one counts, where the rules run.
    """
    by = ", ".join(("network", "cluster", "instance", "address", "server", "export", "service", *labels))
    other = f"unless on (network, cluster, instance, address) client:fss_duplicate:info{_moment(at)}"
    return f"max by ({by}) (rate({name}{selected}[5m]{_moment(at)})) {other}"


def mean(name: str, selected: str, at: float | None = None) -> str:
    """Return the query of a gauge's mean of five minutes, which end as those of `client_rate`."""
    return f"avg_over_time({name}{selected}[5m]{_moment(at)})"


def _moment(at: float | None) -> str:
    return "" if at is None else f" @ {at}"
