"""NFSv3 and NLM calls of a packet capture, with their cost. A capture is the truth, so a lost packet is an error.

Formats: pcap (libpcap), ONC RPC over TCP (RFC 5531), NFSv3 (RFC 1813), NLM version 4 (Open Group, XNFS).
"""

import struct
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from fss_exporter.model.cost_overrides import NO_OVERRIDES
from fss_exporter.model.operations import FIXED_COSTS, READ, WRITE, read_io_operations, write_io_operations

_NFS_PROCEDURES: Final = (
    "NULL GETATTR SETATTR LOOKUP ACCESS READLINK READ WRITE CREATE MKDIR SYMLINK MKNOD REMOVE RMDIR RENAME LINK READDIR READDIRPLUS "
    "FSSTAT FSINFO PATHCONF COMMIT"
).split()
_NLM_PROCEDURES: Final = {1: "TEST", 2: "LOCK", 3: "CANCEL", 4: "UNLOCK", 15: "GRANTED_RES", 23: "FREE_ALL"}
_NFS, _NLM = 100003, 100021
_LAST_FRAGMENT: Final = 0x80000000


class Call(NamedTuple):
    """A call on the wire. A retransmission is a call of its own."""

    address: str  # of the server
    operation: str  # NFS procedure, or `NLM_` and a lock procedure
    size: int = 0  # bytes asked for by READ or sent by WRITE

    @property
    def io_operations(self) -> float:
        """Cost by the white paper."""
        if self.operation == READ:
            return read_io_operations(self.size)
        if self.operation == WRITE:
            return write_io_operations(self.size)
        if self.operation.startswith("NLM_"):
            return NO_OVERRIDES.lock_cost(self.operation.removeprefix("NLM_"))
        return FIXED_COSTS.get(self.operation, 0.0)


def calls(path: Path) -> list[Call]:
    """Return the calls of the clients in a capture of Ethernet frames.

    Raises:
        ValueError: the capture lacks bytes, so that it proves nothing.
    """
    streams: dict[tuple[bytes, bytes], _Stream] = defaultdict(_Stream)
    sent = []
    for frame in _frames(path.read_bytes()):
        if frame[12:14] != b"\x08\x00" or frame[23] != 6:
            continue
        length, ip_header = int.from_bytes(frame[16:18], "big"), (frame[14] & 15) * 4
        tcp = frame[14 + ip_header : 14 + length if length else None]
        sequence, header, flags = int.from_bytes(tcp[4:8], "big"), (tcp[12] >> 4) * 4, tcp[13]
        stream = streams[frame[26:30] + tcp[:2], frame[30:34] + tcp[2:4]]
        stream.add(sequence, tcp[header:], is_syn=bool(flags & 2))
        address = ".".join(map(str, frame[30:34]))
        sent += [call for record in stream.records() if (call := _call(address, record))]
    if any(stream.has_gap for stream in streams.values()):
        raise ValueError(f"{path}: the capture has a gap")
    return sent


def _frames(raw: bytes) -> Iterator[bytes]:
    at = 24
    while at + 16 <= len(raw):
        captured, length = struct.unpack_from("<II", raw, at + 8)
        if captured != length:
            raise ValueError("a frame is cut off")
        yield raw[at + 16 : at + 16 + captured]
        at += 16 + captured


class _Stream:
    """One direction of a TCP connection, put in order."""

    def __init__(self) -> None:
        self._next: int | None = None
        self._later: dict[int, bytes] = {}
        self._bytes = bytearray()
        self._record = bytearray()

    @property
    def has_gap(self) -> bool:
        return bool(self._later)

    def add(self, sequence: int, payload: bytes, *, is_syn: bool) -> None:
        if is_syn:
            self._next = (sequence + 1) % 2**32
            self._later.clear()
            self._bytes.clear()
            self._record.clear()
            return
        if not payload:
            return
        if self._next is None:
            self._next = sequence
        ahead = (sequence - self._next) % 2**32
        if ahead >= 2**31:  # sent again
            payload, ahead = payload[2**32 - ahead :], 0
        if ahead:
            self._later[sequence] = payload
            return
        while payload:
            self._bytes += payload
            self._next = (self._next + len(payload)) % 2**32
            payload = self._later.pop(self._next, b"")

    def records(self) -> Iterator[bytes]:
        """Yield the whole RPC messages so far."""
        while len(self._bytes) >= 4:
            mark = int.from_bytes(self._bytes[:4], "big")
            end = 4 + (mark & ~_LAST_FRAGMENT)
            if len(self._bytes) < end:
                return
            self._record += self._bytes[4:end]
            del self._bytes[:end]
            if mark & _LAST_FRAGMENT:
                yield bytes(self._record)
                self._record.clear()


def _call(address: str, record: bytes) -> Call | None:
    """Return the call of an RPC message. None for replies and other programs."""
    if len(record) < 24:
        return None
    kind, _, program, version, procedure = struct.unpack_from(">5I", record, 4)
    if kind != 0:
        return None
    if program == _NLM:
        name = _NLM_PROCEDURES.get(procedure)
        return None if name is None else Call(address, f"NLM_{name}")
    if program != _NFS or version != 3:
        return None
    name = _NFS_PROCEDURES[procedure]
    if name not in (READ, WRITE):
        return Call(address, name)
    at = 24
    for _ in ("credential", "verifier"):
        at += 8 + _padded(int.from_bytes(record[at + 4 : at + 8], "big"))
    at += 4 + _padded(int.from_bytes(record[at : at + 4], "big"))  # the file handle, then 8 bytes of offset
    return Call(address, name, int.from_bytes(record[at + 8 : at + 12], "big"))


def _padded(length: int) -> int:
    return (length + 3) & ~3
