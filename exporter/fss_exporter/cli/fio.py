"""`fss-exporter fio`: what a fio report says about the mount target it ran against."""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from fss_exporter import tables, units
from fss_exporter.cli.ceilings import judge as ceilings_of, shape_option
from fss_exporter.cli.flags import config_option
from fss_exporter.cli.saved_files import text_of
from fss_exporter.cli.service_options import service_choice, service_options
from fss_exporter.errors import UsageError
from fss_exporter.fio.report import read_report
from fss_exporter.model.benchmark import Direction, Job, Pace, Verdict, job_traffic, judge, plain_traffic
from fss_exporter.model.limits import Limits
from fss_exporter.model.service import Ceilings
from fss_exporter.model.traffic import Traffic
from fss_exporter.model.workload import LARGEST_TRANSFER_BYTES
from fss_exporter.plan.purchase_answer import service_title
from fss_exporter.tables import Column, Row

_TAILS = (50.0, 99.0, 99.9)


@click.command()
@click.argument("report", type=click.Path(path_type=Path))
@click.option(
    "--transfer-size",
    type=units.size,
    default=str(LARGEST_TRANSFER_BYTES),
    metavar="SIZE",
    help="rsize and wsize of the mount: larger requests are split.  [default: 1MiB]",
)
@shape_option
@service_options
@config_option
@tables.output_option
def fio(  # one argument a flag
    report: Path,
    *,
    transfer_size: int,
    shape: str,
    service: str | None,
    kind: str | None,
    capacity: int | None,
    config_file: Path | None,
    output: str,
) -> None:
    """What the jobs of REPORT (fio --output-format=json) cost a mount target, and which ceiling they met.

    With --service they are held against the ceilings of another storage service.
    """
    if not transfer_size:
        raise UsageError("--transfer-size must be more than nothing")
    other = service_choice(service, kind, capacity)
    against = (
        Against(f"shape {shape}", ceilings_of(shape, config_file).limits, transfer_size)
        if other is None
        else Against(service_title(other), other.ceilings, transfer_size)
    )
    groups: dict[int, list[Job]] = defaultdict(list)
    for job in read_report(str(report), text_of(report)):
        groups[job.group].append(job)
    verdicts = [(jobs, judge(jobs, against.limits, transfer_size)) for jobs in groups.values()]
    if output == "json":
        found = [_document(jobs, verdict, against) for jobs, verdict in verdicts]
        named = {"shape": shape} if other is None else {"service": other.service.name}
        click.echo(tables.as_json({"report": str(report), **named, "groups": found}))
        return
    _show(tables.console(), str(report), against, verdicts)


@dataclass(frozen=True, slots=True)
class Against:
    """What a report is held against.

    Attributes:
        name: what it is called.
        limits: its ceilings.
        transfer_size: rsize and wsize, bytes.
    """

    name: str
    limits: Limits | Ceilings
    transfer_size: int

    @property
    def counts(self) -> str:
        """The I/O operations it counts."""
        return "IOPS of the service" if isinstance(self.limits, Ceilings) else "mount-target IOPS"

    def traffic(self, job: Job) -> Traffic:
        """What a job put on it."""
        return plain_traffic(job) if isinstance(self.limits, Ceilings) else job_traffic(job, self.transfer_size)


_COLUMNS = (
    Column("job", left=True),
    Column("", left=True),
    Column("IOPS of fio"),
    Column("MB/s"),
    Column("KiB", 2),
    Column("mean ms", 1),
    Column("p50 ms", 6),
    Column("p99 ms", 2),
    Column("p99.9 ms", 6),
    Column("in flight", 5),
    Column("of depth", 5),
)


def _show(out: Console, source: str, against: Against, verdicts: list[tuple[list[Job], Verdict]]) -> None:
    rows = [row for jobs, _ in verdicts for job in jobs for row in _rows(job, against)]
    tables.show(out, (*_COLUMNS, Column(against.counts)), rows, source)
    for jobs, verdict in verdicts:
        tables.say(out, "")
        names = ", ".join(dict.fromkeys(job.name for job in jobs))
        together = " together" if len(jobs) > 1 else ""
        tables.say(out, f"{names}{together}", "bold")
        for line in _sentences(verdict, against):
            tables.say(out, line, hanging=2)
        for remark in dict.fromkeys(remark for job in jobs for remark in job.remarks):
            tables.say(out, f"note: {remark}")


def _rows(job: Job, against: Against) -> list[Row]:
    traffic = against.traffic(job)
    rows = []
    for kind, name, direction in (("read", "READ", job.reads), ("write", "WRITE", job.writes)):
        if not direction.count:
            continue
        cost = traffic.operations[name].iops
        rows.append(
            Row(
                (
                    job.name,
                    kind,
                    units.number(direction.operations),
                    units.megabytes(direction.bytes_per_second),
                    units.kibibytes(direction.mean_bytes),
                    units.milliseconds(direction.mean_seconds),
                    *(units.milliseconds(direction.percentiles.get(tail)) for tail in _TAILS),
                    units.number(direction.in_flight),
                    units.NOT_KNOWN if job.depth is None else str(job.depth),
                    units.number(cost.point if cost else None),
                )
            )
        )
    return rows or [Row((job.name, "nothing done", *[""] * (len(_COLUMNS) - 1)))]


def _sentences(verdict: Verdict, against: Against) -> list[str]:
    iops, first = verdict.traffic.iops, verdict.first
    lines = []
    if iops is not None:
        bounds = f" ({units.number(iops.lower)} to {units.number(iops.upper)})" if iops.lower != iops.upper else ""
        lines.append(f"cost: {units.number(iops.point)} {against.counts}{bounds}")
    depth = f" of {verdict.depth}" if verdict.depth is not None else ""
    lines.append(f"in flight (Little's law): {units.number(verdict.in_flight)}{depth}")
    if first is not None:
        share = f"{units.percent(first.ratio)} of the {first.resource} of {against.name}"
        lines.append(f"{_PACES[verdict.pace]}: {share}")
        off = f"; the model is off by {verdict.error * 100:+.1f} %" if verdict.error is not None else ""
        lines.append(f"the model allows {units.number(verdict.allowed)} IOPS of fio at this mix{off}")
    return lines


_PACES = {
    Pace.CEILING: "met a ceiling",
    Pace.ABOVE: "above the ceiling (another shape, a cache in between, or other storage)",
    Pace.LATENCY: "no ceiling met, latency sets the pace (more depth or jobs get more)",
    Pace.CLIENT: "no ceiling met, the client does not keep its depth filled",
    Pace.UNKNOWN: "no ceiling met",
}


def _document(jobs: list[Job], verdict: Verdict, against: Against) -> dict[str, Any]:
    iops = verdict.traffic.iops
    return {
        "group": jobs[0].group,
        "jobs": [
            {
                "name": job.name,
                "read": _direction(job.reads),
                "write": _direction(job.writes),
                "in_flight": job.in_flight,
                "depth": job.depth,
                "mount_target_iops": cost._asdict() if (cost := against.traffic(job).iops) else None,
                "remarks": list(job.remarks),
            }
            for job in jobs
        ],
        "mount_target_iops": iops._asdict() if iops else None,
        "in_flight": verdict.in_flight,
        "depth": verdict.depth,
        "share": {use.resource: use.ratio for use in verdict.uses if use.limit is not None},
        "ceiling": verdict.first.resource if verdict.first and verdict.error is not None else None,
        "pace": verdict.pace.value,
        "allowed_operations_per_second": verdict.allowed,
        "model_error_ratio": verdict.error,
        "iops_limit": against.limits.iops,
    }


def _direction(direction: Direction) -> dict[str, Any] | None:
    if not direction.count:
        return None
    return {
        "operations_per_second": direction.operations,
        "bytes_per_second": direction.bytes_per_second,
        "mean_bytes": direction.mean_bytes,
        "mean_seconds": direction.mean_seconds,
        "percentile_seconds": {f"{percent:g}": seconds for percent, seconds in direction.percentiles.items()},
        "in_flight": direction.in_flight,
    }
