# SPDX-License-Identifier: Apache-2.0
"""This host as a source of `top`: its own counters, and the load by process while somebody looks at it."""

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from fss_exporter.errors import FssError, SourceError
from fss_exporter.model.cost_overrides import CostOverrides
from fss_exporter.model.estimate import Bounds
from fss_exporter.nfs.superblocks import Reading
from fss_exporter.web.status.rows import MountTargetRow
from fss_kernel_counting.processes.attribution import Places
from fss_kernel_counting.processes.costliest import Amount
from fss_kernel_counting.processes.counting import ProcessCounting, ProcessLoad
from fss_toolbox.ceilings import Judge
from fss_toolbox.iostat.host_reports import HostTraffic, unread
from fss_toolbox.iostat.process_reports import Party, loads_by_party
from fss_toolbox.top.client_targets import NO_LOAD, client_parts, client_targets
from fss_toolbox.top.picture import LoadPart, Parts, Picture

if TYPE_CHECKING:
    from fss_toolbox.iostat.traffic_report import Report


class HostSource:
    """The mounts of this host.

    Args:
        read: reads mountstats once.
        judge: the ceilings of the mount targets.
        interval: seconds that a picture covers.
        counting: counts by process from the first question about processes on.
    """

    title = "this host"
    opens = "mounts"
    period_seconds = 1.0  # a short tick mixes fewer sizes of READs and WRITEs

    def __init__(
        self,
        read: Callable[[], Reading],
        judge: Judge,
        interval: float,
        counting: ProcessCounting,
        overrides: CostOverrides,
    ) -> None:
        self._judge = judge
        self.interval = interval
        self._traffic = HostTraffic(read, overrides=overrides)
        self._began: float | None = None
        self._report: Report | None = None
        self._processes = HostProcesses(counting)

    def read(self) -> Picture | None:
        """Read the counters. A picture comes with the end of an interval.

        Raises:
            SourceError: no counters of the NFS mounts can be read.
        """
        if self._began is None:
            self._began = self._traffic.begin()
            return None
        now = self._traffic.read()
        self._processes.read(self._traffic.reading)
        seconds = now - self._began
        if seconds < self.interval:
            return None
        self._began, self._report = now, self._traffic.report(seconds)
        self._processes.end_interval(self._traffic.reading)
        remarks: tuple[str, ...] = (
            (
                "states and load are of this host alone: fine says nothing of ceilings, and the load of a mount target is larger",
            )
            if self._report.traffic
            else ()
        )
        failures = unread(self._traffic.reading)
        if failures and not self._report.traffic:
            raise SourceError(failures[0])  # a picture without mounts would say that there are none
        return Picture(tuple(client_targets(self._report, self._judge)), seconds, gaps=failures, remarks=remarks)

    def parts(self, target: MountTargetRow, kind: str) -> Parts:
        """Return the parts behind an address in the last interval."""
        if kind == "processes":
            return self._processes.parts(target.address, self._traffic.reading)
        return Parts() if self._report is None else client_parts(self._report, self._judge, target.address, kind)

    def close(self) -> None:
        """Remove the triggers of the kernel."""
        self._processes.close()


class HostProcesses:
    """The load of this host by process, counted by the kernel from the first question on.

    `clock` returns seconds that never go back.
    """

    def __init__(self, counting: ProcessCounting, clock: Callable[[], float] = time.monotonic) -> None:
        self._counting = counting
        self._clock = clock
        self._refusal = ""
        self._since: float | None = None  # when counting of `_loads` began. None: the kernel does not count
        self._loads: list[ProcessLoad] = []
        self._parts: Mapping[str, tuple[LoadPart, ...]] | None = None

    def read(self, reading: Reading) -> None:
        """Read the tables of the kernel, if they count."""
        if self._since is not None:
            self._loads.extend(self._counting.read(reading))

    def end_interval(self, reading: Reading) -> None:
        """Turn the loads of an interval into parts by address."""
        if self._since is None:
            return
        now, priced = self._clock(), Places(reading.superblocks).priced
        seconds = now - self._since
        self._parts = {
            address: tuple(
                _process(party, amount, seconds, is_priced=priced.get(address, False))
                for party, amount in parties.items()
            )
            for address, parties in loads_by_party(self._loads, "process").items()
        }
        self._since, self._loads = now, []

    def parts(self, address: str, reading: Reading) -> Parts:
        """Return the processes of an address. The first call sets the triggers of the kernel."""
        if self._since is None and not self._refusal:
            self._open(reading)
        if self._refusal:
            return Parts(remark=f"the kernel cannot count by process: {self._refusal}")
        if self._parts is None:
            return Parts(remark="counting from now on ...")
        rows = self._parts.get(address, ())
        return Parts(rows, "" if rows else NO_LOAD)

    def _open(self, reading: Reading) -> None:
        try:
            self._counting.open()
        except FssError as refusal:
            self._refusal = str(refusal)
            return
        self._counting.read(reading)  # calls before the first interval
        self._since = self._clock()

    def close(self) -> None:
        """Remove the triggers."""
        if self._since is not None:
            self._counting.close()


def _process(party: Party, amount: Amount, seconds: float, *, is_priced: bool) -> LoadPart:
    return LoadPart(
        party.name,
        Bounds.exact(amount.io_operations / seconds) if is_priced else None,
        amount.operations / seconds,
        amount.read_bytes / seconds,
        amount.written_bytes / seconds,
        detail=" ".join(filter(None, (party.where, party.user))),
    )
