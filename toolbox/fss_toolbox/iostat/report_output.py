# SPDX-License-Identifier: Apache-2.0
"""Reports of `iostat` as tables and as JSON."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from rich.console import Console

from fss_exporter import RUNBOOK, durations
from fss_exporter.model.histograms import quantile_edge
from fss_exporter.model.traffic import together
from fss_kernel_counting.durations.request_durations import edge_seconds
from fss_toolbox import printed
from fss_toolbox.ceilings import Judge, JudgedBy
from fss_toolbox.iostat.traffic_report import (
    Report,
    ReportLine,
    ReportOrder,
    lines_of,
    network_use,
    parts_of,
    targets_of,
)
from fss_toolbox.printed_states import sentence, state_document
from fss_toolbox.sizing.uses import BOTH_DIRECTIONS, READ_BANDWIDTH, WRITE_BANDWIDTH, Use
from fss_toolbox.tables import Column, Figure, colour, keyed, say, show_figures

_LISTS = {"mount": "mounts", "operation": "operations", "class": "classes"}
_CEILINGS = {READ_BANDWIDTH: "read", WRITE_BANDWIDTH: "write", BOTH_DIRECTIONS: "read and write"}
_LARGEST_EDGE_SECONDS = edge_seconds(24)
_MAY_WAIT = (
    "requests may wait, none answered"  # since the start of this command, or of the exporter whose page it reads
)


def _quantile(share: float) -> Callable[[ReportLine], float | str | None]:
    """Return the figure of the upper edge of a quantile's class in seconds, because the kernel counts in classes."""
    return lambda of: "" if of.calls is None else quantile_edge(of.calls, share)


def _at_most(edge: float | str | None) -> str:
    if edge is None or isinstance(edge, str):
        return printed.NOT_KNOWN if edge is None else edge
    sign, seconds = (">", _LARGEST_EDGE_SECONDS) if edge == math.inf else ("<=", edge)
    return f"{sign} {seconds * 1000:,.1f}" if seconds >= 0.001 else f"{sign} {seconds * 1000:.3f}"


def _share(use: Use | None) -> str:
    """Return the share of the fullest ceiling with the name of the ceiling, because shares of two ceilings look alike."""
    return (
        printed.NOT_KNOWN
        if use is None
        else f"{printed.percent(use.ratio)} of {_CEILINGS.get(use.resource, use.resource)}"
    )


_QUANTILES = (
    Figure(Column("p50 ms", 3), _quantile(0.5), _at_most, "p50_at_most_seconds"),
    Figure(Column("p99 ms", 2), _quantile(0.99), _at_most, "p99_at_most_seconds"),
)
_COVERAGE = Figure(Column("coverage"), lambda of: of.coverage, printed.percent)
_FIGURES = (
    Figure(Column("ops/s", 2), lambda of: of.every.operations, printed.number, "operations_per_second"),
    Figure(Column("IOPS"), lambda of: of.traffic.iops and of.traffic.iops.point, printed.number),
    Figure(
        Column("IOPS bounds", 4),
        lambda of: of.traffic.iops,
        lambda iops: printed.bounds(iops.lower, iops.upper, "exact") if iops else printed.NOT_KNOWN,
        "estimated_iops",
    ),
    Figure(Column("share"), lambda of: of.first, _share),
    Figure(None, lambda of: of.traffic.lock_iops, key="estimated_lock_iops"),
    Figure(Column("read MB/s", 1), lambda of: of.traffic.read_bytes, printed.megabytes, "read_bytes_per_second"),
    Figure(Column("write MB/s", 1), lambda of: of.traffic.written_bytes, printed.megabytes, "written_bytes_per_second"),
    Figure(Column("KiB/read", 5), lambda of: of.traffic.mean_read_bytes, printed.kibibytes, "mean_read_bytes"),
    Figure(Column("KiB/write", 7), lambda of: of.traffic.mean_written_bytes, printed.kibibytes, "mean_written_bytes"),
    Figure(Column("RTT ms", 3), lambda of: of.every.mean_rtt_seconds, printed.milliseconds, "mean_rtt_seconds"),
    Figure(Column("queue ms", 4), lambda of: of.every.mean_queue_seconds, printed.milliseconds, "mean_queue_seconds"),
    Figure(
        Column("execute ms", 8), lambda of: of.every.mean_execute_seconds, printed.milliseconds, "mean_execute_seconds"
    ),
    Figure(Column("retrans/s", 4), lambda of: of.every.retransmissions, printed.number, "retransmissions_per_second"),
    Figure(None, lambda of: of.every.timeouts, key="timeouts_per_second"),
    Figure(Column("errors/s", 9), lambda of: of.every.errors, printed.number, "errors_per_second"),
)


def show(out: Console, report: Report, ceilings: Judge, order: ReportOrder, runbook: str = RUNBOOK) -> None:
    """Print one report. `runbook` is the base of the links in states."""
    when = "" if report.time is None else f"{report.time:%Y-%m-%dT%H:%M:%SZ}  "
    length = "" if report.seconds is None else f", {report.seconds:.1f} s"
    say(out, f"{when}{report.source}{length}", "bold", hanging=2)
    if not report.traffic:
        say(out, f"NFS mounts without readable counters: {report.unread}" if report.unread else "no NFS mounts")
        return
    targets = targets_of(report, ceilings, order.sort)
    name = Figure(Column("mount target", left=True), lambda of: f"  {of.name}" if of.is_part else of.title)
    coverage = (_COVERAGE,) if any(target.whole for target in targets) else ()
    columns = (name, *_FIGURES, *coverage, *(_QUANTILES if report.durations else ()))
    show_figures(out, columns, lines_of(report, ceilings, order), _style)
    cost = "READ and WRITE are counted by size, so IOPS are exact" if report.counted else "IOPS are estimated"
    say(out, ". ".join((cost, *_shares(targets, ceilings), *_coverages(targets))), "dim", hanging=2)
    for target in targets:
        if target.state.reasons:
            say(out, f"{target.name} is {sentence(target.state, _MAY_WAIT, runbook)}", "bold red", hanging=2)
    _show_network(out, report, order)
    _show_left_out(out, report)
    say(out, "")


def _show_network(out: Console, report: Report, order: ReportOrder) -> None:
    network = network_use(report, order)
    if network is not None:
        figures = f"{printed.megabytes(network.demand)} of {printed.megabytes(network.limit)} MB/s"
        say(out, f"{network.resource}: {figures}, {printed.percent(network.ratio)}", colour(network.ratio))


def _show_left_out(out: Console, report: Report) -> None:
    """Print the load that the IOPS of the report lack."""
    every = together(report.traffic.values())
    if every.lock_iops:
        say(out, f"not included: about {printed.number(every.lock_iops)} IOPS of locks", "dim")
    without_cost = sum(1 for traffic in report.traffic.values() if traffic.iops is None and traffic.operations)
    if without_cost and every.iops is not None:
        say(out, f"not included: IOPS of mounts without a known cost ({without_cost} of {len(report.traffic)})", "dim")


def _shares(targets: Sequence[ReportLine], ceilings: Judge) -> Iterator[str]:
    """Yield of which shape the ceilings are that nobody states."""
    shares = [target for target in targets if target.share is not None]
    assumed = [target.name for target in shares if target.judged_by is JudgedBy.SHAPE]
    if assumed:
        of = "" if len(assumed) == len(shares) else f" of {', '.join(assumed)}"
        yield f"Share{of}: of the ceilings of {ceilings.shape}"


def _coverages(targets: Iterable[ReportLine]) -> Iterator[str]:
    """Yield source and age of the IOPS of all clients."""
    known: dict[str, list[str]] = defaultdict(list)
    for target in targets:
        if target.whole:
            known[f"{target.whole.source}, {_age(target.whole.age_seconds)}"].append(target.name)
    for source_and_age, names in known.items():
        of = "" if len(known) == 1 else f" of {', '.join(names)}"
        yield f"Coverage{of}: of the IOPS of all clients, {source_and_age}"


def _age(seconds: float | None) -> str:
    return f"{durations.in_words(seconds)} old" if seconds else "now"


def _style(line: ReportLine) -> str:
    return colour(line.share, line.warning_ratio) or ("" if line.is_part else "bold")


def document(report: Report, ceilings: Judge, order: ReportOrder) -> dict[str, Any]:
    """Return one report as a JSON document. Every key names the unit, and unknown values are null."""
    network = network_use(report, order)
    return {
        "time": report.time and report.time.isoformat(timespec="milliseconds"),
        "source": report.source,
        "seconds": report.seconds,
        "shape": ceilings.shape,
        "notes": list(report.notes),
        "counted": report.counted,
        "client_network": network
        and {"bytes_per_second": network.demand, "limit": network.limit, "ratio": network.ratio},
        "mount_targets": [
            {
                "address": target.name,
                "state": state_document(target.state),
                **_ceilings(target, ceilings),
                **_figures(target),
                **({} if order.by == "mount-target" else {_LISTS[order.by]: _listed(report, target, order)}),
            }
            for target in targets_of(report, ceilings, order.sort)
        ],
        "total": _figures(ReportLine("total", together(report.traffic.values())), with_share=False),
    }


def _ceilings(target: ReportLine, ceilings: Judge) -> dict[str, Any]:
    """Return the source of the ceilings of a mount target, and the IOPS of all clients as far as OCI knows them."""
    served, whole = target.served, target.whole
    shape = None if target.judged_by is JudgedBy.NOTHING else ceilings.shape
    return {
        "mount_target": served.name or None if served else None,
        "shape": served.shape or None if served and target.judged_by is JudgedBy.PAGE else shape,
        "ceilings_from": target.judged_by.value,
        "all_clients": whole
        and {
            "iops": whole.value,
            "source": whole.source.value,
            "age_seconds": whole.age_seconds,
            "knowledge": whole.knowledge.value,
        },
        "coverage": target.coverage,
    }


def _listed(report: Report, target: ReportLine, order: ReportOrder) -> list[dict[str, Any]]:
    return [{**_names(part, report, order.by), **_figures(part)} for part in parts_of(report, target, order)]


def _names(part: ReportLine, report: Report, by: str) -> dict[str, Any]:
    if part.mount is None:
        return {by: part.name}
    points = list(report.mount_points.get(part.mount, ()))
    return {"server": part.mount.server, "export": part.mount.export, "mount_points": points}


def _figures(line: ReportLine, *, with_share: bool = True) -> dict[str, Any]:
    figures = (*(() if line.calls is None else _QUANTILES), *_FIGURES)
    values = keyed(figures, line)
    values |= {key: None for key, value in values.items() if value == math.inf}
    values["estimated_iops"] = line.traffic.iops._asdict() if line.traffic.iops else None
    if with_share:
        values["share"] = {use.resource: use.ratio for use in line.compare(line.traffic)}
    return values
