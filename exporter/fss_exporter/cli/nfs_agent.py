"""The agent: the reader of this host's NFS counters, built from the flags."""

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from fss_exporter.background import at_once
from fss_exporter.cli.ceilings import NO_MOUNT_SETTINGS, MountSettings
from fss_exporter.cli.nfs_flags import NfsFlags
from fss_exporter.cloud_instance import METADATA_URL, is_oci_instance
from fss_exporter.nfs.accounts import Accounts, EstimatedCosts
from fss_exporter.nfs.collector import NfsCollector
from fss_exporter.nfs.instance_network import InstanceNetwork
from fss_exporter.nfs.procfs import Procfs
from fss_exporter.nfs.superblocks import Reading
from fss_exporter.nfs.ticker import Ticker
from fss_exporter.nfs.verdicts import AddressVerdicts
from fss_kernel_counting.tracefs import PLACES, Sources

if TYPE_CHECKING:
    from fss_kernel_counting.durations.latency_reader import LatencyReader
    from fss_kernel_counting.exact_mode import Exact
    from fss_kernel_counting.processes.process_reader import ProcessReader

_LOG = logging.getLogger(__name__)
_STOP_SECONDS = 7.0  # a removal that takes longer is left to its thread, and the next start removes the rest


class NfsAgent:
    """Ticker and collector, with the kernel's tables in exact mode."""

    def __init__(self, flags: NfsFlags, mounts: MountSettings = NO_MOUNT_SETTINGS) -> None:
        self._flags, self._mounts = flags, mounts
        read = self._reader()
        self._exact: Exact | None = None
        self._latency: LatencyReader | None = None
        if flags.exact != "off":
            self._exact, self._latency = self._exact_mode(read)
        accounts = Accounts(
            self._exact.costs if self._exact else EstimatedCosts(),
            flags.series_retention_s,
            most_mounts=flags.max_mounts,
            overrides=mounts.overrides,
            verdicts=AddressVerdicts(mounts.latency_objectives),
        )
        self.ticker = Ticker(self._exact.reader.read if self._exact else read, flags.tick_s, accounts=accounts)
        self._processes = self._process_reader() if flags.processes else None
        self.loops = [self.ticker.loop]
        if self._exact is not None:
            self._exact.reader.interval_s = lambda: self.ticker.wanted_interval_s
            self.loops.append(self._exact.reader.loop)
        self.loops += [one.loop for one in (self._processes, self._latency) if one is not None]
        self.network = InstanceNetwork(metadata_url(flags), flags.network_bandwidth)
        self.collector = NfsCollector(
            self.ticker,
            by_operation=flags.operations == "all",
            zero_answers=flags.scrapers,
            further=[one.families for one in (self._latency, self.network, self._processes) if one is not None],
        )

    def _reader(self) -> Callable[[], Reading]:
        flags, mounts = self._flags, self._mounts
        return Procfs(flags.procfs, flags.pid, mounts.address_map, mounts.services, flags.wanted_mounts).read

    def _exact_mode(self, read: Callable[[], Reading]) -> "tuple[Exact, LatencyReader]":
        from fss_kernel_counting.durations.latency_reader import LatencyReader  # noqa: PLC0415
        from fss_kernel_counting.exact_mode import exact, sources  # noqa: PLC0415  # most agents count nothing

        flags, mounts = self._flags, self._mounts
        # The loop of durations looks at other times than the ticker and has a reader of its own.
        own, rtt, retention_s = self._reader(), flags.exact_rtt, flags.series_retention_s
        latency = LatencyReader(own, sources(flags), mounts.address_map, rtt=rtt, retention_s=retention_s)
        return exact(flags, read, mounts), latency

    def _process_reader(self) -> "ProcessReader":
        from fss_kernel_counting.exact_mode import sources  # noqa: PLC0415  # few agents count by process
        from fss_kernel_counting.processes.counting import ProcessCounting  # noqa: PLC0415
        from fss_kernel_counting.processes.process_reader import ProcessReader  # noqa: PLC0415
        from fss_kernel_counting.processes.process_session import OF_AGENT  # noqa: PLC0415

        flags, mounts = self._flags, self._mounts
        counting = ProcessCounting(
            OF_AGENT,
            writers=flags.writers,
            sources=replace(sources(flags), procfs=flags.procfs, pod_logs=flags.pod_logs),
            address_map=mounts.address_map,
            overrides=mounts.overrides,
        )
        return ProcessReader(counting, flags.processes, self._last_reading, flags.scrapers)

    def _last_reading(self) -> "Reading | None":
        with self.ticker.lock:
            return self.ticker.reading

    def start(self) -> None:
        """Remove what a killed agent has left in the kernel, set up the counting there, and start the ticker."""
        self._remove_remains()
        if self._exact is not None:
            self._exact.open()
        self.ticker.start()
        if self._latency is not None:
            self._latency.loop.start()
        self.network.start()
        if self._processes is not None:
            self._processes.start()

    def _remove_remains(self) -> None:
        places = PLACES if self._flags.tracefs is None else (self._flags.tracefs,)
        if not any(path for place in places for path in (place / "instances").glob("fss-exporter*")):
            return
        from fss_kernel_counting.remains import remove  # noqa: PLC0415  # rarely is something left

        done = remove(Sources(tracefs=places))
        if done.removed:
            _LOG.info("removed %s, which a killed program has left", ", ".join(map(str, done.removed)))
        for reason in done.kept:
            _LOG.warning(
                "the kernel goes on counting for a program that is gone: %s. As root: fss-exporter clean", reason
            )

    def stop(self) -> None:
        """Stop the ticker, and remove the counting from the kernel, all parts at once. Log what is left of it."""
        ends = [self.ticker.stop]
        if self._exact is not None:
            ends.append(self._exact.reader.close)
        if self._processes is not None:
            ends.append(self._processes.stop)
        if self._latency is not None:
            ends += [self._latency.loop.stop, self._latency.close]
        at_once(ends, _STOP_SECONDS)
        if len(ends) > 1:
            from fss_kernel_counting.remains import instances  # noqa: PLC0415  # exact mode has imported it

            for path in instances(PLACES if self._flags.tracefs is None else (self._flags.tracefs,)):
                _LOG.error(
                    "%s is left, so the kernel goes on counting. The next start removes it, or: fss-exporter clean",
                    path,
                )


def metadata_url(flags: NfsFlags) -> str:
    """Return the URL of the instance metadata. Empty outside of OCI without a flag, and with a stated bandwidth."""
    if flags.network_bandwidth is not None:
        return ""
    if flags.metadata_url is not None:
        return flags.metadata_url
    return METADATA_URL if is_oci_instance(flags.sysfs) else ""
