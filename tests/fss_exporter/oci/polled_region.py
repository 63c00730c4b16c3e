"""A region on a fake cloud, with inventory and poller, on a clock that is turned by hand."""

import logging
from dataclasses import dataclass, field

from tests.clock import NOON
from tests.fss_exporter.oci.fake_cloud import FakeCloud, mount_target

from fss_exporter.errors import FssError
from fss_exporter.oci.calls import CallsInFlight, FailureLog, SelfMetrics
from fss_exporter.oci.inventory.inventory_refresh import InventoryRefresh
from fss_exporter.oci.inventory.selection import InventorySelection
from fss_exporter.oci.ledger import Ledger
from fss_exporter.oci.metrics.metric_queries import MetricQueries
from fss_exporter.oci.minutes.minute_judge import MinuteJudge
from fss_exporter.oci.polling.region_polls import RegionPolls
from fss_exporter.oci.polling.regions import AccountRegion
from fss_exporter.oci.polling.rounds import InventoryRounds, PollRounds
from fss_exporter.oci.snapshot import SnapshotBoard
from fss_exporter.settings import Settings


@dataclass
class PolledRegion:
    """The region, what the loops of the poller make of it, and the time.

    `ledger` is what was counted before.
    """

    cloud: FakeCloud = field(default_factory=lambda: FakeCloud([mount_target("a"), mount_target("b")]))
    now: float = NOON + 20.0
    ledger: Ledger = field(default_factory=lambda: Ledger(NOON))
    settings: Settings = field(default_factory=Settings)
    in_flight: int = 1  # so that the calls of a test come in order

    def __post_init__(self) -> None:
        log = logging.getLogger()
        client = self.cloud
        self.board = SnapshotBoard()
        self.failures = FailureLog("eu", log)
        self.inventory = InventoryRefresh(
            client,
            InventorySelection(),
            now=self.clock,
            clock=self.clock,
            report=self.failures.report,
            publish=lambda state: self.board.publish("eu", inventory=state),
            calls=CallsInFlight(self.in_flight),
        )
        self.judge = MinuteJudge(self.ledger, lambda: self.settings)
        queries = self.queries = MetricQueries(
            client,
            ledger=self.ledger,
            now=self.clock,
            self_metrics=SelfMetrics(),
            failures=self.failures,
            receivers=self.judge.receivers,
            awaited=self.judge.awaited,
            calls=CallsInFlight(self.in_flight),
        )
        polls = RegionPolls(
            queries,
            self.judge,
            names_interval=600.0,
            stale_after=360.0,
            clock=self.clock,
        )
        region = AccountRegion("eu", self.inventory, self.failures, polls)
        self.regions = [region]
        self.inventories = InventoryRounds(lambda: self.regions, lambda: self.settings, clock=self.clock)
        self.polls = PollRounds(lambda: self.regions, self.board, interval=60.0, clock=self.clock, pause=lambda _: None)

    def clock(self) -> float:
        return self.now

    def minute(self, minutes: int = 1) -> None:
        """Time passes, and one poll."""
        self.now += 60.0 * minutes
        for loop in (self.inventories, self.polls):
            try:
                loop.run_round()
            except FssError:
                continue

    def counted(self) -> dict[str, float]:
        """Bytes read so far by mount target."""
        (region,) = self.board.regions
        assert region.poll
        column = region.poll.sums["fss_mount_target_read_bytes_total"]
        return {series.labels[3]: value for series, value in zip(column.series, column.values, strict=True)}
