"""Durations of requests from the kernel's tables against mountstats, for `make accuracy`.

A recording is a folder: mountstats and the tables before and after a workload, plain or as .gz, `mountinfo.txt` and
`setup.json`, whose `clients` are the RPC clients of the moment by `clnt-<number>`, with number of connections and address.
"""

import errno
import gzip
import json
import os
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from tests.fss_kernel_counting.kernel import ROOT, Playback

from fss_exporter.model.operations import class_of
from fss_exporter.nfs.mountinfo import parse_mountinfo
from fss_exporter.nfs.mountstats import parse_mountstats
from fss_exporter.nfs.superblocks import Reading, Superblock, join
from fss_kernel_counting.clients import BIRTHS, CALLS
from fss_kernel_counting.durations.latency_reader import LatencyReader
from fss_kernel_counting.durations.request_durations import OF_THE_STATE_CLIENT, Durations, RequestTotals, durations
from fss_kernel_counting.hist_tables import HistParser, Table, grown
from fss_kernel_counting.instance_tables import REFUSED_TABLE
from fss_kernel_counting.tracefs import Sources

RECORDINGS = Path(__file__).parent / "fixtures" / "latency"
EXECUTE, RTT = "client_id+procname+execute.log2", "client_id+procname+rtt.log2"

# Of a sum of whole microseconds from a sum that mountstats cuts to whole milliseconds, at both ends.
LARGEST_DIFFERENCE_MS = 1.0

_HEAD = (
    "| recording, mount | requests by mountstats | in the tables | operations with other counts | largest difference of a sum, ms |",
    "| --- | ---: | ---: | ---: | ---: |",
)


class Pair(NamedTuple):
    """A superblock and the RPC client whose calls are its own.

    Attributes:
        mount: device and NFS type.
        counted: requests by mountstats.
        seen: requests in the tables.
        unequal: operations whose counts differ.
        difference_ms: largest difference of a sum of durations, of all operations and both kinds of times.
    """

    mount: str
    counted: int
    seen: int
    unequal: tuple[str, ...]
    difference_ms: float


class _Refusing(Playback):
    """A kernel whose recorded tables do not have the calls without a reply apart."""

    def append(self, path: Path, text: str) -> None:
        if "rtt" in text.partition(" if ")[2]:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), str(path))
        super().append(path, text)


@dataclass(frozen=True)
class LatencyRecording:
    """One workload."""

    folder: Path

    @property
    def name(self) -> str:
        """Of the folder."""
        return self.folder.name

    def text(self, name: str) -> str:
        """A file of the recording."""
        packed = self.folder / f"{name}.gz"
        return gzip.decompress(packed.read_bytes()).decode() if packed.exists() else (self.folder / name).read_text()

    @cached_property
    def readings(self) -> tuple[Reading, Reading]:
        """Mountstats before and after."""
        mounts = parse_mountinfo(self.text("mountinfo.txt"))
        before, after = (join(parse_mountstats(self.text(f"{when}.txt")), mounts) for when in ("before", "after"))
        return before, after

    def table(self, when: str, which: str) -> Table:
        """One table."""
        text = self.text(f"h-{when}-{which}.txt")
        # The parser takes the first value of a row, and that of the recorded table of round trips is the second.
        (table,) = HistParser().parse(
            (re.sub(r"  execute: +\d+(?=  rtt)", "", text) if which == RTT else text).encode()
        )
        return table

    def growth(self, which: str) -> Mapping[tuple[str, str], Durations]:
        """What was added to a table, by RPC client and procedure."""
        return durations(grown(self.table("before", which).rows, self.table("after", which).rows, ""))

    def truth(self) -> Iterator[tuple[Superblock, dict[str, tuple[int, int, int]]]]:
        """Requests, and milliseconds of execute and rtt, by superblock and operation, as mountstats has them."""
        before, after = (
            {superblock.number: superblock for superblock in reading.superblocks} for reading in self.readings
        )
        for number, now in after.items():
            truth: dict[str, tuple[int, int, int]] = {}
            for operation, counters in now.record.operations.items():
                old = before[number].record.operations[operation]
                if operation not in OF_THE_STATE_CLIENT and counters.operations > old.operations:
                    truth[operation] = (
                        counters.operations - old.operations,
                        counters.execute_ms - old.execute_ms,
                        counters.rtt_ms - old.rtt_ms,
                    )
            yield now, truth

    def pairs(self) -> Iterator[Pair]:
        """Each superblock with the RPC client whose calls are most like its own."""
        execute, rtt = self.growth(EXECUTE), self.growth(RTT)
        clients: dict[str, dict[str, int]] = defaultdict(dict)
        for (client, procedure), row in execute.items():
            clients[client][procedure] = row.calls
        for superblock, operations in self.truth():
            counts = {operation: count for operation, (count, _, _) in operations.items()}
            mount = f"{superblock.key.address}:{superblock.key.export} ({superblock.record.fstype})"
            yield min(
                (
                    Pair(
                        mount,
                        sum(counts.values()),
                        sum(seen.values()),
                        _unequal(counts, seen),
                        _largest_difference_ms(client, operations, (execute, rtt)),
                    )
                    for client, seen in clients.items()
                ),
                key=lambda pair: (len(pair.unequal), pair.difference_ms),
            )

    def replayed(self) -> RequestTotals:
        """What the agent makes of it, mapping RPC clients by their addresses."""
        before, after = self.readings
        readings = iter((before, before, after, after))
        kernel, sysfs = _Refusing(), tempfile.TemporaryDirectory()
        with sysfs as directory:
            for client, (_, address, *_) in json.loads(self.text("setup.json"))["clients"].items():
                place = Path(directory) / "kernel/sunrpc/rpc-clients" / client / "switch/xprt-1-tcp"
                place.mkdir(parents=True)
                (place / "dstaddr").write_text(f"{address}\n")
            for number, client in self.links():
                link = Path(directory) / "fs/nfs" / number / "nfs_client"
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(Path(directory) / "kernel/sunrpc/rpc-clients" / client)
            sources = Sources(tracefs=(ROOT,), sysfs=Path(directory), files=kernel)
            reader = LatencyReader(lambda: next(readings), sources)
            for when in ("before", "after"):
                kernel.now = {CALLS: self.text(f"h-{when}-{EXECUTE}.txt"), BIRTHS: self.text(f"h-{when}-clnt.txt")}
                reader.loop.run_once()
            return reader.totals

    def links(self) -> Iterator[tuple[str, str]]:
        """The links of newer kernels from a superblock to its RPC client, from a listing of /sys/fs/nfs."""
        listing = self.folder / "sysfs-nfs.txt"
        return superblock_links(listing.read_text()) if listing.exists() else iter(())

    def by_class(self) -> dict[tuple[str, str], tuple[int, int, int]]:
        """Requests, milliseconds and number of sums by address and class, as mountstats has them."""
        sums: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
        for superblock, operations in self.truth():
            for operation, (count, milliseconds, _) in operations.items():
                row = sums[superblock.key.address, class_of(operation)]
                row[0] += count
                row[1] += milliseconds
                row[2] += 1
        return {place: (row[0], row[1], row[2]) for place, row in sums.items()}


def superblock_links(listing: str) -> Iterator[tuple[str, str]]:
    """Superblock and RPC client of every link in a listing, whatever command made it."""
    number, clients_seen = "", set[str]()
    for line in listing.splitlines():
        if match := re.search(r"(?<![\d:])0:\d+(?![\d:]\d)", line):
            number = match[0]
        if (link := re.search(r"\bnfs_client\b.*\b(clnt-\d+)", line)) and number and number not in clients_seen:
            clients_seen.add(number)
            yield number, link[1]


def load_all(root: Path = RECORDINGS) -> list[LatencyRecording]:
    """Every recording below a directory, by name."""
    return [LatencyRecording(path.parent) for path in sorted(root.glob(f"**/h-after-{EXECUTE}.txt*"))]


def tables(root: Path = RECORDINGS) -> str:
    """A line for each superblock of every recording below a directory; empty where there is none."""
    recordings = load_all(root)
    if not recordings:
        return ""
    title = "Latency: requests and durations in the kernel's tables against mountstats, without what keeps a lease."
    return "\n".join((title, "", *_HEAD, *(line for recording in recordings for line in _lines(recording))))


def misses(root: Path = RECORDINGS) -> Iterator[str]:
    """What does not agree with mountstats."""
    for recording in load_all(root):
        for pair in recording.pairs():
            if pair.unequal or pair.difference_ms > LARGEST_DIFFERENCE_MS:
                what = ", ".join(pair.unequal) or f"{pair.difference_ms:.2f} ms"
                yield f"{recording.name}, {pair.mount}: {what}"
        yield from _replay_misses(recording)


def _replay_misses(recording: LatencyRecording) -> Iterator[str]:
    replayed = recording.replayed()
    failed = {check: count for check, count in replayed.failed.items() if check != REFUSED_TABLE}  # none was recorded
    if failed:
        yield f"{recording.name}: checks of the agent failed: {failed}"
    truth = recording.by_class()
    for place in truth.keys() | replayed.requests.keys():
        count, milliseconds, sums = truth.get(place, (0, 0, 0))
        seen = replayed.requests[place].finished if place in replayed.requests else Durations({}, 0)
        if seen.calls != count or abs(seen.microseconds / 1000 - milliseconds) > sums * LARGEST_DIFFERENCE_MS:
            yield f"{recording.name}, {' '.join(place)}: histogram {seen.calls}, mountstats {count}"


def _largest_difference_ms(
    client: str,
    operations: Mapping[str, tuple[int, int, int]],
    tables: tuple[Mapping[tuple[str, str], Durations], ...],
) -> float:
    return max(
        (
            abs(table[client, operation].microseconds / 1000 - figures[column])
            for column, table in enumerate(tables, start=1)
            for operation, figures in operations.items()
            if (client, operation) in table
        ),
        default=0.0,
    )


def _unequal(counted: Mapping[str, int], seen: Mapping[str, int]) -> tuple[str, ...]:
    return tuple(
        sorted(operation for operation in counted.keys() | seen.keys() if counted.get(operation) != seen.get(operation))
    )


def _lines(recording: LatencyRecording) -> Iterator[str]:
    for pair in recording.pairs():
        yield (
            f"| {recording.name}, {pair.mount} | {pair.counted} | {pair.seen} | {len(pair.unequal)} "
            f"| {pair.difference_ms:.2f} |"
        )
