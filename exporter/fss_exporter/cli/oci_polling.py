# SPDX-License-Identifier: Apache-2.0
"""Wires the poller of OCI from settings, and wires it again when they change."""

import logging
import os
import re
import socket
import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from secrets import token_hex
from typing import Any, Final

from prometheus_client import GC_COLLECTOR, PLATFORM_COLLECTOR

from fss_exporter.background import EndLoop, Event, Worker, at_once, within
from fss_exporter.cli.account import regions_of
from fss_exporter.cli.allocator import give_large_blocks_back
from fss_exporter.cli.runtime import Part
from fss_exporter.errors import SourceError, UsageError
from fss_exporter.oci.calls import CallBudget, FailureLog, SelfMetrics
from fss_exporter.oci.client import Credentials, SdkClient, Session, read_credentials
from fss_exporter.oci.cloud_client import CloudClient
from fss_exporter.oci.inventory.inventory_refresh import InventoryRefresh
from fss_exporter.oci.inventory.selection import InventorySelection
from fss_exporter.oci.ledger.ledger import Ledger, newest_complete
from fss_exporter.oci.ledger.ledger_file import LedgerFile
from fss_exporter.oci.metric_table import METRICS, SERVICE_METRICS, metrics_of
from fss_exporter.oci.metrics.metric_queries import MetricQueries
from fss_exporter.oci.minute_metrics import BY_MINUTE
from fss_exporter.oci.minutes.minute_judge import MinuteJudge
from fss_exporter.oci.polling.lease import LOOK_SECONDS, Lease
from fss_exporter.oci.polling.region_loops import Account, InventoryLoop, MetricPoller, MonitoredRegion
from fss_exporter.oci.polling.region_poller import RegionPoller
from fss_exporter.oci.polling.snapshot import SnapshotBoard
from fss_exporter.oci.publish.publisher import Publisher
from fss_exporter.oci.rows.snapshot_collector import OciCollector, PolledAccount
from fss_exporter.settings import Settings
from fss_exporter.shard import WHOLE

_LONGEST_INVENTORY_LOOK: Final = 60.0  # seconds between two looks whether an inventory is due
_LONGEST_OF_JUDGED: Final = 300.0  # seconds between two queries; FssOciDataLate fires at seven minutes
_PUBLISH_SECONDS: Final = 5.0  # between two looks whether a poll has ended
_LOOK_SECONDS: Final = 5.0  # at a directory. A reload may take ten seconds
_STOP_SECONDS: Final = 0.3  # for each loop; calls under way are left to their daemon threads

log = logging.getLogger(__name__)


def _file_name(settings: Settings, *parts: str | None) -> str:
    """Return the name of a file of this poller or this shard, without its end."""
    shard = "" if settings.oci.shard == str(WHOLE) else settings.oci.shard.replace("/", "-of-")
    return "-".join(filter(None, ("fss-exporter", settings.oci.name, *parts, shard)))


class Polling:
    """Everything that polls one account with one version of the settings. Nothing is read or called before a round runs.

    `clock` never goes back. `wait` waits for some seconds, and returns True to stop. `may_keep` tells whether the files of the
    ledger are those of this poller.

    Attributes:
        stopping: set to end all waits and calls with `EndLoop`.
        settings: limits and objectives. May be replaced while the exporter runs.
        ledgers: what is counted, by region.
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
    ) -> None:
        self.stopping = Event()
        self.budget = CallBudget(settings.oci.calls_per_second, clock=clock, wait=wait or self.stopping.wait)
        self.board = SnapshotBoard(settings.oci.name or settings.oci.tenancy or "")
        self.account = Account(partial(read_credentials, settings.oci), self._connect, self._renew)
        self.settings = settings
        self.ledgers = {} if ledgers is None else ledgers
        self._ledger_files: dict[str, LedgerFile] = {}  # by region
        self._self_metrics = self_metrics
        self._may_keep = may_keep
        self._now, self._clock = now, clock
        self._start = newest_complete(now())
        self._sessions: dict[str, Session] = {}
        oci = settings.oci
        self.inventory = InventoryLoop(self.account, lambda: self.settings, clock=clock)
        self.poller = MetricPoller(
            self.account, self.board, interval=oci.poll_interval, clock=clock, pause=self.budget.pause
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
    def regions(self) -> Sequence[str]:
        """Names of the regions, in the order of the alphabet. None before the credentials are read."""
        return sorted(self._sessions)

    @property
    def polled(self) -> PolledAccount:
        """What is known of the account now."""
        return PolledAccount(self.board, self.poller, self._self_metrics, self.budget, self.settings)

    def _connect(self, held: Credentials) -> Sequence[MonitoredRegion]:
        self.board.tenancy = self.settings.oci.name or held.tenancy_id
        self._sessions = {
            region: Session(
                held,
                region,
                self.settings.oci,
                budget=self.budget,
                record=self._self_metrics.request,
                clock=self._clock,
                now=self._now,
            )
            for region in regions_of(self.settings, held)
        }
        return [self._region(SdkClient(session), session.oci_now) for session in self._sessions.values()]

    def _renew(self, held: Credentials) -> None:
        for session in self._sessions.values():
            session.use_credentials(held)

    def _ledger(self, region: str, tenancy_id: str) -> tuple[Ledger, Callable[[Ledger], None]]:
        """Return the ledger of a region, of an earlier version of the settings or of the file, and what keeps it."""
        directory = self.settings.oci.ledger_directory
        if directory is None:
            return self.ledgers.setdefault(region, Ledger(self._start)), lambda _: None
        path = directory / f"{_file_name(self.settings, region)}.ledger.json"
        file = LedgerFile(path, f"{region} of {tenancy_id}", self._may_keep, clock=self._clock)
        self._ledger_files[region] = file
        if region not in self.ledgers:
            self.ledgers[region] = file.read(lambda: Ledger(self._start))
        return self.ledgers[region], file.write

    def check_ledgers(self) -> None:
        """Raise SourceError if the last poll of a region could not keep its ledger. The log has the reason."""
        failures = [file.failure for file in list(self._ledger_files.values()) if file.failure]
        if failures:
            raise SourceError(", ".join(failures))

    def _region(self, client: CloudClient, oci_now: Callable[[], float]) -> MonitoredRegion:
        oci, selection, name = self.settings.oci, InventorySelection.of(self.settings), client.region
        inventory_failures, query_failures = FailureLog(name, log), FailureLog(name, log)
        inventory = InventoryRefresh(
            client,
            selection,
            now=self._now,
            report=inventory_failures.report,
            publish=lambda state: self.board.publish(name, inventory=state),
        )
        ledger, keep = self._ledger(name, client.tenancy_id)
        judge = MinuteJudge(ledger, lambda: self.settings)
        queries = MetricQueries(
            client,
            ledger=ledger,
            now=oci_now,
            self_metrics=self._self_metrics,
            failures=query_failures,
            metrics={**METRICS, **metrics_of(selection.services)},
            optional_services=selection.optional_services,
            receivers={metric: judge.receiver(metric) for metric in BY_MINUTE},
            awaited=judge.awaited,
            intervals=oci.intervals,
        )
        poller = RegionPoller(
            queries,
            judge,
            names_interval=oci.inventory_interval,
            stale_after=oci.stale_after,
            clock=self._clock,
            keep=keep,
        )
        return MonitoredRegion(name, inventory, inventory_failures, poller)


class PolledCloud:
    """The loops that poll one account. They live as long as the exporter. A reload replaces the work of the loops.

    `of` stands in the names of the loops, if there are several accounts. `now` is epoch seconds, and `clock` never goes back.
    Rounds without the `lease` only read the credentials. None for a poller that never stands by.

    Attributes:
        of: as given.
    """

    def __init__(
        self,
        settings: Settings,
        of: str,
        *,
        now: Callable[[], float],
        clock: Callable[[], float],
        wait: Callable[[float], bool | None] | None,
        lease: Lease | None = None,
    ) -> None:
        self.of = of
        self._lease = lease
        may_keep = lease.holds_now if lease else lambda: True
        self._polling_of = partial(
            Polling, self_metrics=SelfMetrics(), now=now, clock=clock, wait=wait, may_keep=may_keep
        )
        self._polling = self._polling_of(settings)
        self._was_answered = False  # with earlier settings
        common: dict[str, Any] = {"of": of, "clock": clock, "wall_clock": now}
        self._inventory = Worker(
            "oci_inventory",
            lambda: self._round(lambda polling: polling.inventory.run_round()),
            interval=lambda: min(self._polling.settings.oci.inventory_interval, _LONGEST_INVENTORY_LOOK),
            **common,
        )
        self._polls = Worker(
            "oci",
            lambda: self._round(lambda polling: polling.poller.run_round()),
            interval=lambda: self._polling.settings.oci.poll_interval,
            **common,
        )
        self._publish = Worker(
            "oci_publish",
            lambda: self._round(lambda polling: polling.publisher.run_round()),
            interval=lambda: _PUBLISH_SECONDS,
            is_on=lambda: self._polling.settings.oci.publish,
            **common,
        )
        ledgers = Worker(
            "oci_ledger",
            lambda: self._round(Polling.check_ledgers),
            interval=lambda: self._polling.settings.oci.poll_interval,
            is_on=lambda: self._polling.settings.oci.ledger_directory is not None,
            **common,
        )
        self.loops = (self._inventory, self._polls, self._publish, ledgers)

    @property
    def polls(self) -> str:
        """Name of the account, else the OCID of its tenancy, the regions, and what the settings select there.

        Empty before the credentials are read.
        """
        polling = self._polling
        selected = polling.settings.oci.model_dump_json(
            include={"compartments", "include", "exclude"}, exclude_defaults=True
        )
        place = f"{polling.board.tenancy} in {'+'.join(polling.regions)}"
        return place + f" {selected}".removesuffix(" {}") if polling.regions else ""

    def polled(self) -> PolledAccount:
        """Return what is known of the account now."""
        return self._polling.polled

    def stop(self) -> None:
        """End the loops. A call under way gets a moment to end, and the poller drops the answer of a longer call."""
        self._polling.stopping.set()
        for loop in self.loops:
            loop.stop(_STOP_SECONDS)

    def reload(self, fresh: Settings) -> Callable[[], None]:
        """Read the credentials again, and return the function that puts other settings in force.

        Polls go on undisturbed where only limits or objectives changed.
        """
        if fresh.oci != self._polling.settings.oci:
            polling = self._polling_of(fresh, ledgers=self._polling.ledgers)

            def put_in_force() -> None:
                self._was_answered = self.is_ready()
                self._use(polling)
                log.info("the OCI settings changed: polling starts again, and the counters go on")

            return put_in_force
        self._polling.account.read_credentials_again()
        return partial(self._adjust, fresh)

    def _adjust(self, fresh: Settings) -> None:
        self._polling.settings = fresh

    def begin_anew(self) -> None:
        """Forget what was polled and counted. The next poll reads the ledger of the last leader."""
        self._was_answered = False
        self._use(self._polling_of(self._polling.settings))

    def _use(self, polling: Polling) -> None:
        old, self._polling = self._polling, polling
        old.stopping.set()
        for loop in self.loops:
            loop.wake()

    def is_ready(self) -> bool:
        """Return whether OCI has answered a poll in every region, with these settings or those before a reload."""
        return self._was_answered or self._polling.poller.was_answered

    def _round(self, run: Callable[[Polling], None]) -> None:
        """Run a round. A round that ends because of new settings does not end the loop."""
        polling = self._polling
        try:
            if self._lease and not self._lease.is_held:
                polling.account.regions()  # credentials that cannot be used show before this poller has to lead
            else:
                run(polling)
        except EndLoop:
            if polling is self._polling:
                raise


class Cloud:
    """The poller as a part of the exporter: loops for each account, and one source of all families.

    `now` is epoch seconds, and `clock` never goes back.

    Raises:
        UsageError: the settings are wrong.
    """

    def __init__(
        self,
        load: Callable[[], Settings],
        *,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], bool | None] | None = None,
    ) -> None:
        self._load = load
        accounts = _checked(load()).each_account
        self._names = [account.oci.name for account in accounts]
        is_alone = len(accounts) == 1
        self._lease_path = _lease_path(accounts)
        self._lease = (
            Lease(self._lease_path, _own_name(), polls=self._polls, clock=clock, on_change=self._begin_anew)
            if self._lease_path
            else None
        )
        self._clouds = [
            PolledCloud(
                account,
                "" if is_alone else account.oci.name or "",
                now=now,
                clock=clock,
                wait=wait,
                lease=self._lease,
            )
            for account in accounts
        ]
        self.source = OciCollector(lambda: [cloud.polled() for cloud in self._clouds], now=now, lease=self._lease)
        self.loops = tuple(loop for cloud in self._clouds for loop in cloud.loops)
        if self._lease:
            looks = Worker("oci_lease", self._lease.look, interval=lambda: LOOK_SECONDS, clock=clock, wall_clock=now)
            self.loops = (looks, *self.loops)

    def start(self) -> None:
        """Start the loops that list resources, poll metrics and, if the settings say so, publish metrics."""
        give_large_blocks_back()
        for loop in self.loops:
            loop.start()

    def stop(self) -> None:
        """End the loops of all accounts at once."""
        at_once([cloud.stop for cloud in self._clouds], _STOP_SECONDS * len(self._clouds[0].loops))
        if self._lease:
            self.loops[0].stop(_STOP_SECONDS)
            self._lease.release()

    def _polls(self) -> str:
        """Return what this poller polls, for the poller that stands by. Empty before all credentials are read."""
        accounts = [cloud.polls for cloud in self._clouds]
        return ", ".join(accounts) if all(accounts) else ""

    def _begin_anew(self) -> None:
        for cloud in self._clouds:
            cloud.begin_anew()

    def reload(self) -> Callable[[], None]:
        """Read the settings and the credentials again, and return the function that puts the settings in force.

        Raises:
            UsageError: the settings are wrong, or need a restart; the ones in force stay.
        """
        fresh = _checked(self._load()).each_account
        if [account.oci.name for account in fresh] != self._names:
            raise UsageError("oci: names of accounts changed, which takes a restart")
        if _lease_path(fresh) != self._lease_path:
            raise UsageError(
                "oci: standby, ledger_directory or shard changed, which takes a restart of a poller with a lease"
            )
        changes = [cloud.reload(account) for cloud, account in zip(self._clouds, fresh, strict=True)]

        def put_in_force() -> None:
            for change in changes:
                change()

        return put_in_force

    def waits_for(self) -> str:
        """Return what is missing before the poller is ready. Empty if nothing is. A poller that stands by waits for no poll."""
        if self._lease and not self._lease.is_held:
            return "" if self._lease.was_read else f"the first look at {self._lease_path}"
        unready = [cloud for cloud in self._clouds if not cloud.is_ready()]
        names = ", ".join(cloud.of for cloud in unready if cloud.of)
        return "a first answer of OCI in every region" + (names and f" of {names}") if unready else ""


def _lease_path(accounts: Sequence[Settings]) -> Path | None:
    """Return the file that one of several equal pollers holds, or None for a poller that never stands by."""
    oci = accounts[0].oci
    if not (oci.standby and oci.ledger_directory):
        return None
    names = (account.oci.name for account in accounts[1:])
    return oci.ledger_directory / f"{_file_name(accounts[0], *names)}.leader"


def _own_name() -> str:
    """Return a name that no other process has."""
    host = re.sub(r"[^A-Za-z0-9.-]", "_", socket.gethostname())
    return f"{host}:{os.getpid()}:{token_hex(4)}"


def _checked(settings: Settings) -> Settings:
    """Return the settings, or raise UsageError if the ledger cannot be kept where they say, or an interval is of no metric."""
    known = METRICS.keys() | SERVICE_METRICS.keys()
    for name, seconds in settings.oci.intervals.items():
        if name not in known:
            raise UsageError(f"oci.intervals: {name} is no metric of the poller. docs/metrics.md has the names")
        if name in BY_MINUTE and seconds > _LONGEST_OF_JUDGED:
            raise UsageError(f"oci.intervals: {name} judges each minute. Give at most {_LONGEST_OF_JUDGED / 60:.0f}m")
    directory = settings.oci.ledger_directory
    if directory is not None and not _takes_files(directory):
        raise UsageError(f"oci.ledger_directory: {directory} is not a directory in which this user may write")
    return settings


def _takes_files(directory: Path) -> bool:
    """Return whether this user may write in a directory. One whose file system does not answer now may do so later."""

    def look() -> bool:
        return directory.is_dir() and os.access(directory, os.W_OK | os.X_OK)

    try:
        return within(_LOOK_SECONDS, look, f"a look at {directory}")
    except SourceError as hangs:
        log.error("oci.ledger_directory: %s. The poller goes on, and each poll tries the directory again", hangs)  # noqa: TRY400  # no mistake of the exporter
        return True


def part(load: Callable[[], Settings]) -> Part:
    """Return the poller as a part of a running exporter, or raise UsageError for wrong settings."""
    cloud = Cloud(load)
    return Part(
        "oci",
        cloud.source,
        start=cloud.start,
        stop=cloud.stop,
        loops=cloud.loops,
        waits_for=cloud.waits_for,
        reload=cloud.reload,
        further_collectors=(PLATFORM_COLLECTOR, GC_COLLECTOR),
    )
