"""The builder of incidents: a site of hosts, mount targets and pollers, whose /metrics are scraped while faults come and go.

The product runs in this process on a clock that is turned by hand: agents read the mountstats of constructed kernels, pollers ask
the demo region in memory. Hosts that the same faults hit are alike, so one agent stands for all of them.
"""

import math
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TypeVar
from unittest.mock import patch

from tests.clock import Clock
from tests.nfs.records import mountinfo, write_procfs
from tests.region.in_memory import InMemoryRegions
from tests.rules import faults
from tests.rules.faulty_region import IncidentRegion, tenancy
from tests.rules.kernel_mount import RTT_MS, KernelMount
from tests.rules.pack import RULES

from fss_exporter.catalogue import text
from fss_exporter.cli.nfs_agent import NfsAgent
from fss_exporter.cli.nfs_flags import NfsFlags
from fss_exporter.cli.oci_polling import Cloud
from fss_exporter.settings import load
from fss_exporter.web.collecting import Collectors, Source

BEFORE = 30
"""Minutes of ordinary work before an incident starts."""
EPOCH = 600
"""Epoch seconds at which a site begins. The rules run from second 0, when there is no series yet."""
TICK_S = 10
_POLL_AT_S = 20

_OfHosts = TypeVar("_OfHosts", bound=faults.OfHosts)


@dataclass(frozen=True)
class Site:
    """What there is.

    Attributes:
        hosts: with an agent each. Host n mounts mount target n modulo `mount_targets`, and the following ones.
        mount_targets: of one region.
        mounts: mount targets that a host mounts.
        pollers: that poll the region.
        minutes: after the start of the incident.
        scraped: seconds between two scrapes, and between two evaluations of the rules.
        publishes_iops: whether OCI publishes MountTargetIOPS.
        settings: of the pollers, by dotted place.
    """

    hosts: int = 10
    mount_targets: int = 1
    mounts: int = 1
    pollers: int = 1
    minutes: int = 60
    scraped: int = 60
    publishes_iops: bool = True
    settings: Mapping[str, object] = field(default_factory=dict)


@dataclass
class Scrapes:
    """All that a Prometheus server has of a site: by series the value of each scrape, None where there is none."""

    number: int
    interval_s: int
    series: dict[str, list[float | None]] = field(default_factory=dict)
    taken: int = 0

    def add(self, body: str, target: str) -> None:
        """Add the text of a scrape. `target` is the labels of the target."""
        for line in body.splitlines():
            name, _, rest = line.partition("{") if "{" in line else line.partition(" ")
            if line.startswith("#") or name not in read_by_rules():
                continue
            labels, _, value = rest.rpartition("} ") if "{" in line else ("", "", rest)
            self._set(f"{name}{{{labels}{',' * bool(labels)}{target}}}", float(value))

    def up(self, target: str, *, is_up: bool) -> None:
        """Add what Prometheus itself says about a target."""
        self._set(f"up{{{target}}}", float(is_up))

    def _set(self, series: str, value: float) -> None:
        values = self.series.setdefault(series, [])
        values.extend([None] * (self.taken - len(values)))
        values.append(value)

    def end(self) -> None:
        """End a scrape of all targets."""
        self.taken += 1

    def inputs(self) -> list[dict[str, str]]:
        """The series in the form of promtool. A series that ends is stale, as Prometheus marks it."""
        first = EPOCH // self.interval_s
        return [
            {"series": name, "values": f"_x{first} {' '.join(_written(values, self.taken))}"}
            for name, values in self.series.items()
        ]


def _written(values: Sequence[float | None], number: int) -> Iterator[str]:
    before: float | None = None
    for value in (*values, *[None] * (number - len(values))):
        yield f"{value:.15g}" if value is not None else "stale" if before is not None else "_"
        before = value


@cache
def read_by_rules() -> frozenset[str]:
    """Names of series that a rule can read. Others need not be evaluated."""
    names = (set(re.findall(r"[a-z]\w+", path.read_text(encoding="utf-8"))) for path in RULES.glob("*.yml"))
    return frozenset[str]().union(*names)


class _Host:
    """Hosts that the same faults hit: the kernel of one, and its agent."""

    def __init__(
        self, numbers: Sequence[int], mounts: Sequence[int], chosen: Sequence[faults.Fault], clock: Clock
    ) -> None:
        self.targets = [f'instance="host-{number}:10949",job="fss-agent"' for number in numbers]
        self.mounts = {target: KernelMount(f"10.96.{target >> 8}.{target & 255}") for target in mounts}
        self._number, self._faults, self._clock = numbers[0], chosen, clock
        self._folder = tempfile.TemporaryDirectory()
        self._agent: NfsAgent | None = None
        self._collect: Collectors | None = None

    def _on(self, kind: type[faults.OfTargets], minute: float, target: int) -> list[faults.OfTargets]:
        return [
            one
            for one in self._faults
            if isinstance(one, kind)
            and one.is_on(minute)
            and one.hits_host(self._number)
            and one.hits_target(target)
            and getattr(one, "side", "both") != "oci"
        ]

    def _host_fault(self, kind: type[_OfHosts], minute: float) -> _OfHosts | None:
        chosen = (one for one in self._faults if isinstance(one, kind) and one.is_on(minute))
        return next((one for one in chosen if one.hits_host(self._number)), None)

    def tick(self, minute: float) -> None:
        """Let programs work for a tick, and let the agent read the counters."""
        for target, mount in self.mounts.items():
            self._work(mount, minute, target)
        root = Path(self._folder.name)
        stats = root / "1" / "mountstats"
        write_procfs(root, "".join(map(str, self.mounts.values())), self._mountinfo())
        if self._host_fault(faults.Unreadable, minute):
            stats.unlink()
        down = self._host_fault(faults.Down, minute)
        if down:
            self._agent = self._collect = None
            return
        if self._agent is None:
            self._agent = NfsAgent(
                NfsFlags(procfs=root, tick_s=float(TICK_S), metadata_url=""), clock=self._clock, wall_clock=self._clock
            )
            self._collect = Collectors({"nfs": self._agent.collector}, self._agent.loops, self._clock)
        self._agent.ticker.tick()

    def _mountinfo(self) -> str:
        return "".join(
            mountinfo(
                superblock=f"0:{40 + target}",
                device=f"{mount.address}:{mount.export}",
                mount_point=mount.mount_point,
                address=mount.address,
            )
            for target, mount in self.mounts.items()
        )

    def _work(self, mount: KernelMount, minute: float, target: int) -> None:
        if self._on(faults.Hang, minute, target):
            mount.hang(TICK_S)
            return
        for one in self._on(faults.GiveUp, minute, target):
            assert isinstance(one, faults.GiveUp)
            mount.give_up(TICK_S, one.pause_minutes * 60)
            return
        times, rtt_ms, failing, again = 1.0, RTT_MS, 0.0, 0.0
        for one in self._on(faults.OfTargets, minute, target):
            match one:
                case faults.Work():
                    times *= one.times
                case faults.Slow():
                    rtt_ms = one.milliseconds
                case faults.Failing():
                    failing = one.share
        if sent_again := self._host_fault(faults.Retransmitting, minute):
            again = sent_again.share
        mount.work(TICK_S, times=times, rtt_ms=rtt_ms, failing=failing, again=again)

    def scrape(self, minute: float, scrapes: Scrapes) -> None:
        """Let Prometheus scrape all hosts."""
        down = self._host_fault(faults.Down, minute)
        body = b"".join(text.plain(self._collect.collect())).decode() if self._collect else ""
        for target in self.targets:
            if down is None:
                scrapes.add(body, target)
            if down is None or down.is_listed:
                scrapes.up(target, is_up=down is None)


class _Poller:
    """A poller of the region."""

    def __init__(
        self, number: int, site: Site, chosen: Sequence[faults.Fault], region: IncidentRegion, clock: Clock
    ) -> None:
        self.target = f'instance="poller-{number}:10949",job="fss"'
        self._number, self._faults, self._clock = number, chosen, clock
        self._folder = tempfile.TemporaryDirectory()
        flags = {
            "oci.config_file": str(region.account.write_config(Path(self._folder.name), region.tenancy.region)),
            "oci.endpoint": region.url,
            "oci.services": (),
            **site.settings,
        }
        self._settings = load(None, flags)
        self._cloud: Cloud | None = None
        self._collect: Collectors | None = None
        self._minute = -math.inf

    def _wall(self) -> float:
        wrong = [
            one.seconds
            for one in self._faults
            if isinstance(one, faults.Clock) and one.poller == self._number and one.is_on(self._minute)
        ]
        return self._clock.now + sum(wrong)

    def _down(self, minute: float) -> faults.PollerDown | None:
        downs = (one for one in self._faults if isinstance(one, faults.PollerDown) and one.poller == self._number)
        return next((one for one in downs if one.is_on(minute)), None)

    def poll(self, minute: float) -> None:
        """Run a round of each loop."""
        self._minute = minute
        if self._down(minute):
            self._cloud = self._collect = None
            return
        if self._cloud is None:
            self._cloud = Cloud(lambda: self._settings, now=self._wall, clock=self._clock, wait=self._clock.wait)
            sources: dict[str, Source] = {"oci": self._cloud.source}
            self._collect = Collectors(sources, self._cloud.loops, self._clock)
        for loop in self._cloud.loops:
            loop.run_once()

    def scrape(self, minute: float, scrapes: Scrapes) -> None:
        """Let Prometheus scrape the poller."""
        down = self._down(minute)
        if self._collect and down is None:
            scrapes.add(b"".join(text.plain(self._collect.collect())).decode(), self.target)
        if down is None or down.is_listed:
            scrapes.up(self.target, is_up=self._collect is not None and down is None)


def scraped(site: Site, of_incident: Sequence[faults.Fault]) -> Scrapes:
    """Run a site with the faults of an incident, and return all that Prometheus scrapes."""
    start = EPOCH + BEFORE * 60
    clock = Clock(float(EPOCH))
    hosts = _hosts(site, of_incident, clock)
    scrapes = Scrapes((BEFORE + site.minutes) * 60 // site.scraped + 1, site.scraped)
    regions = InMemoryRegions()
    with ExitStack() as undo:
        undo.enter_context(patch("fss_exporter.oci.client.session.read_environment_once", regions.connect))
        undo.enter_context(patch("circuitbreaker.monotonic", clock))
        pollers = _pollers(site, of_incident, clock, start, regions)
        for second in range(0, (BEFORE + site.minutes) * 60 + 1, TICK_S // 2):
            clock.now = float(EPOCH + second)
            minute = second / 60 - BEFORE
            if second % TICK_S == 0:
                for host in hosts:
                    host.tick(minute)
            if second % 60 == _POLL_AT_S:
                for region, poller in pollers:
                    region.turn()
                    poller.poll(minute)
            if second % site.scraped == 0:
                for host in hosts:
                    host.scrape(minute, scrapes)
                for _, poller in pollers:
                    poller.scrape(minute, scrapes)
                scrapes.end()
    return scrapes


def _mounts(site: Site, host: int) -> list[int]:
    return sorted({(host + further) % site.mount_targets for further in range(site.mounts)})


def _hosts(site: Site, of_incident: Sequence[faults.Fault], clock: Clock) -> list[_Host]:
    alike: dict[object, list[int]] = defaultdict(list)
    for number in range(site.hosts):
        hit = tuple(isinstance(one, faults.OfHosts) and one.hits_host(number) for one in of_incident)
        alike[(*_mounts(site, number), hit)].append(number)
    return [_Host(numbers, _mounts(site, numbers[0]), of_incident, clock) for numbers in alike.values()]


def _pollers(
    site: Site, of_incident: Sequence[faults.Fault], clock: Clock, start: int, regions: InMemoryRegions
) -> list[tuple[IncidentRegion, _Poller]]:
    if not site.pollers:
        return []
    targets = tenancy(site.mount_targets, publishes_iops=site.publishes_iops)
    region = IncidentRegion(targets, of_incident, start=start, now=clock, hung_share=_hung_share(site, of_incident))
    regions.add(region)
    return [(region, _Poller(number, site, of_incident, region, clock)) for number in range(site.pollers)]


def _hung_share(site: Site, of_incident: Sequence[faults.Fault]) -> Callable[[int, float], float]:
    """Return the share of hosts of a mount target whose requests are not answered, by mount target and minute."""
    waits = [one for one in of_incident if isinstance(one, faults.Hang | faults.GiveUp)]
    users = {
        target: [host for host in range(site.hosts) if target in _mounts(site, host)]
        for target in range(site.mount_targets)
    }

    def share(target: int, minute: float) -> float:
        on = [one for one in waits if one.is_on(minute) and one.hits_target(target)]
        if not on or not users[target]:
            return 0.0
        return sum(any(one.hits_host(host) for one in on) for host in users[target]) / len(users[target])

    return share
