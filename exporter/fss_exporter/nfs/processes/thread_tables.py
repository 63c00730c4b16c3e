"""Parse `hist` tables whose rows name threads. The name of a thread is hostile text, so the parser never splits lines.

A process chooses its own name: up to 15 bytes, with newlines, braces or invalid UTF-8. The kernel prints the name in a
field of 16 bytes (`%-16s[%10llu]`, kernel/trace/trace_events_hist.c of Linux 6.1 to 6.12). So the parser knows the length of
every row, and reads row after row by length.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from fss_exporter.errors import RecordError
from fss_exporter.nfs.exact.hist_tables import HistRow, Key

_HEAD = re.compile(
    rb"# event histogram\n#\n# trigger info: hist:keys=(?P<keys>[^\n]*?):vals=[^\n]*?:size=(?P<size>\d{1,9})[^\n]*?"
    rb"(?: if (?P<condition>[^\n]*))? \[(?P<state>\w+)\]\n#\n\n"
)
_FOOT = re.compile(rb"\nTotals:\n    Hits: \d+\n    Entries: \d+\n    Dropped: (\d{1,20})\n")
_GAP = re.compile(rb"\n*")

_THREAD = rb"%b: (.{16})\[ *(\d{1,10})\]"
_RANGE = rb"%b: ~ (\d{1,20})-\d{1,20}"
_WORD = rb"%b: *([\w.:/+-]{0,64}) *"
_VALUES = rb" \} hitcount: +(\d{1,20})(?:  \w+: +(\d{1,20}))?(?:  \w+: +\d{1,20})*\n"


@dataclass(frozen=True, slots=True)
class ThreadTable:
    """One trigger's table at one look."""

    keys: str  # the keys of the trigger as it was set, for example `dev,common_pid.execname`
    condition: str  # the text behind `if` of the trigger, empty if there is none
    running: bool  # whether the trigger still counts
    # by key. A thread gives two elements, its name and its number. A range of sizes gives its lower edge
    rows: Mapping[Key, HistRow]
    dropped: int  # events that found no room
    size: int  # rows that the table has room for


def parse_thread_tables(raw: bytes) -> tuple[ThreadTable, ...]:
    """Every table of a `hist` file, in the order of the file.

    Raises:
        RecordError: cut off, or another layout.
    """
    return tuple(_tables(raw))


def _tables(raw: bytes) -> Iterator[ThreadTable]:
    at = 0
    while at < len(raw):
        head = _HEAD.match(raw, at)
        if head is None:
            raise RecordError("truncated", repr(raw[at : at + 120]))
        keys = head["keys"].decode()
        rows, at = _rows(_row_pattern(keys), raw, head.end())
        foot = _FOOT.match(raw, at)
        if foot is None:
            raise RecordError("malformed_row", repr(raw[at : at + 120]))
        condition = (head["condition"] or b"").decode()
        yield ThreadTable(keys, condition, head["state"] == b"active", rows, int(foot[1]), int(head["size"]))
        at = _end(_GAP, raw, foot.end())


def _rows(pattern: re.Pattern[bytes], raw: bytes, at: int) -> tuple[dict[Key, HistRow], int]:
    """The rows from a place on, and the place behind the last."""
    rows: dict[Key, HistRow] = {}
    while row := pattern.match(raw, at):
        *key, hits, value = row.groups()
        rows[tuple(_text(part) for part in key)] = HistRow(int(hits), int(value or 0))
        at = row.end()
    return rows, at


def _text(part: bytes) -> str:
    """Return one element of a key without padding. A replacement character stands for invalid UTF-8."""
    return part.rstrip(b" ").decode("utf-8", "replace")


def _end(pattern: re.Pattern[bytes], raw: bytes, at: int) -> int:
    found = pattern.match(raw, at)
    return at if found is None else found.end()


@cache
def _row_pattern(keys: str) -> re.Pattern[bytes]:
    """Return the pattern of a row with these keys."""
    inside = b", ".join(_form(name) % re.escape(name.partition(".")[0].encode()) for name in keys.split(","))
    return re.compile(rb"\{ " + inside + _VALUES, re.DOTALL)


def _form(key: str) -> bytes:
    modifier = key.partition(".")[2]
    if modifier == "execname":
        return _THREAD
    return _RANGE if modifier.startswith("buckets") else _WORD
