# SPDX-License-Identifier: Apache-2.0
"""`fss-exporter iostat`: what the NFS mounts of a client do, in the IOPS that count against a mount target."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import click

from fss_exporter import RUNBOOK, units
from fss_exporter.cli.flags import ExactFlags
from fss_exporter.cli.terminal import clean_up_at_the_end
from fss_exporter.errors import UsageError
from fss_exporter.flag_records import ProcfsFlags, argument, flag, takes
from fss_exporter.instance_metadata import own_bandwidth
from fss_exporter.nfs.mount_settings import MountSettings
from fss_exporter.nfs.procfs import Procfs
from fss_kernel_counting.durations.latency_reader import LatencyReader
from fss_kernel_counting.exact_mode import exact, sources
from fss_kernel_counting.processes.counting import ProcessCounting
from fss_kernel_counting.sizes.counted_costs import CountedCosts
from fss_kernel_counting.tracefs import OF_COMMAND
from fss_toolbox import tables
from fss_toolbox.ceilings import judge
from fss_toolbox.cli.toolbox_flags import HttpFlags, OutputFlags, ShapeFlags, is_given, metrics_url
from fss_toolbox.fetch import runbook_at
from fss_toolbox.iostat import process_reports, report_output
from fss_toolbox.iostat.host_reports import HostTraffic, since_each_mount, with_durations
from fss_toolbox.iostat.page_reports import reports_of_page
from fss_toolbox.iostat.saved_files import ALONE, SavedFlags, report_of_interval, report_of_output
from fss_toolbox.iostat.traffic_report import GROUPINGS, SORTS, Report, ReportOrder

_SCRAPE_INTERVAL_S = 5.0


@dataclass(frozen=True, kw_only=True)
class IostatFlags(SavedFlags, HttpFlags, ProcfsFlags, ExactFlags, ShapeFlags, OutputFlags):
    """The flags of `iostat`; times in seconds."""

    interval: float | None = argument(type=units.interval, required=False)
    count: int | None = argument(type=click.IntRange(min=1), required=False)
    before: Path | None = flag("--from", "Saved mountstats (file or tool) of any host, the earlier reading.")
    after: Path | None = flag("--to", "Saved mountstats, the later reading or alone, or saved output of nfsiostat.")
    mountinfo: tuple[Path, ...] = flag(
        "--mountinfo", "The mountinfo saved with the mountstats. Give both files if it changed in between.", ()
    )
    url: str | None = flag("--url", "A running exporter in place of this host, e.g. http://host:10949.")
    by: str = flag(
        "--by",
        "Lines below each mount target: its mounts, operations or classes of operations, or, counted by the kernel as root,"
        " the processes, pods, units or batch jobs of this host. mount-target: none.",
        "mount",
        type=click.Choice((*GROUPINGS, *process_reports.GROUPINGS)),
    )
    writers: bool = flag(
        "--writers/--no-writers",
        "With --by process, pod, unit or job: give delayed write-back to the process that wrote.",
        default=True,
    )
    sort: str = flag(
        "--sort",
        "Order of mount targets and of their lines: largest first by estimated IOPS, operations, bytes read or written,"
        " or slowest first by round-trip time, or by name.",
        "iops",
        type=click.Choice(tuple(SORTS)),
    )
    limit: int | None = flag("--limit", "Most lines for each mount target.", type=click.IntRange(min=1))
    client_bandwidth: float | None = flag(
        "--client-bandwidth", "Network of the host, e.g. 10Gbit/s.", type=units.network, metavar="RATE"
    )

    def check(self) -> None:
        """Refuse flags that do not name one source of figures with a UsageError."""
        is_saved = self.after is not None
        is_of_this_host = not is_saved and self.url is None
        counts_processes = self.by in process_reports.GROUPINGS
        if counts_processes and (self.before or not is_of_this_host or self.exact != "off"):
            raise UsageError(f"--by {self.by} counts on this host: leave out --from, --to, --url and --nfs.exact")
        if counts_processes and self.sort == "rtt":
            raise UsageError(f"--sort rtt: --by {self.by} has no times. Give iops, operations, read, write or name")
        if self.before is not None and not is_saved:
            raise UsageError(ALONE)
        if self.http_config is not None and self.url is None:
            raise UsageError("--http-config goes with --url")
        if is_saved and (self.url is not None or self.interval is not None):
            raise UsageError("--from and --to give one report: leave out INTERVAL and --url")
        if not is_saved and (self.mountinfo or self.seconds is not None):
            raise UsageError("--mountinfo and --elapsed go with --from and --to, or with --to")
        if self.exact != "off" and not is_of_this_host:
            raise UsageError("--nfs.exact counts on this host: leave it out with --from, --to and --url")
        if (self.exact != "off" or counts_processes) and self.interval is None:
            which = f"--by {self.by}" if counts_processes else "--nfs.exact"
            raise UsageError(f"{which} counts what happens from now on: give an INTERVAL, e.g. 5")


@click.command()
@takes(IostatFlags)
def iostat(flags: IostatFlags) -> None:
    """Show the estimated mount-target IOPS of each NFS mount.

    Without INTERVAL, print one report since each mount. With INTERVAL, print a report every INTERVAL seconds, COUNT times
    or until Ctrl-C. A share is that of the fullest ceiling by this client alone, so the share of all clients is larger. With --url
    the ceilings are those that the exporter states. --by process, --by pod, --by unit and --by job have the kernel count by thread while the command
    runs.
    """
    flags.check()
    ceilings = judge(flags.shape, flags.configuration())
    if flags.by in process_reports.GROUPINGS:
        for load in _by_process(flags, ceilings.mounts):
            if flags.output == "json":
                click.echo(tables.as_json(process_reports.document(load, flags.sort, flags.limit), one_line=True))
            else:
                process_reports.show(tables.console(), load, flags.sort, flags.limit)
        return
    client_bandwidth = flags.client_bandwidth
    if client_bandwidth is None and flags.after is None and flags.url is None:
        client_bandwidth = own_bandwidth(flags.sysfs)
    order = ReportOrder(flags.by, flags.sort, flags.limit, client_bandwidth)
    runbook = RUNBOOK if flags.url is None else runbook_at(metrics_url("--url", flags.url))
    for interval in _reports(flags, ceilings.mounts):
        for line in interval.notes:
            tables.note(line)
        if not is_given("shape"):
            ceilings = replace(ceilings, served=interval.ceilings)
        if flags.output == "json":
            click.echo(tables.as_json(report_output.document(interval, ceilings, order), one_line=True))
        else:
            report_output.show(tables.console(), interval, ceilings, order, runbook)


def _reports(flags: IostatFlags, mounts: MountSettings) -> Iterator[Report]:
    if flags.after is not None and flags.before is not None:
        return iter((report_of_interval(flags.before, flags.after, flags.mountinfo, flags.seconds, mounts),))
    if flags.after is not None:
        return iter((report_of_output(flags.after, flags.mountinfo, flags.seconds, mounts),))
    if flags.url is not None:
        url = metrics_url("--url", flags.url)
        count = flags.count if flags.interval else 1
        return reports_of_page(url, flags.interval or _SCRAPE_INTERVAL_S, count, flags.access())
    read = _source(flags, mounts).read_in_time
    if flags.interval is None:
        return (since_each_mount(reading, mounts.overrides) for reading in (read(),))
    if flags.exact == "off":
        return HostTraffic(read, overrides=mounts.overrides).reports(flags.interval, flags.count)
    costs = exact(flags, read, mounts)
    latency = LatencyReader(_source(flags, mounts).read_in_time, sources(flags), mounts.address_map)
    clean_up_at_the_end(latency.close)
    return with_durations(_counted(costs, flags.interval, flags.count, mounts), latency)


def _source(flags: IostatFlags, mounts: MountSettings) -> Procfs:
    return Procfs(flags.procfs, flags.pid, mounts.address_map, mounts.services)


def _counted(costs: CountedCosts, interval: float, count: int | None, mounts: MountSettings) -> Iterator[Report]:
    """Yield reports with READs and WRITEs counted by size, until the command ends in any way."""
    clean_up_at_the_end(costs.reader.close)
    costs.reader.open()
    return HostTraffic(costs.reader.read, costs, mounts.overrides).reports(interval, count)


def _by_process(flags: IostatFlags, mounts: MountSettings) -> Iterator[process_reports.ProcessReport]:
    """Return reports by process, until the command ends, however it ends."""
    kernel = replace(sources(flags), procfs=flags.procfs)
    counting = ProcessCounting(
        OF_COMMAND, writers=flags.writers, sources=kernel, mounts=mounts, has_job_numbers=flags.by == "job"
    )
    clean_up_at_the_end(counting.close)
    counting.open()
    read, interval = _source(flags, mounts).read_in_time, flags.interval or 0.0
    return process_reports.reports(counting, read, flags.by, interval, flags.count)
