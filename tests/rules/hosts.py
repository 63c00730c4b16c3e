"""Hosts of a site: a constructed kernel, programs that work on it as the faults let them, and the exporter that reads it."""

import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

from tests.clock import Clock
from tests.exposition_text import written
from tests.fss_exporter.nfs.records import OPTIONS, mountinfo, write_procfs
from tests.fss_kernel_counting.kernel import ROOT, Kernel
from tests.processes import get, node_exporter
from tests.rules import faults
from tests.rules.kernel_mount import OPS, RTT_MS, KernelMount

from fss_exporter.cli.nfs_agent import NfsAgent
from fss_exporter.cli.nfs_flags import NfsFlags
from fss_exporter.errors import ConfigError
from fss_exporter.nfs.collector import CounterCollector
from fss_exporter.nfs.mount_services import BY_NAME, Services
from fss_exporter.nfs.mount_settings import MountSettings
from fss_exporter.nfs.procfs import HOST_PID, Procfs
from fss_exporter.web.application import Reloading
from fss_exporter.web.collecting import Collectors, Source
from fss_kernel_counting.durations.latency_reader import LatencyReader
from fss_kernel_counting.tracefs import Sources
from fss_toolbox.demo.region.tenancies import REGION

TICK_S = 10
IN_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108  # a disk waits for each of a thousand renames

_OfHosts = TypeVar("_OfHosts", bound=faults.OfHosts)
_OfTargets = TypeVar("_OfTargets", bound=faults.OfTargets)


class _Exporter(Protocol):
    """What Prometheus scrapes on a host."""

    def configure(self, *, has_mistake: bool) -> None:
        """Read another configuration."""

    def tick(self) -> None:
        """Read the counters."""

    def body(self) -> str:
        """Answer a scrape."""


class _Agent:
    """The agent, on a clock that is turned by hand."""

    def __init__(
        self,
        procfs: Path,
        clock: Clock,
        wall_clock: Callable[[], float],
        settings: "HostSettings",
        calls: "_CallTables | None",
    ) -> None:
        flags = NfsFlags(
            procfs=procfs,
            tick_s=float(TICK_S),
            metadata_url="",
            network=settings.network,
            network_bandwidth=settings.network_bytes_per_second,
            fstab=procfs / "fstab",
        )
        mounts = MountSettings(services=settings.services, latency_objectives=settings.latency_objectives)
        self._agent = NfsAgent(flags, mounts, clock=clock, wall_clock=wall_clock)
        self._started = wall_clock()
        self._has_mistake = False
        self._reload = Reloading([self._read])
        sources: dict[str, Source] = {"nfs": self._agent.collector}
        self._durations: LatencyReader | None = None
        if calls is not None:  # the part of exact mode that judges requests
            self._durations = calls.reader(settings.p99_objectives, clock)
            self._agent.ticker.accounts.states.tails = self._durations
            sources["nfs_latency"] = CounterCollector(self._durations, self._agent.collector)
        self._collectors = Collectors(sources, self._agent.loops, clock, last_reload=lambda: self._reload.is_successful)

    def _read(self) -> Callable[[], None]:
        if self._has_mistake:
            raise ConfigError("agent.yml", ("line 1: rubbish",))
        return lambda: None

    def configure(self, *, has_mistake: bool) -> None:
        if has_mistake != self._has_mistake:
            self._has_mistake = has_mistake
            self._reload()

    def tick(self) -> None:
        if self._durations is not None:
            self._durations.loop.run_once()
        self._agent.ticker.tick()

    def body(self) -> str:
        return f"{written(self._collectors.collect())}process_start_time_seconds {self._started}\n"


class _CallTables:
    """The tables in which the kernel of a host counts calls by their duration."""

    def __init__(self, root: Path, addresses: Sequence[str]) -> None:
        self._root, self._kernel = root, Kernel()
        self._clients = {address: number for number, address in enumerate(addresses)}
        self._ended: Counter[tuple[str, str]] = Counter()
        for address, number in self._clients.items():
            folder = root / f"kernel/sunrpc/rpc-clients/clnt-{number}/switch/xprt-1-tcp"
            folder.mkdir(parents=True)
            (folder / "dstaddr").write_text(f"{address}\n")

    def reader(self, objectives: Mapping[str, float], clock: Clock) -> LatencyReader:
        """Return what reads the tables for an agent."""
        sources = Sources(tracefs=(ROOT,), sysfs=self._root, files=self._kernel)
        return LatencyReader(Procfs(self._root, HOST_PID).read, sources, objectives=objectives, clock=clock)

    def count(self, mount: KernelMount, late: Sequence[faults.LateReads]) -> None:
        """Count what has ended on a mount since the last time. A share of the READs is late."""
        for name, figures in mount.operations.items():
            ended = int(figures[OPS]) - self._ended[mount.address, name]
            self._ended[mount.address, name] += ended
            for fault in late if name == "READ" else ():
                slow = round(ended * fault.share)
                self._fire(mount, name, slow, RTT_MS + fault.milliseconds)
                ended -= slow
            self._fire(mount, name, ended, RTT_MS)

    def _fire(self, mount: KernelMount, name: str, times: int, milliseconds: float) -> None:
        microseconds = int(milliseconds * 1000)
        self._kernel.fire(
            "sunrpc/rpc_stats_latency",
            times,
            client_id=self._clients[mount.address],
            progname="nfs",
            procname=name,
            rtt=microseconds,
            execute=microseconds,
        )


class _NodeExporter:
    """A real node_exporter on the constructed kernel. It reads the counters at each scrape."""

    def __init__(self, procfs: Path, undo: ExitStack) -> None:
        (procfs / "self").symlink_to("1")
        flags = ("--collector.mountstats", f"--path.procfs={procfs}")
        self._url = undo.enter_context(node_exporter(procfs, *flags)) + "/metrics"

    def configure(self, *, has_mistake: bool) -> None:
        """There is no configuration."""

    def tick(self) -> None:
        """There is no loop."""

    def body(self) -> str:
        return get(self._url)


@dataclass(frozen=True)
class HostSettings:
    """The settings of the exporter on each host.

    Attributes:
        is_node_exporter: node_exporter in place of the agent.
        network: name of the network. The poller names its region.
        network_bytes_per_second: bandwidth of the network card, where the agent knows it.
        services: of the mounts.
        latency_objectives: stated seconds by class.
        p99_objectives: the same for 99 of 100 requests. With any the agent reads how long each request takes.
        mount_options: behind the ordinary ones, such as `,xprtsec=tls`.
    """

    is_node_exporter: bool = False
    network: str | None = REGION
    network_bytes_per_second: float | None = None
    services: Services = BY_NAME
    latency_objectives: Mapping[str, float] = field(default_factory=dict)
    p99_objectives: Mapping[str, float] = field(default_factory=dict)
    mount_options: str = ""


ALL_DEFAULTS = HostSettings()


class Host:
    """Hosts that the same faults hit. The kernel and the exporter of one stand for all.

    Args:
        numbers: of the hosts.
        mounts: numbers of the mount targets that a host mounts.
        settings: of the exporter.
        of_incident: the faults.
        clock: the time.
        undo: ends what a host starts.
    """

    def __init__(
        self,
        numbers: Sequence[int],
        mounts: Sequence[int],
        settings: HostSettings,
        of_incident: Sequence[faults.Fault],
        clock: Clock,
        undo: ExitStack,
    ) -> None:
        job, port = ("node", 9100) if settings.is_node_exporter else ("fss-agent", 10949)
        self._targets = [f'instance="host-{number}:{port}",job="{job}"' for number in numbers]
        self.targets = self._targets
        gives_up = any(isinstance(fault, faults.GiveUp) and fault.hits_host(numbers[0]) for fault in of_incident)
        options = (OPTIONS.replace("hard", "soft") if gives_up else OPTIONS) + settings.mount_options
        self.mounts = {target: KernelMount(f"10.96.{target >> 8}.{target & 255}", options=options) for target in mounts}
        self._number, self._settings, self._faults, self._clock = numbers[0], settings, of_incident, clock
        self._root = Path(undo.enter_context(tempfile.TemporaryDirectory(dir=IN_MEMORY)))
        self._undo = undo
        if any(isinstance(fault, faults.SecondAgent) and fault.hits_host(self._number) for fault in of_incident):
            self._boot("first")
        lines = (f"{mount.address}:{mount.export} {mount.mount_point} nfs nofail\n" for mount in self.mounts.values())
        (self._root / "fstab").write_text("".join(lines))
        addresses = [mount.address for mount in self.mounts.values()]
        self._calls = _CallTables(self._root, addresses) if settings.p99_objectives else None
        self._exporter: _Exporter | None = None
        self._minute = 0.0

    def _boot(self, name: str) -> None:
        folder = self._root / "sys/kernel/random"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "boot_id").write_text(f"{name} boot of host {self._number}")

    def _wall(self) -> float:
        wrong = self._fault(faults.HostClock, self._minute)
        return self._clock.now + (wrong.seconds if wrong else 0.0)

    def tick(self, minute: float) -> None:
        """Let programs work for a tick, and let the agent read the counters."""
        self._minute = minute
        has_second = self._fault(faults.SecondAgent, minute) is not None
        second = [f'instance="pod-{self._number}:10949",job="fss-pods"'] if has_second else []
        self.targets = [*self._targets, *second]
        mounted = {
            target: mount
            for target, mount in self.mounts.items()
            if not self._of_target(faults.Unmounted, minute, target)
        }
        for target, mount in mounted.items():
            self._work(mount, minute, target)
        stats = "".join(map(str, mounted.values()))
        if self._fault(faults.Garbled, minute):
            stats += "device 10.0.0.9:/x mounted on /mnt/x with fstype nfs statvers=1.1\n\tage:\tnot a number\n\n"
        write_procfs(self._root, stats, _mountinfo(mounted))
        if self._fault(faults.Unreadable, minute) or self._fault(faults.OwnMounts, minute):
            (self._root / "1" / "mountstats").unlink()
        if self._fault(faults.OwnMounts, minute):
            write_procfs(self._root, "", "", pid="self")
        self._start_or_end(minute)
        if self._exporter:
            self._exporter.configure(has_mistake=self._fault(faults.ReloadRefused, minute) is not None)
        if self._exporter and not self._fault(faults.Stalled, minute):
            self._exporter.tick()

    def _start_or_end(self, minute: float) -> None:
        down = self._fault(faults.Down, minute)
        if down:
            self._exporter = None
            if not down.is_listed and len(self._targets) == 1:
                # Another host follows at the address. A kernel that stands for many hosts keeps its boot, because they would seem to be one host.
                self._boot(f"minute {minute}")
        elif self._exporter is None and self._settings.is_node_exporter:
            self._exporter = _NodeExporter(self._root, self._undo)
        elif self._exporter is None:
            self._exporter = _Agent(self._root, self._clock, self._wall, self._settings, self._calls)

    def body(self, minute: float) -> str | None:
        """Return the text of a scrape. None if nothing answers."""
        return None if self._exporter is None or self._fault(faults.Down, minute) else self._exporter.body()

    def is_listed(self, minute: float) -> bool:
        """Return whether service discovery knows the host."""
        down = self._fault(faults.Down, minute)
        return down is None or down.is_listed

    def is_scraped(self, minute: float) -> bool:
        """Return whether Prometheus scrapes the host in a minute."""
        rarely = self._fault(faults.ScrapedRarely, minute)
        return rarely is None or minute % rarely.minutes == 0

    def _fault(self, kind: type[_OfHosts], minute: float) -> _OfHosts | None:
        chosen = (fault for fault in self._faults if isinstance(fault, kind) and fault.is_on(minute))
        return next((fault for fault in chosen if fault.hits_host(self._number)), None)

    def _of_target(self, kind: type[_OfTargets], minute: float, target: int) -> list[_OfTargets]:
        chosen = (fault for fault in self._faults if isinstance(fault, kind) and fault.is_on(minute))
        return [fault for fault in chosen if fault.hits_host(self._number) and fault.hits_target(target)]

    def _work(self, mount: KernelMount, minute: float, target: int) -> None:
        self._ask(mount, minute, target)
        if self._calls is not None:
            self._calls.count(mount, self._of_target(faults.LateReads, minute, target))

    def _ask(self, mount: KernelMount, minute: float, target: int) -> None:
        if self._of_target(faults.Hang, minute, target):
            mount.hang(TICK_S)
            return
        for fault in self._of_target(faults.GiveUp, minute, target):
            mount.give_up(TICK_S, fault.pause_minutes * 60)
            return
        times, rtt_ms, failing, asks_to_wait = {"": 1.0}, RTT_MS, {"": 0.0}, False
        for work in self._of_target(faults.Work, minute, target):
            if work.side != "oci":
                times[work.operation] = times.get(work.operation, 1.0) * work.times
        for slow in self._of_target(faults.Slow, minute, target):
            rtt_ms = slow.milliseconds if slow.side != "oci" else rtt_ms
        for fails in self._of_target(faults.Failing, minute, target):
            if fails.side != "oci":
                failing[fails.operation] = fails.share
                asks_to_wait |= fails.asks_to_wait
        again = self._fault(faults.Retransmitting, minute)
        late_ms = sum(late.share * late.milliseconds for late in self._of_target(faults.LateReads, minute, target))
        mount.work(
            TICK_S,
            times=times,
            rtt_ms=rtt_ms,
            failing=failing,
            again=again.share if again else 0.0,
            asks_to_wait=asks_to_wait,
            late_ms=late_ms,
        )


def _mountinfo(mounts: Mapping[int, KernelMount]) -> str:
    return "".join(
        mountinfo(
            superblock=f"0:{40 + target}",
            device=f"{mount.address}:{mount.export}",
            mount_point=mount.mount_point,
            address=mount.address,
            options=mount.options,
        )
        for target, mount in mounts.items()
    )
