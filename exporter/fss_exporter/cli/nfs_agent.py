"""The agent: what reads this host's NFS counters, put together from its flags."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from fss_exporter.cli.nfs_flags import NfsFlags
from fss_exporter.instance_metadata import METADATA_URL, is_oci_instance
from fss_exporter.model.cost_overrides import NO_OVERRIDES, CostOverrides
from fss_exporter.model.operations import METADATA_READ, METADATA_WRITE, READ_CLASS, WRITE_CLASS
from fss_exporter.nfs.accounts import Accounts
from fss_exporter.nfs.collector import NO_OBJECTIVES, NfsCollector, no_requests
from fss_exporter.nfs.instance_network import InstanceNetwork
from fss_exporter.nfs.mount_services import Services
from fss_exporter.nfs.mountinfo import MountFilter
from fss_exporter.nfs.procfs import Procfs
from fss_exporter.nfs.superblocks import Reading
from fss_exporter.nfs.ticker import Ticker

if TYPE_CHECKING:
    from fss_exporter.cli.exact_mode import Exact
    from fss_exporter.nfs.exact.latency_reader import LatencyReader
    from fss_exporter.nfs.processes.process_reader import ProcessReader
    from fss_exporter.settings import Settings


class NfsAgent:
    """Ticker and collector, with the kernel's tables in exact mode.

    Args:
        flags: of the agent.
        address_map: mount-target address by TLS forwarder address.
        services: tells the service of a mount.
        overrides: measured costs in place of the white paper's table.
        latency_objectives: stated seconds by class.
    """

    def __init__(
        self,
        flags: NfsFlags,
        address_map: Mapping[str, str],
        services: Services,
        overrides: CostOverrides = NO_OVERRIDES,
        latency_objectives: Mapping[str, float] = NO_OBJECTIVES,
    ) -> None:
        def reader() -> Callable[[], Reading]:
            return Procfs(flags.procfs, flags.pid, address_map, services, wanted_mounts(flags)).read

        read = reader()
        self._exact = None if flags.exact == "off" else _exact(flags, read, address_map, overrides)
        # It looks at other times than the ticker, and from another thread: it has a reader of its own.
        self._latency = None if flags.exact == "off" else _latency(flags, reader(), address_map)
        costs = None if self._exact is None else self._exact.costs
        accounts = Accounts(costs, flags.series_retention_s, most_mounts=flags.max_mounts, overrides=overrides)
        self.ticker = Ticker(read if self._exact is None else self._exact.reader.read, flags.tick_s, accounts=accounts)
        self.loops = [self.ticker.loop]
        if self._exact is not None:
            self._exact.reader.interval_s = lambda: self.ticker.wanted_interval_s
            self.loops.append(self._exact.reader.loop)
        self._processes = self._process_reader(flags, address_map, overrides) if flags.processes else None
        if self._processes is not None:
            self.loops.append(self._processes.loop)
        if self._latency is not None:
            self.loops.append(self._latency.loop)
        self.network = InstanceNetwork(metadata_url(flags), flags.network_bandwidth)
        self.collector = NfsCollector(
            self.ticker,
            by_operation=flags.operations == "all",
            zero_answers=flags.scrapers,
            about_host=self.network.families,
            latency_objectives=latency_objectives,
            by_process=self._processes,
            about_requests=no_requests if self._latency is None else self._latency.families,
        )

    def _process_reader(
        self, flags: NfsFlags, address_map: Mapping[str, str], overrides: CostOverrides
    ) -> "ProcessReader":
        from fss_exporter.cli.process_reading import process_reader  # noqa: PLC0415  # only where it is asked for

        return process_reader(flags, self._last_reading, address_map, overrides)

    def _last_reading(self) -> "Reading | None":
        with self.ticker.lock:
            return self.ticker.reading

    def start(self) -> None:
        """Set up what counts, and tick."""
        if self._exact is not None:
            self._exact.open()
        self.ticker.start()
        if self._latency is not None:
            self._latency.loop.start()
        self.network.start()
        if self._processes is not None:
            self._processes.start()

    def stop(self) -> None:
        """Stop ticking and take down what counts."""
        self.ticker.stop()
        if self._exact is not None:
            self._exact.reader.close()
        if self._processes is not None:
            self._processes.stop()
        if self._latency is not None:
            self._latency.loop.stop()
            self._latency.close()


def metadata_url(flags: NfsFlags) -> str:
    """URL of the instance metadata; empty where nothing is to be asked: outside of OCI without a flag, and where the bandwidth is stated."""
    if flags.network_bandwidth is not None:
        return ""
    if flags.metadata_url is not None:
        return flags.metadata_url
    return METADATA_URL if is_oci_instance(flags.sysfs) else ""


def objectives_of(settings: "Settings | None") -> dict[str, float]:
    """Return latency objectives by class that the configuration states; of objectives by size the largest."""
    given = settings.latency_objectives.given if settings else {}
    classes = {"read": (READ_CLASS,), "write": (WRITE_CLASS,), "metadata": (METADATA_READ, METADATA_WRITE)}
    objectives: dict[str, float] = {}
    for (kind, _), seconds in given.items():
        for of_class in classes[kind]:
            objectives[of_class] = max(seconds, objectives.get(of_class, 0.0))
    return objectives


def wanted_mounts(flags: NfsFlags) -> MountFilter:
    """Which mounts are read."""
    return MountFilter(flags.mounts_include, flags.mounts_exclude, flags.max_mounts)


def _exact(
    flags: NfsFlags, read: Callable[[], Reading], address_map: Mapping[str, str], overrides: CostOverrides
) -> "Exact":
    from fss_exporter.cli.exact_mode import exact  # noqa: PLC0415  # only where it is asked for

    return exact(flags.exact, read, flags.tracefs, flags.sysfs, address_map, overrides)


def _latency(flags: NfsFlags, read: Callable[[], Reading], address_map: Mapping[str, str]) -> "LatencyReader":
    from fss_exporter.cli.exact_mode import places  # noqa: PLC0415
    from fss_exporter.nfs.exact.latency_reader import LatencyReader  # noqa: PLC0415

    return LatencyReader(
        read,
        places(flags.tracefs),
        flags.sysfs,
        address_map,
        rtt=flags.exact_rtt,
        retention_s=flags.series_retention_s,
    )
