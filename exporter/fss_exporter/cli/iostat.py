"""`fss-exporter iostat`: what the NFS mounts of a client do, in the IOPS that count against a mount target."""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import click

from fss_exporter import tables
from fss_exporter.cli import iostat_processes, iostat_report
from fss_exporter.cli.ceilings import Judge, judge, shape_option
from fss_exporter.cli.exact_mode import Exact, exact, places
from fss_exporter.cli.flags import HostFlags, config_option, exact_options, flag, flags_of, procfs_options
from fss_exporter.cli.iostat_durations import with_durations
from fss_exporter.cli.iostat_files import ALONE, one_file, since_mount_report, two_files
from fss_exporter.cli.iostat_processes import ProcessReport
from fss_exporter.cli.iostat_report import Report, ReportOrder, mount_points
from fss_exporter.cli.saved_files import seconds_option
from fss_exporter.cli.take_down import take_down_at_the_end
from fss_exporter.errors import SourceError, UsageError
from fss_exporter.fetch import check_url, get
from fss_exporter.instance_metadata import own_bandwidth
from fss_exporter.model.cost_overrides import NO_OVERRIDES, CostOverrides
from fss_exporter.model.traffic import Traffic, together
from fss_exporter.nfs.accounts import Accounts
from fss_exporter.nfs.exact.counted_costs import CountedCosts
from fss_exporter.nfs.exact.latency_reader import LatencyReader
from fss_exporter.nfs.processes.counting import ProcessCounting, Sources
from fss_exporter.nfs.processes.process_session import OF_COMMAND
from fss_exporter.nfs.procfs import Procfs
from fss_exporter.nfs.rates import snapshot, traffic
from fss_exporter.nfs.scraped import RESTARTED, read_scrape, traffic_between, went_back
from fss_exporter.nfs.superblocks import Reading
from fss_exporter.units import bandwidth, interval as interval_type

_TICK_S = 1.0
_SCRAPE_INTERVAL_S = 5.0
_FAR_APART = 1.1
_COUNT_THEM = (
    "the bounds are far apart: --nfs.exact=auto has the kernel count READ and WRITE by size; "
    "`fss-exporter doctor` says what that takes on this host"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class IostatFlags(HostFlags):
    """The flags of `iostat` that say what is read; times in seconds."""

    interval: float | None
    count: int | None
    before: Path | None = flag(
        "--from",
        "Saved mountstats (file or tool) of any host, the earlier reading.",
        type=click.Path(path_type=Path),
    )
    after: Path | None = flag(
        "--to", "Saved mountstats, the later reading, or saved output of nfsiostat.", type=click.Path(path_type=Path)
    )
    mountinfo: tuple[Path, ...] = flag(
        "--mountinfo",
        "The mountinfo saved with --from and --to. Give both files if it changed in between.",
        multiple=True,
        type=click.Path(path_type=Path),
    )
    seconds: float | None
    url: str | None = flag(
        "--url", "Metrics of a running exporter in place of this host, e.g. http://host:10949/metrics."
    )


@click.command()
@click.argument("interval", type=interval_type, required=False)
@click.argument("count", type=click.IntRange(min=1), required=False)
@flags_of(IostatFlags, "before", "after", "mountinfo")
@seconds_option
@flags_of(IostatFlags, "url")
@procfs_options
@exact_options
@click.option(
    "--by",
    type=click.Choice((*iostat_report.GROUPINGS, *iostat_processes.GROUPINGS)),
    default="mount",
    show_default=True,
)
@click.option(
    "--writers/--no-writers",
    default=True,
    show_default=True,
    help="With --by process, pod or unit: give delayed write-back to the process that wrote.",
)
@click.option("--sort", type=click.Choice(tuple(iostat_report.SORTS)), default="iops", show_default=True)
@click.option("--limit", type=click.IntRange(min=1), help="Most lines for each mount target.")
@click.option("--client-bandwidth", type=bandwidth, metavar="RATE", help="Network of the host, e.g. 10Gbit/s.")
@shape_option
@config_option
@tables.output_option
def iostat(
    *,
    by: str,
    writers: bool,
    sort: str,
    limit: int | None,
    client_bandwidth: float | None,
    shape: str,
    config_file: Path | None,
    output: str,
    **flags: object,
) -> None:
    """Show the estimated mount-target IOPS of each NFS mount.

    Without INTERVAL, print one report since each mount. With INTERVAL, print a report every INTERVAL seconds, COUNT times
    or until Ctrl-C. --by process, --by pod and --by unit have the kernel count by thread while the command runs.
    """
    options = IostatFlags(**flags)  # type: ignore[arg-type]  # click has made the types
    ceilings = judge(shape, config_file)
    if by in iostat_processes.GROUPINGS:
        for load in _by_process(options, ceilings, by, writers=writers):
            if output == "json":
                click.echo(tables.as_json(iostat_processes.document(load, sort, limit), one_line=True))
            else:
                iostat_processes.show(tables.console(), load, sort, limit)
        return
    if client_bandwidth is None and options.after is None and options.url is None:
        client_bandwidth = own_bandwidth(options.sysfs)
    order = ReportOrder(by, sort, limit, client_bandwidth)
    for report in _reports(options, ceilings):
        for line in report.notes:
            tables.note(line)
        if output == "json":
            click.echo(tables.as_json(iostat_report.document(report, ceilings, order), one_line=True))
        else:
            iostat_report.show(tables.console(), report, ceilings, order)


def _reports(options: IostatFlags, ceilings: Judge) -> Iterator[Report]:
    before, after, interval = options.before, options.after, options.interval
    if before is not None and after is None:
        raise UsageError(ALONE)
    if after is not None and (options.url is not None or interval is not None):
        raise UsageError("--from and --to give one report: leave out INTERVAL and --url")
    if before is None and (options.mountinfo or options.seconds is not None):
        raise UsageError("--mountinfo and --seconds go with --from and --to")
    if options.exact != "off" and (after is not None or options.url is not None):
        raise UsageError("--nfs.exact counts on this host: leave it out with --from, --to and --url")
    if after is not None:
        if before is None:
            return iter((one_file(after, ceilings),))
        return iter((two_files(before, after, options.mountinfo, options.seconds, ceilings),))
    if options.url is not None:
        url = check_url("--url", options.url)
        return _scrapes(url, interval or _SCRAPE_INTERVAL_S, options.count if interval else 1)
    source = Procfs(options.procfs, options.pid, ceilings.address_map, ceilings.services)
    if options.exact == "off":
        return _local(source.read, interval, options.count, overrides=ceilings.overrides)
    if interval is None:
        raise UsageError("--nfs.exact counts what happens from now on: give an INTERVAL, e.g. 5")
    counting = exact(
        options.exact, source.read, options.tracefs, options.sysfs, ceilings.address_map, ceilings.overrides
    )
    source = Procfs(options.procfs, options.pid, ceilings.address_map, ceilings.services)
    latency = LatencyReader(source.read, places(options.tracefs), options.sysfs, ceilings.address_map)
    take_down_at_the_end(latency.close)
    return with_durations(_counted(counting, interval, options.count, ceilings.overrides), latency)


def _counted(
    source: Exact, interval: float, count: int | None, overrides: CostOverrides = NO_OVERRIDES
) -> Iterator[Report]:
    """Yield reports with READs and WRITEs counted by size, until the command ends in any way."""
    take_down_at_the_end(source.reader.close)
    source.open()
    return _local(source.reader.read, interval, count, source.costs, overrides)


def _by_process(options: IostatFlags, ceilings: Judge, by: str, *, writers: bool) -> Iterator[ProcessReport]:
    """Return reports by process, until the command ends, however it ends."""
    if options.before or options.after or options.url is not None or options.exact != "off":
        raise UsageError(f"--by {by} counts on this host: leave out --from, --to, --url and --nfs.exact")
    if options.interval is None:
        raise UsageError(f"--by {by} counts what happens from now on: give an INTERVAL, e.g. 5")
    source = Procfs(options.procfs, options.pid, ceilings.address_map, ceilings.services)
    sources = Sources(tracefs=places(options.tracefs), sysfs=options.sysfs, procfs=options.procfs)
    counting = ProcessCounting(OF_COMMAND, writers=writers, sources=sources, address_map=ceilings.address_map)
    take_down_at_the_end(counting.close)
    counting.open()
    return iostat_processes.reports(counting, source.read, by, options.interval, options.count)


def _local(
    read: Callable[[], Reading],
    interval: float | None,
    count: int | None,
    counted: CountedCosts | None = None,
    overrides: CostOverrides = NO_OVERRIDES,
) -> Iterator[Report]:
    reading = read()
    if interval is None:
        yield since_mount_report(reading, overrides)
        return
    accounts = Accounts(counted, overrides=overrides)
    began = time.monotonic()
    accounts.apply(reading, began)
    done = 0
    while count is None or done < count:
        old, last, estimated = snapshot(accounts.mounts), began, _estimated_seconds(counted)
        # A short tick mixes fewer sizes, so a long interval is read in short ones.
        for due in _ticks(last, interval):
            time.sleep(max(0.0, due - time.monotonic()))
            reading, began = read(), time.monotonic()
            accounts.apply(reading, began)
        rates = traffic(old, accounts.mounts, began - last)
        notes = () if done or counted is not None else _could_be_counted(together(rates.values()))
        yield Report(
            "this host",
            datetime.now(UTC),
            began - last,
            rates,
            mount_points(accounts.superblocks),
            notes,
            counted=_estimated_seconds(counted) == estimated,
        )
        done += 1


def _could_be_counted(every: Traffic) -> tuple[str, ...]:
    """Return advice on narrower bounds, if the bounds are far apart."""
    if every.iops is None or every.iops.upper <= _FAR_APART * every.iops.lower:
        return ()
    return (_COUNT_THEM,)


def _estimated_seconds(counted: CountedCosts | None) -> float:
    """Return the seconds with estimated sizes of READs and WRITEs. Not a number without exact mode."""
    return math.nan if counted is None else sum(one["estimated"] for one in counted.totals.seconds.values())


def _ticks(start: float, interval: float) -> Iterator[float]:
    whole = int(interval / _TICK_S)
    for tick in range(1, whole + 1):
        yield start + tick * _TICK_S
    if not whole or interval - whole * _TICK_S > 0.01:
        yield start + interval


def _scrapes(url: str, interval: float, count: int | None) -> Iterator[Report]:
    old, last = read_scrape(url, get(url, "text/plain")), time.monotonic()
    done = 0
    while count is None or done < count:
        time.sleep(interval)
        new, now = read_scrape(url, get(url, "text/plain")), time.monotonic()
        if went_back(old, new):
            if count == 1:
                raise SourceError(f"{url}: {RESTARTED}")
            tables.note(f"{url}: {RESTARTED}. This interval is left out")
        else:
            yield Report(
                url,
                datetime.now(UTC),
                now - last,
                traffic_between(old, new, now - last),
                new.mount_points,
                (),
                counted=new.estimated_seconds == old.estimated_seconds,
                durations=new.durations.since(old.durations),
                network_bytes_per_second=new.network_bytes_per_second,
            )
            done += 1
        old, last = new, now
