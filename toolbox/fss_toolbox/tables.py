# SPDX-License-Identifier: Apache-2.0
"""Tables for wide and narrow terminals, pipes and files. Names from outside cannot control the terminal."""

import json
import math
import os
import re
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from textwrap import TextWrapper
from threading import Event, Thread
from typing import IO, Any, NamedTuple

import click
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.status import Status
from rich.table import Table
from rich.text import Text

from fss_exporter.cli.terminal import folded
from fss_exporter.errors import SourceError
from fss_exporter.model.thresholds import CRITICAL_RATIO, WARNING_RATIO
from fss_exporter.terminal_text import printable, printable_json

_PIPE_WIDTH = 400  # a pipe has no width; its readers want whole lines
GAP = 2  # characters between two columns
_SHORTEST_NAME = 20  # characters of a line that a long name keeps
_TERMINAL_WIDTH = 80  # where the terminal does not say
_TOLD_EVERY_SECONDS = 10.0  # between two lines of progress in a pipe


@dataclass(frozen=True, slots=True)
class Column:
    """One column."""

    title: str  # heading with the unit
    rank: int = 0  # 0 always stays. On a narrow terminal the column with the highest rank goes first
    left: bool = False  # aligned to the left, for names


@dataclass(frozen=True, slots=True)
class Row:
    """One row."""

    cells: tuple[str, ...]  # text of each column
    style: str = ""  # `bold`, `yellow`, `red` or empty. A colour only repeats the text


class Figure(NamedTuple):
    """One figure of a line: a column of the table, a key of the JSON, or both."""

    column: Column | None
    value: Callable[[Any], Any]  # of the line
    text: Callable[[Any], str] = str  # of the value
    key: str = ""


def console() -> Console:
    """A console for standard output: no colour into pipes or with NO_COLOR, no folding of lines in pipes."""
    return Console(width=_width(sys.stdout), highlight=False, markup=False, emoji=False)


def _width(stream: IO[str]) -> int:
    """Return the characters of a line. COLUMNS counts from 1 to 9,999, because rich fails at 0."""
    columns = os.environ.get("COLUMNS", "")
    if re.fullmatch(r"0*[1-9][0-9]{0,3}", columns):
        return int(columns)
    if not stream.isatty():
        return _PIPE_WIDTH
    try:
        return os.get_terminal_size(stream.fileno()).columns or _TERMINAL_WIDTH
    except OSError:
        return _TERMINAL_WIDTH


def show(out: Console, columns: Sequence[Column], rows: Iterable[Row], title: str = "") -> None:
    """Print a table. A note names the columns that do not fit.

    A terminal too narrow for the columns that always stay folds the lines itself, because a figure that is cut is another figure.
    """
    rows = tuple(rows)
    kept, widths = fitted(columns, [[printable(cell) for cell in row.cells] for row in rows], out.width)
    of_name = min(widths[0], out.width)
    if title:
        say(out, title, "bold", hanging=2)
    out.print(_table(columns, rows, kept, [of_name, *widths[1:]]), crop=False)
    if len(kept) < len(columns):
        titles = (column.title for index, column in enumerate(columns) if index not in kept)
        missing = ", ".join(filter(None, titles))
        say(out, f"left out, the terminal is too narrow: {missing}", "dim", hanging=2)


def show_figures(
    out: Console,
    figures: Iterable[Figure],
    lines: Iterable[Any],
    style: Callable[[Any], str] = lambda _: "",
    title: str = "",
) -> None:
    """Print a table with a column for each figure, and a row with the style of the line for each line."""
    show(out, *figure_table(figures, lines, style), title)


def figure_table(
    figures: Iterable[Figure], lines: Iterable[Any], style: Callable[[Any], str] = lambda _: ""
) -> tuple[list[Column], list[Row]]:
    """Return a column for each figure that has one, and a row with the style of the line for each line."""
    shown = [figure for figure in figures if figure.column]
    rows = [Row(tuple(figure.text(figure.value(line)) for figure in shown), style(line)) for line in lines]
    return [figure.column for figure in shown if figure.column], rows


def keyed(figures: Iterable[Figure], line: Any) -> dict[str, Any]:
    """Return the values of the figures with a key, for JSON."""
    return {figure.key: figure.value(line) for figure in figures if figure.key}


def say(out: Console, text: str, style: str = "", hanging: int = 0) -> None:
    """Print a line of text. Folded lines begin `hanging` characters in."""
    text = printable(text)
    out.print(Text(hung(text, out.width, hanging) if hanging else text, style=style))


class _Folded(TextWrapper):
    """Lines that break between words and behind the `|` of a list, in which no word is cut."""

    wordsep_simple_re = re.compile(r"(\s+|(?<=\|)(?=\S))")

    def __init__(self, width: int, indent: str) -> None:
        super().__init__(width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def hung(text: str, width: int, hanging: int) -> str:
    """Return a line that breaks between words at a width. Folded lines begin `hanging` characters in."""
    return _Folded(width, " " * hanging).fill(text)


def shortened(text: str, width: int) -> str:
    """Return a text without its middle if it is longer than a width, because both ends of a path tell paths apart."""
    if cell_len(text) <= width:
        return text
    head = (width - 1) // 2
    tail = set_cell_size(text[::-1], width - 1 - head)[::-1]
    return f"{set_cell_size(text, head).rstrip()}…{tail.lstrip()}"


def colour(ratio: float | None, near: float = WARNING_RATIO) -> str:
    """Return the colour of a share of a ceiling. Empty below the share that is near, and for an unknown share."""
    return "" if ratio is None or ratio < near else "red" if ratio >= CRITICAL_RATIO else "yellow"


def note(text: str) -> None:
    """Print a remark to stderr, apart from the output."""
    click.echo(folded(f"note: {printable(text)}"), err=True)


class Progress:
    """The present step of a long command: `phase: 3 of 20`. `show` replaces the last line."""

    def __init__(self, show: Callable[[str], None] = lambda _: None) -> None:
        self._show = show
        self._phase, self._done, self._total = "", 0, 0

    def phase(self, name: str, total: int = 0) -> None:
        """Begin a phase of `total` steps. 0 means an unknown number."""
        self._phase, self._done, self._total = name, 0, total
        self._show(printable(name))

    def step(self) -> None:
        """Count one finished step of the phase."""
        self._done += 1
        total = f" of {max(self._total, self._done):,}" if self._total else ""
        self._show(f"{printable(self._phase)}: {self._done:,}{total}")


@contextmanager
def progress() -> Iterator[Progress]:
    """Show progress on standard error: a line that changes on a terminal, and elsewhere a line now and then."""
    out = Console(stderr=True, width=_width(sys.stderr), highlight=False, markup=False)
    if not out.is_terminal:
        with _told_now_and_then() as show:
            yield Progress(show)
        return
    with Status("", console=out) as status:
        yield Progress(status.update)


@contextmanager
def _told_now_and_then() -> Iterator[Callable[[str], None]]:
    """Print the present step every few seconds, also within one long step. A short command prints none."""
    present = deque[str](maxlen=1)
    ended = Event()

    def tell() -> None:
        while not ended.wait(_TOLD_EVERY_SECONDS):
            with suppress(OSError, IndexError):  # nobody reads, or no step has begun
                note(present[0])

    teller = Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield present.append
    finally:
        ended.set()
        teller.join()


def as_json(document: Any, *, one_line: bool = False) -> str:
    """Return a JSON document, or raise SourceError for an infinite value."""
    try:
        text = json.dumps(document, indent=None if one_line else 2, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise SourceError("the figures are too large for JSON: a counter of the source is damaged") from error
    return printable_json(text)


def _table(columns: Sequence[Column], rows: Sequence[Row], kept: Sequence[int], widths: Sequence[int]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="", padding=(0, GAP, 0, 0))
    for index in kept:
        column = columns[index]
        table.add_column(
            Text(column.title),
            justify="left" if column.left else "right",
            overflow="fold",
            no_wrap=not column.left,
            width=widths[0] if index == 0 and column.left else None,
            min_width=None if column.left else widths[index],
        )
    for row in rows:
        table.add_row(*(Text(_cell(row, index, columns[index], widths[0]), style=row.style) for index in kept))
    return table


def _cell(row: Row, index: int, column: Column, of_name: int) -> str:
    text = printable(row.cells[index])
    return shortened(text, of_name) if index == 0 and column.left else text


def fitted(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int) -> tuple[list[int], list[int]]:
    """Return the positions of the columns that fit into `width` characters, and the widths of all columns.

    A name gets less room before a figure goes.
    """
    widths = [
        max(cell_len(text) for text in (column.title, *(row[at] for row in rows))) for at, column in enumerate(columns)
    ]
    longest = min(widths[0], width)
    shortest = min(longest, _SHORTEST_NAME) if columns[0].left and not columns[0].rank else longest
    choices = [[of_name, *widths[1:]] for of_name in range(longest, shortest - 1, -1)]
    chosen = max(choices, key=lambda choice: _first_to_go(columns, _fitting(columns, choice, width)))
    return _fitting(columns, chosen, width), chosen


def _first_to_go(columns: Sequence[Column], kept: Sequence[int]) -> float:
    """Return the lowest rank of a column that does not fit. It is the most important one."""
    return min((column.rank for at, column in enumerate(columns) if at not in kept), default=math.inf)


def _fitting(columns: Sequence[Column], widths: Sequence[int], width: int) -> list[int]:
    """Return the positions of the columns that fit. A less important column gets the room that the others leave."""
    kept = [at for at, column in enumerate(columns) if not column.rank]
    for at in sorted(set(range(len(columns))).difference(kept), key=lambda at: (columns[at].rank, at)):
        wider = sorted((*kept, at))
        if sum(widths[each] for each in wider) + GAP * (len(wider) - 1) <= width:
            kept = wider
    return kept
