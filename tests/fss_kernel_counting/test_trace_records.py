"""Binary pages of a trace, as the kernel writes them."""

import errno
import os
import struct
from pathlib import Path

import pytest

from fss_kernel_counting.hist_tables import Lost
from fss_kernel_counting.trace_records import Record, RecordedEvents
from fss_kernel_counting.tracefs import OF_AGENT, Files, Tracefs, Unavailable

ROOT = Path("/fake/tracing")
EVENT = "cgroup/cgroup_attach_task"
FORMAT = """name: cgroup_attach_task
ID: 310
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:int dst_root;\toffset:8;\tsize:4;\tsigned:1;
\tfield:int dst_level;\toffset:12;\tsize:4;\tsigned:1;
\tfield:u64 dst_id;\toffset:16;\tsize:8;\tsigned:0;
\tfield:int pid;\toffset:24;\tsize:4;\tsigned:1;
\tfield:__data_loc char[] dst_path;\toffset:28;\tsize:4;\tsigned:0;
\tfield:__data_loc char[] comm;\toffset:32;\tsize:4;\tsigned:0;

print fmt: "dst_root=%d"
"""
HEADER = """\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;
"""
WANTED = {EVENT: frozenset(("common_pid", "dst_root", "dst_path", "pid"))}


def moved(pid: int, path: bytes, number: int = 310) -> bytes:
    """A record of `cgroup_attach_task`."""
    text = path + b"\0"
    raw = struct.pack("<HBBiiiQiII", number, 0, 0, 1, 0, 2, 77, pid, len(text) << 16 | 36, 3 << 16 | (36 + len(text)))
    raw += text + b"x}\0"
    return raw + bytes(-len(raw) % 4)


def record(delta: int, raw: bytes) -> bytes:
    """A record with its head. A long record has its length in a word of its own."""
    if len(raw) // 4 <= 28:
        return struct.pack("<I", len(raw) // 4 | delta << 5) + raw
    return struct.pack("<II", delta << 5, len(raw) + 4) + raw


def page(at: int, *records: bytes, missed: bool = False) -> bytes:
    data = b"".join(records)
    return (struct.pack("<QQ", at, len(data) | missed << 31) + data).ljust(4096, b"\0")


class TraceFiles(Files):
    """A tracefs with one event and two CPUs."""

    def __init__(self) -> None:
        self.waiting: dict[int, list[bytes]] = {0: [], 1: []}
        self.settings: dict[str, str] = {}
        self.switches: dict[Path, str] = {}
        self.present: set[str] = set()
        self.open_pipes = 0
        self.offline: set[int] = set()

    def text(self, path: Path) -> str:
        if path == ROOT / "events/header_page":
            return HEADER
        if path == ROOT / "events" / EVENT / "format":
            return FORMAT
        if path in self.switches:
            return f"{self.switches[path]}\n"
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))

    def mkdir(self, path: Path) -> None:
        self.present.add(path.name)

    def rmdir(self, path: Path) -> None:
        if self.open_pipes:
            raise OSError(errno.EBUSY, "busy")
        if path.name not in self.present:
            raise FileNotFoundError
        self.present.remove(path.name)

    def write(self, path: Path, text: str) -> None:
        self.settings[path.name] = text
        self.switches[path] = text

    def all(self, root: Path, pattern: str) -> list[Path]:
        return [root / pattern.replace("*", str(cpu)) for cpu in self.waiting]

    def open_pipe(self, path: Path) -> int:
        self.open_pipes += 1
        return int(path.parent.name.removeprefix("cpu"))

    def close(self, _: int) -> None:
        self.open_pipes -= 1

    def pages(self, handle: int, _: int, most: int) -> list[bytes]:
        if handle in self.offline:
            raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))
        ready, self.waiting[handle] = self.waiting[handle][:most], []
        return ready


@pytest.fixture
def files() -> TraceFiles:
    return TraceFiles()


@pytest.fixture
def events(files: TraceFiles) -> RecordedEvents:
    return RecordedEvents(Tracefs(ROOT, files), OF_AGENT.births, WANTED, 128)


def test_records_of_all_cpus_come_in_the_order_of_time(files: TraceFiles, events: RecordedEvents) -> None:
    files.waiting[0] = [
        page(1000, record(0, moved(5, b"/a")), record(50, moved(7, b"/c"))),
        page(3000, record(1, moved(8, b"/d"))),
    ]
    files.waiting[1] = [page(1020, record(10, moved(6, b"/b" * 80)))]

    records = events.read()

    assert [(record.at, record.values["pid"]) for record in records] == [(1000, 5), (1030, 6), (1050, 7), (3001, 8)]
    assert records[0] == Record(1000, EVENT, {"common_pid": 1, "dst_root": 0, "pid": 5, "dst_path": "/a"})
    assert records[1].values["dst_path"] == "/b" * 80
    assert not events.lost
    assert events.read() == []


def test_times_that_are_far_apart_padding_and_other_events_are_read_over(
    files: TraceFiles, events: RecordedEvents
) -> None:
    extend = struct.pack("<II", 30 | 3 << 5, 2)  # 2 << 27 and 3 nanoseconds later
    stamp = struct.pack("<II", 31 | 9 << 5, 1)  # at 1 << 27 and 9
    discarded = struct.pack("<II", 29 | 4 << 5, 12) + bytes(8)
    other, end = record(1, moved(9, b"/x", number=311)), struct.pack("<I", 29)
    files.waiting[0] = [
        page(100, extend, record(1, moved(5, b"/a")), discarded, other, stamp, record(0, moved(6, b"/b")), end)
    ]

    assert [(event.at, event.values["pid"]) for event in events.read()] == [
        ((1 << 27) + 9, 6),
        (100 + (2 << 27) + 4, 5),
    ]


def test_records_that_were_overwritten_are_known_for_one_look(files: TraceFiles, events: RecordedEvents) -> None:
    files.waiting[1] = [page(1000, record(0, moved(5, b"/a")), missed=True)]

    assert len(events.read()) == 1
    assert events.lost
    events.read()
    assert not events.lost


@pytest.mark.parametrize("damaged", [b"", b"\x01" * 40, page(1, struct.pack("<I", 0))[:20]])
def test_a_damaged_page_costs_its_look_only(damaged: bytes, files: TraceFiles, events: RecordedEvents) -> None:
    files.waiting[0] = [damaged]

    with pytest.raises(Lost):
        events.read()

    files.waiting[0] = [page(1, record(0, moved(5, b"/a")))]
    assert len(events.read()) == 1


def test_an_instance_that_is_gone_is_known(files: TraceFiles, events: RecordedEvents) -> None:
    files.offline = {0, 1}

    with pytest.raises(Lost):
        events.read()


def test_a_cpu_that_was_never_online_has_no_records_and_costs_none(files: TraceFiles, events: RecordedEvents) -> None:
    """tracefs has a folder for each CPU that the machine may get, and a buffer for each that it has."""
    files.waiting[0] = [page(1, record(0, moved(5, b"/a")))]
    files.offline = {1}
    assert [record.values["pid"] for record in events.read()] == [5]

    files.offline = set()
    files.waiting[1] = [page(2, record(0, moved(6, b"/a")))]
    assert [record.values["pid"] for record in events.read()] == [6]


def test_the_buffer_is_small_and_the_end_leaves_nothing(files: TraceFiles, events: RecordedEvents) -> None:
    expected = {"buffer_size_kb": "128", "enable": "1", "tracing_on": "1"}
    assert files.settings == expected
    assert files.present == {OF_AGENT.births}

    events.end()

    assert files.present == set()


def test_a_kernel_without_a_field_is_refused_and_nothing_is_left(files: TraceFiles) -> None:
    with pytest.raises(Unavailable, match="no event cgroup/cgroup_attach_task with the fields nowhere"):
        RecordedEvents(Tracefs(ROOT, files), OF_AGENT.births, {EVENT: frozenset(("nowhere",))}, 128)

    assert files.present == set()


@pytest.mark.parametrize("switch", ["tracing_on", f"events/{EVENT}/enable"])
def test_a_recording_that_another_program_switched_off_is_said_and_switched_on_again(
    files: TraceFiles, events: RecordedEvents, switch: str
) -> None:
    """As `trace-cmd reset -a` does, in every instance."""
    path = ROOT / "instances" / OF_AGENT.births / switch

    def was_off() -> bool:
        events.read()
        return events.was_off

    assert not was_off()
    files.switches[path] = "0"
    assert was_off()
    assert files.switches[path] == "1"
    assert not was_off()
