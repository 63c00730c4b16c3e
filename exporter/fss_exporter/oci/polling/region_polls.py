# SPDX-License-Identifier: Apache-2.0
"""One poll of one region: query every metric, judge the minutes of mount targets, publish the result."""

import logging
from collections.abc import Callable, Iterator, Mapping
from threading import Event
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from fss_exporter.log_once import LogOnce
from fss_exporter.oci.inventory.inventory_snapshot import InventorySnapshot
from fss_exporter.oci.inventory.oci_inventory import Inventory
from fss_exporter.oci.ledger import newest_complete
from fss_exporter.oci.ledger.ledger_file import LedgerFile
from fss_exporter.oci.metrics.metric_queries import MetricQueries
from fss_exporter.oci.metrics.unlisted import ListingComparison, Unlisted
from fss_exporter.oci.minute_metrics import BY_MINUTE, CONNECTIONS, READ_BYTES
from fss_exporter.oci.minutes.minute_judge import MinuteJudge
from fss_exporter.oci.snapshot import PollSnapshot

if TYPE_CHECKING:
    from fss_exporter.oci.metrics.answers import SeriesColumn
    from fss_exporter.oci.minutes.target_figures import TargetFigures

_SILENT_SECONDS: Final = 240  # a mount target reports its connections every minute; one this far behind may be deleted
_BETWEEN_LISTINGS_SECONDS: Final = (
    120  # time between two listings of metric names, however often they seem to have changed
)

log = logging.getLogger(__name__)


class RegionPolls:
    """Polls one region.

    Attributes:
        suspects_changes: set while mount targets seem to have come or gone since the last inventory. The thread of the inventories
            clears it.

    Args:
        queries: queries of the metrics.
        judge: judge of the mount targets.
        names_interval: seconds between two listings of metric names.
        stale_after: age in seconds from which a point is not exported.
        clock: seconds that never go back.
        file: keeps what is counted after each poll, before it is published. None if nothing does.
    """

    def __init__(
        self,
        queries: MetricQueries,
        judge: MinuteJudge,
        *,
        names_interval: float,
        stale_after: float,
        clock: Callable[[], float],
        file: LedgerFile | None = None,
    ) -> None:
        self._queries = queries
        self._judge = judge
        self._names_interval = names_interval
        self._stale_after = stale_after
        self._clock = clock
        self._file = file
        self.suspects_changes = Event()
        self._names_learned = float("-inf")
        self._learned_for_a_part = False  # of the first inventory, whose rest may bring further services
        self._succeeded_at: float | None = None
        self._first_is_logged = False
        self._log_once = LogOnce(log)
        self._suspicious: frozenset[object] = frozenset()
        self._comparison = ListingComparison()
        self._figures: Mapping[str, TargetFigures] = {}

    def poll(self, snapshot: InventorySnapshot, seconds: float) -> PollSnapshot:
        """Query every metric once, in some seconds. The next poll begins with the remaining metrics.

        Returns:
            The snapshot of the poll, without any metric before the first inventory.

        Raises:
            EndLoop: the exporter stops.
        """
        began = self._clock()
        if snapshot.inventory is None or not snapshot.scopes:
            return self._snapshot(0.0, is_empty=False)
        self._queries.ledger.forget_after(newest_complete(self._queries.now()))
        self._queries.use(snapshot.inventory)
        self._learn_names(snapshot)
        is_empty = self._queries.is_empty and snapshot.is_whole and all(snapshot.succeeded.values())
        self._queries.query_all(snapshot.scopes, lambda: self._clock() - began > seconds)
        metrics = self._queries.snapshots
        now_minute = newest_complete(self._queries.now())
        for name, store in self._queries.stores.items():
            store.forget(now_minute, self._stale_after + self._queries.schedules[name].interval)
        answered = {name: metric.answered for name, metric in metrics.items() if name in BY_MINUTE}
        if snapshot.is_whole:  # a verdict without the file systems behind a mount target would be final
            self._figures = self._judge.judge(snapshot.inventory, answered, now_minute)
        if self._file:
            self._file.write(self._queries.ledger)
        if snapshot.is_whole:
            self._compare(snapshot.inventory)
        self._queries.failures.end_round()
        if (metrics or is_empty) and all(metric.success for metric in metrics.values()):
            self._succeeded_at = self._queries.now()
        poll = self._snapshot(self._clock() - began, is_empty=is_empty)
        self._log_cut(poll)
        self._log_first(poll)
        return poll

    def _learn_names(self, snapshot: InventorySnapshot) -> None:
        since = self._clock() - self._names_learned
        least = _BETWEEN_LISTINGS_SECONDS if self._queries.names_are_due else self._names_interval
        brings_the_rest = self._learned_for_a_part and snapshot.is_whole and self._queries.names_are_due
        if brings_the_rest or since >= least:
            self._queries.learn_names(snapshot.scopes)
            self._names_learned, self._learned_for_a_part = self._clock(), not snapshot.is_whole

    def _compare(self, inventory: Inventory) -> None:
        """Compare Monitoring and inventory. Suggest a new inventory once for each mount target that fell silent, and each unlisted resource."""
        asked = self._queries.snapshots.get(CONNECTIONS)
        if asked is None or not asked.success:
            return
        found = dict(self._unlisted(inventory))
        newest = max((asked.newest or 0, *found.values()))
        oldest = newest - _SILENT_SECONDS
        late = (column for minute, column in self._queries.stores[CONNECTIONS].points if minute < oldest)
        silent = {series.labels for column in late for series in column.series}
        unlisted = {one: minute for one, minute in found.items() if minute >= oldest}
        self._comparison.note(unlisted)
        suspicious = frozenset(silent | unlisted.keys())
        if not suspicious <= self._suspicious:
            self.suspects_changes.set()
        self._suspicious = suspicious

    def _unlisted(self, inventory: Inventory) -> Iterator[tuple[Unlisted, int]]:
        """Yield resources without a listing, by the metrics that OCI sends of each of them in each minute."""
        for (target,), minute in self._queries.stores[CONNECTIONS].unlisted.items():
            yield Unlisted("mount_target", target), minute
        for (target, system), minute in self._queries.stores[READ_BYTES].unlisted.items():
            if target in inventory.mount_targets:
                yield Unlisted("file_system", system), minute

    def _snapshot(self, seconds: float, *, is_empty: bool) -> PollSnapshot:
        points: dict[str, tuple[tuple[int, SeriesColumn], ...]] = {}
        sums: dict[str, SeriesColumn] = {}
        rarely: dict[str, float] = {}
        for name, store in self._queries.stores.items():
            gauge, counter = store.metric.gauge, store.metric.counter
            if gauge and (interval := self._queries.schedules[name].interval):
                rarely[gauge.name] = interval
            if gauge:
                points[gauge.name] = points.get(gauge.name, ()) + store.points  # two OCI metrics may become one
            if counter:
                sums[counter.name] = store.sums
        return PollSnapshot(
            points=MappingProxyType(points),
            rarely=MappingProxyType(rarely),
            sums=MappingProxyType(sums),
            targets=MappingProxyType(self._figures),
            metrics=MappingProxyType(self._queries.snapshots),
            is_refused=self._queries.is_refused,
            has_answer=self._queries.has_answer or is_empty,
            is_empty=is_empty,
            goes_on=self._file.goes_on(self._queries.ledger) if self._file else None,
            failed_calls=self._queries.failures.failed_calls,
            left_out=self._queries.left_out,
            unlisted=self._comparison.lasting,
            duration_seconds=seconds,
            ended=self._queries.now(),
            succeeded_at=self._succeeded_at,
            clock_skew_seconds=self._queries.client.clock_skew_seconds,
        )

    def _log_cut(self, poll: PollSnapshot) -> None:
        region = self._queries.client.region
        if poll.left_out:
            message = (
                f"{region}: a poll was cut after {poll.duration_seconds:.0f} s, and the next one begins with the rest"
            )
            self._log_once.failed("cut", f"{message}: {poll.left_out} of {len(poll.metrics)} metrics")
        else:
            self._log_once.works("cut", f"{region}: polls are whole again")

    def _log_first(self, poll: PollSnapshot) -> None:
        if self._first_is_logged:
            return
        self._first_is_logged = True
        answered = sum(metric.success for metric in poll.metrics.values())
        streams = sum(metric.streams for metric in poll.metrics.values())
        log.info(
            "%s: first poll ended after %.0f s: %d of %d metrics answered, %d streams",
            self._queries.client.region,
            poll.duration_seconds,
            answered,
            len(poll.metrics),
            streams,
        )
