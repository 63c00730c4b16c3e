# SPDX-License-Identifier: Apache-2.0
"""Run a calibration: work in whole minutes of this host's clock, and count the requests at the edge of each minute.

Files of a step are made in a minute of their own, and so is the clean-up. The first and last seconds of a minute are quiet,
so that every request stands in one minute, although the clocks of client and OCI differ a little.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from fss_exporter.errors import SourceError
from fss_exporter.model.operations import LARGEST_TRANSFER_BYTES, READ, WRITE
from fss_toolbox.calibrate.calibration_steps import (
    IDLE,
    WORK_SECONDS,
    CalibrationPlan,
    CalibrationStep,
    costs_by_kind,
    table_cost,
)

_QUIET_SECONDS: Final = (60 - WORK_SECONDS) / 2  # Between the edge of a minute and its first or last request

# From the edge of a minute to a preparation or the clean-up: neither reaches into another minute of OCI.
_MIDDLE_SECONDS: Final = 25.0

_MOST_ELSEWHERE: Final = 0.01  # Share of a minute's I/O operations that requests from elsewhere may cost

_LEAST_ELSEWHERE: Final = 60.0  # I/O operations of a minute that OCI's whole IOPS cannot show


class RequestSender(Protocol):
    """An NFS client that sends requests of one kind."""

    def prepare(self, step: CalibrationStep) -> None:
        """Make the files of a step."""

    def counts(self, step: CalibrationStep) -> Mapping[str, float]:
        """Requests so far, by kind."""

    def operations(self) -> Mapping[str, int]:
        """Requests of the mount so far by procedure, those of other programs included."""

    def send(self, step: CalibrationStep) -> Counter[str]:
        """Send one round. Return the calls that `counts` does not contain."""

    @property
    def counts_sizes(self) -> bool:
        """Whether the kernel counts READ and WRITE by size."""


class WallClock:
    """The clock of this host when the object was made. A clock that is set later moves no minute of the run."""

    def __init__(self) -> None:
        self._booted = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)  # epoch seconds

    def now(self) -> float:
        """Epoch seconds."""
        return self._booted + time.clock_gettime(time.CLOCK_BOOTTIME)

    def wait_until(self, moment: float) -> None:
        """Return at an epoch second, at once for a past second."""
        time.sleep(max(0.0, moment - self.now()))


@dataclass(frozen=True, slots=True)
class CountedMinute:
    """Requests of one minute of this host's clock, counted at both edges."""

    minute: int  # end of the minute, epoch seconds // 60
    step: str  # name of the step
    counts: Mapping[str, float]  # requests by kind
    first: float  # epoch second of the first request of the step, or of the minute for `idle`
    last: float  # epoch second of the last request, likewise
    is_preparation: bool = False
    refusal: str = ""  # reason why the minute says nothing about a cost. Empty for a good minute

    @property
    def is_good(self) -> bool:
        """Whether all requests of the minute are known."""
        return not self.refusal


class CalibrationRun:
    """The minutes of a calibration, one after the other."""

    def __init__(
        self, plan: CalibrationPlan, sender: RequestSender, clock: WallClock, progress: Callable[[str], None]
    ) -> None:
        self._plan = plan
        self._sender = sender
        self._clock = clock
        self._progress = progress
        self._table = costs_by_kind(plan.steps)
        self._edge = 0.0  # beginning of the present minute, epoch seconds
        self._at_edge: Mapping[str, float] = {}  # requests by kind until the edge
        self._operations_at_edge: Mapping[str, int] = {}
        self._done: list[CountedMinute] = []

    def minutes(self) -> list[CountedMinute]:
        """Send the requests of every step. Return all minutes without a gap, preparations included.

        Raises:
            SourceError: the mount cannot be used any more.
        """
        steps = self._plan.steps
        for number, step in enumerate(steps, 1):
            try:
                self._progress(f"{step.name} ({number} of {len(steps)}), preparation")
                if not self._done:
                    self._wait_for_edge(step)
                self._prepare(step)
                for at in range(self._plan.minutes):
                    self._progress(f"{step.name} ({number} of {len(steps)}), minute {at + 1} of {self._plan.minutes}")
                    self._work(step)
            except OSError as error:
                raise SourceError(f"{step.name}: {error.filename or 'the mount'}: {error.strerror or error}") from error
        self._progress("clean-up")
        self._clock.wait_until(self._edge + _MIDDLE_SECONDS)
        return self._done

    def _wait_for_edge(self, step: CalibrationStep) -> None:
        """Wait for the next edge of a minute, and count there."""
        self._edge = (self._clock.now() // 60 + 1) * 60
        self._clock.wait_until(self._edge)
        self._at_edge, self._operations_at_edge = self._sender.counts(step), self._sender.operations()

    def _prepare(self, step: CalibrationStep) -> None:
        self._clock.wait_until(self._edge + _MIDDLE_SECONDS)
        with self._minute(step, is_preparation=True):
            self._sender.prepare(step)

    def _work(self, step: CalibrationStep) -> None:
        begin = self._edge + _QUIET_SECONDS
        self._clock.wait_until(begin)
        rounds = step.rounds(self._plan.max_iops)
        with self._minute(step) as uncounted:
            for number in range(rounds):
                self._clock.wait_until(begin + number * WORK_SECONDS / rounds)
                if self._clock.now() >= begin + WORK_SECONDS:
                    break
                try:
                    if calls := self._sender.send(step):
                        uncounted.update(calls)
                except FileNotFoundError:  # a REMOVE has used up the files
                    break

    @contextmanager
    def _minute(self, step: CalibrationStep, *, is_preparation: bool = False) -> Iterator[Counter[str]]:
        """Count a minute whose requests are sent inside the context. The value takes calls that no counter has."""
        begin, counted, uncounted = self._edge, self._at_edge, Counter[str]()
        operations = [self._operations_at_edge, self._sender.operations()]
        first = self._clock.now()
        yield uncounted
        last = self._clock.now()
        operations.append(self._sender.operations())
        self._wait_for_edge(step)
        operations.append(self._operations_at_edge)
        grown = Counter({kind: count - counted.get(kind, 0) for kind, count in self._at_edge.items()}) + uncounted
        if step is IDLE:
            first, last = begin, begin + 60
        refusal = self._refusal(step, operations, grown, is_preparation=is_preparation)
        if last > begin + 60 or self._edge > begin + 60:
            refusal = "a request took longer than the minute"
        for end in range(int(begin) + 60, int(self._edge) + 1, 60):
            counts = dict(grown) if end == self._edge else {}
            self._done.append(CountedMinute(end // 60, step.name, counts, first, last, is_preparation, refusal))

    def _refusal(
        self,
        step: CalibrationStep,
        operations: list[Mapping[str, int]],
        counts: Mapping[str, float],
        *,
        is_preparation: bool,
    ) -> str:
        """Return the reason to refuse a minute, from the operations at both edges, before and after the requests."""
        begin, before, after, end = operations
        elsewhere = _grown(begin, before) + _grown(after, end)
        if not (is_preparation or self._sender.counts_sizes):
            sent = _grown(before, after)
            # A READ or WRITE of another program has an unknown size. A COMMIT comes with a WRITE.
            own = {step.operation, WRITE if step.operation == "COMMIT" else ""}
            elsewhere += Counter({name: sent[name] for name in (READ, WRITE) if name not in own})
        cost = sum(count * table_cost(name, LARGEST_TRANSFER_BYTES) for name, count in elsewhere.items())
        by_table = sum(self._table.get(kind, 0.0) * count for kind, count in counts.items())
        if cost <= max(_LEAST_ELSEWHERE, _MOST_ELSEWHERE * by_table):
            return ""
        names = ", ".join(f"{count} {name}" for name, count in elsewhere.most_common(3))
        return f"requests of other programs on this host: {names}"


def _grown(before: Mapping[str, int], after: Mapping[str, int]) -> Counter[str]:
    return +Counter({name: count - before.get(name, 0) for name, count in after.items()})
