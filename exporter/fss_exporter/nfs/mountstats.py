# SPDX-License-Identifier: Apache-2.0
"""Parse `/proc/<pid>/mountstats`, the counters of the NFS client.

Every used field must be present, as a number of at most 64 bits. The parser skips fields that a later kernel appends. A
damaged record costs only the record, and the parser keeps the reason.
"""

import re
from collections.abc import Callable

from fss_exporter.errors import RecordError
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.nfs.known_records import BEFORE_AGE, SENDS_FIELD, KnownRecord
from fss_exporter.nfs.operation_tables import parse_numbers, parse_table
from fss_exporter.nfs.records import (
    MOST_OPERATIONS,
    NFS_TYPES,
    Mountstats,
    NfsRecord,
    OperationTable,
    Transport,
    options,
)

_NFS_TYPES = frozenset(name.encode() for name in NFS_TYPES)
_AGE = re.compile(r"\n\s*age:(.*)")

_SERVER_READ, _SERVER_WRITTEN = 4, 5
_INODE_REVALIDATE, _VFS_LOCK, _DELAY = 0, 16, 24
_LONGEST_HEAD = 16_384  # a device and a mount point, each of at most 4,096 bytes and escaped

_OCTAL = re.compile(r"\\([0-7]{3})")


IsWanted = Callable[[str, str, str], bool]


def decode(raw: bytes) -> str:
    r"""Return the text of a procfs file. Bytes that are not UTF-8 stay visible and distinct as `\xff`."""
    return raw.decode("utf-8", "backslashreplace")


def parse_mountstats(text: str) -> Mountstats:
    """Parse every NFS record of a mountstats text, in the order of the text. Other file systems are skipped.

    A text that ends in the middle of a line is cut off. The parser skips the last record with the reason `truncated`.
    """
    return MountstatsParser().parse(text.encode())


class MountstatsParser:
    """Parse one text after another. A record that looks like its last one takes a quick way, which gives an equal record.

    An unchanged table returns the identical operations object, so that `is` shows an idle mount.
    """

    def __init__(self) -> None:
        self._known: dict[bytes, KnownRecord] = {}  # by the text before the age

    def parse(self, text: bytes, is_wanted: IsWanted = lambda *_: True) -> Mountstats:
        """As `parse_mountstats`, without records that `is_wanted` refuses by mount point, device and file system type."""
        known_now: dict[bytes, KnownRecord] = {}
        records: list[NfsRecord] = []
        skipped: list[str] = []
        cut_off = bool(text) and not text.endswith(b"\n")
        _, *chunks = (b"\n" + text).split(b"\ndevice ")
        for position, chunk in enumerate(chunks, start=1):
            head, _, rest = chunk.partition(BEFORE_AGE)
            known = self._known.get(head)
            if known is None and not _is_nfs(chunk):
                continue
            if cut_off and position == len(chunks):
                skipped.append("truncated")
                continue
            try:
                device, mount_point, fstype = _head(chunk) if known is None else known.record[:3]
                if is_wanted(mount_point, device, fstype):
                    known_now[head] = known = _next(known, chunk, rest)
                    records.append(known.record)
            except RecordError as error:
                skipped.append(error.reason)
        self._known = known_now
        return Mountstats(tuple(records), tuple(skipped))


def _next(known: KnownRecord | None, chunk: bytes, rest: bytes) -> KnownRecord:
    """Return what is known after a record, with `rest` behind `age:`. Only a record that looks otherwise than before is parsed whole."""
    if known is not None and known.read(rest):
        return known
    return KnownRecord(_whole(chunk), rest, known)


def _whole(chunk: bytes) -> NfsRecord:
    device, mount_point, fstype = _head(chunk)
    _, newline, lines = decode(chunk).partition("\n")
    text = f"{newline}{lines}"
    age = _AGE.search(text)
    if age is None:
        raise RecordError("malformed_age", f"{device} has no age line")
    record = _counters_of(device, f"{text[: age.start()]}{text[age.end() :]}")
    return record._replace(device=device, mount_point=mount_point, fstype=fstype, age_s=_age(age[1]))


def _counters_of(device: str, text: str) -> NfsRecord:
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
    operations = parse_table(table)
    if len(operations) > MOST_OPERATIONS:
        raise RecordError("too_many_operations", f"{device} has {len(operations)} operations")
    if not {READ, WRITE} <= operations.keys():
        raise RecordError("truncated", f"{device} has no per-op statistics of READ and WRITE")
    events = parse_numbers("events", fields.get("events", ""))
    read_bytes, written_bytes = _payload(fields)
    return NfsRecord(
        device="",
        mount_point="",
        fstype="",
        age_s=0,
        options=options(fields.get("opts", "").strip()),
        revalidations=events[_INODE_REVALIDATE] if len(events) > _INODE_REVALIDATE else None,
        vfs_locks=events[_VFS_LOCK] if len(events) > _VFS_LOCK else None,
        delays=events[_DELAY] if len(events) > _DELAY else None,
        read_bytes=read_bytes,
        written_bytes=written_bytes,
        transports=tuple(transports),
        operations=OperationTable.of(operations),
    )


def _is_nfs(chunk: bytes) -> bool:
    line, _, _ = chunk.partition(b"\n")
    return b" with fstype nfs" in line and line.rpartition(b" with fstype ")[2].split(b" ", 1)[0] in _NFS_TYPES


def unescape(text: str) -> str:
    r"""Return a device or mount point without the kernel's octal escapes (`\040` is a space)."""
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), text) if "\\" in text else text


def _head(chunk: bytes) -> tuple[str, str, str]:
    """Return device, mount point and file system type of a record."""
    line = decode(chunk.partition(b"\n")[0])
    if len(line) > _LONGEST_HEAD:
        raise RecordError("malformed_device", line[:120])
    device, mounted_on, rest = line.partition(" mounted on ")
    mount_point, with_fstype, fstype = rest.rpartition(" with fstype ")
    if not (device and mounted_on and mount_point and with_fstype):
        raise RecordError("malformed_device", line[:120])
    return unescape(device.strip()), unescape(mount_point), fstype.split(" ", 1)[0]


def _transport(words: list[str]) -> Transport:
    sends_field = SENDS_FIELD.get(words[0] if words else "", len(words))
    numbers = words[1:][: sends_field + 2]
    try:
        counted = parse_numbers("transport", " ".join(numbers))
    except RecordError:
        counted = []
    if len(counted) < sends_field + 2:
        return Transport(None, None, None)
    connects = counted[sends_field - 3] if sends_field > 3 else None
    return Transport(connects, *counted[sends_field:])


def _payload(fields: dict[str, str]) -> tuple[int, int]:
    numbers = parse_numbers("bytes", fields.get("bytes", ""))
    if len(numbers) <= _SERVER_WRITTEN:
        raise RecordError("malformed_bytes", fields.get("bytes", "no bytes line")[:120])
    return numbers[_SERVER_READ], numbers[_SERVER_WRITTEN]


def _age(text: str) -> int:
    numbers = parse_numbers("age", text)
    if len(numbers) != 1:
        raise RecordError("malformed_age", text[:120])
    return numbers[0]
