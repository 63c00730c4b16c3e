"""`/proc/<pid>/mountstats`: the NFS client's counters.

Text in, records out. What is used must be there and be a number; what is appended, unknown or new is passed over, so
that a kernel of next year costs nothing. One record that cannot be read costs that record and leaves its reason.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from fss_exporter.errors import RecordError
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.nfs.escapes import options, unescape
from fss_exporter.nfs.mountinfo import NFS_TYPES
from fss_exporter.nfs.records import Mountstats, NfsRecord, OperationCounters, Transport

_SENDS_FIELD = {"tcp": 5, "udp": 2, "local": 4, "rdma": 5}
# Where `sends` stands among the numbers of an xprt line; `recvs` is next to it, and three before it `connect_count` of
# what connects (net/sunrpc/xprtsock.c and net/sunrpc/xprtrdma/transport.c).

_AGE = re.compile(r"\n\s*age:(.*)")
_SERVER_READ, _SERVER_WRITTEN = 4, 5
_INODE_REVALIDATE, _VFS_LOCK = 0, 16
_COLUMNS = 8
_NUMBERS = " \t0123456789"
_SIGN_BIT, _TOO_LARGE = 1 << 63, 1 << 64


class _Body(NamedTuple):
    """All of a record but its head and its age."""

    options: Mapping[str, str]
    revalidations: int | None
    vfs_locks: int | None
    payload: tuple[int, int]
    transports: tuple[Transport, ...]
    operations: Mapping[str, OperationCounters]


def parse_mountstats(text: str) -> Mountstats:
    """Every NFS record of a mountstats text, in its order; other file systems are passed over.

    A text that stops in the middle of a line was cut off: its last record is skipped with the reason `truncated`.
    """
    return Parser().parse(text)


class Parser:
    """Parses one text after another and reads only what differs from the last: most mounts are idle most of the time.

    Equal lines give the very same counters, so that `is` tells whether an operation has moved.
    """

    def __init__(self) -> None:
        self._bodies: dict[str, _Body] = {}
        self._lines: dict[str, tuple[str, OperationCounters]] = {}

    def parse(self, text: str) -> Mountstats:
        """As `parse_mountstats`."""
        bodies: dict[str, _Body] = {}
        lines: dict[str, tuple[str, OperationCounters]] = {}
        records: list[NfsRecord] = []
        skipped: list[str] = []
        cut_off = bool(text) and not text.endswith("\n")
        for chunk, last in _chunks(text):
            if cut_off and last:
                skipped.append("truncated")
                continue
            try:
                records.append(self._record(chunk, bodies, lines))
            except RecordError as error:
                skipped.append(error.reason)
        self._bodies, self._lines = bodies, lines
        return Mountstats(tuple(records), tuple(skipped))

    def _record(
        self, chunk: str, bodies: dict[str, _Body], lines: dict[str, tuple[str, OperationCounters]]
    ) -> NfsRecord:
        head, _, _ = chunk.partition("\n")
        device, mount_point, fstype = _head(head)
        age = _AGE.search(chunk)
        if age is None:
            raise RecordError("malformed_age", f"{device} has no age line")
        rest = f"{chunk[len(head) : age.start()]}{chunk[age.end() :]}"
        body = bodies.get(rest) or self._bodies.get(rest)
        if body is None:
            body = self._body(device, rest, lines)
        bodies[rest] = body
        return NfsRecord(
            device=device,
            mount_point=mount_point,
            fstype=fstype,
            age_s=_age(age[1]),
            options=body.options,
            revalidations=body.revalidations,
            vfs_locks=body.vfs_locks,
            read_bytes=body.payload[0],
            written_bytes=body.payload[1],
            transports=body.transports,
            operations=body.operations,
        )

    def _body(self, device: str, text: str, known: dict[str, tuple[str, OperationCounters]]) -> _Body:
        lines = iter(text.split("\n"))
        fields: dict[str, str] = {}
        transports: list[Transport] = []
        for line in lines:
            name, _, value = line.strip().partition(":")
            if name == "xprt":
                transports.append(_transport(value.split()))
            elif name == "per-op statistics":
                break
            else:
                fields.setdefault(name, value)
        operations = dict(self._operations(lines, known))
        if not {READ, WRITE} <= operations.keys():
            raise RecordError("truncated", f"{device} has no per-op statistics of READ and WRITE")
        events = _numbers("events", fields.get("events", ""))
        return _Body(
            options=options(fields.get("opts", "").strip()),
            revalidations=_at(events, _INODE_REVALIDATE),
            vfs_locks=_at(events, _VFS_LOCK),
            payload=_payload(fields),
            transports=tuple(transports),
            operations=operations,
        )

    def _operations(
        self, lines: Iterable[str], known: dict[str, tuple[str, OperationCounters]]
    ) -> Iterator[tuple[str, OperationCounters]]:
        for line in lines:
            operation = known.get(line) or self._lines.get(line) or _operation(line)
            if operation is None:
                return
            known[line] = operation
            yield operation


def _chunks(text: str) -> Iterator[tuple[str, bool]]:
    """The text of each NFS record, and whether it is the last thing in the file."""
    parts = f"\n{text}".split("\ndevice ")
    for position, part in enumerate(parts[1:], start=2):
        head, _, _ = part.partition("\n")
        if " with fstype nfs" in head and head.rpartition(" with fstype ")[2].split(" ", 1)[0] in NFS_TYPES:
            yield part, position == len(parts)


def _head(line: str) -> tuple[str, str, str]:
    device, mounted_on, rest = line.partition(" mounted on ")
    mount_point, with_fstype, fstype = rest.rpartition(" with fstype ")
    if not (device and mounted_on and mount_point and with_fstype):
        raise RecordError("malformed_device", line[:120])
    return unescape(device.strip()), unescape(mount_point), fstype.split(" ", 1)[0]


def _operation(line: str) -> tuple[str, OperationCounters] | None:
    """Name and counters of one line; None at the end of the table."""
    name, colon, value = line.partition(":")
    name = name.strip()
    if not colon or name.startswith("no device"):
        return None
    numbers = _numbers("operation", value)
    if len(numbers) < _COLUMNS:
        raise RecordError("malformed_operation", line.strip()[:120])
    if len(numbers) == _COLUMNS + 1 and max(numbers) < _SIGN_BIT:
        return name, OperationCounters._make(numbers)
    ops, transmissions, timeouts, sent, received, *times = numbers[:_COLUMNS]
    errors = numbers[_COLUMNS] if len(numbers) > _COLUMNS else None
    queue, rtt, execute = map(_signed, times)
    return name, OperationCounters(ops, transmissions, timeouts, sent, received, queue, rtt, execute, errors)


def _transport(words: list[str]) -> Transport:
    protocol = words[0] if words else ""
    sends_field = _SENDS_FIELD.get(protocol, len(words))
    numbers = words[1:][: sends_field + 2]
    if len(numbers) < sends_field + 2 or not all(number.isdecimal() for number in numbers):
        return Transport(protocol, None, None, None)
    connects = int(numbers[sends_field - 3]) if sends_field > 3 else None
    return Transport(protocol, connects, *map(int, numbers[sends_field:]))


def _payload(fields: dict[str, str]) -> tuple[int, int]:
    numbers = _numbers("bytes", fields.get("bytes", ""))
    if len(numbers) <= _SERVER_WRITTEN:
        raise RecordError("malformed_bytes", fields.get("bytes", "no bytes line")[:120])
    return numbers[_SERVER_READ], numbers[_SERVER_WRITTEN]


def _age(text: str) -> int:
    numbers = _numbers("age", text)
    if len(numbers) != 1:
        raise RecordError("malformed_age", text[:120])
    return numbers[0]


def _at(numbers: list[int], place: int) -> int | None:
    return numbers[place] if len(numbers) > place else None


def _numbers(what: str, text: str) -> list[int]:
    if not text.strip(_NUMBERS):
        with suppress(ValueError):  # thousands of digits
            numbers = [*map(int, text.split())]
            if not numbers or max(numbers) < _TOO_LARGE:
                return numbers
    raise RecordError(f"malformed_{what}", text.strip()[:120])


def _signed(printed: int) -> int:
    """A sum of kernel time that may be negative: the kernel prints a signed number as unsigned 64 bits."""
    return printed - (1 << 64) if printed & _SIGN_BIT else printed
