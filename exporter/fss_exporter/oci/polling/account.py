# SPDX-License-Identifier: Apache-2.0
"""One account of OCI: its regions, the rounds over them, and the files that keep what is counted."""

import json
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, Final

from fss_exporter.background import Event
from fss_exporter.errors import SourceError
from fss_exporter.oci.calls import CallBudget, FailureLog, SelfMetrics
from fss_exporter.oci.client import Credentials, SdkClient, Session, read_credentials, regions_of
from fss_exporter.oci.cloud_client import CloudClient
from fss_exporter.oci.inventory.inventory_refresh import InventoryRefresh
from fss_exporter.oci.inventory.selection import InventorySelection
from fss_exporter.oci.ledger import Ledger, newest_complete
from fss_exporter.oci.ledger.ledger_file import LedgerFile, LedgerOwner
from fss_exporter.oci.metric_table import METRICS, metrics_of
from fss_exporter.oci.metrics.metric_queries import MetricQueries
from fss_exporter.oci.minutes.minute_judge import MinuteJudge
from fss_exporter.oci.polling.region_polls import RegionPolls
from fss_exporter.oci.polling.regions import AccountRegion, SignedRegions
from fss_exporter.oci.polling.rounds import InventoryRounds, PollRounds
from fss_exporter.oci.publish.publisher import Publisher
from fss_exporter.oci.rows.mount_target_states import StateTimes
from fss_exporter.oci.snapshot import AccountSnapshot, SnapshotBoard
from fss_exporter.settings import Settings
from fss_exporter.shard import WHOLE

log = logging.getLogger(__name__)

# Most calls a second of inventories, which Monitoring does not count. OCI states no limit. A 429 is waited out.
INVENTORY_CALLS: Final = 10.0


def file_name(settings: Settings, *parts: str | None) -> str:
    """Return the name of a file of this poller or this shard, without its end."""
    shard = "" if settings.oci.shard == str(WHOLE) else settings.oci.shard.replace("/", "-of-")
    return "-".join(filter(None, ("fss-exporter", settings.oci.name, *parts, shard)))


def selected(settings: Settings) -> str:
    """Return what the settings select of a tenancy, in the words of the settings. Empty for all."""
    names = {"compartments", "in_subtree", "include", "exclude", "services"}
    chosen = settings.oci.model_dump(mode="json", include=names, exclude_defaults=True)
    return f"with {', '.join(f'{name} {_in_words(value)}' for name, value in chosen.items())}" if chosen else ""


def _in_words(value: Any) -> str:
    """Return a value of the settings. Names are quoted, because pollers compare what they select by this text."""
    if isinstance(value, dict):
        return " and ".join(f"{name} {_in_words(below)}" for name, below in value.items())
    if isinstance(value, list):
        return " and ".join(map(_in_words, value)) or "none"
    return json.dumps(value, ensure_ascii=False)


class Account:
    """What polls one account with one version of the settings. Nothing is read or called before a round runs.

    `clock` never goes back. `wait` waits for some seconds, and returns True to stop. `may_keep` tells whether the files of the
    ledger are those of this poller, and `writer` is its name in them. `before` was shown with earlier settings.

    Attributes:
        stopping: set to end all waits and calls with `EndLoop`.
        settings: limits and objectives. May be replaced while the exporter runs.
        budget: of the calls to Monitoring.
        inventory_budget: of all other calls.
        times: since when each mount target has been in its state.
        self_metrics: counters of the poller itself.
        ledgers: what is counted, by region. Those of earlier settings count resources that come now from now on.
        board: the newest snapshots.
        regions: the regions, under the newest credentials.
        inventories: the rounds that list resources.
        polls: the rounds that query metrics.
    """

    def __init__(
        self,
        settings: Settings,
        self_metrics: SelfMetrics,
        *,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], bool | None] | None = None,
        ledgers: dict[str, Ledger] | None = None,
        may_keep: Callable[[], bool] = lambda: True,
        writer: str = "",
        before: Sequence[AccountSnapshot] = (),
        times: StateTimes | None = None,
    ) -> None:
        self.stopping = Event()
        self.budget = CallBudget(settings.oci.calls_per_second, clock=clock, wait=wait or self.stopping.wait)
        self.inventory_budget = CallBudget(INVENTORY_CALLS, clock=clock, wait=wait or self.stopping.wait)
        self.board = SnapshotBoard(settings.oci.name or settings.oci.tenancy or "")
        self.regions = SignedRegions(partial(read_credentials, settings.oci), self._make, self._renew)
        self.settings = settings
        self.times = StateTimes() if times is None else times
        self.ledgers = {} if ledgers is None else ledgers
        self._ledger_files: dict[str, LedgerFile] = {}  # by region
        self.self_metrics = self_metrics
        self._may_keep, self._writer = may_keep, writer
        self._now, self._clock = now, clock
        self._before, self._began = before, clock()
        self._start = newest_complete(now())
        for ledger in self.ledgers.values():
            ledger.count_added_from(self._start)
        self._sessions: dict[str, Session] = {}
        oci = settings.oci
        self.inventories = InventoryRounds(self.regions.all, lambda: self.settings, clock=clock)
        self.polls = PollRounds(
            self.regions.all, self.board, interval=oci.poll_interval, clock=clock, pause=self.budget.pause
        )
        failures = cache(lambda region: FailureLog(region, log))
        self.publisher = Publisher(
            lambda: self.board.regions,
            lambda region: SdkClient(self._sessions[region]),
            lambda: self.settings,
            failures=failures,
            now=now,
        )

    @property
    def region_names(self) -> Sequence[str]:
        """Names of the regions, in the order of the alphabet. None before the credentials are read."""
        return sorted(self._sessions)

    @property
    def shown(self) -> Sequence[AccountSnapshot]:
        """What to show. A region that was polled with earlier settings shows these polls until OCI has answered again.

        It shows them no longer than `stale_after`. A region that is polled no more is gone at once.
        """
        own = self.board.regions
        here = AccountSnapshot(self.board.tenancy, self.settings, own)
        if not self._before:
            return [here]
        answered = {
            region.region for region in own if region.inventory.is_whole and region.poll and region.poll.has_answer
        }
        waiting = (
            set(self.region_names) or {region.region for old in self._before for region in old.regions}
        ) - answered
        age = self._clock() - self._began
        earlier = [
            replace(old, regions=[region for region in old.regions if region.poll and region.region in waiting])
            for old in self._before
            if age <= old.settings.oci.stale_after
        ]
        self._before = [old for old in earlier if old.regions]
        still = {region.region for old in self._before for region in old.regions}
        return [*self._before, replace(here, regions=[region for region in own if region.region not in still])]

    def renewal(self) -> Callable[[], None] | None:
        """Read the credentials again, and return what signs with them from now on.

        None if they are of another tenancy or of other regions, which takes another account.

        Raises:
            FssError: the credentials cannot be used.
        """
        fresh = read_credentials(self.settings.oci)
        tenancies = {session.tenancy_id for session in self._sessions.values()}
        if tenancies != {fresh.tenancy_id} or set(regions_of(self.settings.oci, fresh)) != set(self.region_names):
            return None
        return partial(self.regions.sign_with, fresh)

    def _make(self, held: Credentials) -> Sequence[AccountRegion]:
        self.board.tenancy = self.settings.oci.name or held.tenancy_id
        self._sessions = {
            region: Session(
                held,
                region,
                self.settings.oci,
                budget=self.budget,
                inventory_budget=self.inventory_budget,
                record=self.self_metrics.request,
                clock=self._clock,
                now=self._now,
            )
            for region in regions_of(self.settings.oci, held)
        }
        return [self._region(SdkClient(session), session.oci_now) for session in self._sessions.values()]

    def _renew(self, held: Credentials) -> None:
        for session in self._sessions.values():
            session.use_credentials(held)

    def _ledger(self, region: str, tenancy_id: str) -> tuple[Ledger, LedgerFile | None]:
        """Return the ledger of a region, of an earlier version of the settings or of the file, and the file that keeps it."""
        directory = self.settings.oci.ledger_directory
        if directory is None:
            return self.ledgers.setdefault(region, Ledger(self._start)), None
        path = directory / f"{file_name(self.settings, region)}.ledger.json"
        owner = LedgerOwner(f"{region} of {tenancy_id}", self._writer, selected(self.settings))
        file = LedgerFile(path, owner, self._may_keep, clock=self._clock)
        self._ledger_files[region] = file
        if region not in self.ledgers:
            self.ledgers[region] = file.read(self._start)
        return self.ledgers[region], file

    def poll(self) -> None:
        """Poll every region once, and note the state of each mount target.

        Raises:
            FssError: a region could not be polled, or not everything was answered.
            EndLoop: the exporter stops.
        """
        try:
            self.polls.run_round()
        finally:
            for region in self.board.regions:
                self.times.note(region, self.settings)

    def check_ledgers(self) -> None:
        """Raise SourceError if the last poll of a region could not keep its ledger. The log has the reason."""
        failures = [file.failure for file in list(self._ledger_files.values()) if file.failure]
        if failures:
            raise SourceError(", ".join(failures))

    def _region(self, client: CloudClient, oci_now: Callable[[], float]) -> AccountRegion:
        oci, selection, name = self.settings.oci, InventorySelection.of(self.settings), client.region
        inventory_failures, query_failures = FailureLog(name, log), FailureLog(name, log)
        inventory = InventoryRefresh(
            client,
            selection,
            now=self._now,
            clock=self._clock,
            report=inventory_failures.report,
            publish=lambda snapshot: self.board.publish(name, inventory=snapshot),
        )
        ledger, file = self._ledger(name, client.tenancy_id)
        judge = MinuteJudge(ledger, lambda: self.settings)
        queries = MetricQueries(
            client,
            ledger=ledger,
            now=oci_now,
            self_metrics=self.self_metrics,
            failures=query_failures,
            metrics={**METRICS, **metrics_of(selection.services)},
            optional_services=selection.optional_services,
            receivers=judge.receivers,
            awaited=judge.awaited,
            intervals=oci.intervals,
        )
        polls = RegionPolls(
            queries,
            judge,
            names_interval=oci.inventory_interval,
            stale_after=oci.stale_after,
            clock=self._clock,
            file=file,
        )
        return AccountRegion(name, inventory, inventory_failures, polls)
