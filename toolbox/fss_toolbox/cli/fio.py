# SPDX-License-Identifier: Apache-2.0
"""`fss-exporter fio`: what fio reports say about the mount targets they ran against."""

import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from fss_exporter import units
from fss_exporter.errors import UsageError
from fss_exporter.flag_records import argument, flag, switch, takes
from fss_exporter.model.limits import Limits
from fss_exporter.model.operations import LARGEST_TRANSFER_BYTES
from fss_toolbox import tables
from fss_toolbox.ceilings import Judge, judge as ceilings_of
from fss_toolbox.cli.toolbox_flags import OutputFlags, ServiceFlags, ShapeFlags
from fss_toolbox.fio.report import read_report
from fss_toolbox.fio.verdict_report import show_verdicts, verdict_document
from fss_toolbox.iostat.saved_files import text_of
from fss_toolbox.pasted_text import text_of_file
from fss_toolbox.plan.inputs import MOST_CLIENTS, MOST_MOUNT_TARGETS
from fss_toolbox.plan.service_answer import service_title
from fss_toolbox.sizing.benchmark import Job, Storage, judge
from fss_toolbox.sizing.service_choice import ServiceChoice
from fss_toolbox.sizing.uses import NO_SHAPE

_STANDARD_INPUT = "-"
SCHEMA = {"schema": "fio", "version": 1}  # First keys of the JSON output, described in docs/schemas/fio.json


@dataclass(frozen=True, kw_only=True)
class FioFlags(ServiceFlags, ShapeFlags, OutputFlags):
    """The flags of `fio`. Sizes in bytes, bandwidth in bytes per second."""

    reports: tuple[str, ...] = argument(nargs=-1, required=True, metavar="REPORT...")
    transfer_size: int = flag(
        "--transfer-size",
        "rsize and wsize of the mount: larger requests are split.",
        LARGEST_TRANSFER_BYTES,
        written="1MiB",
        type=units.size,
    )
    mount_targets: int | None = flag(
        "--mount-targets",
        "The jobs ran against N mount targets, evenly.  [default: 1]",
        type=click.IntRange(1, MOST_MOUNT_TARGETS),
        metavar="N",
    )
    by_directory: bool = switch("--by-directory", "Each directory of the jobs is a mount target of its own.")
    clients: int | None = flag(
        "--clients", "Hosts that ran the jobs.  [default: as the reports show]", type=click.IntRange(1, MOST_CLIENTS)
    )
    client_bandwidth: float | None = flag(
        "--client-bandwidth", "Network of one host, e.g. 1Gbit/s.", type=units.network, metavar="RATE"
    )


@click.command()
@takes(FioFlags)
def fio(flags: FioFlags) -> None:
    """Show what fio jobs cost a mount target, and which ceiling limited the jobs.

    A report is JSON (fio --output-format=json) or the normal output of fio. - is standard input. Several reports
    are jobs that ran at the same time, for example on several clients. --service compares the jobs with another storage
    service.
    """
    choice = _checked_choice(flags)
    # Without client/server mode, the number of the report names the host.
    jobs = [
        replace(job, host=f"{number} {job.host}")
        for number, source in enumerate(flags.reports)
        for job in read_report(source, _text(source))
    ]
    own = ceilings_of(flags.shape, flags.configuration())
    storage = Storage(
        limits=_limits(choice, flags.shape, own),
        mount_targets=flags.mount_targets or 1,
        transfer_size=flags.transfer_size,
        choice=choice,
        clients=flags.clients or _hosts(jobs),
        client_bandwidth=flags.client_bandwidth,
        overrides=own.mounts.overrides,
    )
    verdicts = [
        judge(own_jobs, replace(storage, clients=flags.clients or _hosts(own_jobs)), name)
        for name, own_jobs in _groups(jobs, by_directory=flags.by_directory)
    ]
    source = ", ".join(flags.reports)
    if flags.output == "json":
        named = {"shape": flags.shape} if choice is None else {"service": choice.service.name}
        groups = [verdict_document(verdict, storage) for verdict in verdicts]
        click.echo(tables.as_json({**SCHEMA, "report": source, "clients": storage.clients, **named, "groups": groups}))
        return
    name = service_title(choice) if choice else f"shape {flags.shape}"
    show_verdicts(tables.console(), source, name, storage, verdicts)


def _checked_choice(flags: FioFlags) -> ServiceChoice | None:
    """Return the service of the flags, or raise UsageError for flags that do not fit together."""
    if not flags.transfer_size:
        raise UsageError("--transfer-size must be more than nothing")
    if flags.by_directory and flags.mount_targets is not None:
        raise UsageError("--by-directory and --mount-targets both say how many mount targets there are: give one")
    choice = flags.service_choice()
    if choice is not None and (flags.by_directory or flags.mount_targets is not None):
        raise UsageError("--mount-targets and --by-directory are about OCI File Storage: leave them out with --service")
    return choice


def _text(source: str) -> str:
    if source != _STANDARD_INPUT:
        return text_of(Path(source))
    try:
        return text_of_file(sys.stdin.buffer)
    except OSError as error:
        raise UsageError(f"standard input: cannot be read: {error.strerror}") from error


def _limits(choice: ServiceChoice | None, shape: str, own: Judge) -> Limits | None:
    """Return the ceilings of the flags. None for storage without ceilings."""
    if choice is not None:
        return choice.ceilings
    return None if shape == NO_SHAPE else own.limits


def _hosts(jobs: Iterable[Job]) -> int:
    return len({job.host for job in jobs})


def _groups(jobs: Sequence[Job], *, by_directory: bool) -> list[tuple[str, list[Job]]]:
    """Return jobs that ran at the same time against one mount target, with a name.

    Runs and groups with equal numbers in several reports ran at the same time, because all clients run the same job file.
    """
    groups: dict[tuple[int, int, str], list[Job]] = defaultdict(list)
    for job in jobs:
        if by_directory and not job.directory:
            raise UsageError(f"--by-directory: the report has no directory of {job.name}. Give --mount-targets")
        groups[job.run, job.group, job.directory if by_directory else ""].append(job)
    several = any(job.run for job in jobs)
    return [
        (
            (directory or ", ".join(dict.fromkeys(job.name for job in group)))
            + (f" (run {run + 1})" if several else ""),
            group,
        )
        for (run, _, directory), group in groups.items()
    ]
