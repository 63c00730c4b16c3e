# SPDX-License-Identifier: Apache-2.0
"""The lines of `top` as text: a pure function of picture, view and width of the terminal.

A style only repeats what the text says, so that the view reads the same without colour.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from rich.cells import cell_len, set_cell_size

from fss_exporter.model.knowledge import FigureSource
from fss_exporter.model.state import State, counted, whole_percent
from fss_exporter.terminal_text import printable
from fss_exporter.web.status.rows import MountTargetRow, Quantity, Usage
from fss_toolbox import printed
from fss_toolbox.printed_states import sentence
from fss_toolbox.tables import Column, fitted
from fss_toolbox.top.looks import Shown
from fss_toolbox.top.picture import KINDS, LoadPart, Parts, ShownTarget
from fss_toolbox.top.top_view import PART_SORTS, TARGET_SORTS, ByteUnit, View, amount_of, worst_first

GREY: Final = "bright_black"
STYLES: Final[Mapping[State, str]] = {
    State.FINE: "green",
    State.NOT_KNOWN: GREY,
    State.NEAR: "yellow",
    State.SLOW: "bold red",
    State.FAILING: "bold red",
    State.HANGING: "bold red",
}
_SOURCES: Final = {
    FigureSource.MEASURED: "measured",
    FigureSource.OCI: "est. OCI",
    FigureSource.CLIENTS: "clients",
    FigureSource.HOST: "one host",
}
_NAMES: Final = {
    Quantity.IOPS: "IOPS",
    Quantity.READ: "read",
    Quantity.WRITE: "write",
    Quantity.BOTH: "read+write",
    Quantity.LATENCY: "latency objective",
    Quantity.CONNECTIONS: "connections",
}

_MOST_REASONS: Final = 3
_NARROW: Final = 100  # characters of a line below which figures stand without their ceilings, and words are short


class Cell(NamedTuple):
    """One text of the table."""

    text: str
    style: str = ""


class TopTable(NamedTuple):
    """A table: columns with their widths in characters, and rows of cells by key."""

    columns: tuple[Column, ...] = ()
    widths: tuple[int, ...] = ()
    rows: tuple[tuple[str, tuple[Cell, ...]], ...] = ()


def bar(ratio: float, width: int) -> str:
    """Return a bar of `width` characters. A share above 0 has at least one full character, and one below 1 an empty one."""
    full = round(min(1.0, ratio) * width)
    if ratio > 0:
        full = max(1, full)
    if ratio < 1:
        full = min(width - 1, full)
    return "█" * full + "░" * (width - full)


def _percent(ratio: float) -> str:
    return f"{whole_percent(ratio)} %" if ratio >= 0.1 or not ratio else f"{ratio * 100:.1f} %"


def _share_text(usage: Usage, ratio: float, *, is_narrow: bool) -> str:
    """Return the share of a ceiling in words: `91 % of IOPS`, `at least 9 % of IOPS`, `last 91 % of IOPS`."""
    least = "≥ " if is_narrow else "at least "
    before = "last " if usage.is_old else least if usage.reads_at_least else ""
    name = "latency" if is_narrow and usage.quantity is Quantity.LATENCY else _NAMES[usage.quantity]
    return f"{before}{_percent(ratio)} of {name}"


def _age(seconds: float | None) -> str:
    if seconds is None:
        return "age unknown"
    if seconds < 1:
        return "now"
    return printed.age(seconds)


def _ceiling_cell(target: ShownTarget, width: int, *, is_narrow: bool = False) -> Cell:
    """Return the bar of the fullest ceiling. It is green if the mount target is fine, with each ceiling known."""
    usage = target.fullest
    if usage is None or usage.ratio is None:
        return Cell(f"{'·' * width} not known", GREY)
    state = usage.state if usage.state or target.state.state is State.FINE else State.NOT_KNOWN
    return Cell(f"{bar(usage.ratio, width)} {_share_text(usage, usage.ratio, is_narrow=is_narrow)}", STYLES[state])


def _source_cell(usage: Usage | None) -> Cell:
    if usage is None:
        return Cell("no figures", GREY)
    return Cell(f"{_SOURCES[usage.figure.source]}, {_age(usage.figure.age_seconds)}", GREY)


def _coverage(target: ShownTarget) -> float | None:
    """Return the share of the IOPS of a mount target that the clients cause. None if it is not known."""
    coverages = (usage.figure.coverage for usage in target.row.of(Quantity.IOPS))
    return next((coverage for coverage in coverages if coverage is not None), None)


def _coverage_cell(target: ShownTarget) -> Cell:
    coverage = _coverage(target)
    return Cell(printed.NOT_KNOWN if coverage is None else _percent(coverage), GREY)


def _amount(value: float, quantity: Quantity, unit: ByteUnit) -> str:
    if quantity in (Quantity.READ, Quantity.WRITE, Quantity.BOTH):
        return _bytes(value, unit)
    return printed.milliseconds(value) if quantity is Quantity.LATENCY else f"{value:,.0f}"


def _bytes(value: float | None, unit: ByteUnit) -> str:
    if value is None:
        return printed.NOT_KNOWN
    amount = value / unit.bytes
    return f"{amount:,.0f}" if amount >= 100 or not amount else f"{amount:.1f}" if amount >= 1 else f"{amount:.2f}"


def _usage_cell(target: ShownTarget, quantity: Quantity, unit: ByteUnit, *, is_narrow: bool) -> Cell:
    usage = target.usages.get(quantity)
    if usage is None:
        return Cell(printed.NOT_KNOWN, GREY)
    least = "≥ " if usage.reads_at_least else ""
    of = f" / {_amount(usage.limit, quantity, unit)}" if usage.limit and not is_narrow else ""
    return Cell(f"{least}{_amount(usage.value, quantity, unit)}{of}", STYLES[usage.state])


def _target_columns(view: View) -> tuple[Column, ...]:
    unit = view.unit.name
    return (
        Column("mount target", left=True),
        Column("state", left=True),
        Column("fullest ceiling", left=True),
        Column("IOPS", 2),
        Column(f"read {unit}", 4),
        Column(f"write {unit}", 5),
        Column("known by", 1, left=True),
        Column("coverage", 3),
        Column("since", 3),
        Column("latency ms", 7),
        Column("connections", 8),
        Column("shape", 6, left=True),
        Column("address", 9, left=True),
    )


def _target_cells(target: ShownTarget, view: View, width: int) -> tuple[Cell, ...]:
    row, is_narrow = target.row, width < _NARROW
    bar_width = 6 if is_narrow else 8 if width < 140 else 20

    def usage(quantity: Quantity) -> Cell:
        return _usage_cell(target, quantity, view.unit, is_narrow=is_narrow)

    return (
        Cell(printable(row.shown_name), STYLES[target.state.state] if target.state.state >= State.NEAR else ""),
        Cell(target.state.word, STYLES[target.state.state]),
        _ceiling_cell(target, bar_width, is_narrow=is_narrow),
        usage(Quantity.IOPS),
        usage(Quantity.READ),
        usage(Quantity.WRITE),
        _source_cell(target.fullest or target.usages.get(Quantity.IOPS)),
        _coverage_cell(target),
        Cell("" if target.state.seconds is None else printed.age(target.state.seconds), GREY),
        usage(Quantity.LATENCY),
        usage(Quantity.CONNECTIONS),
        Cell(row.shape or printed.NOT_KNOWN),
        Cell(row.address or printed.NOT_KNOWN),
    )


def targets_table(targets: Iterable[ShownTarget], view: View, width: int, *, is_silent: bool = False) -> TopTable:
    """Return the table of mount targets for a terminal of `width` characters.

    While the source is silent no figure has the colour of a verdict.
    """
    wanted = view.search.casefold()
    order = list(TARGET_SORTS.values())[view.sorts[0]]
    shown = sorted(
        (target for target in targets if wanted in _searched(target.row)),
        key=order,  # type: ignore[arg-type]  # every order compares with itself
    )
    rows = [(target.key, _target_cells(target, view, width)) for target in shown]
    if is_silent:
        rows = [(key, tuple(cell._replace(style=GREY) for cell in cells)) for key, cells in rows]
    return _fitted(_target_columns(view), rows, width)


def _searched(row: MountTargetRow) -> str:
    return f"{row.name}\n{row.region}\n{row.address}\n{row.shape}\n{row.state.state.word}".casefold()


def _part_columns(view: View, quantity: Quantity) -> tuple[Column, ...]:
    return (
        Column(view.kind.removesuffix("es" if view.kind == "processes" else "s"), left=True),
        Column(f"of the {_NAMES[quantity]} ceiling", 2, left=True),
        Column("IOPS"),
        Column("of these", 1),
        Column("ops/s", 3),
        Column(f"read {view.unit.name}", 4),
        Column(f"write {view.unit.name}", 5),
        Column("RTT ms", 6),
        Column("IOPS bounds", 8),
        Column("", 7, left=True),
    )


def ceiling_of_parts(target: ShownTarget) -> Usage | None:
    """Return the fullest ceiling that parts take something of, else the IOPS. Nobody knows the latency or the connections of a part."""
    if target.fullest is None or target.fullest.quantity in (Quantity.LATENCY, Quantity.CONNECTIONS):
        return target.usages.get(Quantity.IOPS)
    return target.fullest


def parts_table(parts: Parts, view: View, width: int, ceiling: Usage | None = None) -> TopTable:
    """Return the table of the parts behind one mount target, against a ceiling of the mount target."""
    quantity, limit = (ceiling.quantity, ceiling.limit) if ceiling else (Quantity.IOPS, None)
    wanted = view.search.casefold()
    order = list(PART_SORTS.values())[view.sorts[1]]
    whole = sum(part.iops.point for part in parts.rows if part.iops)
    shown = sorted(
        (part for part in parts.rows if wanted in f"{part.name}\n{part.detail}".casefold()),
        key=lambda part: order(part, quantity),  # type: ignore[arg-type, return-value]  # every order compares with itself
    )
    rows = [
        (f"{number} {part.name}", _part_cells(part, view, whole, _share_of_part(part, quantity, limit)))
        for number, part in enumerate(shown)
    ]
    return _fitted(_part_columns(view, quantity), rows, width)


def _share_of_part(part: LoadPart, quantity: Quantity, limit: float | None) -> float | None:
    amount = amount_of(part, quantity)
    return amount / limit if amount is not None and limit else None


def _part_cells(part: LoadPart, view: View, whole: float, share: float | None) -> tuple[Cell, ...]:
    iops = part.iops.point if part.iops else None
    return (
        Cell(printable(part.name)),
        Cell("" if share is None else f"{bar(share, 10)} {_percent(share)}"),
        Cell(printed.number(iops)),
        Cell(_percent(iops / whole) if iops is not None and whole else printed.NOT_KNOWN),
        Cell(printed.number(part.operations)),
        Cell(_bytes(part.read_bytes, view.unit)),
        Cell(_bytes(part.written_bytes, view.unit)),
        Cell(printed.milliseconds(part.rtt_seconds)),
        Cell(printed.bounds(part.iops.lower, part.iops.upper) if part.iops else printed.NOT_KNOWN),
        Cell(printable(part.detail), GREY),
    )


def _fitted(columns: Sequence[Column], rows: Sequence[tuple[str, tuple[Cell, ...]]], width: int) -> TopTable:
    """Return the columns that fit and have a text. The name is shortened before a figure goes."""
    if rows:
        filled = [at for at in range(len(columns)) if any(cells[at].text for _, cells in rows)]
        columns = [columns[at] for at in filled]
        rows = [(key, tuple(cells[at] for at in filled)) for key, cells in rows]
    kept, widths = fitted(columns, [[cell.text for cell in cells] for _, cells in rows], width)
    return TopTable(
        tuple(columns[at] for at in kept),
        tuple(widths[at] for at in kept),
        tuple((key, tuple(_short(cells[at], widths[at]) for at in kept)) for key, cells in rows),
    )


def _short(cell: Cell, width: int) -> Cell:
    """Cut a text that is too long in its middle, because both ends of a path tell paths apart."""
    if cell_len(cell.text) <= width:
        return cell
    head = (width - 1) // 2
    tail = width - 1 - head
    return cell._replace(text=f"{set_cell_size(cell.text, head).rstrip()}…{cell.text[-tail:]}")


def headline(
    title: str,
    shown: Shown,
    targets: Sequence[ShownTarget],
    view: View,
    silent_seconds: float = 0.0,
    *,
    is_silent: bool = False,
) -> list[Cell]:
    """Return the lines above the table: the source, the verdict of all mount targets, and why figures are missing."""
    picture = shown.picture
    covering = f", {picture.seconds:.1f} s" if picture is not None and picture.seconds is not None else ""
    lines = [Cell(f"{title}{covering}{'   PAUSED' if view.is_paused else ''}", "bold")]
    if picture is None:
        lines.append(Cell(shown.failure or "reading ...", "red" if shown.failure else GREY))
        return lines
    if is_silent:
        lines.append(Cell(f"{_counted(targets)}, nothing is known of now", GREY))
    else:
        lines += [_verdict(targets, is_starting=picture.is_starting), *(() if view.target else _reasons(targets))]
    if shown.failure:
        lines.append(Cell(f"no figures for {silent_seconds:.0f} s: {shown.failure}", "bold red"))
    lines += [Cell(remark, GREY) for remark in picture.remarks]
    return lines


def _reasons(targets: Iterable[ShownTarget]) -> Iterator[Cell]:
    """Yield a line for each of the worst mount targets: why, since when, who, and where to read on."""
    targets = tuple(targets)
    bad = sorted((target for target in targets if target.state.reasons), key=worst_first)
    for target in bad[:_MOST_REASONS]:
        yield Cell(f"{printable(target.row.shown_name)} is {sentence(target.state)}", STYLES[target.state.state])
    if len(bad) > _MOST_REASONS:
        yield Cell(f"and {len(bad) - _MOST_REASONS} more that are not fine", GREY)
    if unknown := [target.state for target in targets if target.state.runbook and not target.state.reasons]:
        yield Cell(f"why {unknown[0].state.word}: docs/runbook.md#{unknown[0].runbook}", GREY)


def _verdict(targets: Sequence[ShownTarget], *, is_starting: bool) -> Cell:
    if is_starting and not targets:
        return Cell("starting: no mount target is known yet", GREY)
    counts = counted(target.state for target in targets)
    text = ", ".join(f"{number} {word}" for (_, word), number in counts.items())
    worst = max((state for state, _ in counts), default=State.NOT_KNOWN)
    return Cell(f"{_counted(targets)}: {text}" if targets else "no NFS mounts and no mount targets", STYLES[worst])


def _counted(targets: Sequence[ShownTarget]) -> str:
    return f"{len(targets)} mount target{'' if len(targets) == 1 else 's'}"


def subtitle(target: ShownTarget | None, view: View, parts: Parts | None, *, is_silent: bool = False) -> list[Cell]:
    """Return the lines above the parts of one mount target: name, ceilings and the kind that is shown.

    While the source is silent the bar has no colour of a verdict.
    """
    if target is None:
        return [Cell("this mount target is gone. Escape goes back", GREY)]
    name = " ".join(
        filter(None, dict.fromkeys((target.row.shown_name, target.row.address, target.row.shape)))
    )  # a host knows no name but the address
    tabs = "  ".join(
        f"[{at}] {kind}" if kind != view.kind else f"[{at}] {kind.upper()}" for at, kind in enumerate(KINDS, 1)
    )
    ceiling = _ceiling_cell(target, 20)
    style = GREY if is_silent else STYLES[target.state.state]
    lines = [
        Cell(printable(name), "bold"),
        Cell(printable(sentence(target.state)), style),
        ceiling._replace(style=GREY) if is_silent else ceiling,
        Cell(tabs),
    ]
    coverage = _coverage(target)
    if coverage is not None and parts is not None and parts.rows:
        lines.append(Cell(f"coverage: the load below is {_percent(coverage)} of its IOPS", GREY))
    if parts is None:
        lines.append(Cell("reading ...", GREY))
    elif parts.remark:
        lines.append(Cell(printable(parts.remark), GREY))
    return lines
