"""The decoder of packet captures, which is the truth of the kernel lab."""

import itertools
import struct
from pathlib import Path

import pytest
from lab.kernels.wire import Call, calls

CLIENT, SERVER = bytes((10, 80, 1, 2)), bytes((10, 80, 1, 10))
NFS, NLM, MOUNT = 100003, 100021, 100005
READ, WRITE, LOOKUP = 6, 7, 3


def rpc(program: int, procedure: int, arguments: bytes = b"", *, kind: int = 0, version: int = 3) -> bytes:
    """A call in one record, with a machine name in the credential."""
    credential = struct.pack(">II", 1, 8) + b"hostname"
    message = (
        struct.pack(">6I", 77, kind, 2, program, version, procedure) + credential + struct.pack(">II", 0, 0) + arguments
    )
    return struct.pack(">I", 0x80000000 | len(message)) + message


def transfer(procedure: int, size: int) -> bytes:
    handle = struct.pack(">I", 5) + b"fhand" + bytes(3)
    return rpc(NFS, procedure, handle + struct.pack(">QI", 4096, size) + (bytes(size) if procedure == WRITE else b""))


class Capture:
    def __init__(self) -> None:
        self.frames: list[bytes] = []

    def add(self, sequence: int, payload: bytes, *, flags: int = 0x10, back: bool = False) -> None:
        source, target = (SERVER, CLIENT) if back else (CLIENT, SERVER)
        ports = (2049, 800) if back else (800, 2049)
        tcp = struct.pack(">HHIIBBHHH", *ports, sequence % 2**32, 0, 5 << 4, flags, 0, 0, 0) + payload
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0) + source + target
        self.frames.append(bytes(12) + b"\x08\x00" + ip + tcp)

    def write(self, path: Path) -> Path:
        head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1)
        path.write_bytes(
            head + b"".join(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame for frame in self.frames)
        )
        return path


def test_calls_are_found_with_the_size_that_counts_however_tcp_cuts_and_orders_them(tmp_path: Path) -> None:
    stream = rpc(NFS, LOOKUP) + transfer(READ, 1 << 20) + transfer(WRITE, 40_000) + rpc(NLM, 2) + rpc(MOUNT, 1)
    capture, begin = Capture(), 2**32 - 100  # the sequence numbers wrap
    capture.add(begin - 1, b"", flags=2)
    cuts = [0, 3, 90, 500, 20_000, 41_000, len(stream)]
    parts = [(begin + start, stream[start:end]) for start, end in itertools.pairwise(cuts)]
    for sequence, payload in (parts[0], parts[2], parts[1], *parts[3:]):
        capture.add(sequence, payload)
    capture.add(*parts[3])  # sent again
    capture.add(5, rpc(NFS, READ, kind=1), back=True)

    seen = calls(capture.write(tmp_path / "packets.pcap"))

    address = "10.80.1.10"
    assert seen == [
        Call(address, "LOOKUP"),
        Call(address, "READ", 1 << 20),
        Call(address, "WRITE", 40_000),
        Call(address, "NLM_LOCK"),
    ]
    assert [call.io_operations for call in seen] == [2, 33, 6, 4]


def test_a_capture_with_a_gap_proves_nothing(tmp_path: Path) -> None:
    capture, stream = Capture(), rpc(NFS, LOOKUP) * 3
    capture.add(99, b"", flags=2)
    capture.add(100, stream[:50])
    capture.add(180, stream[80:])

    with pytest.raises(ValueError, match="gap"):
        calls(capture.write(tmp_path / "packets.pcap"))
