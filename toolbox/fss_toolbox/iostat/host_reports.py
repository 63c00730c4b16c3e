# SPDX-License-Identifier: Apache-2.0
"""Reports of `iostat` about this host, from its own counters."""

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from fss_exporter.model.cost_overrides import NO_OVERRIDES, CostOverrides
from fss_exporter.model.histograms import CallsByEdge
from fss_exporter.model.traffic import together
from fss_exporter.nfs.accounts import Accounts
from fss_exporter.nfs.superblocks import NO_READING, Reading
from fss_kernel_counting.durations.latency_reader import LatencyReader
from fss_kernel_counting.durations.request_durations import NO_REQUESTS, RequestTotals, edge_seconds
from fss_kernel_counting.sizes.counted_costs import CountedCosts
from fss_toolbox.iostat.intervals import intervals
from fss_toolbox.iostat.rates import traffic
from fss_toolbox.iostat.saved_readings import left_out, since_mount, unpriced
from fss_toolbox.iostat.traffic_report import Report, mount_points

if TYPE_CHECKING:
    from fss_exporter.model.service_table import SeriesKey
    from fss_exporter.nfs.totals import MountTotals

THIS_HOST = "this host"
_FAR_APART = 1.1
_COUNT_THEM = (
    "the bounds are far apart: --nfs.exact=auto has the kernel count READ and WRITE by size. "
    "`fss-exporter doctor` names the conditions on this host"
)


def since_each_mount(reading: Reading, overrides: CostOverrides = NO_OVERRIDES) -> Report:
    """Return a report of the means since each mount, with notes about the records that are left out."""
    report = since_mount(f"{THIS_HOST} since mount", reading, overrides)
    notes = (*report.notes, *left_out(THIS_HOST, reading.skipped), *unpriced(reading), *unread(reading))
    return replace(report, time=datetime.now(UTC), notes=notes, unread=reading.unread)


def unread(reading: Reading) -> tuple[str, ...]:
    """Return a remark about mounts whose counters cannot be read. Empty if all can."""
    return (f"{THIS_HOST}: NFS mounts without readable counters: {reading.unread}",) if reading.unread else ()


class HostTraffic:
    """The traffic of this host between looks at its counters. `reading` is the last look.

    `read` reads mountstats once. `counted` are READs and WRITEs by size, if the kernel counts them.
    """

    def __init__(
        self,
        read: Callable[[], Reading],
        counted: CountedCosts | None = None,
        overrides: CostOverrides = NO_OVERRIDES,
    ) -> None:
        self._read, self._counted = read, counted
        self._accounts = Accounts(counted, overrides=overrides)
        self.reading = NO_READING
        self._before: dict[SeriesKey, MountTotals] = {}
        self._estimated_before = math.nan

    def read(self) -> float:
        """Read the counters, and return the monotonic time of the reading in seconds."""
        self.reading, now = self._read(), time.monotonic()
        self._accounts.apply(self.reading, now)
        return now

    def begin(self) -> float:
        """Begin an interval with a reading, and return its monotonic time in seconds."""
        start = self.read()
        self._begin_interval()
        return start

    def _begin_interval(self) -> None:
        self._before, self._estimated_before = deepcopy(self._accounts.mounts), self._estimated_seconds

    def report(self, seconds: float) -> Report:
        """Return the report of the interval that ends with the last reading, and begin the next interval."""
        report = Report(
            THIS_HOST,
            traffic(self._before, self._accounts.mounts, seconds),
            mount_points(self._accounts.superblocks),
            time=datetime.now(UTC),
            seconds=seconds,
            counted=self._estimated_seconds == self._estimated_before,
            unread=self.reading.unread,
            states=self._accounts.states.shown(),
        )
        self._begin_interval()
        return report

    def reports(self, interval: float, count: int | None) -> Iterator[Report]:
        """Yield `count` reports (None: no end), one each `interval` seconds. The first has the notes."""
        for number, seconds in enumerate(intervals(self.read, self.begin(), interval, count)):
            report = self.report(seconds)
            yield report if number else replace(report, notes=self._notes(report))

    def _notes(self, report: Report) -> tuple[str, ...]:
        iops = together(report.traffic.values()).iops
        is_far_apart = self._counted is None and iops is not None and iops.upper > _FAR_APART * iops.lower
        return (
            *((_COUNT_THEM,) if is_far_apart else ()),
            *left_out(THIS_HOST, self.reading.skipped),
            *unpriced(self.reading),
            *unread(self.reading),
        )

    @property
    def _estimated_seconds(self) -> float:
        """Seconds with estimated sizes of READs and WRITEs. Not a number without exact mode."""
        if self._counted is None:
            return math.nan
        return sum(seconds["estimated"] for seconds in self._counted.totals.seconds.values())


def requests_between(before: RequestTotals, after: RequestTotals) -> dict[str, CallsByEdge]:
    """Return the requests between two looks by address and class. Addresses with an invalid interval are left out."""
    by_address: dict[str, Counter[float]] = {}
    for place, requests in after.requests.items():
        if after.active and place[0] not in after.paused:
            old = before.requests.get(place, NO_REQUESTS).finished.by_exponent
            calls = by_address.setdefault(place[0], Counter())
            for exponent, count in requests.finished.by_exponent.items():
                calls[edge_seconds(exponent)] += count - old.get(exponent, 0)
    return dict(by_address)


def with_durations(reports: Iterator[Report], reader: LatencyReader) -> Iterator[Report]:
    """Return the reports with the durations of requests that the kernel counted in each interval."""
    reader.loop.run_once()
    before = reader.totals
    for report in reports:
        reader.loop.run_once()
        yield replace(report, durations=requests_between(before, reader.totals))
        before = reader.totals
