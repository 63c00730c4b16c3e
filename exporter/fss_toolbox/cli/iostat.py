"""`fss-exporter iostat`: what the NFS mounts of a client do, in the IOPS that count against a mount target."""

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import click

from fss_exporter import units
from fss_exporter.cli.ceilings import MountSettings, judge
from fss_exporter.cli.flags import ExactFlags, OutputFlags, ShapeFlags, check_url, is_given
from fss_exporter.cli.terminal import clean_up_at_the_end
from fss_exporter.client_scrape import RESTARTED, durations_between, read_scrape, traffic_between, went_back
from fss_exporter.errors import SourceError, UsageError
from fss_exporter.fetch import get, shown
from fss_exporter.flag_records import ProcfsFlags, argument, flag, takes
from fss_exporter.instance_metadata import own_bandwidth
from fss_exporter.model.cost_overrides import NO_OVERRIDES, CostOverrides
from fss_exporter.model.histograms import CallsByEdge
from fss_exporter.model.traffic import Traffic, together
from fss_exporter.nfs.accounts import Accounts
from fss_exporter.nfs.procfs import Procfs
from fss_exporter.nfs.superblocks import Reading
from fss_kernel_counting.durations.latency_reader import LatencyReader
from fss_kernel_counting.durations.request_durations import NO_REQUESTS, RequestTotals, edge_seconds
from fss_kernel_counting.exact_mode import Exact, exact, sources
from fss_kernel_counting.processes.counting import ProcessCounting
from fss_kernel_counting.processes.process_session import OF_COMMAND
from fss_kernel_counting.sizes.counted_costs import CountedCosts
from fss_toolbox import tables
from fss_toolbox.cli import iostat_processes, iostat_report
from fss_toolbox.cli.intervals import intervals
from fss_toolbox.cli.iostat_report import Report
from fss_toolbox.cli.saved_files import ALONE, one_file, since_mount_report, two_files
from fss_toolbox.plan.inputs import SavedFlags
from fss_toolbox.readings.rates import traffic
from fss_toolbox.readings.saved_readings import left_out

_SCRAPE_INTERVAL_S = 5.0
_FAR_APART = 1.1
_COUNT_THEM = (
    "the bounds are far apart: --nfs.exact=auto has the kernel count READ and WRITE by size. "
    "`fss-exporter doctor` names the conditions on this host"
)


@dataclass(frozen=True, kw_only=True)
class IostatFlags(SavedFlags, ProcfsFlags, ExactFlags, ShapeFlags, OutputFlags):
    """The flags of `iostat`; times in seconds."""

    interval: float | None = argument(type=units.interval, required=False)
    count: int | None = argument(type=click.IntRange(min=1), required=False)
    before: Path | None = flag("--from", "Saved mountstats (file or tool) of any host, the earlier reading.")
    after: Path | None = flag("--to", "Saved mountstats, the later reading, or saved output of nfsiostat.")
    mountinfo: tuple[Path, ...] = flag(
        "--mountinfo", "The mountinfo saved with --from and --to. Give both files if it changed in between.", ()
    )
    url: str | None = flag(
        "--url", "Metrics of a running exporter in place of this host, e.g. http://host:10949/metrics."
    )
    by: str = flag("--by", "", "mount", type=click.Choice((*iostat_report.GROUPINGS, *iostat_processes.GROUPINGS)))
    writers: bool = flag(
        "--writers/--no-writers",
        "With --by process, pod or unit: give delayed write-back to the process that wrote.",
        default=True,
    )
    sort: str = flag("--sort", "", "iops", type=click.Choice(tuple(iostat_report.SORTS)))
    limit: int | None = flag("--limit", "Most lines for each mount target.", type=click.IntRange(min=1))
    client_bandwidth: float | None = flag(
        "--client-bandwidth", "Network of the host, e.g. 10Gbit/s.", type=units.network, metavar="RATE"
    )

    def check(self) -> None:
        """Refuse flags that do not name one source of figures with a UsageError."""
        is_saved, is_elsewhere = self.after is not None, self.after is not None or self.url is not None
        counts_processes = self.by in iostat_processes.GROUPINGS
        if counts_processes and (self.before or is_elsewhere or self.exact != "off"):
            raise UsageError(f"--by {self.by} counts on this host: leave out --from, --to, --url and --nfs.exact")
        if counts_processes and self.sort == "rtt":
            raise UsageError(f"--sort rtt: --by {self.by} has no times. Give iops, operations, read, write or name")
        if self.before is not None and not is_saved:
            raise UsageError(ALONE)
        if is_saved and (self.url is not None or self.interval is not None):
            raise UsageError("--from and --to give one report: leave out INTERVAL and --url")
        if self.before is None and (self.mountinfo or self.seconds is not None):
            raise UsageError("--mountinfo and --seconds go with --from and --to")
        if self.exact != "off" and is_elsewhere:
            raise UsageError("--nfs.exact counts on this host: leave it out with --from, --to and --url")
        if (self.exact != "off" or counts_processes) and self.interval is None:
            which = f"--by {self.by}" if counts_processes else "--nfs.exact"
            raise UsageError(f"{which} counts what happens from now on: give an INTERVAL, e.g. 5")


@click.command()
@takes(IostatFlags)
def iostat(flags: IostatFlags) -> None:
    """Show the estimated mount-target IOPS of each NFS mount.

    Without INTERVAL, print one report since each mount. With INTERVAL, print a report every INTERVAL seconds, COUNT times
    or until Ctrl-C. --by process, --by pod and --by unit have the kernel count by thread while the command runs.
    """
    flags.check()
    ceilings = judge(flags.shape, flags.configuration())
    if flags.by in iostat_processes.GROUPINGS:
        for load in _by_process(flags, ceilings.mounts):
            if flags.output == "json":
                click.echo(tables.as_json(iostat_processes.document(load, flags.sort, flags.limit), one_line=True))
            else:
                iostat_processes.show(tables.console(), load, flags.sort, flags.limit)
        return
    client_bandwidth = flags.client_bandwidth
    if client_bandwidth is None and flags.after is None and flags.url is None:
        client_bandwidth = own_bandwidth(flags.sysfs)
    order = iostat_report.ReportOrder(flags.by, flags.sort, flags.limit, client_bandwidth)
    for report in _reports(flags, ceilings.mounts):
        for line in report.notes:
            tables.note(line)
        if not is_given("shape"):
            ceilings = replace(ceilings, served=report.ceilings)
        if flags.output == "json":
            click.echo(tables.as_json(iostat_report.document(report, ceilings, order), one_line=True))
        else:
            iostat_report.show(tables.console(), report, ceilings, order)


def _reports(flags: IostatFlags, mounts: MountSettings) -> Iterator[Report]:
    if flags.after is not None and flags.before is not None:
        return iter((two_files(flags.before, flags.after, flags.mountinfo, flags.seconds, mounts),))
    if flags.after is not None:
        return iter((one_file(flags.after, mounts),))
    if flags.url is not None:
        url = check_url("--url", flags.url)
        return _scrapes(url, flags.interval or _SCRAPE_INTERVAL_S, flags.count if flags.interval else 1)
    read = _source(flags, mounts).read
    if flags.exact == "off" or flags.interval is None:
        return _local(read, flags.interval, flags.count, overrides=mounts.overrides)
    counting = exact(flags, read, mounts)
    latency = LatencyReader(_source(flags, mounts).read, sources(flags), mounts.address_map)
    clean_up_at_the_end(latency.close)
    return with_durations(_counted(counting, flags.interval, flags.count, mounts.overrides), latency)


def _source(flags: IostatFlags, mounts: MountSettings) -> Procfs:
    return Procfs(flags.procfs, flags.pid, mounts.address_map, mounts.services)


def _counted(source: Exact, interval: float, count: int | None, overrides: CostOverrides) -> Iterator[Report]:
    """Yield reports with READs and WRITEs counted by size, until the command ends in any way."""
    clean_up_at_the_end(source.reader.close)
    source.open()
    return _local(source.reader.read, interval, count, source.costs, overrides)


def _by_process(flags: IostatFlags, mounts: MountSettings) -> Iterator[iostat_processes.ProcessReport]:
    """Return reports by process, until the command ends, however it ends."""
    kernel = replace(sources(flags), procfs=flags.procfs)
    counting = ProcessCounting(
        OF_COMMAND,
        writers=flags.writers,
        sources=kernel,
        address_map=mounts.address_map,
        overrides=mounts.overrides,
    )
    clean_up_at_the_end(counting.close)
    counting.open()
    read, interval = _source(flags, mounts).read, flags.interval or 0.0
    return iostat_processes.reports(counting, read, flags.by, interval, flags.count)


def _local(
    read: Callable[[], Reading],
    interval: float | None,
    count: int | None,
    counted: CountedCosts | None = None,
    overrides: CostOverrides = NO_OVERRIDES,
) -> Iterator[Report]:
    if interval is None:
        reading = read()
        report = since_mount_report(reading, overrides)
        yield replace(report, notes=(*report.notes, *left_out("this host", reading.skipped)))
        return
    accounts = Accounts(counted, overrides=overrides)
    skipped: tuple[str, ...] = ()

    def look() -> float:
        nonlocal skipped
        reading, now = read(), time.monotonic()
        accounts.apply(reading, now)
        skipped = reading.skipped
        return now

    start = look()
    old, estimated = deepcopy(accounts.mounts), _estimated_seconds(counted)
    for number, seconds in enumerate(intervals(look, start, interval, count)):
        rates = traffic(old, accounts.mounts, seconds)
        advice = () if number or counted is not None else _could_be_counted(together(rates.values()))
        yield Report(
            "this host",
            datetime.now(UTC),
            seconds,
            rates,
            iostat_report.mount_points(accounts.superblocks),
            (*advice, *(() if number else left_out("this host", skipped))),
            counted=_estimated_seconds(counted) == estimated,
        )
        old, estimated = deepcopy(accounts.mounts), _estimated_seconds(counted)


def _could_be_counted(every: Traffic) -> tuple[str, ...]:
    """Return advice on narrower bounds, if the bounds are far apart."""
    is_far_apart = every.iops is not None and every.iops.upper > _FAR_APART * every.iops.lower
    return (_COUNT_THEM,) if is_far_apart else ()


def _estimated_seconds(counted: CountedCosts | None) -> float:
    """Return the seconds with estimated sizes of READs and WRITEs. Not a number without exact mode."""
    return math.nan if counted is None else sum(one["estimated"] for one in counted.totals.seconds.values())


def requests_between(before: RequestTotals, after: RequestTotals) -> dict[str, CallsByEdge]:
    """Return the requests between two looks by address and class. Addresses with an invalid interval are left out."""
    found: dict[str, Counter[float]] = {}
    for place, requests in after.requests.items():
        if after.active and place[0] not in after.paused:
            old = before.requests.get(place, NO_REQUESTS).finished.by_exponent
            calls = found.setdefault(place[0], Counter())
            for exponent, count in requests.finished.by_exponent.items():
                calls[edge_seconds(exponent)] += count - old.get(exponent, 0)
    return dict(found)


def with_durations(reports: Iterator[Report], reader: LatencyReader) -> Iterator[Report]:
    """Return the reports with the durations of requests that the kernel counted in each interval."""
    reader.loop.run_once()
    before = reader.totals
    for report in reports:
        reader.loop.run_once()
        yield replace(report, durations=requests_between(before, reader.totals))
        before = reader.totals


def _scrapes(url: str, interval: float, count: int | None) -> Iterator[Report]:
    source = shown(url)
    old, last = read_scrape(source, get(url, "text/plain")), time.monotonic()
    done = 0
    while count is None or done < count:
        time.sleep(interval)
        new, now = read_scrape(source, get(url, "text/plain")), time.monotonic()
        if went_back(old, new):
            if count == 1:
                raise SourceError(f"{source}: {RESTARTED}")
            tables.note(f"{source}: {RESTARTED}. This interval is left out")
        else:
            yield Report(
                source,
                datetime.now(UTC),
                now - last,
                traffic_between(old, new, now - last),
                new.mount_points,
                (),
                counted=new.estimated_seconds == old.estimated_seconds,
                # Series that come back after a pause have every request since the start of the agent.
                durations={
                    address: calls for address, calls in durations_between(old, new).items() if address in old.durations
                },
                network_bytes_per_second=new.network_bytes_per_second,
                ceilings=new.ceilings,
            )
            done += 1
        old, last = new, now
