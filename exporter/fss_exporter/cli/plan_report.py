"""The answer of `plan` as tables and sentences."""

from collections.abc import Iterator

from rich.console import Console

from fss_exporter import units
from fss_exporter.cli.plan_case import Case, Load
from fss_exporter.model.capacity import Best, Plan
from fss_exporter.model.operations import NLM_IO_OPERATIONS, READ, WRITE
from fss_exporter.model.thresholds import CRITICAL_RATIO, WARNING_RATIO
from fss_exporter.model.traffic import Traffic
from fss_exporter.model.utilisation import Use
from fss_exporter.tables import Column, Row, say, show as show_table

NO_CACHE = (
    "a mount target does not cache what other mount targets export too: serial, latency-bound work gets slower;"
    " and the clients have to be spread evenly"
)


_OPERATIONS = (
    Column("operation", left=True),
    Column("ops/s", 1),
    Column("KiB/op", 2),
    Column("IOPS each", 3),
    Column("IOPS"),
    Column("IOPS bounds", 4),
    Column("share of the cost", 2),
)
_USES = (
    Column("bound", left=True),
    Column("wanted"),
    Column("ceiling", 2),
    Column("share"),
    Column("", 1, left=True),
)


def show(out: Console, case: Case) -> None:
    """Print one answer."""
    answer, shape = case.answer, case.scenario.shape
    name = f"mount target {case.address}, " if case.address else ""
    title = f"Workload: {name}{case.load.source}"
    if case.load.remark:
        say(out, title, "bold", hanging=2)
        say(out, case.load.remark, hanging=2)
    else:
        show_table(out, _OPERATIONS, _operation_rows(case.load.traffic), title)
    for line in size_lines(case.load):
        say(out, line, hanging=2)
    say(out, "")
    rows = [_use_row(use, answer) for use in (*answer.mount_target, *answer.clients)]
    show_table(out, _USES, rows, f"Against one mount target of shape {shape}")
    say(out, "")
    for line in sentences(case):
        say(out, line, hanging=2)
    for change, other in case.others:
        say(out, "")
        say(out, f"What if {change}", "bold")
        for line in _differences(answer, other):
            say(out, line, hanging=2)
    say(out, "")


def size_lines(load: Load) -> Iterator[str]:
    """What the load says of the sizes of its READs and WRITEs, a sentence for each."""
    for operation, classes in load.sizes.items():
        told = ", ".join(f"{one.share:.0%} up to {one.up_to_bytes / 1024:,.0f} KiB" for one in classes)
        yield f"{operation} sizes, counted: {told}"


def _operation_rows(traffic: Traffic) -> list[Row]:
    every = traffic.all_operations
    whole = every.iops.point if every.iops else 0.0
    sizes = {READ: traffic.mean_read_bytes, WRITE: traffic.mean_written_bytes}
    rows = []
    for name, rate in sorted(traffic.operations.items(), key=lambda item: -(item[1].iops.point if item[1].iops else 0)):
        if not rate.operations:
            continue
        cost = rate.iops
        rows.append(
            Row(
                (
                    name,
                    units.number(rate.operations),
                    units.kibibytes(sizes[name]) if sizes.get(name) else "",
                    units.number(cost.point / rate.operations) if cost else units.NOT_KNOWN,
                    units.number(cost.point) if cost else units.NOT_KNOWN,
                    f"{units.number(cost.lower)} to {units.number(cost.upper)}"
                    if cost and cost.lower != cost.upper
                    else "",
                    units.percent(cost.point / whole) if cost and whole else units.NOT_KNOWN,
                )
            )
        )
    total = every.iops
    bounds = (
        f"{units.number(total.lower)} to {units.number(total.upper)}" if total and total.lower != total.upper else ""
    )
    iops = units.number(total.point) if total else units.NOT_KNOWN
    rows.append(Row(("total", units.number(every.operations), "", "", iops, bounds, ""), "bold"))
    return rows


def _use_row(use: Use, answer: Plan) -> Row:
    ratio = use.ratio
    style = "" if ratio is None or ratio < WARNING_RATIO else "red" if ratio >= CRITICAL_RATIO else "yellow"
    remark = "binds first" if answer.binds is use else "not judged" if ratio is None else ""
    return Row(
        (use.resource, _amount(use.demand, use.unit), _amount(use.limit, use.unit), units.percent(ratio), remark), style
    )


def _amount(value: float | None, unit: str) -> str:
    if value is None:
        return units.NOT_KNOWN
    return f"{units.megabytes(value)} MB/s" if unit == "B/s" else f"{units.number(value)} {unit}"


def sentences(case: Case) -> list[str]:
    """The answer in words."""
    answer = case.answer
    lines = []
    if answer.binds is None:
        lines.append("binds first: no ceiling of this shape is published or given, so nothing is judged")
    else:
        lines.append(f"binds first: {answer.binds.resource}, at {units.percent(answer.binds.ratio)} of it")
    if answer.best is not None:
        judged = "" if _judged_by_all(answer) else ", by the ceilings that are known"
        lines.append(f"the most of this mix one mount target carries{judged}: {_best(answer.best)}")
    lines += _count(answer)
    if answer.client_bound and answer.attainable is not None:
        lines.append(f"more mount targets do not help the clients: they get {_best(answer.attainable)}")
    in_flight = case.load.traffic.all_operations.execute_seconds
    if in_flight:
        lines.append(f"in flight on average (Little's law): {units.number(in_flight)} requests")
    locks = case.load.traffic.lock_iops
    if locks:
        calls = units.number(locks / NLM_IO_OPERATIONS)
        lines.append(f"not included: about {units.number(locks)} IOPS of locks ({calls} calls/s, estimated)")
    return lines


def _judged_by_all(answer: Plan) -> bool:
    """Whether every ceiling of the mount target is known."""
    return all(use.limit is not None for use in answer.mount_target)


def _count(answer: Plan) -> list[str]:
    if answer.mount_targets is None:
        return []
    worst = answer.mount_targets_at_worst
    more = f" ({worst} if the upper bound is right)" if worst is not None and worst > answer.mount_targets else ""
    known = "" if _judged_by_all(answer) else " that is known"
    share = units.percent(answer.target)
    lines = [f"mount targets for at most {share} of every ceiling{known}: {answer.mount_targets}{more}"]
    if known:
        unknown = ", ".join(use.resource for use in answer.mount_target if use.limit is None)
        lines.append(f"not judged, because nobody has published a ceiling: {unknown}")
    if answer.mount_targets > 1:
        lines.append(f"scaling out costs: {NO_CACHE}")
    return lines


def _best(best: Best) -> str:
    parts = (
        f"{units.number(best.operations)} operations/s" if best.operations else "",
        f"{units.number(best.iops.point)} IOPS" if best.iops else "",
        f"{units.megabytes(best.read_bytes)} MB/s read",
        f"{units.megabytes(best.written_bytes)} MB/s written",
    )
    return ", ".join(filter(None, parts))


def _differences(before: Plan, after: Plan) -> list[str]:
    """What the change changes; what it does not is not repeated."""
    old = {use.resource: use for use in (*before.mount_target, *before.clients)}
    lines = []
    for use in (*after.mount_target, *after.clients):
        was = old.get(use.resource)
        if was is None or (was.demand, was.limit) != (use.demand, use.limit):
            then = "" if was is None else f"{units.percent(was.ratio)} to "
            lines.append(
                f"{use.resource}: {then}{units.percent(use.ratio)} "
                f"({_amount(use.demand, use.unit)} of {_amount(use.limit, use.unit)})"
            )
    names = tuple(plan.binds.resource if plan.binds else "nothing known" for plan in (before, after))
    if names[0] != names[1]:
        lines.append(f"binds first: {names[1]} in place of {names[0]}")
    if before.mount_targets != after.mount_targets:
        lines.append(
            f"mount targets: {_or_unknown(after.mount_targets)} in place of {_or_unknown(before.mount_targets)}"
        )
    if not lines:
        missing = "" if before.clients else "; give --clients with --network-rtt or --latency to let it matter"
        return [f"nothing changes{missing}"]
    return lines


def _or_unknown(count: int | None) -> str:
    return "unknown" if count is None else str(count)
