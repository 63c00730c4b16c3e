"""Durations of requests by mount target and class, added up since the exporter started, as metric families."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from fss_exporter.catalogue import Family, family
from fss_exporter.model.operations import OPERATION_CLASSES
from fss_exporter.nfs.exact.request_durations import NO_DURATIONS, Durations

AddressClass = tuple[str, str]  # Address and class of operations


class Requests(NamedTuple):
    """Requests of one class to one address."""

    finished: Durations = NO_DURATIONS  # by the time from start to end, those without a reply included
    answered: Durations = NO_DURATIONS  # by the time from transmission to reply. Empty if not counted
    unanswered: int = 0  # ended without a reply. 0 if the kernel does not count these requests

    def plus(self, other: "Requests") -> "Requests":
        """Add two records."""
        return Requests(
            self.finished.plus(other.finished),
            self.answered.plus(other.answered),
            self.unanswered + other.unanswered,
        )


NO_REQUESTS = Requests()


@dataclass(frozen=True, slots=True)
class RequestTotals:
    """Counts so far. Any thread may read the totals, because each look makes a new record."""

    requests: Mapping[AddressClass, Requests] = field(default_factory=dict)  # by address and class
    active: bool = False  # whether the triggers are in place and a first look is taken
    counts_rtt: bool = False  # whether round-trip times are counted
    counts_unanswered: bool = False  # whether requests without a reply are counted
    paused: frozenset[str] = frozenset()  # addresses whose last interval could not be counted
    # intervals, of an address or of all, that could not be counted, by check
    failed: Mapping[str, int] = field(default_factory=dict)

    def plus(
        self, added: Mapping[AddressClass, Requests], paused: frozenset[str], failed: Iterable[str]
    ) -> "RequestTotals":
        """Return the totals with a further interval, without the requests of `paused` addresses. `failed` are checks."""
        requests = dict(self.requests)
        for place, one in added.items():
            if place[0] not in paused:
                requests[place] = requests.get(place, NO_REQUESTS).plus(one)
        return replace(self, requests=requests, paused=paused, failed=Counter(self.failed) + Counter(failed))

    def lost(self, check: str) -> "RequestTotals":
        """Return the totals with a further interval without a valid count."""
        return replace(self, failed=Counter(self.failed) + Counter((check,)))

    def without(self, addresses: Iterable[str]) -> "RequestTotals":
        """Return the totals without addresses that are no longer known."""
        gone = frozenset(addresses)
        return replace(self, requests={place: one for place, one in self.requests.items() if place[0] not in gone})


EXPONENTS: Final = range(8, 25)
"""Edges of the histograms: 2^8 microseconds (0.256 ms) to 2^24 (16.8 s). The default objectives of 10, 15, 20, 50 and 80 ms
lie between the edges 8.2, 16.4, 32.8, 65.5 and 131 ms."""

_MICROSECONDS: Final = 1_000_000


def edge_seconds(exponent: int) -> float:
    """The upper edge of a class, in seconds."""
    return 2.0**exponent / _MICROSECONDS


def request_families(
    totals: RequestTotals, addresses: Collection[str], at_zero: Collection[str] = ()
) -> Iterator[Family]:
    """Return families of the durations of requests.

    Each of `addresses` has every class and edge, from zero on. `at_zero` are addresses that show zeros in this answer.
    """
    finished = family("fss_client_request_duration_seconds")
    answered = family("fss_client_request_rtt_seconds")
    unanswered = family("fss_client_requests_without_reply_total")
    for address in sorted(addresses) if totals.active else ():
        for of_class in () if address in totals.paused else OPERATION_CLASSES:
            labels = (address, of_class)
            one = NO_REQUESTS if address in at_zero else totals.requests.get(labels, NO_REQUESTS)
            _add(finished, labels, one.finished)
            if totals.counts_rtt:
                _add(answered, labels, one.answered)
            if totals.counts_unanswered:
                unanswered.add_metric(labels, one.unanswered)
    yield from (finished, answered, unanswered)
    yield family("fss_nfs_latency_active", [((), float(totals.active))])
    yield family("fss_nfs_latency_checks_failed_total", (((check,), count) for check, count in totals.failed.items()))


def _add(result: Family, labels: tuple[str, str], requests: Durations) -> None:
    buckets = [(edge_seconds(exponent), requests.at_most(exponent)) for exponent in EXPONENTS]
    result.add_histogram(labels, [*buckets, (math.inf, requests.calls)], requests.microseconds / _MICROSECONDS)
