"""Parse the text of a `hist` file: tables of counters, and the growth between two looks.

Layout: Linux Documentation/trace/histogram.rst and kernel/trace/trace_events_hist.c (6.12). A file holds a table for
each `hist` trigger of the event. The kernel never removes a row and never lowers a count. A lower count means a new table.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from fss_exporter.errors import RecordError

_HEAD = "# trigger info: "
_WRAP = 1 << 64
_LONGEST_NUMBER = 20


class HistRow(NamedTuple):
    """One row: the number of events with this key, and the sum of the first value (0 in a table without values)."""

    hits: int
    value: int


Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """One trigger's table at one look."""

    # the text behind `if` of the trigger, which tells the tables of an event apart; empty if there is none
    condition: str
    running: bool  # whether the trigger still counts
    rows: Mapping[Key, HistRow]  # by key, the fields in the trigger's order, without padding
    dropped: int  # events that found no room


class HistParser:
    """Parse one look after another, and parse again only changed rows, because most keys are idle.

    An unchanged line returns the identical row, so that `is` shows an idle key.
    """

    def __init__(self) -> None:
        self._lines: dict[str, tuple[Key, HistRow]] = {}

    def parse(self, text: str) -> tuple[Table, ...]:
        """Return every table of a `hist` file, in the order of the file.

        Raises:
            RecordError: the text is cut off, or has another layout.
        """
        seen: dict[str, tuple[Key, HistRow]] = {}
        tables = tuple(self._table(part, seen) for part in text.split("# event histogram\n")[1:])
        self._lines = seen
        return tables

    def _table(self, text: str, seen: dict[str, tuple[Key, HistRow]]) -> Table:
        head, totals, foot = text.partition("\nTotals:\n")
        info = ""
        rows: dict[Key, HistRow] = {}
        for line in head.split("\n"):
            if line.startswith("{"):
                known = self._lines.get(line) or _row(line)
                seen[line] = known
                rows[known[0]] = known[1]
            elif line.startswith(_HEAD):
                info = line.removeprefix(_HEAD)
        if not totals or not info:
            raise RecordError("truncated", text[:120])
        trigger, _, state = info.rpartition(" [")
        _, _, condition = trigger.partition(" if ")
        return Table(condition, state == "active]", rows, _dropped(foot))


def _row(line: str) -> tuple[Key, HistRow]:
    inside, brace, rest = line.removeprefix("{").rpartition(" } ")
    words = rest.split()
    names, numbers = words[::2], words[1::2]
    if not brace or names[:1] != ["hitcount:"] or len(names) != len(numbers) or not all(map(_is_number, numbers)):
        raise RecordError("malformed_row", line[:120])
    key = tuple(part.partition(": ")[2].strip() for part in inside.split(", "))
    return key, HistRow(int(numbers[0]), int(numbers[1]) if len(numbers) > 1 else 0)


def _dropped(foot: str) -> int:
    for line in foot.split("\n")[:-1]:
        name, _, value = line.strip().partition(": ")
        if name == "Dropped" and _is_number(value):
            return int(value)
    raise RecordError("truncated", foot[:120])


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdecimal() and len(word) <= _LONGEST_NUMBER


class TableWasReplaced(Exception):
    """A row went back or is gone: another program has replaced the trigger."""


def grown(before: Mapping[Key, HistRow], now: Mapping[Key, HistRow]) -> Iterator[tuple[Key, HistRow]]:
    """Return the growth of each changed row. Counters have 64 bits and start at zero after the largest number.

    Raises:
        TableWasReplaced: a row fell or is gone.
    """
    common = 0
    for key, row in now.items():
        old = before.get(key)
        if old is None:
            yield key, row
            continue
        common += 1
        if row is not old and row != old:
            hits, value = (row.hits - old.hits) % _WRAP, (row.value - old.value) % _WRAP
            if max(hits, value) >= _WRAP // 2:
                raise TableWasReplaced
            yield key, HistRow(hits, value)
    if common < len(before):
        raise TableWasReplaced
