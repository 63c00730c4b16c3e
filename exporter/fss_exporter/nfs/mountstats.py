# SPDX-License-Identifier: Apache-2.0
"""Parse `/proc/<pid>/mountstats`, the counters of the NFS client.

Every used field must be present, as a number of at most 64 bits. The parser skips fields that a later kernel appends. A
damaged record costs only the record, and the parser keeps the reason.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial

from fss_exporter.errors import RecordError
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.nfs.records import (
    MOST_OPERATIONS,
    NFS_TYPES,
    Mountstats,
    NfsRecord,
    OperationCounters,
    Transport,
    options,
)

# Place of `sends` among the numbers of an xprt line. `recvs` is the next number. `connect_count` stands three places before
# `sends`, for protocols with connections (net/sunrpc/xprtsock.c and net/sunrpc/xprtrdma/transport.c).
_SENDS_FIELD = {"tcp": 5, "udp": 2, "local": 4, "rdma": 5}

_AGE = re.compile(r"\n\s*age:(.*)")
_TRANSPORT, _TABLE = "\txprt:\t", "\tper-op statistics"

# Ends with the seconds since the last use of a connection, which grow on an idle mount. Nothing here reads them.
_IDLE_SECONDS = re.compile(r"(\txprt:\t(?:(?:tcp|rdma)(?: \d+){4}|local(?: \d+){3})) -?\d+")

_SERVER_READ, _SERVER_WRITTEN = 4, 5
_INODE_REVALIDATE, _VFS_LOCK = 0, 16
_COLUMNS = 8
_COUNTERS = len(OperationCounters._fields)
_WORDS = 1 + _COUNTERS
_NUMBERS = " \t0123456789"
_SIGN_BIT, _TOO_LARGE = 1 << 63, 1 << 64
_LONGEST_NUMBER = 20
_LONGEST_HEAD = 16_384  # a device and a mount point, each of at most 4,096 bytes and escaped

_OCTAL = re.compile(r"\\([0-7]{3})")
_OPERATION_NAME = re.compile(r"[A-Z0-9_]{1,40}")


IsWanted = Callable[[str, str, str], bool]


def parse_mountstats(text: str) -> Mountstats:
    """Parse every NFS record of a mountstats text, in the order of the text. Other file systems are skipped.

    A text that ends in the middle of a line is cut off. The parser skips the last record with the reason `truncated`.
    """
    return MountstatsParser().parse(text)


class MountstatsParser:
    """Parse one text after another, and parse again only records that changed, because most mounts are idle most of the time.

    An unchanged record returns the identical operations object, so that `is` shows an idle mount.
    """

    def __init__(self) -> None:
        self._records: dict[str, NfsRecord] = {}  # by text without head, age and idle seconds

    def parse(self, text: str, is_wanted: IsWanted = lambda *_: True) -> Mountstats:
        """As `parse_mountstats`, without records that `is_wanted` refuses by mount point, device and file system type."""
        records_now: dict[str, NfsRecord] = {}
        records: list[NfsRecord] = []
        skipped: list[str] = []
        cut_off = bool(text) and not text.endswith("\n")
        for chunk, last in _chunks(text):
            if cut_off and last:
                skipped.append("truncated")
                continue
            try:
                head = chunk.partition("\n")[0]
                device, mount_point, fstype = _head(head)
                if is_wanted(mount_point, device, fstype):
                    records.append(self._record(device, mount_point, fstype, chunk[len(head) :], records_now))
            except RecordError as error:
                skipped.append(error.reason)
        self._records = records_now
        return Mountstats(tuple(records), tuple(skipped))

    def _record(
        self, device: str, mount_point: str, fstype: str, text: str, records_now: dict[str, NfsRecord]
    ) -> NfsRecord:
        age = _AGE.search(text)
        if age is None:
            raise RecordError("malformed_age", f"{device} has no age line")
        rest = f"{text[: age.start()]}{text[age.end() :]}"
        counters = _without_idle_seconds(rest)
        record = records_now[counters] = (
            records_now.get(counters) or self._records.get(counters) or _record(device, rest)
        )
        return record._replace(device=device, mount_point=mount_point, fstype=fstype, age_s=_age(age[1]))


def _without_idle_seconds(text: str) -> str:
    """Return a record without what grows on an idle mount. Every tick passes here, so the pattern sees the lines of transports only."""
    begin = text.find(_TRANSPORT)
    end = text.find(_TABLE, begin)
    if begin < 0 or end < 0:
        return text
    # A split keeps what is in the group of the pattern, and takes a third of the time of `sub`.
    return "".join((text[:begin], *_IDLE_SECONDS.split(text[begin:end]), text[end:]))


def _record(device: str, text: str) -> NfsRecord:
    """Parse a record without head and age."""
    head, _, table = text.partition("per-op statistics")
    fields: dict[str, str] = {}
    transports: list[Transport] = []
    for line in head.split("\n"):
        name, _, value = line.strip().partition(":")
        if name == "xprt":
            transports.append(_transport(value.split()))
        else:
            fields.setdefault(name, value)
    operations = _whole_table(table) or dict(_operations(table))
    if len(operations) > MOST_OPERATIONS:
        raise RecordError("too_many_operations", f"{device} has {len(operations)} operations")
    if not {READ, WRITE} <= operations.keys():
        raise RecordError("truncated", f"{device} has no per-op statistics of READ and WRITE")
    events = _numbers("events", fields.get("events", ""))
    read_bytes, written_bytes = _payload(fields)
    return NfsRecord(
        device="",
        mount_point="",
        fstype="",
        age_s=0,
        options=options(fields.get("opts", "").strip()),
        revalidations=events[_INODE_REVALIDATE] if len(events) > _INODE_REVALIDATE else None,
        vfs_locks=events[_VFS_LOCK] if len(events) > _VFS_LOCK else None,
        read_bytes=read_bytes,
        written_bytes=written_bytes,
        transports=tuple(transports),
        operations=operations,
    )


def _whole_table(table: str) -> dict[str, OperationCounters]:
    """Parse a whole table of operations in the layout of kernel 5.3 and later. Empty for any other layout."""
    words = table.split()
    names = _names(tuple(words[::_WORDS]))
    del words[::_WORDS]
    if len(words) != len(names) * _COUNTERS or _odd_number(table, words):
        return {}
    if max(map(len, words), default=0) > _LONGEST_NUMBER:
        return {}
    try:
        numbers = [*map(int, words)]
    except ValueError:
        return {}
    if max(numbers, default=_SIGN_BIT) >= _SIGN_BIT:
        return {}
    return dict(zip(names, _rows(numbers), strict=True))


_new_counters = partial(tuple.__new__, OperationCounters)


def _rows(numbers: list[int]) -> Iterator[OperationCounters]:
    """Convert the numbers of a table to counters, nine numbers to an operation.

    Tables are most of the work of a tick, so no Python code runs for each row. `zip` takes nine numbers at a time from a shared
    iterator. `tuple.__new__` does the work of `OperationCounters._make` without counting the numbers again. Both together
    save a third of the time of a table.
    """
    one_iterator = iter(numbers)
    return map(_new_counters, zip(*[one_iterator] * _COUNTERS, strict=True))


@lru_cache(maxsize=64)
def _names(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return names of operations without their colons. Empty if a word is no name. The mounts of a host have few lists."""
    names = tuple(word[:-1] for word in words if word.endswith(":") and _OPERATION_NAME.fullmatch(word[:-1]))
    return names if len(names) == len(words) <= MOST_OPERATIONS else ()


def _odd_number(table: str, words: Iterable[str]) -> bool:
    """Whether a text may have a number in a form that only Python accepts: `+1`, `-1`, `1_0`, digits of other scripts."""
    return not table.isascii() or "+" in table or "-" in table or ("_" in table and not "".join(words).isdecimal())


def _operations(table: str) -> Iterator[tuple[str, OperationCounters]]:
    for line in table.split("\n")[1:]:
        operation = _operation(line)
        if operation is None:
            return
        yield operation


def _chunks(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the text of each NFS record, and whether the record ends the file."""
    parts = f"\n{text}".split("\ndevice ")
    for position, part in enumerate(parts[1:], start=2):
        head, _, _ = part.partition("\n")
        if " with fstype nfs" in head and head.rpartition(" with fstype ")[2].split(" ", 1)[0] in NFS_TYPES:
            yield part, position == len(parts)


def unescape(text: str) -> str:
    r"""Return a device or mount point without the kernel's octal escapes (`\040` is a space)."""
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), text) if "\\" in text else text


def _head(line: str) -> tuple[str, str, str]:
    if len(line) > _LONGEST_HEAD:
        raise RecordError("malformed_device", line[:120])
    device, mounted_on, rest = line.partition(" mounted on ")
    mount_point, with_fstype, fstype = rest.rpartition(" with fstype ")
    if not (device and mounted_on and mount_point and with_fstype):
        raise RecordError("malformed_device", line[:120])
    return unescape(device.strip()), unescape(mount_point), fstype.split(" ", 1)[0]


def _operation(line: str) -> tuple[str, OperationCounters] | None:
    """Parse name and counters of a line. None at the end of the table."""
    name, colon, value = line.partition(":")
    name = name.strip()
    if not colon or name.startswith("no device"):
        return None
    if not _OPERATION_NAME.fullmatch(name):
        raise RecordError("malformed_operation", line.strip()[:120])
    numbers = _numbers("operation", value)
    if len(numbers) < _COLUMNS:
        raise RecordError("malformed_operation", line.strip()[:120])
    ops, transmissions, timeouts, sent, received, *times = numbers[:_COLUMNS]
    errors = numbers[_COLUMNS] if len(numbers) > _COLUMNS else None
    queue, rtt, execute = map(_signed, times)
    return name, OperationCounters(ops, transmissions, timeouts, sent, received, queue, rtt, execute, errors)


def _transport(words: list[str]) -> Transport:
    sends_field = _SENDS_FIELD.get(words[0] if words else "", len(words))
    numbers = words[1:][: sends_field + 2]
    try:
        counted = _numbers("transport", " ".join(numbers))
    except RecordError:
        counted = []
    if len(counted) < sends_field + 2:
        return Transport(None, None, None)
    connects = counted[sends_field - 3] if sends_field > 3 else None
    return Transport(connects, *counted[sends_field:])


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


def _numbers(what: str, text: str) -> list[int]:
    if not text.strip(_NUMBERS):
        words = text.split()
        if max(map(len, words), default=0) <= _LONGEST_NUMBER:
            numbers = [*map(int, words)]
            if not numbers or max(numbers) < _TOO_LARGE:
                return numbers
    raise RecordError(f"malformed_{what}", text.strip()[:120])


def _signed(printed: int) -> int:
    """Return a sum of kernel time as a signed number. The kernel prints a negative sum as unsigned 64 bits."""
    return printed - (1 << 64) if printed & _SIGN_BIT else printed
