"""Situations in which somebody looks at a dashboard, recorded from the product itself on a clock that is turned by hand.

The demo region answers a real poller in memory, recorded clients play on procfs trees that real agents read, and faults come and go.
Prometheus gets what their pages answer. Forty minutes take seconds.
"""

import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from email.utils import formatdate
from pathlib import Path
from typing import Any
from unittest.mock import patch

from lab.pictures.replay import Labels, Rules, Server, Stored, samples_of
from prometheus_client import PROCESS_COLLECTOR
from tests.clock import NOON, Clock
from tests.exposition_text import written
from tests.region import shared_account
from tests.region.in_memory import InMemoryRegion, InMemoryRegions

from fss_exporter.cli.nfs_agent import NfsAgent
from fss_exporter.cli.nfs_flags import NfsFlags
from fss_exporter.nfs.mount_settings import mount_settings
from fss_exporter.oci.polling.poller import Poller
from fss_exporter.oci.snapshot_collector import OciCollector
from fss_exporter.settings import load
from fss_exporter.web.collecting import Collectors
from fss_toolbox.cli.demo import NAS_SETTINGS
from fss_toolbox.demo.recorded_clients import CLIENT_MOUNTS, ClientMount, Clients
from fss_toolbox.demo.region import Tenancy, large, small
from fss_toolbox.demo.region.wire import ApiRequest

BEGIN = NOON  # epoch seconds at which each situation begins
MINUTES = 45  # how long each situation is recorded
TICK_S = 5
_POLL_AT_S = 20
_WEEK_S = 7 * 24 * 3600
_MIXED, _DELETE, _STAT, _READ, _WRITE, _NAS = CLIENT_MOUNTS


@dataclass(frozen=True)
class Host:
    """A client with an agent. `speed` is how many recorded seconds it plays in a second, from minute `since` on; before, one."""

    name: str
    mounts: tuple[ClientMount, ...]
    speed: int = 1
    since: int = 0
    has_agent: bool = True


_HOSTS = (
    Host("render-1", (_MIXED, _READ)),
    Host("render-2", (_READ,)),
    Host("build-1", (_MIXED, _DELETE)),
    Host("build-2", (_DELETE, _MIXED)),
    Host("home-1", (_MIXED,)),
    Host("home-2", (_STAT,)),
    Host("media-1", (_WRITE,)),
    Host("nas-1", (_NAS,)),
)


@dataclass(frozen=True)
class Situation:
    """What there is, and what goes wrong in which minutes.

    Attributes:
        name: of the recording.
        title: in words, for the page that shows the picture.
        faults: of OCI, as `demo --fault` takes them, with their first minute.
        loads: of a mount target, as a multiple of its usual requests, with the first minute.
        poller_from: minute in which the poller starts.
        poller_until: minute in which the poller dies. 0: there is none.
        mount_targets: a large tenancy in place of the demo's.
        scraped_s: seconds between two scrapes.
        minutes: how long the situation is recorded.
        week_before: loads at the same hours a week before, as `loads`. Empty: nothing was recorded then.
    """

    name: str
    title: str
    faults: tuple[tuple[int, str], ...] = ()
    loads: tuple[tuple[int, str, float], ...] = ()
    hosts: tuple[Host, ...] = _HOSTS
    poller_from: float = 0
    poller_until: float = float("inf")
    mount_targets: int = 0
    scraped_s: int = 60
    minutes: int = MINUTES
    week_before: tuple[tuple[int, str, float], ...] = ()


def _hosts_of(tenancy: Tenancy) -> tuple[Host, ...]:
    """Two hosts for each of the first four mount targets of a large tenancy."""
    recordings = ("k_mixed", "h_rmrf", "i2_stat_storm", "c_randread_1m")
    return tuple(
        Host(f"client-{number}-{twin}", (ClientMount(recording, _address(tenancy, number), "/export"),), speed=6)
        for number, recording in enumerate(recordings)
        for twin in (1, 2)
    )


def _address(tenancy: Tenancy, number: int) -> str:
    return str(tenancy.mount_targets[number].address)


_FAILING = MINUTES - 31
_HAMMERING = MINUTES - 15

# Every situation of the pictures.
SITUATIONS = (
    Situation(
        "normal",
        "Two mount targets near a ceiling, as the demo has them, with less load a week before",
        week_before=((0, "mt-home", 0.6), (0, "mt-scratch", 0.75)),
    ),
    Situation("scraped-15s", "The same, scraped every 15 s", scraped_s=15),
    Situation("oci-failing", "OCI answers nothing for 31 minutes", faults=((_FAILING, "503:SummarizeMetricsData"),)),
    Situation("poller-dead", "The poller died eight minutes ago", poller_until=MINUTES - 8.0),
    Situation("poller-started", "The poller started ten minutes ago", poller_from=MINUTES - 10.0),
    Situation("no-poller", "Agents without a poller", poller_until=0),
    Situation(
        "half-the-agents",
        "Half of the clients have no agent",
        hosts=tuple(
            Host(host.name, host.mounts, host.speed, host.since, has_agent=bool(at % 2))
            for at, host in enumerate(_HOSTS)
        ),
    ),
    Situation(
        "hammering-client",
        "One client loads a mount target alone since 15 minutes",
        loads=((_HAMMERING, "mt-home-b", 18.0), (0, "mt-home", 0.5)),
        hosts=(*_HOSTS[:-1], Host("batch-7", (_STAT,), speed=30, since=_HAMMERING), _HOSTS[-1]),
    ),
    Situation(
        "many",
        "500 mount targets, of which one is nearly full",
        # more than the clients with an agent, whose recordings play faster than usual
        loads=((0, "mt-00000", 8.0), (0, "mt-00001", 17.0), (0, "mt-00002", 4.0), (0, "mt-00003", 8.0)),
        mount_targets=500,
        hosts=(),
        minutes=12,
    ),
)


class _Region(InMemoryRegion):
    """The demo's region in memory. `now` is the time of data and answers."""

    def respond(self, request: ApiRequest) -> tuple[int, Any, bytes]:
        status, headers, content = super().respond(request)
        return status, {"date": formatdate(self._now(), usegmt=True), **headers}, content


class _Target:
    """A scrape target: its labels, its page and what is stored of it."""

    def __init__(self, job: str, instance: str, server: Server) -> None:
        self.labels: Labels = (("instance", instance), ("job", job))
        self.collect: Callable[[], Any] | None = None
        self._stored = Stored(server)

    def scrape(self, at: float) -> None:
        rows = []
        if self.collect is not None:
            body = written((*self.collect(), *PROCESS_COLLECTOR.collect()))  # of the one process that plays all
            rows = list(samples_of(body, self.labels))
            rows.append(((("__name__", "scrape_samples_scraped"), *self.labels), float(len(rows))))
            rows.append(((("__name__", "scrape_duration_seconds"), *self.labels), len(rows) * 2e-6))
        up = (("__name__", "up"), *self.labels)
        self._stored.store([*rows, (up, float(self.collect is not None))], at)


class _Client(_Target):
    """A host with its kernel and its agent, in the network that the poller names by its region."""

    def __init__(self, host: Host, folder: Path, clock: Clock, server: Server, network: str) -> None:
        super().__init__("fss-agent", f"{host.name}:10949", server)
        self._host = host
        self._clients = Clients(folder / host.name, host.mounts)
        flags = NfsFlags(procfs=self._clients.root, tick_s=float(TICK_S), metadata_url="", network=network)
        self._agent = NfsAgent(
            flags, mount_settings(load(None, {"services": [NAS_SETTINGS]})), clock=clock, wall_clock=clock
        )
        self.collect = Collectors({"nfs": self._agent.collector}, self._agent.loops, clock).collect

    def tick(self, minute: float) -> None:
        speed = self._host.speed if minute >= self._host.since else 1
        self._clients.advance(readings=TICK_S * speed)
        self._agent.ticker.tick()


class _Poller(_Target):
    def __init__(self, region: _Region, folder: Path, clock: Clock, server: Server) -> None:
        super().__init__("fss", "poller:10949", server)
        settings = load(
            None,
            {
                "oci.config_file": str(region.account.write_config(folder, region.tenancy.region)),
                "oci.endpoint": region.url,
                "oci.services": ("lustre", "block-volume"),
            },
        )
        self._poller = Poller(lambda: settings, now=clock, clock=clock, wait=clock.wait)
        self.collect = Collectors(
            {"oci": OciCollector(self._poller.accounts, now=clock)}, self._poller.loops, clock
        ).collect

    def poll(self) -> None:
        for loop in self._poller.loops:
            loop.run_once()


def play(situation: Situation, server: Server, groups: Sequence[Any]) -> float:
    """Give a Prometheus the history of a situation, with the rules evaluated once a minute. The last moment, epoch seconds."""
    if situation.week_before:
        _play(replace(situation, loads=situation.week_before), server, groups, BEGIN - _WEEK_S)
    return _play(situation, server, groups, BEGIN)


def _play(situation: Situation, server: Server, groups: Sequence[Any], begin: float) -> float:
    clock, regions = Clock(begin), InMemoryRegions()
    tenancy = large(situation.mount_targets, 1) if situation.mount_targets else small()
    rules = Rules(server, groups)
    with ExitStack() as undo:
        folder = Path(undo.enter_context(tempfile.TemporaryDirectory()))
        undo.enter_context(patch("fss_exporter.oci.client.session.read_environment_once", regions.connect))
        undo.enter_context(patch("circuitbreaker.monotonic", clock))
        region = _Region(tenancy, account=_account(tenancy), now=clock, calls_per_second={})
        regions.add(region)
        hosts = situation.hosts or _hosts_of(tenancy)
        clients = [_Client(host, folder, clock, server, tenancy.region) for host in hosts if host.has_agent]
        poller: _Poller | None = None
        targets: list[_Target] = [*clients]
        for second in range(0, situation.minutes * 60 + 1, TICK_S):
            clock.now, minute = begin + second, second / 60
            if poller is None and situation.poller_from <= minute < situation.poller_until:
                poller = _Poller(region, folder, clock, server)
                targets.append(poller)
            for client in clients:
                client.tick(minute)
            if second % 60 == 0:
                _turn(region, situation, int(minute))
            if poller and second % 60 == _POLL_AT_S and poller.collect:
                poller.poll()
            if poller and minute >= situation.poller_until:
                poller.collect = None
            if second % situation.scraped_s == 0:
                for target in targets:
                    target.scrape(clock.now)
            if second % 60 == 0:
                rules.evaluate(clock.now)
    return clock.now


def _account(tenancy: Tenancy) -> Any:
    return replace(shared_account(), tenancy_id=tenancy.id)


def _turn(region: _Region, situation: Situation, minute: int) -> None:
    for since, fault in situation.faults:
        if since == minute:
            region.add_fault(fault)
    for since, target, factor in situation.loads:
        if since == minute:
            region.set_load(target, factor)
