# SPDX-License-Identifier: Apache-2.0
"""Read a mountstats record that differs from the last one of its mount in numbers only.

These texts are most of the CPU of a busy host. The parser reads the records of a mount whole until two of them look alike, and learns where
the numbers stand. From then on one regular expression checks the table and takes what a tick needs. Any other text is read whole again.
"""

import re
from collections.abc import Callable, Collection, Iterable
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

# Places of the numbers that are taken of a line, by its name. The fields `revalidations`, `vfs_locks`, `delays`, `read_bytes` and `written_bytes`.
_TAKEN: Final = {b"events": (0, 16, 24), b"bytes": (4, 5)}

_NUMBER: Final = b"[0-9]{1,18}+"  # so many digits have no sign bit. A possessive match, because no shorter one can fit
_CELL: Final = rb"(?<= )[0-9]+(?=[ \n])"  # a number of a table, and no digit of a name
_COUNTERS: Final = len(OperationCounters._fields)

_Numbers = tuple[
    int, int, int, int, int, int, tuple[Transport, ...]
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
        self.form = re.sub(rb"[0-9]+", b"0", lines), re.sub(_CELL, b"0", self.table_text)
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
            of_lines, of_table = _lines_of(self.form[0]), _table_of(self.form[1])
            numbers, table = of_lines.read(lines), of_table.read(self.table_text)
        except (LookupError, ValueError):  # a layout of no kernel that is known
            return
        if numbers is None or table is None or _with(self.record, numbers, whole) != self.record:
            return
        if (table.names, table.completed, table.transfers) == (whole.names, whole.completed, whole.transfers):
            self._lines, self._table = of_lines, of_table


def _with(record: NfsRecord, numbers: _Numbers, operations: OperationTable) -> NfsRecord:
    """Return a record with other numbers. Transports that have not changed stay the same object."""
    age_s, revalidations, vfs_locks, delays, read_bytes, written_bytes, transports = numbers
    return NfsRecord(
        record.device,
        record.mount_point,
        record.fstype,
        age_s,
        record.options,
        revalidations,
        vfs_locks,
        delays,
        read_bytes,
        written_bytes,
        record.transports if transports == record.transports else transports,
        operations,
    )


def _matcher(
    number: bytes, lines: Iterable[tuple[bytes, Collection[int]]]
) -> Callable[[bytes], re.Match[bytes] | None]:
    """Return what matches texts that differ from these lines in numbers only. It takes the numbers at the places beside a line.

    Raises:
        LookupError: a line has too few numbers.
    """
    pattern: list[bytes] = []
    for line, taken in lines:
        first, *others = re.split(number, line)
        if taken and max(taken) >= len(others):
            raise LookupError(f"{line!r} has too few numbers")
        pattern.append(re.escape(first))
        for place, text in enumerate(others):
            pattern += (b"(%b)" % _NUMBER if place in taken else _NUMBER, re.escape(text))
    return re.compile(b"".join(pattern)).fullmatch


class _Lines:
    """The lines between `age:` and the table. Mounts whose lines differ in numbers only share an object.

    Args:
        form: such lines, with any numbers.

    Raises:
        LookupError: a transport is unknown, or numbers are missing.
    """

    def __init__(self, form: bytes) -> None:
        age, *others = form.splitlines(keepends=True)
        lines: list[tuple[bytes, Collection[int]]] = [(age, (0,))]
        names: list[bytes] = []
        self._has_connections: list[bool] = []  # of each transport
        for line in others:
            name, _, value = line.partition(b":")
            names.append(name.strip())
            taken: Collection[int] = _TAKEN.get(names[-1], ())
            if names[-1] == b"xprt":
                sends = SENDS_FIELD[value.partition(b" ")[0].strip().decode()]
                self._has_connections.append(sends > 3)
                taken = (sends - 3, sends, sends + 1) if sends > 3 else (sends, sends + 1)
            lines.append((line, taken))
        if any(names.count(name) != 1 for name in _TAKEN):
            raise LookupError("a line is missing, or there twice")
        self._match = _matcher(b"[0-9]+", lines)

    def read(self, lines: bytes) -> _Numbers | None:
        """Return the numbers of other lines. None if they differ in more than numbers, or have a very large one."""
        found = self._match(lines)
        if found is None:
            return None
        age_s, revalidations, vfs_locks, delays, read_bytes, written_bytes, *sums = map(int, found.groups())
        transports = []
        for has_connections in self._has_connections:
            counts = sums[:3] if has_connections else (None, *sums[:2])
            transports.append(Transport(*counts))
            del sums[: 3 if has_connections else 2]
        return age_s, revalidations, vfs_locks, delays, read_bytes, written_bytes, tuple(transports)


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
        lines: list[tuple[bytes, Collection[int]]] = []
        place = 0
        for line in form.splitlines(keepends=True):
            name, numbers = line.partition(b":")[0].strip().decode("ascii"), len(re.findall(_CELL, line))
            taken = 0
            if line.startswith(b"\t") and numbers:
                taken = min(numbers, _COUNTERS) if name in {READ, WRITE} else 1
                names.append(name)
                completed.append(place)
                if name in {READ, WRITE}:
                    uncounted = (None,) * (_COUNTERS - taken)  # before kernel 5.3 there are no errors
                    self._transfers[name] = slice(place, place + taken), uncounted
            lines.append((line, range(taken)))
            place += taken
        if not names:
            raise ValueError("no operation")
        self._match = _matcher(_CELL, lines)
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


_lines_of, _table_of = (
    lru_cache(maxsize=64)(_Lines),
    lru_cache(maxsize=64)(_Table),
)  # the mounts of a host have few forms


def _rows(table: bytes) -> dict[str, OperationCounters]:
    return parse_table(table.decode("ascii"))
