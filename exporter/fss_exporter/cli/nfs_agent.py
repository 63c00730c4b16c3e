# SPDX-License-Identifier: Apache-2.0
"""The agent: the reader of this host's NFS counters, built from the flags."""

import time
from collections.abc import Callable
from functools import partial

from fss_exporter.background import at_once
from fss_exporter.cli.allocator import give_large_blocks_back, search_cycles_seldom
from fss_exporter.cli.counting_plug import kernel_counting, log_remains, remove_remains
from fss_exporter.cli.nfs_flags import NfsFlags
from fss_exporter.nfs.accounts import Accounts
from fss_exporter.nfs.address_states import AddressStates, NoTails
from fss_exporter.nfs.collector import NfsCollector
from fss_exporter.nfs.fstab import FstabWatch, read_fstab
from fss_exporter.nfs.instance_network import InstanceNetwork
from fss_exporter.nfs.mount_settings import NO_MOUNT_SETTINGS, MountSettings
from fss_exporter.nfs.other_namespaces import EveryNamespace
from fss_exporter.nfs.procfs import HOST_PID, Procfs, boot_hash_of
from fss_exporter.nfs.superblocks import Reading
from fss_exporter.nfs.ticker import Ticker

_STOP_SECONDS = 7.0  # a removal that takes longer is left to its thread, and the next start removes the rest


class NfsAgent:
    """Ticker and collector, with the counters of the kernel in exact mode. `clock` never goes back, `wall_clock` is epoch seconds."""

    def __init__(
        self,
        flags: NfsFlags,
        mounts: MountSettings = NO_MOUNT_SETTINGS,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._flags, self._mounts = flags, mounts
        self._has_counted = False
        self._counting = None if flags.exact == "off" else kernel_counting(flags, mounts, self._new_reader)
        tails = NoTails(mounts.p99_objectives) if self._counting is None else self._counting.tails
        accounts = Accounts(
            None if self._counting is None else self._counting.costs,
            most_mounts=flags.max_mounts,
            overrides=mounts.overrides,
            states=AddressStates(mounts.latency_objectives, tails),
        )
        read_entries = partial(read_fstab, flags.procfs, flags.pid, flags.fstab, flags.wanted_mounts)
        self._fstab = FstabWatch(read_entries, clock)
        self._read = self._new_reader() if self._counting is None else self._counting.read
        self.ticker = Ticker(
            self._look, flags.tick_s, clock, accounts=accounts, wall_clock=wall_clock, waits=self._counting is None
        )
        self.counters = () if self._counting is None else tuple(self._counting.counters)
        self.loops = [self.ticker.loop, *(counter.loop for counter in self.counters)]
        everything_stated = flags.network is not None and flags.network_bandwidth is not None
        url = "" if everything_stated else flags.metadata_place(flags.sysfs)
        self.network = InstanceNetwork(url, flags.network, flags.network_bandwidth)
        self.collector = NfsCollector(
            self.ticker,
            by_operation=flags.operations == "all",
            zero_answers=flags.scrapers,
            network=self.network,
            boot_hash=boot_hash_of(flags.procfs),
            fstab=self._fstab,
        )

    def _look(self) -> Reading:
        self._fstab.look()
        return self._read()

    def _new_reader(self) -> Callable[[], Reading]:
        flags, mounts = self._flags, self._mounts

        def of_process(number: str) -> Procfs:
            return Procfs(
                flags.procfs, number, mounts.address_map, mounts.services, flags.wanted_mounts, sysfs=flags.sysfs
            )

        own = of_process(flags.pid)
        return EveryNamespace(own, of_process).read if flags.pid == HOST_PID else own.read

    def waits_for(self) -> str:
        """Return what is missing before the agent is ready: its first reading, or the mounts of its host. Empty if nothing is."""
        if not self.ticker.is_ready:
            return "the first reading of nfs"
        return "" if self.collector.reads_what_was_asked else "the mounts of the host, because it reads its own"

    def judge_by(self, mounts: MountSettings) -> None:
        """Judge the latency of requests by the objectives of these settings from the next look on."""
        states = self.ticker.accounts.states
        states.stated, states.tails.objectives = mounts.latency_objectives, mounts.p99_objectives

    def start(self) -> None:
        """Remove what a killed agent has left in the kernel, set up the counting there, and start the ticker."""
        give_large_blocks_back()
        search_cycles_seldom()
        self.network.start()
        remove_remains(self._flags.tracefs_places)
        if self._counting is not None:
            self._counting.open()
            self._has_counted = True
        self.ticker.start()
        if self._counting is not None:
            self._counting.start()

    def stop(self) -> None:
        """Stop the ticker, and remove the counting from the kernel, all parts at once. Log what is left of it."""
        self.network.stop()
        ends = [self.ticker.stop, *(() if self._counting is None else self._counting.ends())]
        at_once(ends, _STOP_SECONDS)
        if self._has_counted:
            log_remains(self._flags.tracefs_places)
