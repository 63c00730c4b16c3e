# SPDX-License-Identifier: Apache-2.0
"""The state of each address on this host, and seconds by state: the agent judges each span of ten seconds once.

A single tick of a second has too few requests for a mean, and a minute is long for a page. A hang is told with the tick that finds it,
and so is a first look that cannot know whether a request waits.
Ceilings are those that the configuration states of the service behind an address.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from fss_exporter.model.client_load import ClientLoad, near_ceilings
from fss_exporter.model.client_state import (
    NO_TAILS,
    NO_WAIT,
    NOTHING_ENDED,
    AddressWork,
    ClassWork,
    Ended,
    JudgedRequests,
    Wait,
    added_up,
    judge_client,
    verdict_of,
)
from fss_exporter.model.knowledge import FigureSource, KnownFigure
from fss_exporter.model.operations import CARRY_DATA, FAIL_IN_ORDINARY_WORK, READ_CLASS, WRITE_CLASS, class_of
from fss_exporter.model.state import CLIENT_LATENCY, Evidence, Judgement, State, StateNow
from fss_exporter.nfs.records import OperationCounters
from fss_exporter.nfs.superblocks import Superblock, shared_facts
from fss_exporter.nfs.totals import AddressTotals, Peaks

if TYPE_CHECKING:
    from fss_exporter.model.service_table import SeriesKey

SPAN_SECONDS: Final = 10.0
_MINUTE: Final = 60.0


class Tails(Protocol):
    """What judges each request by a p99 objective.

    Attributes:
        objectives: stated seconds by class. They can change at any time.
    """

    objectives: Mapping[str, float]

    def judged(self) -> Mapping[str, Mapping[str, JudgedRequests]]:
        """Return the requests of the last ten seconds or so by address and class. An address that is not judged is not there."""


class NoTails:
    """An agent that does not know how long each request takes."""

    def __init__(self, objectives: Mapping[str, float]) -> None:
        self.objectives = objectives

    def judged(self) -> Mapping[str, Mapping[str, JudgedRequests]]:
        """Return nothing."""
        return {}


class AddressState(NamedTuple):
    """The state of an address on this host."""

    judgement: Judgement
    state: State  # of the judgement, which finds it among all evidence each time
    since: float  # seconds of the clock at which the state began, as far as this agent saw


class AddressStates:
    """Collects the work of each address, judges each span, and adds its seconds to the totals of the address.

    Attributes:
        stated: latency objectives of the configuration in seconds by class. They can change between two spans.
        tails: judges each request, where a p99 objective is stated.
        now: the present state by address. An address has none before the end of its first span, unless it hangs or may hang.
    """

    def __init__(self, stated: Mapping[str, float] | None = None, tails: Tails | None = None) -> None:
        self.stated = stated or {}
        self.tails: Tails = tails or NoTails({})
        self.now: dict[str, AddressState] = {}
        self._work: dict[str, AddressWork] = defaultdict(AddressWork)
        self._ended: dict[str, list[tuple[float, Mapping[str, Ended]]]] = {}  # by address: what ended until when
        self._io_operations: dict[str, float] = {}  # by address, at the end of the last span
        self._mounts: frozenset[SeriesKey] = frozenset()  # at the end of the last span
        self._judged_until: float | None = None
        self._at = 0.0  # time of the last tick

    def add(
        self, address: str, operation: str, old: OperationCounters, now: OperationCounters, payload_bytes: int
    ) -> None:
        """Note the change of one operation on one mount. A counter that falls adds nothing."""
        work = self._work[address]
        name = class_of(operation)
        of_class = work.classes.get(name)
        if of_class is None:
            of_class = work.classes[name] = ClassWork()
        of_class.requests += max(0, now.operations - old.operations)
        of_class.rtt_ms += max(0, now.rtt_ms - old.rtt_ms)
        of_class.payload_bytes += payload_bytes
        failed = max(0, (now.errors or 0) - (old.errors or 0))
        if operation not in FAIL_IN_ORDINARY_WORK:
            work.unexpected_errors += failed
        if carries := CARRY_DATA.get(operation):
            ended = Ended(max(0, now.operations - old.operations), failed)
            work.ended[carries] = work.ended.get(carries, NOTHING_ENDED).plus(ended)

    def ends_span(self, at: float) -> bool:
        """Whether a tick at this time ends a span."""
        return self._judged_until is not None and at - self._judged_until >= SPAN_SECONDS

    def begin_anew(self) -> None:
        """Forget every state and all work since the last span, because nobody has watched for a while. That time has no verdict."""
        self.now.clear()
        self._work.clear()
        self._ended.clear()
        self._judged_until = None

    def end_tick(
        self,
        waits: Mapping[str, Wait],
        superblocks: Collection[Superblock],
        totals: Mapping[str, AddressTotals],
        peaks: Peaks,
        at: float,
    ) -> None:
        """End a tick, `at` seconds of a monotonic clock. A full span is judged.

        Args:
            waits: how long requests have had no reply, by address.
            superblocks: what is mounted now. Other addresses have no time and no state.
            totals: totals by address.
            peaks: busiest seconds by address.
            at: time of the tick.
        """
        self._at = at
        mounted = {superblock.key.address for superblock in superblocks}
        self.now = {address: held for address, held in self.now.items() if address in mounted}
        for address, wait in waits.items():
            work = self._work[address]
            # A later reply tells that nothing waits. A hang of the span is a hang, although a reply came.
            if wait.seconds is None or wait.seconds >= (work.wait.seconds or 0.0):
                work.wait = wait
        began = self._judged_until
        if began is None:
            began = at
            self._begin_span(superblocks, totals, at)
        seconds = at - began
        if seconds < SPAN_SECONDS:
            for address in mounted:
                self._judge_early(address, waits.get(address, NO_WAIT), totals[address], at)
            return
        near = self._near_ceilings(superblocks, totals, peaks, seconds)
        for address in mounted:
            judgement = self._judge(address, totals[address], at, near.get(address, ()))
            totals[address].seconds[verdict_of(judgement)] += seconds
        self._ended = {address: self._last_minute(address, at) for address in mounted}
        self._work.clear()
        self._begin_span(superblocks, totals, at)

    def shown(self) -> dict[str, StateNow]:
        """Return the present states by address, as a view shows them."""
        at = self._at
        return {
            address: StateNow(
                held.state,
                at - held.since,
                () if held.state is State.FINE else held.judgement.reasons,
                held.judgement.is_idle,
            )
            for address, held in self.now.items()
        }

    def latencies(self) -> dict[tuple[str, str], float]:
        """Return the mean round trip of the last span by address and class, as a multiple of its objective."""
        return {
            (address, one.detail): one.figure.value
            for address, held in self.now.items()
            for one in held.judgement.evidence
            if one.subject is CLIENT_LATENCY and one.figure is not None
        }

    def _begin_span(self, superblocks: Collection[Superblock], totals: Mapping[str, AddressTotals], at: float) -> None:
        self._mounts = frozenset(superblock.key for superblock in superblocks)
        addresses = {key.address for key in self._mounts}
        self._io_operations = {address: totals[address].io_operations or 0.0 for address in addresses}
        self._judged_until = at

    def _judge_early(self, address: str, wait: Wait, total: AddressTotals, at: float) -> None:
        """Judge an address in the middle of a span, if its wait says enough."""
        held = self.now.get(address)
        if wait.is_hang or (wait.seconds is None and held is None):
            self._judge(address, total, at)
        elif held is not None and held.state is State.NOT_KNOWN and wait.seconds is not None:
            del self.now[address]  # what is known now is told at the end of the span

    def _last_minute(self, address: str, at: float) -> list[tuple[float, Mapping[str, Ended]]]:
        """Return what ended in each span of the last minute, the present span included."""
        earlier = (span for span in self._ended.get(address, ()) if span[0] > at - _MINUTE)
        return [*earlier, (at, self._work[address].ended)]

    def _near_ceilings(
        self,
        superblocks: Collection[Superblock],
        totals: Mapping[str, AddressTotals],
        peaks: Peaks,
        seconds: float,
    ) -> Mapping[str, tuple[Evidence, ...]]:
        """Return the ceilings that the load of a span brings near, by address. Only where the configuration states ceilings.

        A mount that was found in the span counts from its birth, which can be earlier. So its address waits for the next span.
        """
        if not any(superblock.storage.has_ceilings for superblock in superblocks):
            return {}
        stated = [superblock for superblock in superblocks if superblock.storage.stated]
        found = {superblock.key.address for superblock in superblocks if superblock.key not in self._mounts}
        highest, near = peaks.highest(), {}
        for address, (ceilings, ratio) in shared_facts(stated, attrgetter("ceilings", "warning_ratio")).items():
            if address in found:
                continue
            classes = self._work[address].classes
            read, written = (classes.get(name, ClassWork()).payload_bytes for name in (READ_CLASS, WRITE_CLASS))
            cost = totals[address].io_operations
            iops = peak = None
            if cost is not None:
                done = max(0.0, cost - self._io_operations.get(address, 0.0))
                iops, peak = KnownFigure(done / seconds, FigureSource.HOST), highest.get(address)
            load = ClientLoad(iops, read / seconds, written / seconds, peak)
            near[address] = tuple(near_ceilings(load, ceilings, ratio))
        return near

    def _judge(self, address: str, total: AddressTotals, at: float, near: tuple[Evidence, ...] = ()) -> Judgement:
        """Judge the work of a span so far, and return the judgement."""
        has_defaults = total.io_operations is not None  # only a service with a cost table has default objectives
        work = self._work[address]
        work.tails = self.tails.judged().get(address, NO_TAILS)
        work.ended_in_a_minute = added_up(ended for _, ended in self._last_minute(address, at))
        judgement = judge_client(work, self.stated, has_defaults=has_defaults, near=near)
        before, state = self.now.get(address), judgement.state
        since = at if before is None or before.state is not state else before.since
        if state is State.HANGING:
            since = min(since, at - (work.wait.seconds or 0.0))
        self.now[address] = AddressState(judgement, state, since)
        return judgement
