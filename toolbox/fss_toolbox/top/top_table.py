# SPDX-License-Identifier: Apache-2.0
"""The lines of `top` as text: a pure function of picture, view and width of the terminal.

A style only repeats what the text says, so that the view reads the same without colour.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from fss_exporter import durations
from fss_exporter.model.knowledge import FigureSource, KnownFigure
from fss_exporter.model.state import State, counted, whole_percent
from fss_exporter.terminal_text import printable
from fss_exporter.web.status.rows import MountTargetRow, Quantity, Usage
from fss_toolbox import printed
from fss_toolbox.printed_states import sentence
from fss_toolbox.tables import GAP, Column, fitted, shortened
from fss_toolbox.top.picture import KINDS, LoadPart, Parts, ShownTarget
from fss_toolbox.top.refresher import Latest
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

_MARKS: Final = {"about": "~", "at least": "≥ "}

_MOST_REASONS: Final = 3
_BAR, _SHORT_BAR = 8, 6  # characters of a bar at least, and on a narrow terminal
_NARROW: Final = 100  # characters of a line below which figures stand without their ceilings, and words are short


class Cell(NamedTuple):
    """One text of the table."""

    text: str
    style: str = ""
    share: float | None = None  # of a ceiling, 0 to 1. A bar of it stands before the text


class TopTable(NamedTuple):
    """A table: columns with their widths in characters, and rows of cells by key."""

    columns: tuple[Column, ...] = ()
    widths: tuple[int, ...] = ()
    rows: tuple[tuple[str, tuple[Cell, ...]], ...] = ()

    @property
    def width(self) -> int:
        """Characters of a line."""
        return sum(self.widths) + GAP * (len(self.widths) - 1)


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


def _mark(figure: KnownFigure) -> str:
    """Return a sign for the word that stands before a figure."""
    return _MARKS.get(figure.word, "")


def _share_text(usage: Usage, share: KnownFigure, *, is_narrow: bool, has_range: bool) -> str:
    """Return the share of a ceiling in words: `91 % of IOPS`, `about 9 % (8 to 11 %) of IOPS`, `last 91 % of IOPS`."""
    name = "latency" if is_narrow and usage.quantity is Quantity.LATENCY else _NAMES[usage.quantity]
    if usage.is_old:
        return f"last {_percent(share.value)} of {name}"
    if has_range:
        return f"{share.in_words(_percent)} of {name}"
    word = _mark(share) if is_narrow else f"{share.word} ".lstrip()
    return f"{word}{_percent(share.value)} of {name}"


def _age(seconds: float | None) -> str:
    if seconds is None:
        return "age unknown"
    if seconds < 1:
        return "now"
    return durations.in_words(seconds)


def _barred(cell: Cell, width: int) -> Cell:
    return cell if cell.share is None else cell._replace(text=f"{bar(cell.share, width)} {cell.text}")


def _ceiling_cell(target: ShownTarget, *, is_narrow: bool = False, has_range: bool = False) -> Cell:
    """Return the share of the fullest ceiling. It is green if the mount target is fine, with each ceiling known."""
    usage = target.fullest
    if usage is None or usage.ratio is None or not usage.limit:
        return Cell("not known", GREY)
    state = usage.state if usage.state or target.state.state is State.FINE else State.NOT_KNOWN
    text = _share_text(usage, usage.figure.share_of(usage.limit), is_narrow=is_narrow, has_range=has_range)
    return Cell(text, STYLES[state], usage.ratio)


def _source_cell(usage: Usage | None) -> Cell:
    if usage is None:
        return Cell("no figures", GREY)
    return Cell(f"{_SOURCES[usage.figure.source]}, {_age(usage.figure.age_seconds)}", GREY)


def _coverage_cell(target: ShownTarget) -> Cell:
    coverage = target.row.coverage
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
    of = f" / {_amount(usage.limit, quantity, unit)}" if usage.limit and not is_narrow else ""
    return Cell(f"{_mark(usage.figure)}{_amount(usage.value, quantity, unit)}{of}", STYLES[usage.state])


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


def _target_cells(target: ShownTarget, view: View, *, is_narrow: bool) -> tuple[Cell, ...]:
    row = target.row

    def usage(quantity: Quantity) -> Cell:
        return _usage_cell(target, quantity, view.unit, is_narrow=is_narrow)

    return (
        Cell(printable(row.shown_name), STYLES[target.state.state] if target.state.state >= State.NEAR else ""),
        Cell(target.state.word, STYLES[target.state.tone]),
        _ceiling_cell(target, is_narrow=is_narrow),
        usage(Quantity.IOPS),
        usage(Quantity.READ),
        usage(Quantity.WRITE),
        _source_cell(target.fullest or target.usages.get(Quantity.IOPS)),
        _coverage_cell(target),
        Cell("" if target.state.seconds is None else durations.in_words(target.state.seconds), GREY),
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
    rows = [(target.key, _target_cells(target, view, is_narrow=width < _NARROW)) for target in shown]
    if is_silent:
        rows = [(key, tuple(cell._replace(style=GREY) for cell in cells)) for key, cells in rows]
    return _fitted(_target_columns(view), rows, width)


def _searched(row: MountTargetRow) -> str:
    return f"{row.name}\n{row.region}\n{row.address}\n{row.shape}\n{row.state.word}".casefold()


def _part_columns(view: View, quantity: Quantity) -> tuple[Column, ...]:
    return (
        Column(view.kind.removesuffix("es" if view.kind == "processes" else "s"), left=True),
        Column("state", left=True),
        Column("no reply for"),
        Column(f"of the {_NAMES[quantity]} ceiling", 2, left=True),
        Column("IOPS"),
        Column("of these", 1),
        Column("ops/s", 3),
        Column(f"read {view.unit.name}", 4),
        Column(f"write {view.unit.name}", 5),
        Column("RTT ms", 6),
        Column("failed/s", 3),
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
    style = "" if part.state is None else STYLES[part.state]
    return (
        Cell(printable(part.name), style if part.state and part.state >= State.NEAR else ""),
        Cell("" if part.state is None else part.state.word, style),
        Cell("" if part.waiting_seconds is None else durations.in_words(part.waiting_seconds), style),
        Cell("" if share is None else _percent(share), share=share),
        Cell(printed.number(iops)),
        Cell(_percent(iops / whole) if iops is not None and whole else printed.NOT_KNOWN),
        Cell(printed.number(part.operations)),
        Cell(_bytes(part.read_bytes, view.unit)),
        Cell(_bytes(part.written_bytes, view.unit)),
        Cell(printed.milliseconds(part.rtt_seconds)),
        Cell("" if part.failed is None else printed.number(part.failed)),
        Cell(printed.bounds(part.iops.lower, part.iops.upper) if part.iops else printed.NOT_KNOWN),
        Cell(printable(part.detail), GREY),
    )


def _fitted(columns: Sequence[Column], rows: Sequence[tuple[str, tuple[Cell, ...]]], width: int) -> TopTable:
    """Return the columns that fit and have a text. The name is shortened before a figure goes, and bars take the room that is left."""
    if rows:
        filled = [at for at in range(len(columns)) if any(cells[at].text for _, cells in rows)]
        columns = [columns[at] for at in filled]
        rows = [(key, tuple(cells[at] for at in filled)) for key, cells in rows]
    shortest = _SHORT_BAR if width < _NARROW else _BAR
    kept, widths = fitted(columns, [[_barred(cell, shortest).text for cell in cells] for _, cells in rows], width)
    bars = {
        at: max(len(cells[at].text) for _, cells in rows)
        for at in kept
        if any(cells[at].share is not None for _, cells in rows)
    }
    for at in bars:
        widths[at] += max(0, width - sum(widths[each] for each in kept) - GAP * (len(kept) - 1))

    def shown(cells: tuple[Cell, ...], at: int) -> Cell:
        return (
            _barred(cells[at], widths[at] - bars[at] - 1)
            if at in bars
            else cells[at]._replace(text=shortened(cells[at].text, widths[at]))
        )

    return TopTable(
        tuple(columns[at] for at in kept),
        tuple(widths[at] for at in kept),
        tuple((key, tuple(shown(cells, at) for at in kept)) for key, cells in rows),
    )


def headline(
    title: str,
    shown: Latest,
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
    if not (is_silent or view.target):
        lines += _reasons(targets, picture.of_clients)
    lines += [Cell(printable(gap), "yellow") for gap in picture.gaps]
    unknown = [target.state for target in targets if target.state.runbook and not target.state.reasons]
    if unknown and not (picture.gaps or is_silent or view.target):  # a gap is the cause, and names its own section
        lines.append(Cell(f"why {unknown[0].state.word}: docs/runbook.md#{unknown[0].runbook}", GREY))
    if is_silent:
        lines.append(Cell(f"{_counted(targets)}, nothing is known of now", GREY))
    else:
        lines.append(_verdict(targets, is_starting=picture.is_starting))
    if shown.failure:
        lines.append(Cell(f"no figures for {silent_seconds:.0f} s: {shown.failure}", "bold red"))
    lines += [Cell(remark, GREY) for remark in picture.remarks]
    return lines


def _reasons(targets: Sequence[ShownTarget], of_clients: Iterable[tuple[State, str]]) -> Iterator[Cell]:
    """Yield a line for each of the worst mount targets and clients, the worst first: why, since when, who, and where to read on."""
    bad = sorted((target for target in targets if target.state.reasons), key=worst_first)
    told = [(target.state.state, f"{target.row.shown_name} is {sentence(target.state)}") for target in bad]
    told = sorted([*told, *of_clients], key=lambda one: -one[0])
    for state, text in told[:_MOST_REASONS]:
        yield Cell(printable(text), STYLES[state])
    if more := len(told[_MOST_REASONS:]):
        yield Cell(f"and {more} more that {'is' if more == 1 else 'are'} not fine", GREY)


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
    ceiling = _barred(_ceiling_cell(target, has_range=True), 20)
    style = GREY if is_silent else STYLES[target.state.tone]
    lines = [
        Cell(printable(name), "bold"),
        Cell(printable(sentence(target.state)), style),
        ceiling._replace(style=GREY) if is_silent else ceiling,
        Cell(tabs),
    ]
    coverage = target.row.coverage
    if coverage is not None and parts is not None and parts.rows:
        lines.append(Cell(f"coverage: the load below is {_percent(coverage)} of its IOPS", GREY))
    if parts is None:
        lines.append(Cell("reading ...", GREY))
    elif parts.remark:
        lines.append(Cell(printable(parts.remark), GREY))
    return lines
