"""Durations of requests by mount target and class, added up since the exporter started."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

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
        """Return the totals with a further interval.

        Args:
            added: requests of the interval.
            paused: addresses without a valid count in the interval. Their requests are left out.
            failed: a check for each failure.
        """
        requests = dict(self.requests)
        for place, one in added.items():
            if place[0] not in paused:
                requests[place] = requests.get(place, NO_REQUESTS).plus(one)
        return replace(self, requests=requests, paused=paused, failed=Counter(self.failed) + Counter(failed))

    def lost(self, check: str) -> "RequestTotals":
        """Return the totals with a further interval without any valid count."""
        return replace(self, failed=Counter(self.failed) + Counter((check,)))

    def without(self, addresses: Iterable[str]) -> "RequestTotals":
        """Return the totals without addresses that are no longer known."""
        gone = frozenset(addresses)
        return replace(self, requests={place: one for place, one in self.requests.items() if place[0] not in gone})
