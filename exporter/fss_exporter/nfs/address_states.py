# SPDX-License-Identifier: Apache-2.0
"""The state of each address on this host, and seconds by state: the agent judges each span of ten seconds once.

A single tick of a second has too few requests for a mean, and a minute is long for a page. A hang is told with the tick that finds it.
Ceilings are those that the configuration states of the service behind an address.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from fss_exporter.model.client_load import ClientLoad, near_ceilings
from fss_exporter.model.client_state import NO_TAILS, AddressWork, ClassWork, JudgedRequests, judge_client, verdict_of
from fss_exporter.model.operations import FAIL_IN_ORDINARY_WORK, READ_CLASS, WRITE_CLASS, class_of
from fss_exporter.model.state import Evidence, Judgement, State, StateNow
from fss_exporter.model.thresholds import LEAST_WAIT_SECONDS
from fss_exporter.nfs.records import OperationCounters
from fss_exporter.nfs.superblocks import Superblock, shared_facts
from fss_exporter.nfs.totals import AddressTotals, Peaks

if TYPE_CHECKING:
    from fss_exporter.model.service_table import SeriesKey

SPAN_SECONDS: Final = 10.0


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
    since: float  # seconds of the clock at which the state began, as far as this agent saw


class AddressStates:
    """Collects the work of each address, judges each span, and adds its seconds to the totals of the address.

    Attributes:
        stated: latency objectives of the configuration in seconds by class. They can change between two spans.
        tails: judges each request, where a p99 objective is stated.
        now: the present state by address. An address has none before the end of its first span, unless it hangs.
    """

    def __init__(self, stated: Mapping[str, float] | None = None, tails: Tails | None = None) -> None:
        self.stated = stated or {}
        self.tails: Tails = tails or NoTails({})
        self.now: dict[str, AddressState] = {}
        self._work: dict[str, AddressWork] = defaultdict(AddressWork)
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
        if operation not in FAIL_IN_ORDINARY_WORK:
            work.unexpected_errors += max(0, (now.errors or 0) - (old.errors or 0))

    def end_tick(
        self,
        waits: Mapping[str, float],
        superblocks: Collection[Superblock],
        totals: Mapping[str, AddressTotals],
        peaks: Peaks,
        at: float,
    ) -> None:
        """End a tick, `at` seconds of a monotonic clock. A full span is judged.

        Args:
            waits: seconds without any reply by address.
            superblocks: what is mounted now. Other addresses have no time and no state.
            totals: totals by address.
            peaks: busiest seconds by address.
            at: time of the tick.
        """
        self._at = at
        mounted = {superblock.key.address for superblock in superblocks}
        self.now = {address: state for address, state in self.now.items() if address in mounted}
        for address, seconds in waits.items():
            if seconds:
                work = self._work[address]
                work.longest_wait_seconds = max(work.longest_wait_seconds, seconds)
        if self._judged_until is None:
            self._judged_until = at
            self._mounts = frozenset(superblock.key for superblock in superblocks)
        seconds = at - self._judged_until
        if seconds < SPAN_SECONDS:
            for address in self._hanging(waits, mounted):
                self._judge(address, totals[address], at)
            return
        near = self._near_ceilings(superblocks, totals, peaks, seconds)
        for address in mounted:
            judgement = self._judge(address, totals[address], at, near.get(address, ()))
            totals[address].seconds[verdict_of(judgement)] += seconds
        self._work.clear()
        self._io_operations = {address: totals[address].io_operations or 0.0 for address in mounted}
        self._mounts = frozenset(superblock.key for superblock in superblocks)
        self._judged_until = at

    def shown(self) -> dict[str, StateNow]:
        """Return the present states by address, as a view shows them."""
        at = self._at
        return {
            address: StateNow(
                held.judgement.state,
                at - held.since,
                () if held.judgement.state is State.FINE else held.judgement.reasons,
                held.judgement.is_idle,
            )
            for address, held in self.now.items()
        }

    def _hanging(self, waits: Mapping[str, float], mounted: Collection[str]) -> Iterator[str]:
        return (address for address in mounted if waits.get(address, 0.0) >= LEAST_WAIT_SECONDS)

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
            load = ClientLoad(
                None if cost is None else max(0.0, cost - self._io_operations.get(address, 0.0)) / seconds,
                read / seconds,
                written / seconds,
                None if cost is None else highest.get(address),
            )
            near[address] = tuple(near_ceilings(load, ceilings, ratio))
        return near

    def _judge(self, address: str, total: AddressTotals, at: float, near: tuple[Evidence, ...] = ()) -> Judgement:
        """Judge the work of a span so far, and return the judgement."""
        has_defaults = total.io_operations is not None  # only a service with a cost table has default objectives
        work = self._work[address]
        work.tails = self.tails.judged().get(address, NO_TAILS)
        judgement = judge_client(work, self.stated, has_defaults=has_defaults, near=near)
        before = self.now.get(address)
        since = at if before is None or before.judgement.state is not judgement.state else before.since
        if judgement.state is State.HANGING:
            since = min(since, at - work.longest_wait_seconds)
        self.now[address] = AddressState(judgement, since)
        return judgement
