# SPDX-License-Identifier: Apache-2.0
"""The verdict on a benchmark as tables, sentences and JSON (schema: docs/schemas/fio.json)."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from rich.console import Console

from fss_exporter.model.estimate import Bounds
from fss_exporter.model.operations import READ, WRITE
from fss_toolbox import printed, tables
from fss_toolbox.sizing.benchmark import (
    ABOVE_RATIO,
    CLIENT_REACH,
    SERVICE_QUEUE,
    BenchmarkVerdict,
    Bottleneck,
    Direction,
    Job,
    Storage,
)
from fss_toolbox.sizing.uses import Use
from fss_toolbox.tables import Column, Figure


class _VerdictLine(NamedTuple):
    """The reads or the writes of a job in the table. A job without both has one line."""

    job: Job
    kind: str
    way: Direction
    cost: Bounds | None = None


def _figure(title: str, rank: int, text: Callable[[_VerdictLine], str]) -> Figure:
    return Figure(Column(title, rank), lambda line: text(line) if line.way.count else "")


_FIGURES = (
    Figure(Column("job", left=True), lambda line: line.job.name),
    Figure(Column("", left=True), lambda line: line.kind),
    _figure("IOPS of fio", 0, lambda line: printed.number(line.way.operations)),
    _figure("MB/s", 0, lambda line: printed.megabytes(line.way.bytes_per_second)),
    _figure("KiB", 2, lambda line: printed.kibibytes(line.way.mean_bytes)),
    _figure("mean ms", 1, lambda line: printed.milliseconds(line.way.mean_seconds)),
    _figure("p50 ms", 6, lambda line: printed.milliseconds(line.way.percentiles.get(50.0))),
    _figure("p99 ms", 2, lambda line: printed.milliseconds(line.way.percentiles.get(99.0))),
    _figure("p99.9 ms", 6, lambda line: printed.milliseconds(line.way.percentiles.get(99.9))),
    _figure("in flight", 5, lambda line: printed.number(line.way.in_flight)),
    _figure("of depth", 5, lambda line: printed.NOT_KNOWN if line.job.depth is None else str(line.job.depth)),
)


def counted_as(storage: Storage) -> str:
    """Return the storage's name for I/O operations. Empty for storage without a known ceiling."""
    if storage.limits is None:
        return ""
    return "mount-target IOPS" if storage.choice is None else "IOPS of the service"


def show_verdicts(out: Console, source: str, name: str, storage: Storage, verdicts: Sequence[BenchmarkVerdict]) -> None:
    """Print the verdicts on groups of jobs, with the names of the reports (`source`) and of the storage."""
    cost = _figure(counted_as(storage), 0, lambda line: printed.number(line.cost.point if line.cost else None))
    figures = _FIGURES if storage.limits is None else (*_FIGURES, cost)
    lines = [line for verdict in verdicts for job in verdict.jobs for line in _lines(job, storage)]
    tables.show_figures(out, figures, lines, title=source)
    notes: set[str] = set()
    for verdict in verdicts:
        tables.say(out, "")
        together = " together" if len(verdict.jobs) > 1 else ""
        tables.say(out, f"{verdict.name}{together}", "bold")
        for line in verdict_sentences(verdict, name, storage):
            tables.say(out, line, hanging=2)
        for remark in dict.fromkeys(remark for job in verdict.jobs for remark in job.remarks if remark not in notes):
            tables.say(out, f"note: {remark}", hanging=2)
            notes.add(remark)


def _lines(job: Job, storage: Storage) -> list[_VerdictLine]:
    rates = storage.traffic(job).operations
    ways = (("read", READ, job.reads), ("write", WRITE, job.writes))
    lines = [_VerdictLine(job, kind, way, rates[name].iops) for kind, name, way in ways if way.count]
    return lines or [_VerdictLine(job, "nothing done", Direction())]


def verdict_sentences(verdict: BenchmarkVerdict, name: str, storage: Storage) -> Iterator[str]:
    """Return the verdict, a sentence for each part."""
    iops, first = verdict.traffic.iops, verdict.first
    if iops is not None and storage.limits is not None:
        bounds = printed.bounds(iops.lower, iops.upper)
        yield f"cost: {printed.number(iops.point)} {counted_as(storage)}{f' ({bounds})' if bounds else ''}"
    depth = f" of {verdict.depth}" if verdict.depth is not None else ""
    if verdict.in_flight is not None:
        syncs = f", {printed.number(verdict.syncs_in_flight)} of them syncs" if verdict.syncs_in_flight else ""
        yield f"in flight (Little's law): {printed.number(verdict.in_flight)}{depth}{syncs}"
    share = ""
    if first is not None:
        of = f"each of {storage.mount_targets} mount targets of {name}" if storage.mount_targets > 1 else name
        share = f"{':' if verdict.has_met_a_ceiling else ';'} {printed.percent(first.ratio)} of the {first.resource} of {of}"
    yield f"{_bottleneck(verdict)}{share}"
    for use in verdict.clients:
        yield (
            _queue(use)
            if use.resource == SERVICE_QUEUE
            else f"{use.resource}: {_client_figures(use)}{printed.percent(use.ratio)}"
        )
    if verdict.allowed is not None:
        off = f". The model is off by {verdict.error * 100:+.1f} %" if verdict.error is not None else ""
        yield f"the model allows {printed.number(verdict.allowed)} IOPS of fio at this mix{off}"


def _queue(use: Use) -> str:
    """Return how many of the requests in flight the service takes. More than it takes wait, so there is no share above 1."""
    taken, waiting = use.limit or 0.0, (use.demand or 0.0) - (use.limit or 0.0)
    wait = f": {printed.number(waiting)} wait" if waiting >= 1 else ""
    return f"{printed.number(use.demand)} requests in flight, and the service takes {printed.number(taken)} at a time{wait}"


def _client_figures(use: Use) -> str:
    if use.resource == CLIENT_REACH:
        return ""
    if use.unit == "B/s":
        return f"{printed.megabytes(use.demand)} of {printed.megabytes(use.limit)} MB/s, "
    return f"{printed.number(use.demand)} of {printed.number(use.limit)}, "


def _bottleneck(verdict: BenchmarkVerdict) -> str:
    if verdict.bottleneck is Bottleneck.CEILING:
        return "met a ceiling"
    if verdict.bottleneck is Bottleneck.ABOVE:
        return "above the ceiling (another shape, a cache in between, or other storage)"
    # The published ceilings may be none of those that the load meets.
    is_known = verdict.first is not None or not verdict.traffic.operations
    above = {use.resource for use in verdict.clients if (use.ratio or 0) > ABOVE_RATIO}
    pace = _PACES.get(verdict.bottleneck, "")
    if verdict.bottleneck.value in above:
        pace = _PACES_ABOVE[verdict.bottleneck]
    return f"no ceiling {'met' if is_known else 'is known'}{pace}"


# Above what is known of the clients. The values of these bottlenecks are the names of their bounds.
_PACES_ABOVE = {
    Bottleneck.CLIENT_REACH: ", more than one client was seen to reach: more clients get more",
    Bottleneck.CLIENT_NETWORK: ", above the network of the client (a faster network, or a cache in between)",
}

_PACES = {
    Bottleneck.SERVICE_QUEUE: ", the service takes no more requests at a time: more depth or jobs get no more",
    Bottleneck.CLIENT_NETWORK: ", the network of the client is full: more clients or a larger shape get more",
    Bottleneck.CLIENT_REACH: ", one client was seen to reach no more: more clients get more",
    Bottleneck.LATENCY: ", latency sets the pace (more depth or jobs get more)",
    Bottleneck.SYNCS: ", the latency of syncs sets the pace (more jobs, or fewer syncs, get more)",
    Bottleneck.CLIENT: ", the client does not keep its depth filled",
}


def verdict_document(verdict: BenchmarkVerdict, storage: Storage) -> dict[str, Any]:
    """Return a group of jobs with the verdict. Unknown figures are null."""
    iops = verdict.traffic.iops if storage.limits is not None else None
    return {
        "run": verdict.jobs[0].run,
        "group": verdict.jobs[0].group,
        "name": verdict.name,
        "jobs": [
            {
                "name": job.name,
                "read": _direction(job.reads),
                "write": _direction(job.writes),
                "sync": _direction(job.syncs),
                "in_flight": job.in_flight,
                "depth": job.depth,
                "directory": job.directory or None,
                "mount_target_iops": cost._asdict()
                if storage.limits is not None and (cost := storage.traffic(job).iops)
                else None,
                "remarks": list(job.remarks),
            }
            for job in verdict.jobs
        ],
        "mount_target_iops": iops._asdict() if iops else None,
        "in_flight": verdict.in_flight,
        "depth": verdict.depth,
        "share": {use.resource: use.ratio for use in verdict.uses},
        "clients": {use.resource: use.ratio for use in verdict.clients},
        "ceiling": verdict.first.resource if verdict.first and verdict.has_met_a_ceiling else None,
        "pace": verdict.bottleneck.value,
        "allowed_operations_per_second": verdict.allowed,
        "model_error_ratio": verdict.error,
        "iops_limit": storage.limits.iops if storage.limits is not None else None,
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
