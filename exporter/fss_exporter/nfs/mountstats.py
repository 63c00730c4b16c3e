"""`/proc/<pid>/mountstats`: the NFS client's counters.

Text in, records out. What is used must be there and be a number; what is appended, unknown or new is passed over, so
that a kernel of next year costs nothing. One record that cannot be read costs that record and leaves its reason.
"""

from collections.abc import Iterator

from fss_exporter.errors import RecordError
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.nfs.escapes import options, unescape
from fss_exporter.nfs.mountinfo import NFS_TYPES
from fss_exporter.nfs.records import Mountstats, NfsRecord, OperationCounters, Transport

_SENDS_FIELD = {"tcp": 5, "udp": 2, "local": 4, "rdma": 5}
# Where `sends` stands among the numbers of an xprt line; `recvs` is next to it (net/sunrpc/xprtsock.c and
# net/sunrpc/xprtrdma/transport.c).

_SERVER_READ, _SERVER_WRITTEN = 4, 5
_VFS_LOCK = 16
_SIGN_BIT = 1 << 63


def parse_mountstats(text: str) -> Mountstats:
    """Every NFS record of a mountstats text, in its order; other file systems are passed over.

    A text that stops in the middle of a line was cut off: its last record is skipped with the reason `truncated`.
    """
    records: list[NfsRecord] = []
    skipped: list[str] = []
    cut_off = bool(text) and not text.endswith("\n")
    for chunk, last in _chunks(text):
        if cut_off and last:
            skipped.append("truncated")
            continue
        try:
            records.append(_record(chunk))
        except RecordError as error:
            skipped.append(error.reason)
    return Mountstats(tuple(records), tuple(skipped))


def _chunks(text: str) -> Iterator[tuple[str, bool]]:
    """The text of each NFS record, and whether it is the last thing in the file."""
    parts = f"\n{text}".split("\ndevice ")
    for position, part in enumerate(parts[1:], start=2):
        head, _, _ = part.partition("\n")
        if " with fstype nfs" in head and head.rpartition(" with fstype ")[2].split(" ", 1)[0] in NFS_TYPES:
            yield part, position == len(parts)


def _record(chunk: str) -> NfsRecord:
    lines = iter(chunk.split("\n"))
    device, mount_point, fstype = _head(next(lines))
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
    operations = dict(_operations(lines))
    if not {READ, WRITE} <= operations.keys():
        raise RecordError("truncated", f"{device} has no per-op statistics of READ and WRITE")
    read_bytes, written_bytes = _payload(fields)
    return NfsRecord(
        device=device,
        mount_point=mount_point,
        fstype=fstype,
        age_s=_age(fields),
        options=options(fields.get("opts", "").strip()),
        vfs_locks=_vfs_locks(fields),
        read_bytes=read_bytes,
        written_bytes=written_bytes,
        transports=tuple(transports),
        operations=operations,
    )


def _head(line: str) -> tuple[str, str, str]:
    device, mounted_on, rest = line.partition(" mounted on ")
    mount_point, with_fstype, fstype = rest.rpartition(" with fstype ")
    if not (device and mounted_on and mount_point and with_fstype):
        raise RecordError("malformed_device", line[:120])
    return unescape(device.strip()), unescape(mount_point), fstype.split(" ", 1)[0]


def _operations(lines: Iterator[str]) -> Iterator[tuple[str, OperationCounters]]:
    for line in lines:
        name, colon, value = line.strip().partition(":")
        if not colon or name.startswith("no device"):
            break
        numbers = _numbers("operation", value)
        if len(numbers) < 8:
            raise RecordError("malformed_operation", line.strip()[:120])
        ops, transmissions, timeouts, sent, received, queue, rtt, execute = numbers[:8]
        errors = numbers[8] if len(numbers) > 8 else None
        times = (_signed(queue), _signed(rtt), _signed(execute))
        yield name, OperationCounters(ops, transmissions, timeouts, sent, received, *times, errors)


def _transport(words: list[str]) -> Transport:
    protocol = words[0] if words else ""
    sends_field = _SENDS_FIELD.get(protocol, len(words))
    numbers = words[1:][sends_field : sends_field + 2]
    if len(numbers) < 2 or not all(number.isdecimal() for number in numbers):
        return Transport(protocol, None, None)
    return Transport(protocol, *map(int, numbers))


def _payload(fields: dict[str, str]) -> tuple[int, int]:
    numbers = _numbers("bytes", fields.get("bytes", ""))
    if len(numbers) <= _SERVER_WRITTEN:
        raise RecordError("malformed_bytes", fields.get("bytes", "no bytes line")[:120])
    return numbers[_SERVER_READ], numbers[_SERVER_WRITTEN]


def _age(fields: dict[str, str]) -> int:
    numbers = _numbers("age", fields.get("age", ""))
    if len(numbers) != 1:
        raise RecordError("malformed_age", fields.get("age", "no age line")[:120])
    return numbers[0]


def _vfs_locks(fields: dict[str, str]) -> int | None:
    numbers = _numbers("events", fields.get("events", ""))
    return numbers[_VFS_LOCK] if len(numbers) > _VFS_LOCK else None


def _numbers(what: str, text: str) -> list[int]:
    words = text.split()
    if not all(word.isascii() and word.isdecimal() for word in words):
        raise RecordError(f"malformed_{what}", text.strip()[:120])
    return [int(word) for word in words]


def _signed(printed: int) -> int:
    """A sum of kernel time that may be negative: the kernel prints a signed number as unsigned 64 bits."""
    return printed - (1 << 64) if printed & _SIGN_BIT else printed
