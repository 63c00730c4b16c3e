# SPDX-License-Identifier: Apache-2.0
"""The calls to OCI: a budget for all regions and loops, some calls under way at once, counters of the poller about the poller, and a log of failures."""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from fss_exporter.background import EndLoop, each_at_once
from fss_exporter.catalogue import CATALOGUE
from fss_exporter.errors import CloudError
from fss_exporter.log_once import LogOnce
from fss_exporter.terminal_text import first_names

_Item = TypeVar("_Item")
_Answer = TypeVar("_Answer")


class CallsInFlight:
    """Have some calls to a region under way at once, because an answer can take seconds. One thread at a time does all else.

    Args:
        most: most calls under way. The SDK keeps ten connections to a service.
    """

    def __init__(self, most: int = 8) -> None:
        self._most = most
        self._turn = threading.Lock()  # of all but the calls

    def each(self, items: Sequence[_Item], work: Callable[[_Item], None]) -> None:
        """Do the work for each item, which begins in the order of the items.

        Raises:
            Exception: the first error. Other work that is under way ends before.
        """
        waiting = iter(items)

        def work_in_turn(_: int) -> None:
            with self._turn:
                for item in waiting:
                    work(item)

        each_at_once(range(min(len(items), self._most)), work_in_turn)

    def called(self, call: Callable[[], _Answer]) -> _Answer:
        """Return the answer to a call of the work of `each`. Others have the turn until it comes."""
        self._turn.release()
        try:
            return call()
        finally:
            self._turn.acquire()


class CallBudget:
    """Space calls evenly: no second has more than `calls_per_second` calls plus 1.

    Calls leave in the order of their requests, so that polls and inventories share the budget.

    Attributes:
        waited_seconds: time that calls have waited for their turn, all together.

    Args:
        calls_per_second: most calls a second in the long run.
        clock: seconds that never go back.
        wait: waits so many seconds. Returns True if the poller is to stop, like `threading.Event.wait`.
    """

    def __init__(
        self, calls_per_second: float, *, clock: Callable[[], float], wait: Callable[[float], bool | None]
    ) -> None:
        self.calls_per_second = calls_per_second
        self._clock = clock
        self._wait = wait
        self.waited_seconds = 0.0
        self._lock = threading.Lock()
        self._next = float("-inf")

    def spend(self) -> None:
        """Wait until a further call may leave, or raise EndLoop if the poller stops."""
        with self._lock:
            now = self._clock()
            turn = max(now, self._next)
            self._next = turn + 1 / self.calls_per_second
            self.waited_seconds += turn - now
        self.pause(turn - now)

    def pause(self, seconds: float) -> None:
        """Wait, or raise EndLoop if the poller stops."""
        if self._wait(max(0.0, seconds)):
            raise EndLoop


Labels = tuple[str, ...]

# Values of the label `outcome`: the outcome of each error, and `ok`.
OUTCOMES: Final = (
    "ok",
    "throttled",
    "not_authorized",
    "credentials_refused",
    "unreachable",
    "too_much_data",
    "broken_answer",
    "error",
)


class SelfMetrics:
    """Sums by exported metric and label values behind the tenancy."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sums: dict[str, dict[Labels, float]] = {}

    def add(self, metric: str, amount: float = 1.0, **labels: str) -> None:
        """Add to one counter. An amount of 0 makes the counter visible."""
        CATALOGUE[metric].check(("tenancy", *labels))
        values = (*labels.values(),)
        with self._lock:
            sums = self._sums.setdefault(metric, {})
            sums[values] = sums.get(values, 0.0) + amount

    def request(self, region: str, operation: str, outcome: str, seconds: float) -> None:
        """Count a request to OCI. Other outcomes become visible at 0, so that a rate includes the first error."""
        for possible in OUTCOMES:
            self.add("fss_oci_api_requests_total", 0, region=region, operation=operation, outcome=possible)
        self.add("fss_oci_api_requests_total", region=region, operation=operation, outcome=outcome)
        self.add("fss_oci_api_request_seconds_total", seconds, region=region, operation=operation)

    def sums(self) -> Mapping[str, Mapping[Labels, float]]:
        """Return a copy of all counters, by metric and label values."""
        with self._lock:
            return {metric: dict(sums) for metric, sums in self._sums.items()}


_NAMED = 3  # most names of failed subjects in a line


class FailureLog:
    """Log the failures of a region once, and the end of each failure. Calls of one operation with equal errors are one kind, for any number of metrics."""

    def __init__(self, region: str, log: logging.Logger) -> None:
        self._region = region
        self._log_once = LogOnce(log)
        self._failing: dict[str, list[str]] = {}  # subjects by kind
        self._round: dict[str, tuple[list[str], Exception]] = {}
        self._answered: set[str] = set()  # subjects of the round
        self.failed_calls: Counter[tuple[str, str]] = Counter()  # number in the last round by API operation and reason

    def report(self, subject: str, error: Exception | None) -> None:
        """Note the end of a call. `subject` is the operation or metric of the call.

        `error` is None after an answer, and if the subject need not be asked for any more.
        """
        if error is None:
            self._answered.add(subject)
        else:
            kind = _kind_of(subject, error)
            subjects, named = self._round.get(kind, ([], error))
            # The shortest text has the widest place: a statement for the tenancy needs no OCID. Calls side by side end in any order.
            self._round[kind] = [*subjects, subject], min(named, error, key=lambda one: len(str(one)))

    def end_round(self) -> None:
        """End the round: log new kinds of failures, and kinds that have ended. A subject without a call in the round goes on failing."""
        for kind, (subjects, error) in self._round.items():
            is_named = isinstance(error, CloudError) and set(subjects) == {error.operation}
            named = "" if is_named else f"{_listed(subjects)}: "
            self._log_once.failed(kind, f"{self._region}: {named}{error}")
        still = {subject for subjects, _ in self._round.values() for subject in subjects}
        failing = {kind: subjects for kind, (subjects, _) in self._round.items()}
        for kind, subjects in self._failing.items():
            well = [subject for subject in subjects if subject in self._answered - still]
            not_asked = [subject for subject in subjects if subject not in self._answered | still]
            if not_asked:
                failing[kind] = failing.get(kind, []) + not_asked
            elif kind not in failing:
                self._log_once.works(kind, f"{self._region}: {_listed(well)} works again" if well else "")
        self._failing = failing
        self.failed_calls = Counter()
        for subjects, error in self._round.values():
            if isinstance(error, CloudError):
                self.failed_calls[error.operation, error.reason] += len(subjects)
        self._round, self._answered = {}, set()


def _kind_of(subject: str, error: Exception) -> str:
    if isinstance(error, CloudError):
        return f"{error.operation} {type(error).__name__} {error.status}"
    return f"{subject} {error}"  # a mistake of the settings, each with its own text


def _listed(subjects: list[str]) -> str:
    return first_names(list(dict.fromkeys(subjects)), _NAMED)
