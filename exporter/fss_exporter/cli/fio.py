"""`fss-exporter fio`: what fio reports say about the mount targets they ran against."""

import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import click

from fss_exporter import tables, units
from fss_exporter.cli.ceilings import NO_SHAPE, Judge, judge as ceilings_of, shape_option
from fss_exporter.cli.flags import config_option
from fss_exporter.cli.saved_files import text_of
from fss_exporter.cli.service_options import service_choice, service_options
from fss_exporter.errors import UsageError
from fss_exporter.fio.any_report import read_report
from fss_exporter.fio.verdict_json import verdict_document
from fss_exporter.fio.verdict_text import Judged, show_verdicts
from fss_exporter.model.benchmark import Job, Storage, judge
from fss_exporter.model.limits import Limits
from fss_exporter.model.service_table import Ceilings, ServiceChoice
from fss_exporter.model.traffic import LARGEST_TRANSFER_BYTES
from fss_exporter.plan.scenario import MOST_CLIENTS, MOST_MOUNT_TARGETS
from fss_exporter.plan.service_case import service_title

_STANDARD_INPUT = "-"
SCHEMA = {"schema": "fio", "version": 1}  # First keys of the JSON output, described in docs/schemas/fio.json


@click.command()
@click.argument("reports", nargs=-1, required=True, metavar="REPORT...")
@click.option(
    "--transfer-size",
    type=units.size,
    default=str(LARGEST_TRANSFER_BYTES),
    metavar="SIZE",
    help="rsize and wsize of the mount: larger requests are split.  [default: 1MiB]",
)
@click.option(
    "--mount-targets",
    type=click.IntRange(1, MOST_MOUNT_TARGETS),
    metavar="N",
    help="The jobs ran against N mount targets, evenly.  [default: 1]",
)
@click.option("--by-directory", is_flag=True, help="Each directory of the jobs is a mount target of its own.")
@click.option(
    "--clients", type=click.IntRange(1, MOST_CLIENTS), help="Hosts that ran the jobs.  [default: as the reports show]"
)
@click.option("--client-bandwidth", type=units.bandwidth, metavar="RATE", help="Network of one host, e.g. 1Gbit/s.")
@shape_option
@service_options
@config_option
@tables.output_option
def fio(  # one argument a flag
    reports: tuple[str, ...],
    *,
    transfer_size: int,
    mount_targets: int | None,
    by_directory: bool,
    clients: int | None,
    client_bandwidth: float | None,
    shape: str,
    service: str | None,
    kind: str | None,
    capacity: int | None,
    config_file: Path | None,
    output: str,
) -> None:
    """Show what fio jobs cost a mount target, and which ceiling limited the jobs.

    A report is JSON (fio --output-format=json) or the normal output of fio. - is standard input. Several reports
    are jobs that ran at the same time, for example on several clients. --service compares the jobs with another storage
    service.
    """
    if not transfer_size:
        raise UsageError("--transfer-size must be more than nothing")
    if by_directory and mount_targets is not None:
        raise UsageError("--by-directory and --mount-targets both say how many mount targets there are: give one")
    choice = service_choice(service, kind, capacity)
    if choice is not None and (by_directory or mount_targets is not None):
        raise UsageError("--mount-targets and --by-directory are about OCI File Storage: leave them out with --service")
    read = [read_report(source, _text(source)) for source in reports]
    own = ceilings_of(shape, config_file)
    storage = Storage(
        limits=_limits(choice, shape, own),
        mount_targets=mount_targets or 1,
        transfer_size=transfer_size,
        kind=choice.kind if choice else None,
        clients=clients or _hosts(read),
        client_bandwidth=client_bandwidth,
        overrides=own.overrides,
    )
    found = [
        Judged(name, jobs, judge(jobs, storage))
        for name, jobs in _groups([job for jobs in read for job in jobs], by_directory=by_directory)
    ]
    source = ", ".join(reports)
    if output == "json":
        named = {"shape": shape} if choice is None else {"service": choice.service.name}
        groups = [verdict_document(one, storage) for one in found]
        click.echo(tables.as_json({**SCHEMA, "report": source, "clients": storage.clients, **named, "groups": groups}))
        return
    name = service_title(choice) if choice else f"shape {shape}"
    show_verdicts(tables.console(), source, name, storage, found)


def _text(source: str) -> str:
    return sys.stdin.read() if source == _STANDARD_INPUT else text_of(Path(source))


def _limits(choice: ServiceChoice | None, shape: str, own: Judge) -> Limits | Ceilings | None:
    """Return the ceilings of the flags. None for storage without ceilings."""
    if choice is not None:
        return choice.ceilings
    return None if shape == NO_SHAPE else own.limits


def _hosts(reports: Sequence[Sequence[Job]]) -> int:
    """Return the clients of the reports: hosts of client/server mode, else a client for each report."""
    return sum(max(1, len({job.host for job in jobs if job.host})) for jobs in reports)


def _groups(jobs: Sequence[Job], *, by_directory: bool) -> list[tuple[str, list[Job]]]:
    """Return jobs that ran at the same time against one mount target, with a name.

    Groups with equal numbers in several reports ran at the same time, because all clients run the same job file.
    """
    groups: dict[tuple[int, str], list[Job]] = defaultdict(list)
    for job in jobs:
        if by_directory and not job.directory:
            raise UsageError(f"--by-directory: the report has no directory of {job.name}. Give --mount-targets")
        groups[job.group, job.directory if by_directory else ""].append(job)
    return [
        (directory or ", ".join(dict.fromkeys(job.name for job in found)), found)
        for (_, directory), found in groups.items()
    ]
