# SPDX-License-Identifier: Apache-2.0
"""Read a mountstats record that differs from the last one of its mount in numbers only.

These texts are most of the CPU of a busy host. The parser reads the records of a mount whole until two of them look alike, and learns where
the numbers stand. From then on one regular expression checks the table and takes what a tick needs. Any other text is read whole again.
"""

import re
from functools import lru_cache, partial
from operator import itemgetter
from typing import Final

from fss_exporter.model.operations import READ, WRITE
from fss_exporter.nfs.operation_tables import parse_table
from fss_exporter.nfs.records import NfsRecord, OperationCounters, OperationTable, Transport

BEFORE_AGE: Final = b"\n\tage:\t"
_BEFORE_TABLE: Final = b"\tper-op statistics"

# Place of `sends` among the numbers of an xprt line. `recvs` is the next number. `connect_count` stands three places before
# `sends`, for protocols with connections (net/sunrpc/xprtsock.c and net/sunrpc/xprtrdma/transport.c).
SENDS_FIELD: Final = {"tcp": 5, "udp": 2, "local": 4, "rdma": 5}

_DIGITS: Final = b"0123456789"
_LONGEST_NUMBER: Final = 18  # so many digits have no sign bit and fit into 64 bits
_NUMBER: Final = f"[0-9]{{1,{_LONGEST_NUMBER}}}"
_CELL: Final = r"(?<= )[0-9]+(?=[ \n])"  # a number of a table, and no digit of a name
_COUNTERS: Final = len(OperationCounters._fields)

_Numbers = tuple[
    int, int, int, int, int, tuple[Transport, ...]
]  # the fields `age_s` and `revalidations` to `transports`


class KnownRecord:
    """The last record of a mount, and how to read the next one quickly.

    Args:
        record: the record, read whole.
        rest: its text behind `age:`.
        last: what was known of the mount before. None for nothing.

    Attributes:
        record: the last record.
        form: its text behind `age:` with other numbers, in two parts: lines and table.
        table_text: the table as it is.
    """

    __slots__ = ("_lines", "_table", "form", "record", "table_text")

    def __init__(self, record: NfsRecord, rest: bytes, last: "KnownRecord | None") -> None:
        lines, _, self.table_text = rest.partition(_BEFORE_TABLE)
        self.form = re.sub(rb"[0-9]+", b"0", lines), re.sub(_CELL.encode(), b"0", self.table_text)
        self._lines: _Lines | None = None
        self._table: _Table | None = None
        self.record = record
        if last is None:
            return
        if last.table_text == self.table_text:
            self.record = record._replace(operations=last.record.operations)
        if last.form == self.form:
            self._learn(lines)

    def read(self, rest: bytes) -> bool:
        """Read the next record from its text behind `age:`. Return whether it looks like the last one. If not, nothing has changed."""
        if self._lines is None or self._table is None:
            return False
        lines, _, table = rest.partition(_BEFORE_TABLE)
        numbers = self._lines.read(lines)
        operations = self.record.operations if table == self.table_text else self._table.read(table)
        if numbers is None or operations is None:
            return False
        self.record, self.table_text = _with(self.record, numbers, operations), table
        return True

    def _learn(self, lines: bytes) -> None:
        """Learn the layout, if quick reading gives what whole reading gave."""
        whole = self.record.operations
        try:
            of_lines, of_table = _Lines(self.form[0]), _table_of(self.form[1])
        except (LookupError, ValueError):  # a layout of no kernel that is known
            return
        numbers, table = of_lines.read(lines), of_table.read(self.table_text)
        if numbers is None or table is None or _with(self.record, numbers, whole) != self.record:
            return
        if (table.names, table.completed, table.transfers) == (whole.names, whole.completed, whole.transfers):
            self._lines, self._table = of_lines, of_table


def _with(record: NfsRecord, numbers: _Numbers, operations: OperationTable) -> NfsRecord:
    """Return a record with other numbers. Transports that have not changed stay the same object."""
    age_s, revalidations, vfs_locks, read_bytes, written_bytes, transports = numbers
    return NfsRecord(
        record.device,
        record.mount_point,
        record.fstype,
        age_s,
        record.options,
        revalidations,
        vfs_locks,
        read_bytes,
        written_bytes,
        record.transports if transports == record.transports else transports,
        operations,
    )


class _Lines:
    """The lines between `age:` and the table.

    Args:
        form: such lines, with any numbers.

    Raises:
        LookupError: a transport is unknown.
        ValueError: a line is missing.
    """

    def __init__(self, form: bytes) -> None:
        words = form.split()
        events, payload = words.index(b"events:"), words.index(b"bytes:")
        places = [0, events + 1, events + 17, payload + 5, payload + 6]
        self._connects: list[bool] = []  # whether a transport has connections
        for place in (place for place, word in enumerate(words) if word == b"xprt:"):
            field = SENDS_FIELD[words[place + 1].decode()]
            sends = place + 2 + field
            self._connects.append(field > 3)
            places += [sends - 3, sends, sends + 1]
        self._without_digits = form.translate(None, _DIGITS)
        self._length = len(words)
        self._numbers = itemgetter(*places)

    def read(self, lines: bytes) -> _Numbers | None:
        """Return the numbers of other lines. None if they differ in more than digits, or if one is very large."""
        words = lines.split()
        if len(words) != self._length or lines.translate(None, _DIGITS) != self._without_digits:
            return None
        texts = self._numbers(words)
        if max(map(len, texts)) > _LONGEST_NUMBER:
            return None
        try:
            age_s, revalidations, vfs_locks, read_bytes, written_bytes, *sums = map(int, texts)
        except ValueError:
            return None
        triples = zip(self._connects, *[iter(sums)] * 3, strict=True)
        transports = tuple([Transport(n if connects else None, sent, came) for connects, n, sent, came in triples])
        return age_s, revalidations, vfs_locks, read_bytes, written_bytes, transports


class _Table:
    """The table of operations. All mounts whose tables differ in numbers only share an object.

    Args:
        form: such a table, with any numbers.

    Raises:
        ValueError: the table is not ASCII, or no line begins as the kernel's.
    """

    def __init__(self, form: bytes) -> None:
        names: list[str] = []
        completed: list[int] = []  # place of the first number of each line, among those that are taken
        self._transfers: dict[str, tuple[slice, tuple[None, ...]]] = {}
        pattern: list[str] = []
        taken = 0
        for line in form.decode("ascii").splitlines(keepends=True):
            name, texts = line.partition(":")[0].strip(), re.split(_CELL, line)
            of_line = 0
            if line.startswith("\t") and len(texts) > 1:
                of_line = min(len(texts) - 1, _COUNTERS) if name in {READ, WRITE} else 1
                names.append(name)
                completed.append(taken)
                if name in {READ, WRITE}:
                    uncounted = (None,) * (_COUNTERS - of_line)  # before kernel 5.3 there are no errors
                    self._transfers[name] = slice(taken, taken + of_line), uncounted
            pattern.append(re.escape(texts[0]))
            for place, text in enumerate(texts[1:]):
                pattern.append(f"({_NUMBER})" if place < of_line else _NUMBER)
                pattern.append(re.escape(text))
            taken += of_line
        if not names:
            raise ValueError("no operation")
        self._match = re.compile("".join(pattern).encode()).fullmatch
        self._names = tuple(names)
        self._completed = itemgetter(*completed)

    def read(self, table: bytes) -> OperationTable | None:
        """Return the operations of another table. None if it differs in more than numbers, or has a very large one."""
        found = self._match(table)
        if found is None:
            return None
        numbers = [*map(int, found.groups())]
        transfers = {
            name: OperationCounters(*numbers[part], *uncounted) for name, (part, uncounted) in self._transfers.items()
        }
        return OperationTable(self._names, self._completed(numbers), transfers, partial(_rows, table))


_table_of = lru_cache(maxsize=64)(_Table)  # the mounts of a host have few forms


def _rows(table: bytes) -> dict[str, OperationCounters]:
    return parse_table(table.decode("ascii"))
