# SPDX-License-Identifier: Apache-2.0
"""The answer of `plan` about mount targets, for people and as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from fss_exporter.model.operations import READ, WRITE
from fss_exporter.model.traffic import OperationTraffic, Traffic
from fss_toolbox import printed
from fss_toolbox.plan.answer import Section
from fss_toolbox.plan.answer_sentences import NO_CACHE, differences, is_judged_by_all, sentences
from fss_toolbox.plan.comparison import option_sections, options_document
from fss_toolbox.plan.load import Load
from fss_toolbox.plan.scenario import Case, Scenario
from fss_toolbox.sizing.advice import LEAST_IOPS, Advice
from fss_toolbox.sizing.capacity import LATENCY
from fss_toolbox.sizing.uses import NO_SHAPE, Use, fullest
from fss_toolbox.tables import Column, Row, colour

_USES = (
    Column("bound", left=True),
    Column("wanted"),
    Column("ceiling", 2),
    Column("share"),
    Column("", 1, left=True),
)
_SCALING = (
    Column("mount targets"),
    Column("share of the fullest ceiling"),
    Column("IOPS, all of them", 3),
    Column("MB/s, all of them", 2),
    Column("clients on each", 1),
    Column("binds first", 4, left=True),
)


def case_sections(case: Case) -> Iterator[Section]:
    """Yield one answer."""
    scenario = case.scenario
    load = scenario.load
    name = f"mount target {case.address}, " if case.address else ""
    title = f"{'Job' if load.is_job else 'Workload'}: {name}{load.source}"
    about = [*filter(None, [load.remark]), *size_lines(load)]
    yield _operations(load, title)._replace(sentences=about) if load.is_split else Section(title, sentences=about)
    yield from _bound_tables(scenario)
    if scenario.mount_targets is not None and not load.is_job:
        which = "" if is_judged_by_all(scenario.answer()) else ", by the known ceilings"
        yield Section(
            f"The same load on more mount targets, spread evenly{which}", _SCALING, list(_scaling_rows(scenario))
        )
    yield Section(sentences=list(sentences(scenario)))
    if case.options:
        yield from option_sections(case.options, load)
    for change, other in case.changed:
        yield Section(f"What if {change}", sentences=differences(scenario, other))


def advice_section(advice: Sequence[Advice], fullest_case: Case) -> Section:
    """Return the ranked list of changes, or how full the fullest mount target is."""
    lines = []
    for rank, change in enumerate(advice, 1):
        lines += [
            f"{rank}. {_effect(change, fullest_case.scenario.target)}: {change.text}",
            f"   computed: {change.computed}",
        ]
    if not advice:
        first = fullest(fullest_case.scenario.answer().mount_target)
        nearest = (
            f"{fullest_case.address} is nearest to a known ceiling, at {printed.percent(first.ratio)} of {first.resource}"
            if first
            else "no load is known against a ceiling"
        )
        lines = [f"nothing: no change saves {LEAST_IOPS:,.0f} IOPS, and {nearest}"]
    return Section("What to change, in the busiest five minutes of each mount target", sentences=lines)


def _effect(change: Advice, most: float) -> str:
    """Return what a change brings and costs, for the begin of its line."""
    brings = [f"brings {change.mount_target} to {most * 100:g} % or less"] if change.relieves else []
    brings.append(f"saves {printed.number(change.saves_iops)} IOPS" if change.saves_iops else "saves no IOPS")
    if change.usd_per_month is None:
        brings.append("at a price that is not known")
    elif change.usd_per_month:
        brings.append(f"for up to {change.usd_per_month:,.0f} USD a month")
    return ", ".join(brings)


def size_lines(load: Load) -> Iterator[str]:
    """Return a sentence for each size of READs and WRITEs that exact mode counted."""
    for operation, classes in load.sizes.items():
        shares = ", ".join(f"{size.share:.0%} up to {size.up_to_bytes / 1024:,.0f} KiB" for size in classes)
        yield f"{operation} sizes, counted: {shares}"


def _operations(load: Load, title: str) -> Section:
    amounts, cost = ("operations", "I/O operations") if load.is_job else ("ops/s", "IOPS")
    columns = [Column("operation", left=True), Column(amounts, 1), Column("KiB/op", 2)]
    traffic, every = load.traffic, load.traffic.all_operations
    if every.iops:
        columns += [
            Column("IOPS each", 3),
            Column(cost),
            Column("IOPS bounds", 4),
            Column("share of the cost", 2),
        ]
    whole = every.iops.point if every.iops else 0.0
    sizes = {READ: traffic.mean_read_bytes, WRITE: traffic.mean_written_bytes}
    by_cost = sorted(traffic.operations.items(), key=lambda item: -(item[1].iops.point if item[1].iops else 0))
    rows = [_operation_row(name, rate, sizes.get(name), whole) for name, rate in by_cost if rate.operations]
    total = ("total", printed.number(every.operations), "", "", printed.number(whole), _bounds(every), "")
    return Section(title, columns, [*rows, Row(total, "bold")])


def _operation_row(name: str, rate: OperationTraffic, size: float | None, whole: float) -> Row:
    cost = rate.iops
    return Row(
        (
            name,
            printed.number(rate.operations),
            printed.kibibytes(size) if size else "",
            printed.number(cost.point / rate.operations) if cost else printed.NOT_KNOWN,
            printed.number(cost.point) if cost else printed.NOT_KNOWN,
            _bounds(rate),
            printed.percent(cost.point / whole) if cost and whole else printed.NOT_KNOWN,
        )
    )


def _bounds(rate: OperationTraffic) -> str:
    return printed.bounds(rate.iops.lower, rate.iops.upper) if rate.iops else ""


def _bound_tables(scenario: Scenario) -> Iterator[Section]:
    answer, count = scenario.answer(), scenario.mount_targets or 1
    columns = list(_USES)
    if scenario.load.is_job:
        columns[1:4] = [Column("whole job"), Column("ceiling, a second", 2), Column("takes")]
    of_clients = [_use_row(use, answer.binds, scenario) for use in answer.clients]
    if scenario.shape != NO_SHAPE:
        of = f"each of {count} mount targets" if count > 1 else "one mount target"
        rows = [_use_row(use, answer.binds, scenario) for use in answer.mount_target]
        yield Section(f"Against {of} of shape {scenario.shape}", columns, [*rows, *of_clients])
    elif of_clients:
        yield Section("Against the clients", columns, of_clients)


def _use_row(use: Use, binds: Use | None, scenario: Scenario) -> Row:
    ratio = scenario.share_or_seconds(use)
    remark = "binds first" if use == binds else "not judged" if ratio is None else ""
    limit = printed.amount(use.limit, use.unit)
    if scenario.load.is_job:
        whole = printed.amount(use.demand, _UNITS_OF_A_JOB.get(use.unit, use.unit)).removesuffix("/s")
        if use.unit == "connections":
            return Row((use.resource, whole, limit, printed.NOT_KNOWN, ""))
        time = printed.NOT_KNOWN if ratio is None else printed.duration(ratio)
        return Row((use.resource, whole, limit, time, remark))
    return Row(
        (use.resource, printed.amount(use.demand, use.unit), limit, printed.percent(ratio), remark), colour(ratio)
    )


_UNITS_OF_A_JOB = {"IOPS": "I/O operations", "requests in flight": "requests x s in flight"}


def _scaling_rows(scenario: Scenario) -> Iterator[Row]:
    """1, 2, 4, 8 mount targets and the number given."""
    given = scenario.mount_targets or 1
    for count in sorted({1, 2, 4, 8, given}):
        answer = replace(scenario, mount_targets=count).answer()
        first, times, hosts = fullest(answer.mount_target), answer.attainable, scenario.clients.count
        iops = scenario.load.traffic.iops
        yield Row(
            (
                str(count),
                printed.percent(first.ratio if first else None),
                printed.number(iops.point * times if iops and times else None),
                printed.megabytes(scenario.load.traffic.payload * times if times else None),
                printed.NOT_KNOWN if hosts is None else printed.number(hosts / count),
                answer.binds.resource if answer.binds else printed.NOT_KNOWN,
            ),
            "bold" if count == given else "",
        )


def case_document(case: Case) -> dict[str, Any]:
    """Return one answer as JSON. Unknown figures are null. Schema: docs/schemas/plan.json."""
    scenario = case.scenario
    load = scenario.load
    traffic, per = load.traffic, "" if load.is_job else "_per_second"
    return {
        "address": case.address or None,
        "source": load.source,
        "is_job": load.is_job,
        "shape": scenario.shape,
        "target_ratio": scenario.target,
        "remark": load.remark or None,
        "knowledge": {
            "source": load.iops_figure.source.value,
            "age_seconds": load.iops_figure.age_seconds,
            "coverage": load.iops_figure.coverage,
        }
        if load.iops_figure
        else None,
        "iops": traffic.iops._asdict() if traffic.iops else None,
        "operations": {
            name: {
                "count" if load.is_job else "per_second": rate.operations,
                "iops": rate.iops._asdict() if rate.iops else None,
            }
            for name, rate in traffic.operations.items()
        }
        if load.is_split
        else None,
        f"read_bytes{per}": traffic.read_bytes,
        f"written_bytes{per}": traffic.written_bytes,
        "estimated_lock_iops": traffic.lock_iops,
        "counted_sizes": {operation: [size._asdict() for size in classes] for operation, classes in load.sizes.items()},
        **_answer(scenario),
        "options": options_document(case.options) if case.options else None,
        "sentences": list(sentences(scenario)),
        "what_if": [{"change": change, **_answer(other)} for change, other in case.changed],
    }


def _answer(scenario: Scenario) -> dict[str, Any]:
    answer = scenario.answer()
    binds = answer.binds
    several = max(answer.mount_targets or 1, scenario.mount_targets or 1) > 1
    return {
        "mount_target": [_use(use, scenario) for use in answer.mount_target],
        "clients": [_use(use, scenario) for use in answer.clients],
        "both_directions": _use(answer.both_directions, scenario) if answer.both_directions else None,
        "binds_first": binds.resource if binds else None,
        "latency_bound": binds is not None and binds.resource == LATENCY,
        "job_seconds": answer.job.seconds if answer.job else None,
        "best_of_one_mount_target": _times(scenario.load.traffic, answer.best),
        "attainable": _times(scenario.load.traffic, answer.attainable),
        "mount_targets_given": scenario.mount_targets,
        "mount_targets": answer.mount_targets,
        "mount_targets_at_upper_bound": answer.mount_targets_at_worst,
        "scaling_out_costs": NO_CACHE if several else None,
    }


def _use(use: Use, scenario: Scenario) -> dict[str, Any]:
    return asdict(use) | {"ratio": scenario.share_or_seconds(use)}


def _times(traffic: Traffic, factor: float | None) -> dict[str, Any] | None:
    """Return a multiple of the workload, per second."""
    if factor is None:
        return None
    every = traffic.all_operations
    return {
        "times_the_workload": factor,
        "operations_per_second": every.operations * factor or None,
        "iops": every.iops.times(factor)._asdict() if every.iops else None,
        "read_bytes_per_second": traffic.read_bytes * factor,
        "written_bytes_per_second": traffic.written_bytes * factor,
    }
