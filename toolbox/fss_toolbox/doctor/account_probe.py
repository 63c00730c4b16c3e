# SPDX-License-Identifier: Apache-2.0
"""Call every operation that the poller uses, and query every metric once."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from fss_exporter.errors import CloudError
from fss_exporter.oci.client import SdkClient, Session
from fss_exporter.oci.cloud_client import Scope
from fss_exporter.oci.inventory.inventory_refresh import SERVICE_OPERATIONS, InventoryRefresh
from fss_exporter.oci.inventory.oci_inventory import Inventory
from fss_exporter.oci.inventory.selection import InventorySelection
from fss_exporter.ocid import looks_like_ocid
from fss_toolbox.discovery import refresh_with_progress
from fss_toolbox.doctor import account_facts as facts
from fss_toolbox.doctor.metric_probe import ASKED_MINUTES, MetricProbe
from fss_toolbox.tables import Progress

_ALL_LOOKED_UP = 50  # mount targets; with more, the addresses of a few show whether the look-ups are allowed
_LOOK_UPS_OF_MANY = 10

# Seconds between two queries of a metric, and so the accuracy of the lag. Five metrics cost one call per second.
EVERY_SECONDS: Final = 5.0

LIST_SUBSCRIPTIONS: Final = "ListRegionSubscriptions"


class Probe:
    """Call the operations of one region.

    Args:
        session: calls in that region.
        selection: wanted resources.
        now: returns epoch seconds.
        progress: counts the calls.
        pause: waits so many seconds.
        wait_seconds: longest wait for a new minute of each metric, 0 to measure no ingestion lag.
    """

    def __init__(
        self,
        session: Session,
        selection: InventorySelection,
        now: Callable[[], float],
        progress: Progress,
        pause: Callable[[float], None],
        wait_seconds: float,
    ) -> None:
        self.session = session
        self.selection = selection
        self.now = now
        self.progress = progress
        self.pause = pause
        self.wait_seconds = wait_seconds
        self._tried: dict[str, facts.Tried] = {}

    def ask(self, already: Mapping[str, facts.Tried]) -> facts.RegionFacts:
        """Return the answers to all calls and to earlier calls. A failed call is a fact, so no error of OCI is raised."""
        self._tried.update(already)
        self._sign_in()
        if any(tried.outcome is facts.CallOutcome.SILENT for tried in self._tried.values()):
            # No answer: each further call would wait as long again.
            return facts.RegionFacts(self.session.region, self._tried)
        inventory, scopes = self._inventory()
        probe = MetricProbe(self.session, scopes, now=self._oci_now, note=self._note, progress=self.progress)
        metrics = probe.ask()
        with_points = [metric for metric in metrics if metric.streams]
        spellings = {metric.documented: metric.spelling for metric in reversed(with_points)}  # of several the first
        targets = tuple(inventory.mount_targets.values()) if inventory else ()
        is_listed = self._tried.get("ListMountTargets") == facts.Tried(facts.CallOutcome.OK)
        lags = self._lags(probe, metrics)
        reported = (target.observed_throughput_gbps for target in targets)
        throughputs = Counter("absent" if gbps is None else str(gbps) for gbps in reported)
        return facts.RegionFacts(
            region=self.session.region,
            operations=self._tried,
            clock_ahead_seconds=self.session.clock_skew_seconds,
            mount_targets=len(targets) if inventory and is_listed else None,
            all_addresses=len(targets) <= _ALL_LOOKED_UP,
            observed_throughputs=dict(sorted(throughputs.items())),
            availability_domains={
                address: target.availability_domain
                for target in targets
                for address in (target.address, *target.further_addresses)
                if address
            },
            metrics=metrics,
            asked_minutes=ASKED_MINUTES,
            ingestion_lags=lags,
            minutes_named_by=facts.minutes_named_by(lags),
            metric_names_ignore_case=probe.ignores_case(spellings),
            adding_two_metrics=probe.adds_up(spellings),
            throughput_factor=probe.throughput_factor(spellings, inventory),
            order_of_and_and_or=probe.join_order(spellings),
            limit_names=probe.limit_names(),
        )

    def _oci_now(self) -> float:
        """Return the present time by OCI's clock, epoch seconds. A wrong clock of this host is no ingestion lag."""
        return self.now() - (self.session.clock_skew_seconds or 0.0)

    def _note(self, operation: str, error: Exception | None) -> None:
        if self._tried.setdefault(operation, facts.Tried.of(error)).outcome is facts.CallOutcome.OK:
            self._tried[operation] = facts.Tried.of(error)

    def _note_optional(self, operation: str, error: Exception | None) -> None:
        """Note a call that the poller can do without: the limits, or a service that no setting names."""
        is_service = any(operation in operations for operations in SERVICE_OPERATIONS.values())
        if is_service or self.selection.compartments:
            self._tried.setdefault(operation, facts.Tried.of(error, is_optional=True))
        else:
            self._note(operation, error)

    def _sign_in(self) -> None:
        """Make one cheap call. The answer, or the refusal, also shows OCI's clock to the session."""
        failed = None
        try:
            SdkClient(self.session).availability_domains(self._some_compartment())
        except CloudError as error:
            failed = error
        self._note("ListAvailabilityDomains", failed)

    def _some_compartment(self) -> str:
        """Return the first OCID of the settings, because a policy on a compartment is enough, else that of the tenancy."""
        given = (name for name in self.selection.compartments if looks_like_ocid(name))
        return next(given, self.session.tenancy_id)

    def _inventory(self) -> tuple[Inventory | None, tuple[Scope, ...]]:
        refresh = InventoryRefresh(
            SdkClient(self.session),
            self.selection,
            now=self.now,
            report=self._note,
            report_optional=self._note_optional,
            look_ups=lambda count: _LOOK_UPS_OF_MANY if count > _ALL_LOOKED_UP else count,
        )
        with suppress(CloudError):  # reported
            refresh_with_progress(refresh, self.progress)
        return refresh.snapshot.inventory, refresh.snapshot.scopes or (Scope(self.session.tenancy_id, subtree=True),)

    def _lags(self, probe: MetricProbe, metrics: tuple[facts.MetricFacts, ...]) -> tuple[facts.Lag, ...]:
        if not self.wait_seconds:
            return ()
        self.progress.phase(
            f"{self.session.region}: waiting up to {self.wait_seconds:g} s for new minutes, Ctrl-C ends that"
        )
        # Wait only for metrics that OCI sends every minute, with and without traffic.
        steady = [metric.spelling for metric in metrics if metric.streams and metric.is_steady]
        return measure_lag(steady, probe.minutes, self.wait_seconds, now=self._oci_now, pause=self.pause)


def ask_subscriptions(sessions: Iterable[Session]) -> facts.Subscriptions:
    """Request the subscriptions of the tenancy from each region, until a region answers.

    Any region without a subscription refuses every signature, like after a wrong key.
    """
    tried: dict[str, facts.Tried] = {}
    for session in sessions:
        try:
            rows = [
                row
                for page in session.pages("identity", "list_region_subscriptions", session.tenancy_id)
                for row in page
                if isinstance(row, dict) and row.get("regionName")
            ]
        except CloudError as error:
            tried[session.region] = facts.Tried.of(error)
            continue
        tried[session.region] = facts.Tried.of(None)
        subscriptions = (
            facts.Subscription(str(row["regionName"]), str(row.get("regionKey", "")), str(row.get("status", "")))
            for row in rows
        )
        return facts.Subscriptions(tried, tuple(subscriptions))
    return facts.Subscriptions(tried)


def measure_lag(
    names: Iterable[str],
    minutes_of: Callable[[str], Collection[float]],
    wait_seconds: float,
    *,
    now: Callable[[], float],
    pause: Callable[[float], None],
) -> tuple[facts.Lag, ...]:
    """Measure ingestion lag: query until each metric has a new minute, at most for `wait_seconds` or until Ctrl-C.

    `minutes_of` returns the readable points of a metric, `now` the present time, both in epoch seconds. A metric that was
    never readable is left out.
    """
    watches = {name: _Watch() for name in names}
    until = now() + wait_seconds
    try:
        while True:
            for name, watch in watches.items():
                if watch.lag is None:
                    watch.ask(name, minutes_of, now)
            left = until - now()
            if left <= 0 or all(watch.lag for watch in watches.values()):
                break
            pause(min(EVERY_SECONDS, left))
    except KeyboardInterrupt:
        pass  # Ctrl-C ends the wait and keeps the measured lags
    return tuple(
        watch.lag or facts.Lag(name, max(0.0, watch.looked_at - watch.newest - 60.0), None)
        for name, watch in watches.items()
        if watch.newest
    )


@dataclass
class _Watch:
    """The lag of one metric, measured with repeated queries."""

    newest: float = 0.0  # newest minute in the first query
    looked_at: float = 0.0  # time of the last query
    lag: facts.Lag | None = None

    def ask(self, name: str, minutes_of: Callable[[str], Collection[float]], now: Callable[[], float]) -> None:
        at = now()
        try:
            minutes = minutes_of(name)
        except CloudError:
            return  # the next query may succeed
        fresh = [minute for minute in minutes if minute > self.newest]
        if not self.newest:
            self.newest = max(minutes, default=0.0)
        elif fresh:
            # Minutes may come two at a time; the earliest has waited longest.
            self.lag = facts.Lag(name, max(0.0, self.looked_at - min(fresh)), max(0.0, now() - min(fresh)))
        self.looked_at = at
