# SPDX-License-Identifier: Apache-2.0
"""Parse the tables of a `hist` file, and compute the growth between two looks.

Layout: Linux Documentation/trace/histogram.rst and kernel/trace/trace_events_hist.c (6.1 to 6.12). A file holds a table for
each `hist` trigger of the event. The kernel never removes a row and never lowers a count. A lower count means a new table.

The name of a thread is hostile text: up to 15 bytes, with newlines, braces or invalid UTF-8. The kernel prints the name in
a field of 16 bytes (`%-16s[%10llu]`). So the parser knows the length of every row, and never splits lines.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

_HEAD = re.compile(
    rb"\n*# event histogram\n#\n# trigger info: hist:keys=(?P<keys>[^\n]*?):vals=[^\n]*?:size=(?P<size>\d{1,9})[^\n]*?"
    rb"(?: if (?P<condition>[^\n]*))? \[(?P<state>\w+)\]\n#\n\n"
)
_FOOT = re.compile(rb"\nTotals:\n    Hits: \d+\n    Entries: \d+\n    Dropped: (\d{1,20})\n\n*")

# Pattern of a field of a key by modifier. A thread gives name and number, a range its lower edge, a power its exponent.
#
# A further modifier belongs to a trigger of another program, and its text is one word.
_FIELDS = {
    "execname": rb"%b: (.{16})\[ *(\d{1,10})\]",
    "buckets": rb"%b: +~ (\d{1,20})-\d{1,20} *",
    "log2": rb"%b: +~ 2\^(\d{1,2}) *",
    "": rb"%b: *([^\s,}]{0,64}) *",
}

_VALUES = rb" \} hitcount: +(\d{1,20})(?:  \w+: +(\d{1,20}))?(?:  \w+: +\d{1,20})*\n"
_FULL_SHARE = 0.8


class HistRow(NamedTuple):
    """One row: the number of events with this key, and the sum of the first value (0 in a table without values)."""

    hits: int
    value: int


Key = tuple[str, ...]
Grown = list[tuple[Key, HistRow]]  # Growth of the changed rows of a table


TRIGGERS, DROPPED, UNREADABLE = "triggers", "dropped", "unreadable"


class Lost(Exception):
    """The tables are not reliable since the last look. `check` is `triggers`, `dropped` or `unreadable`."""

    def __init__(self, check: str, detail: str) -> None:
        self.check = check
        super().__init__(detail)


def fields_of(key: Key, count: int) -> Key:
    """Return a key with this number of fields.

    Raises:
        Lost: the key has another layout.
    """
    if len(key) != count:
        raise Lost(UNREADABLE, f"malformed_row: {str(key)[:120]}")
    return key


def number(field: str) -> int:
    """Return a field of a key as a number.

    Raises:
        Lost: the field is no number.
    """
    if not (field.isascii() and field.isdecimal()):
        raise Lost(UNREADABLE, f"malformed_row: {field[:120]}")
    return int(field)


@dataclass(frozen=True, slots=True)
class Table:
    """The table of one hist trigger, as one look at the file shows the rows."""

    condition: str  # text behind `if` of the trigger, which identifies a table of the event. Empty without a condition
    running: bool  # whether the trigger still counts
    rows: Mapping[Key, HistRow]  # by key, in the trigger's order, without padding
    dropped: int  # events that found no room
    size: int  # rows that the table has room for

    @property
    def is_nearly_full(self) -> bool:
        """Whether a larger or empty table is due. The kernel never removes a row."""
        return len(self.rows) >= _FULL_SHARE * self.size


class HistParser:
    """Parse one look after another, and decode again only changed rows, because most keys are idle.

    An unchanged row returns the identical `HistRow`, and an unchanged file the identical tables, so that `is` shows an idle key or event.
    """

    def __init__(self) -> None:
        self._raw = b""
        self._tables: tuple[Table, ...] = ()
        self._rows_by_line: dict[bytes, tuple[Key, HistRow]] = {}

    def parse(self, raw: bytes) -> tuple[Table, ...]:
        """Return every table of a `hist` file, in the order of the file.

        Raises:
            Lost: the text is cut off, or has another layout.
        """
        if raw == self._raw:
            return self._tables
        seen: dict[bytes, tuple[Key, HistRow]] = {}
        tables, at = [], 0
        while at < len(raw):
            head = _HEAD.match(raw, at)
            if head is None:
                raise Lost(UNREADABLE, f"truncated: {raw[at : at + 120]!r}")
            rows, at = self._rows(_row_pattern(head["keys"].decode(errors="replace")), raw, head.end(), seen)
            foot = _FOOT.match(raw, at)
            if foot is None:
                raise Lost(UNREADABLE, f"malformed_row: {raw[at : at + 120]!r}")
            condition = (head["condition"] or b"").decode(errors="replace")
            tables.append(Table(condition, head["state"] == b"active", rows, int(foot[1]), int(head["size"])))
            at = foot.end()
        self._raw, self._tables, self._rows_by_line = raw, tuple(tables), seen
        return self._tables

    def _rows(
        self, pattern: re.Pattern[bytes], raw: bytes, at: int, seen: dict[bytes, tuple[Key, HistRow]]
    ) -> tuple[dict[Key, HistRow], int]:
        """Return the rows from a place on, and the place behind the last row."""
        rows: dict[Key, HistRow] = {}
        while match := pattern.match(raw, at):
            line = match[0]
            entry = seen[line] = self._rows_by_line.get(line) or _row(match)
            rows[entry[0]] = entry[1]
            at = match.end()
        return rows, at


def _row(match: re.Match[bytes]) -> tuple[Key, HistRow]:
    """Return key and counts of a row. A replacement character stands for invalid UTF-8."""
    *key, hits, value = match.groups()
    return tuple(part.rstrip(b" ").decode("utf-8", "replace") for part in key), HistRow(int(hits), int(value or 0))


@cache
def _row_pattern(keys: str) -> re.Pattern[bytes]:
    """Return the pattern of a row with these keys, for example `dev,common_pid.execname`."""
    fields = []
    for key in keys.split(","):
        name, _, modifier = key.partition(".")
        fields.append(_FIELDS.get(modifier.partition("=")[0], _FIELDS[""]) % re.escape(name.encode()))
    return re.compile(rb"\{ " + b", ".join(fields) + _VALUES, re.DOTALL)


def grown(before: Mapping[Key, HistRow], now: Mapping[Key, HistRow], event: str) -> Iterator[tuple[Key, HistRow]]:
    """Return the growth of each changed row.

    Raises:
        Lost: a row fell or is gone, because another program has replaced the trigger of the event.
    """
    replaced = Lost(TRIGGERS, f"{event}: another program has replaced its triggers")
    common = 0
    for key, row in now.items():
        old = before.get(key)
        if old is None:
            yield key, row
            continue
        common += 1
        if row is not old and row != old:
            if row.hits < old.hits or row.value < old.value:
                raise replaced
            yield key, HistRow(row.hits - old.hits, row.value - old.value)
    if common < len(before):
        raise replaced
