# SPDX-License-Identifier: Apache-2.0
"""The metrics of a running exporter as a source of `top`: an agent, a poller, or both."""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fss_exporter.addresses import mount_targets_of_host
from fss_exporter.client_scrape import Scraped, cost_of, rates_between, states_with_load
from fss_exporter.errors import SourceError
from fss_exporter.samples import Labels, Samples
from fss_exporter.served_states import SEES_NO_HANG
from fss_exporter.web.status.client_rows import iops_by_address
from fss_exporter.web.status.mount_target_rows import mount_target_rows
from fss_exporter.web.status.overview import FAILED_CALL, starting_collectors
from fss_exporter.web.status.rows import MountTargetRow
from fss_toolbox.ceilings import Judge
from fss_toolbox.iostat.page_reports import report_between
from fss_toolbox.scrape_text import parsed, why_unknown
from fss_toolbox.top.client_targets import NO_LOAD, NO_MOUNT, client_parts, client_targets
from fss_toolbox.top.picture import PROCESS_LABELS, LoadPart, Parts, Picture, failed_polls, process_parts

if TYPE_CHECKING:
    from fss_toolbox.iostat.traffic_report import Report

# Half of the page of a poller. It takes a second to parse for each 500 mount targets.
_NOT_SHOWN: Final = re.compile(r"(?m)^fss_(?:export_|file_system_(?!\w*_latency_)).*\n")

_PROCESS = ("address", *PROCESS_LABELS)
_LATER = "rates of clients follow with the next scrape"
_NO_PROCESSES = "no load by process on this page. serve --nfs.exact=auto --nfs.exact.processes=20 counts it"


class PageSource:
    """The page of metrics of one exporter.

    Args:
        get: returns the text of the page.
        title: name of the page.
        judge: the ceilings where the page has none.
        interval: seconds between two scrapes.
    """

    opens = "mounts"

    def __init__(
        self,
        get: Callable[[], str],
        title: str,
        judge: Judge,
        interval: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.title = title
        self.period_seconds = self.interval = interval
        self._get = get
        self._judge = judge
        self._clock = clock
        self._last: tuple[float, Scraped, Samples] | None = None
        self._report: Report | None = None
        self._processes: dict[tuple[str, ...], LoadPart] = {}
        self._of_host: dict[str, Labels] = {}  # the mount targets that the host can reach, by address

    def read(self) -> Picture:
        """Scrape the page once."""
        text, at = self._get(), self._clock()
        samples, scrape = self._read(text)
        try:
            return self._picture(at, samples, scrape)
        except LookupError as unknown:
            raise SourceError(f"{self.title}: not the metrics of an exporter of this version: {unknown}") from unknown

    def _picture(self, at: float, samples: Samples, scrape: Scraped) -> Picture:
        before, self._last = self._last, (at, scrape, samples)
        starting = starting_collectors(samples)
        polls = samples.by("fss_oci_poll_success", "region").items()
        failed = (region for (region,), success in polls if not success)
        gaps = tuple(failed_polls(failed, samples.by("fss_oci_failed_calls", "region", *FAILED_CALL)))
        without_hosts = _without_rates(samples, scrape)
        remarks = (SEES_NO_HANG,) if any(row.state.is_one_sided for row in without_hosts) else ()
        if before is None:
            return Picture(without_hosts, gaps=gaps, remarks=(*remarks, _LATER), is_starting=True)
        seconds = at - before[0]
        if unknown := why_unknown(before[1], scrape):
            self._report, self._processes = None, {}
            return Picture(without_hosts, gaps=gaps, remarks=(*remarks, unknown))
        self._report = report_between(self.title, before[1], scrape, seconds)
        self._judge = replace(self._judge, served=scrape.ceilings)
        self._processes = dict(_processes(before[2], samples, seconds))
        costs = {mount: cost_of(rates) for mount, rates in rates_between(before[1], scrape, seconds).items()}
        targets = mount_target_rows(samples, iops_by_address(costs), self._report.states)
        self._of_host = mount_targets_of_host(samples)
        rows = (*targets, *client_targets(self._report, self._judge, self._of_host))
        return Picture(rows, seconds, gaps=gaps, remarks=remarks, is_starting=bool(starting))

    def _read(self, text: str) -> tuple[Samples, Scraped]:
        samples, scrape = parsed(self.title, _NOT_SHOWN.sub("", text))
        if not any(name.startswith(("fss_client_", "fss_mount_target_", "fss_oci_")) for name, _, _ in samples):
            raise SourceError(f"{self.title}: no metrics of an agent or a poller. Give the URL of /metrics")
        return samples, scrape

    def parts(self, target: MountTargetRow, kind: str) -> Parts:
        """Return the parts behind an address between the last two scrapes."""
        reached = self._of_host.get(target.address)
        if reached and reached["mount_target_id"] != target.ocid:
            return NO_MOUNT
        if kind == "processes":
            rows = tuple(part for key, part in self._processes.items() if key[0] == target.address)
            return Parts(rows, "" if rows else NO_LOAD if self._processes else _NO_PROCESSES)
        if self._report is None:
            return Parts(remark=_LATER)
        return client_parts(self._report, self._judge, target.address, kind)

    def close(self) -> None:
        """Leave nothing behind."""


def _without_rates(samples: Samples, scrape: Scraped) -> tuple[MountTargetRow, ...]:
    return mount_target_rows(samples, {}, states_with_load(scrape, {}))


def _processes(before: Samples, after: Samples, seconds: float) -> Iterator[tuple[tuple[str, ...], LoadPart]]:
    """Yield the load of each process between two scrapes by address and names."""

    def rates(name: str, *labels: str) -> dict[tuple[str, ...], float]:
        old = before.by(name, *labels)
        return {key: max(0.0, value - old.get(key, 0.0)) / seconds for key, value in after.by(name, *labels).items()}

    calls = rates("fss_client_process_operations_total", *_PROCESS)
    payload = rates("fss_client_process_bytes_total", *_PROCESS, "direction")
    yield from process_parts(rates("fss_client_process_io_operations_total", *_PROCESS), calls, payload)
