"""The builder of incidents: a site of hosts, mount targets and pollers, whose /metrics are scraped while faults come and go.

The product runs in this process on a clock that is turned by hand: agents read the mountstats of constructed kernels, pollers ask
the demo region in memory. Hosts that the same faults hit are alike, so one agent stands for all of them.
"""

import errno
import math
import os
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Literal
from unittest.mock import patch

from tests.clock import Clock
from tests.exposition_text import written
from tests.region.in_memory import InMemoryRegions
from tests.rules import faults
from tests.rules.faulty_region import IncidentRegion, tenancy
from tests.rules.hosts import ALL_DEFAULTS, TICK_S, Host, HostSettings
from tests.rules.pack import RULES

from fss_exporter.oci.polling.poller import Poller
from fss_exporter.oci.snapshot_collector import OciCollector
from fss_exporter.settings import load
from fss_exporter.web.collecting import Collectors, Source
from fss_toolbox.alert_labels import with_alert_labels

EPOCH = 600  # epoch seconds at which a site begins. The rules run from second 0, when there is no series yet
_POLL_AT_S = 20


@dataclass(frozen=True)
class Site:
    """What there is.

    Attributes:
        hosts: with an agent each. Host n mounts mount target n modulo `mount_targets`, and the following ones.
        mount_targets: of one region.
        mounts: mount targets that a host mounts.
        file_systems: behind each mount target, each with the same requests.
        pollers: that poll the region.
        minutes: after the start of the incident.
        before: minutes of ordinary work before the incident starts. Tickets about error budgets look at six hours.
        scraped: seconds between two scrapes, and between two evaluations of the rules.
        publishes_iops: whether OCI publishes MountTargetIOPS.
        has_extras: whether there are LDAP, Kerberos, quotas, a replication and block volumes.
        shares: whether all mount targets export one file system.
        host_settings: of the exporter on each host.
        node_exporters: the last hosts, which run node_exporter in place of the agent.
        settings: of the pollers, by dotted place.
        has_shards: whether the pollers divide the mount targets.
        has_state_directory: whether each poller keeps its counts.
        standby: whether one poller leads and the others stand by, with one directory or, by mistake, with one each.
    """

    hosts: int = 10
    mount_targets: int = 1
    mounts: int = 1
    file_systems: int = 1
    pollers: int = 1
    minutes: int = 60
    before: int = 30
    scraped: int = 60
    publishes_iops: bool = True
    has_extras: bool = False
    shares: bool = False
    host_settings: HostSettings = ALL_DEFAULTS
    node_exporters: int = 0
    settings: Mapping[str, object] = field(default_factory=dict)
    has_shards: bool = False
    has_state_directory: bool = False
    standby: Literal["no", "shared", "apart"] = "no"


@dataclass
class Scrapes:
    """All that a Prometheus server has of a site: by series the value of each scrape, None where there is none."""

    interval_s: int
    before: int  # minutes before the incident starts
    begin: int = EPOCH  # epoch seconds of the first scrape
    series: dict[str, list[float | None]] = field(default_factory=dict)
    taken: int = 0
    rarely: set[str] = field(default_factory=set)  # targets whose series have gaps between two scrapes, and do not end
    bodies: dict[str, tuple[str | None, str | None]] = field(
        default_factory=dict
    )  # of each target: the last two answers

    def add(self, body: str | None, targets: Sequence[str]) -> None:
        """Add the answer of targets, which are labels. None for a scrape that fails."""
        for target in targets:
            _, before = self.bodies.get(target, (None, None))
            self.bodies[target] = (before, body)
            self._set(f"up{{{target}}}", float(body is not None))
        for line in (body or "").splitlines():
            name, _, rest = line.partition("{") if "{" in line else line.partition(" ")
            if line.startswith("#") or name not in read_by_rules():
                continue
            labels, _, value = rest.rpartition("} ") if "{" in line else ("", "", rest)
            for target in targets:
                self._set(f"{name}{{{labels}{',' * bool(labels)}{target}}}", float(value))

    def _set(self, series: str, value: float) -> None:
        values = self.series.setdefault(series, [])
        values.extend([None] * (self.taken - len(values)))
        values.append(value)

    def end(self) -> None:
        """End a scrape of all targets."""
        self.taken += 1

    def inputs(self) -> list[dict[str, str]]:
        """The series in the form of promtool. A series that ends is stale, as Prometheus marks it."""
        first = self.begin // self.interval_s
        rarely = tuple(f"{target}}}" for target in self.rarely)
        return [
            {"series": name, "values": f"_x{first} {self._written(values, '_' if name.endswith(rarely) else 'stale')}"}
            for name, values in self.series.items()
        ]

    def _written(self, values: Sequence[float | None], gone: str) -> str:
        padded = [*values, *[None] * (self.taken - len(values))]
        return " ".join(
            f"{value:.15g}" if value is not None else "_" if before is None else gone
            for before, value in zip([None, *padded], padded, strict=False)
        )


@cache
def read_by_rules() -> frozenset[str]:
    """Names of series that a rule can read, with labels of tags or without. Others need not be evaluated."""
    texts = (with_alert_labels(path.read_text(encoding="utf-8"), ("tag_any",)) for path in RULES.glob("*.yml"))
    names = (set(re.findall(r"[a-z]\w+", text)) for text in texts)
    return frozenset[str]().union(*names)


class _Poller:
    """A poller of the region."""

    def __init__(
        self,
        number: int,
        site: Site,
        chosen: Sequence[faults.Fault],
        region: IncidentRegion,
        clock: Clock,
        shared: Path,
        undo: ExitStack,
    ) -> None:
        self.targets = [f'instance="poller-{number}:10949",job="fss"']
        self.number, self._faults, self._clock = number, chosen, clock
        folder = Path(undo.enter_context(tempfile.TemporaryDirectory()))
        flags = {
            "oci.config_file": str(region.account.write_config(folder, region.tenancy.region)),
            "oci.endpoint": region.url,
            "oci.services": (),
            **site.settings,
        }
        if site.has_shards:
            flags["oci.shard"] = f"{number + 1}/{site.pollers}"
        if site.has_state_directory:
            flags["oci.ledger_directory"] = str(folder)
        if site.standby != "no":
            directory = shared if site.standby == "shared" else folder
            flags |= {"oci.standby": True, "oci.ledger_directory": str(directory)}
        self._settings = load(None, flags)
        self._poller: Poller | None = None
        self._collect: Collectors | None = None
        self._minute = -math.inf
        self._started = 0.0
        self._body = ""

    def _wall(self) -> float:
        wrong = [
            fault.seconds
            for fault in self._faults
            if isinstance(fault, faults.Clock) and fault.poller == self.number and fault.is_on(self._minute)
        ]
        return self._clock.now + sum(wrong)

    def _down(self, minute: float) -> faults.PollerDown | None:
        downs = (
            fault for fault in self._faults if isinstance(fault, faults.PollerDown) and fault.poller == self.number
        )
        return next((outage for outage in downs if outage.is_on(minute)), None)

    def poll(self, minute: float) -> None:
        """Run a round of each loop."""
        self._minute = minute
        if self._down(minute):
            self._poller = self._collect = None
            return
        if self._poller is None:
            self._started = self._clock.now
            self._poller = Poller(lambda: self._settings, now=self._wall, clock=self._clock, wait=self._clock.wait)
            sources: dict[str, Source] = {
                "oci": OciCollector(self._poller.accounts, now=self._wall, lease=self._poller.lease)
            }
            self._collect = Collectors(sources, self._poller.loops, self._clock)
        if self._has(faults.PollerStalled, minute):
            return
        with self._lease_unreadable(minute):
            for loop in self._poller.loops:
                loop.run_once()

    def _has(self, kind: type[faults.LeaseUnreadable | faults.PollerStalled | faults.Repeating], minute: float) -> bool:
        chosen = (fault for fault in self._faults if isinstance(fault, kind) and fault.poller == self.number)
        return any(fault.is_on(minute) for fault in chosen)

    @contextmanager
    def _lease_unreadable(self, minute: float) -> Iterator[None]:
        if not self._has(faults.LeaseUnreadable, minute):
            yield
            return
        with patch(
            "fss_exporter.oci.polling.lease.read_regular", side_effect=OSError(errno.EIO, os.strerror(errno.EIO))
        ):
            yield

    def body(self, minute: float) -> str | None:
        """Return the text of a scrape. None if nothing answers."""
        if self._collect is None or self._down(minute):
            return None
        if not (self._body and self._has(faults.Repeating, minute)):
            self._body = f"{written(self._collect.collect())}process_start_time_seconds {self._started}\n"
        return self._body

    def is_listed(self, minute: float) -> bool:
        """Return whether service discovery knows the poller."""
        down = self._down(minute)
        return down is None or down.is_listed

    def is_scraped(self, minute: float) -> bool:
        """Return whether Prometheus scrapes the poller in a minute."""
        rarely = (fault for fault in self._faults if isinstance(fault, faults.ScrapedRarely) and fault.pollers_too)
        return all(minute % fault.minutes == 0 for fault in rarely if fault.is_on(minute))


def scraped(site: Site, of_incident: Sequence[faults.Fault]) -> Scrapes:
    """Run a site with the faults of an incident, and return all that Prometheus scrapes."""
    scrapes = Scrapes(site.scraped, site.before)
    scrape_into(scrapes, site, of_incident)
    return scrapes


def scrape_into(scrapes: Scrapes, site: Site, of_incident: Sequence[faults.Fault]) -> None:
    """Run a site with the faults of an incident, and add what Prometheus scrapes from the begin of the scrapes on."""
    start = scrapes.begin + site.before * 60
    clock = Clock(float(scrapes.begin))
    regions = InMemoryRegions()
    with ExitStack() as undo:
        undo.enter_context(patch("fss_exporter.oci.client.session.read_environment_once", regions.connect))
        undo.enter_context(patch("circuitbreaker.monotonic", clock))
        hosts = _hosts(site, of_incident, clock, undo)
        pollers = _pollers(site, of_incident, clock, start, regions, undo)
        for second in range(0, (site.before + site.minutes) * 60 + 1, TICK_S // 2):
            clock.now = float(scrapes.begin + second)
            minute = second / 60 - site.before
            if second % TICK_S == 0:
                for host in hosts:
                    host.tick(minute)
            if second % 60 == _POLL_AT_S:
                for region, poller in pollers:
                    region.turn(poller.number)
                    poller.poll(minute)
            if second % site.scraped == 0:
                _scrape([*hosts, *(poller for _, poller in pollers)], minute, scrapes)


def _scrape(exporters: Sequence[Host | _Poller], minute: float, scrapes: Scrapes) -> None:
    for exporter in exporters:
        if not exporter.is_scraped(minute):
            scrapes.rarely.update(exporter.targets)
        elif exporter.is_listed(minute):
            scrapes.add(exporter.body(minute), exporter.targets)
    scrapes.end()


def _mounts(site: Site, host: int) -> list[int]:
    return sorted({(host + further) % site.mount_targets for further in range(site.mounts)})


def _hosts(site: Site, of_incident: Sequence[faults.Fault], clock: Clock, undo: ExitStack) -> list[Host]:
    alike: dict[object, list[int]] = defaultdict(list)
    for number in range(site.hosts):
        hit = tuple(isinstance(fault, faults.OfHosts) and fault.hits_host(number) for fault in of_incident)
        has_second = any(isinstance(fault, faults.SecondAgent) and fault.hits_host(number) for fault in of_incident)
        itself = number if has_second else None  # it has a kernel of its own
        alike[(*_mounts(site, number), hit, itself, _settings_of(site, number).is_node_exporter)].append(number)
    return [
        Host(numbers, _mounts(site, numbers[0]), _settings_of(site, numbers[0]), of_incident, clock, undo)
        for numbers in alike.values()
    ]


def _settings_of(site: Site, host: int) -> HostSettings:
    has_agent = host < site.hosts - site.node_exporters
    return site.host_settings if has_agent else replace(site.host_settings, is_node_exporter=True)


def _pollers(
    site: Site,
    of_incident: Sequence[faults.Fault],
    clock: Clock,
    start: int,
    regions: InMemoryRegions,
    undo: ExitStack,
) -> list[tuple[IncidentRegion, _Poller]]:
    if not site.pollers:
        return []
    targets = tenancy(
        site.mount_targets,
        site.file_systems,
        publishes_iops=site.publishes_iops,
        has_extras=site.has_extras,
        shares=site.shares,
    )
    region = IncidentRegion(targets, of_incident, start=start, now=clock, hung_share=_hung_share(site, of_incident))
    regions.add(region)
    shared = Path(undo.enter_context(tempfile.TemporaryDirectory()))
    return [(region, _Poller(number, site, of_incident, region, clock, shared, undo)) for number in range(site.pollers)]


def _hung_share(site: Site, of_incident: Sequence[faults.Fault]) -> Callable[[int, float], float]:
    """Return the share of hosts of a mount target whose requests are not answered, by mount target and minute."""
    waits = [fault for fault in of_incident if isinstance(fault, faults.Hang | faults.GiveUp)]
    users = {
        target: [host for host in range(site.hosts) if target in _mounts(site, host)]
        for target in range(site.mount_targets)
    }

    def share(target: int, minute: float) -> float:
        on = [wait for wait in waits if wait.is_on(minute) and wait.hits_target(target)]
        if not on or not users[target]:
            return 0.0
        return sum(any(fault.hits_host(host) for fault in on) for host in users[target]) / len(users[target])

    return share
