"""Wires the poller of OCI from settings, and wires it anew when they change."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache

from fss_exporter.cli.allocator import give_large_blocks_back
from fss_exporter.cli.runtime import Part
from fss_exporter.config import Oci, Settings
from fss_exporter.errors import UsageError
from fss_exporter.model.thresholds import SLO_OBJECTIVES
from fss_exporter.oci.call_budget import Budget
from fss_exporter.oci.client import Access, Credentials, Reach, Session, read_credentials
from fss_exporter.oci.complaints import Complaints
from fss_exporter.oci.inventory_refresh import InventoryRefresh
from fss_exporter.oci.metric_poller import Poller
from fss_exporter.oci.metric_queries import Queries
from fss_exporter.oci.metric_table import METRICS
from fss_exporter.oci.mount_target_settings import MountTargetSettings
from fss_exporter.oci.region_poller import Pace, RegionPoller
from fss_exporter.oci.self_metrics import SelfMetrics
from fss_exporter.oci.service_metrics import DISCOVERED, metrics_of
from fss_exporter.oci.snapshot_collector import OciCollector, View
from fss_exporter.oci.tag_filter import Tags
from fss_exporter.oci.utilization_publisher import Publisher
from fss_exporter.oci.window import newest_complete

log = logging.getLogger(__name__)


def access_of(settings: Settings) -> Access:
    """Which credentials the settings name."""
    oci = settings.oci
    return Access(oci.auth, oci.config_file, oci.profile, oci.tenancy or "")


def reach_of(settings: Settings) -> Reach:
    """Where the settings find the services."""
    oci = settings.oci
    given = {service: url or oci.endpoint for service, url in oci.endpoints.model_dump().items()}
    endpoints = {service: url for service, url in given.items() if url}
    return Reach(endpoints, oci.connect_timeout, oci.read_timeout)


def view_of(settings: Settings) -> View:
    """How the settings want snapshots shown."""
    return View(
        stale_after=settings.oci.stale_after,
        mount_targets=mount_target_settings(settings),
        addresses=settings.addresses,
    )


def mount_target_settings(settings: Settings) -> MountTargetSettings:
    """Limits and objectives of mount targets as the settings have them."""
    limits, latencies, slos = settings.limits, settings.latency_objectives, settings.slo_objectives
    return MountTargetSettings(
        shape_limits={shape: one.given for shape, one in limits.shapes.items()},
        target_limits={target: one.given for target, one in limits.mount_targets.items()},
        latency_seconds=latencies.seconds,
        target_latency_seconds={target: one.given for target, one in latencies.mount_targets.items()},
        slo={**SLO_OBJECTIVES, **slos.given},
        target_slo={target: one.given for target, one in slos.mount_targets.items()},
    )


def build_poller(
    settings: Settings,
    ledger: SelfMetrics,
    *,
    now: Callable[[], float] = time.time,
    clock: Callable[[], float] = time.monotonic,
    wait: Callable[[float], bool | None] | None = None,
) -> tuple[Poller, Budget]:
    """The poller and its budget. Nothing is read or contacted before it polls.

    Args:
        settings: what to poll, as whom, how often.
        ledger: counters of what is done.
        now: epoch seconds.
        clock: seconds that never go back.
        wait: waits so many seconds, True to stop; by default on the poller's own stop.
    """
    stopping = threading.Event()
    budget = Budget(settings.oci.calls_per_second, clock=clock, wait=wait or stopping.wait)
    start = newest_complete(now())

    def connect() -> Sequence[RegionPoller]:
        held, reach = read_credentials(access_of(settings)), reach_of(settings)
        return [
            _region_poller(
                settings.oci,
                Session(held, region, reach, budget=budget, record=ledger.request, clock=clock),
                ledger,
                start=start,
                now=now,
                clock=clock,
            )
            for region in regions_of(settings, held)
        ]

    return Poller(connect, interval=settings.oci.poll_interval, clock=clock, stopping=stopping, ledger=ledger), budget


def _region_poller(
    oci: Oci,
    session: Session,
    ledger: SelfMetrics,
    *,
    start: int,
    now: Callable[[], float],
    clock: Callable[[], float],
) -> RegionPoller:
    survey_complaints, query_complaints = Complaints(session.region), Complaints(session.region)
    tags = Tags(oci.include.tags, oci.exclude.tags)
    asked, unasked = (DISCOVERED, DISCOVERED) if oci.services is None else (oci.services, ())
    survey = InventoryRefresh(
        session, oci.compartments, tags, now=now, complain=survey_complaints.note, services=asked, unasked=unasked
    )
    queries = Queries(
        session,
        start=start,
        now=now,
        ledger=ledger,
        complaints=query_complaints,
        metrics={**METRICS, **metrics_of(asked)},
        unasked=unasked,
    )
    return RegionPoller(
        session.region,
        survey,
        queries,
        survey_complaints=survey_complaints,
        query_complaints=query_complaints,
        pace=Pace(oci.inventory_interval, oci.stale_after),
        now=now,
        clock=clock,
    )


def build_publisher(
    settings: Settings, poller: Poller, budget: Budget, ledger: SelfMetrics, *, now: Callable[[], float] = time.time
) -> Publisher:
    """What posts utilization after each poll; its calls are accounted for like the poller's."""

    @cache
    def session(region: str) -> Session:
        return Session(
            read_credentials(access_of(settings)), region, reach_of(settings), budget=budget, record=ledger.request
        )

    return Publisher(lambda: poller.snapshot, session, mount_target_settings(settings), now=now)


def regions_of(settings: Settings, held: Credentials) -> tuple[str, ...]:
    """The regions that are meant.

    Raises:
        UsageError: neither the settings nor the credentials name one.
    """
    regions = settings.oci.regions or ((held.region,) if held.region else ())
    if not regions:
        raise UsageError(f"oci.regions: the credentials ({held.auth}) do not tell the region; name the regions to poll")
    return regions


class Cloud:
    """The poller as a part of the exporter; it is built anew when its settings change.

    Args:
        load: reads the settings.

    Raises:
        UsageError: the settings are wrong.
    """

    def __init__(self, load: Callable[[], Settings]) -> None:
        self._load = load
        self._settings = load()
        self._ledger = SelfMetrics()
        self._poller, budget = build_poller(self._settings, self._ledger)
        self._publisher = self._publisher_for(self._settings, budget)
        self.source = OciCollector(
            self._poller, self._ledger, budget=budget, view=view_of(self._settings), now=time.time
        )

    def _publisher_for(self, settings: Settings, budget: Budget) -> Publisher | None:
        return build_publisher(settings, self._poller, budget, self._ledger) if settings.oci.publish else None

    def start(self) -> None:
        """Poll from now on, and publish what polls bring if that is wanted."""
        give_large_blocks_back()
        self._poller.start()
        if self._publisher is not None:
            self._publisher.start()

    def stop(self) -> None:
        """Poll and publish no more."""
        if self._publisher is not None:
            self._publisher.stop()
        self._poller.stop()

    def reload(self) -> None:
        """Read the settings again. Where only the view of things changed, polls go on undisturbed.

        Raises:
            UsageError: the settings are wrong; the ones in force stay.
        """
        fresh = self._load()
        if fresh.oci != self._settings.oci:
            self.stop()
            self._poller, budget = build_poller(fresh, self._ledger)
            self._publisher = self._publisher_for(fresh, budget)
            self.source.show(self._poller, budget)
            self.start()
            log.info("the OCI settings changed: polling anew, and what adds up begins at 0 again")
        self.source.view = view_of(fresh)
        if self._publisher is not None:
            self._publisher.settings = self.source.view.mount_targets
        self._settings = fresh

    def is_ready(self) -> bool:
        """Whether the first poll has ended, well or not."""
        return self._poller.polled


def part(load: Callable[[], Settings]) -> Part:
    """The poller as a part of a running exporter.

    Raises:
        UsageError: the settings are wrong.
    """
    cloud = Cloud(load)
    return Part(
        name="oci",
        source=cloud.source,
        start=cloud.start,
        stop=cloud.stop,
        is_ready=cloud.is_ready,
        reload=cloud.reload,
    )
