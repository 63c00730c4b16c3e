"""Recordings of a real client on which known workloads ran at once, each with its own superblock, cgroup, user and name.

One folder each: mountstats `before.txt` and `after.txt`, `mountinfo.txt`, `setup.json` (superblock and RPC clients of each
workload), `resolved.txt` (name, thread, cgroup as seen once a second) and the kernel's tables, one file each:
`h-before-SYSTEM__EVENT-KEYS.txt` and `h-after-...`. Files may be compressed (`.gz`). Only one workload uses a superblock, so
mountstats of the superblock is the truth.
"""

import gzip
import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fss_exporter.model.operations import READ, WRITE
from fss_exporter.nfs.mountinfo import parse_mountinfo
from fss_exporter.nfs.mountstats import parse_mountstats
from fss_exporter.nfs.superblocks import Reading, join
from fss_kernel_counting.hist_tables import HistParser, HistRow, Key, Table, grown
from fss_kernel_counting.processes import thread_tables
from fss_kernel_counting.processes.attribution import (
    BYTES,
    KERNEL,
    UNKNOWN_WRITER,
    Attribution,
    Counted,
    Kind,
    Place,
    Thread,
    Work,
)
from fss_kernel_counting.sizes.size_counts import device_of

RECORDINGS = Path(__file__).parent / "fixtures" / "who"

_SIZES = "dev+common_pid.execname+count.buckets32768"
_CALLS = "sunrpc__rpc_stats_latency-client_id+common_pid.execname+procname"
_JOIN = "synthetic__nfswho-dv+pid"
_CLAIMS = {
    "RENAME": "nfs__nfs_rename_enter-dev+common_pid.execname",
    "OPEN": "nfs__nfs_atomic_open_enter-dev+common_pid.execname",
}
_DIRTY = "name+common_pid.execname"
Grown = list[tuple[Key, HistRow]]

READS, WRITTEN, METADATA = "READ calls", "WRITE bytes", "metadata calls"
_NO_METADATA = frozenset(("READ", "READ_PLUS", "WRITE", "COMMIT"))


@dataclass(frozen=True)
class Shares:
    """What of one kind of load was given to whom, over one workload: calls or bytes.

    Attributes:
        truth: what mountstats says.
        right: given to the workload.
        wrong: given to other processes.
        kernel: given to the kernel or to the unknown writer.
    """

    truth: int
    right: int
    wrong: int
    kernel: int

    @property
    def share(self) -> float:
        """Right share of the truth. More than the truth, such as whole pages of a short file, is no more than all."""
        return min(self.right, self.truth) / self.truth if self.truth else 1.0


@dataclass(frozen=True)
class WhoRecording:
    """A folder."""

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    def text(self, name: str) -> bytes:
        """A file of the folder, compressed or not; empty where there is none."""
        packed = self.folder / f"{name}.gz"
        if packed.exists():
            return gzip.decompress(packed.read_bytes())
        plain = self.folder / name
        return plain.read_bytes() if plain.exists() else b""

    def reading(self, moment: str) -> Reading:
        """Mountstats `before` or `after`."""
        mounts = parse_mountinfo(self.text("mountinfo.txt").decode())
        return join(parse_mountstats(self.text(f"{moment}.txt").decode()), mounts)

    @property
    def version(self) -> int:
        """NFS version of the workloads' mounts."""
        ours = set(self.devices.values())
        return max(
            4 if superblock.mounts[0].fstype == "nfs4" else 3
            for superblock in self.reading("after").superblocks
            if superblock.number in ours
        )

    @property
    def devices(self) -> dict[str, str]:
        """`major:minor` by workload."""
        devices: dict[str, str] = json.loads(self.text("setup.json"))["dev"]
        return devices

    @property
    def clients(self) -> dict[int, str]:
        """Workload by RPC client."""
        made: dict[str, list[str]] = json.loads(self.text("setup.json"))["clients_new_at_mount"]
        return {int(client.removeprefix("clnt-")): workload for workload, clients in made.items() for client in clients}

    def grown(self, stem: str) -> Grown:
        """What was added to a table."""
        old, new = (self._table(f"h-{moment}-{stem}.txt") for moment in ("before", "after"))
        return list(grown({} if old is None else old.rows, {} if new is None else new.rows, ""))

    def _table(self, name: str) -> Table | None:
        tables = HistParser().parse(self.text(name))
        return tables[0] if tables else None

    def loads(self) -> Work:
        """The load of each thread on each workload's superblock, whose place has the name of the workload."""
        places = {workload: Place(workload, 3, "weighted") for workload in self.devices}
        by_device = {device_of(number): places[workload] for workload, number in self.devices.items()}
        by_client = {client: places[workload] for client, workload in self.clients.items()}
        attribution = Attribution()
        return attribution.loads(self.counted(by_device, by_client)) + attribution.loads(Counted())

    def counted(self, by_device: Mapping[int, Place], by_client: Mapping[int, Place]) -> Counted:
        """What the tables counted."""
        reads, writes = (self._sent(procedure, by_device) for procedure in (READ, WRITE))
        dirty = [path.name for path in self.folder.glob(f"h-after-writeback__*-{_DIRTY}.txt*")]
        stem = dirty[0].removeprefix("h-after-").partition(".txt")[0] if dirty else ""
        pairs = thread_tables.dirtiers(key for key, _ in self.grown(stem))
        by_writer = [((*key, "0"), row) for key, row in self.grown(_JOIN)]
        joined = thread_tables.joined({"cnt & 32767": by_writer}, pairs, by_device.get)
        calls = thread_tables.work(thread_tables.calls(self.grown(_CALLS), by_client.get))
        claims: Work = Counter()
        for procedure, table in _CLAIMS.items():
            claims += thread_tables.work(thread_tables.claims({"": self.grown(table)}, procedure, by_device.get))
        return Counted(reads + _without_sizes(writes) + calls, thread_tables.work(joined), claims)

    def _sent(self, procedure: str, by_device: Mapping[int, Place]) -> Work:
        stem = f"nfs__nfs_initiate_{procedure.lower()}-{_SIZES}"
        tables = {"count & 32767": self.grown(f"{stem}-A"), "!(count & 32767)": self.grown(f"{stem}-B")}
        return thread_tables.work(thread_tables.sent(tables, procedure, by_device.get))

    @property
    def owners(self) -> dict[Thread, str]:
        """Workload by thread and name, from the cgroups."""
        lines = [line.split("\t") for line in self.text("resolved.txt").decode().splitlines()]
        return {
            Thread(int(tid), name): cgroup.rpartition("/")[2].partition(".")[0]
            for name, tid, cgroup, *_ in lines
            if cgroup != "-"
        }

    def shares(self) -> Iterator[tuple[str, dict[str, Shares]]]:
        """By workload: READs, bytes of WRITEs and metadata calls."""
        owners = self.owners
        given: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
        for (place, thread, kind), count in self.loads().items():
            given[place.address][_shared(kind)][_owner(thread, owners)] += count
        for workload, truth in self._truth().items():
            yield workload, {kind: _shares(workload, amount, given[workload][kind]) for kind, amount in truth.items()}

    def _truth(self) -> dict[str, dict[str, int]]:
        """What mountstats says by workload and kind."""
        old, new = (
            {superblock.number: superblock.record for superblock in self.reading(moment).superblocks}
            for moment in ("before", "after")
        )
        result = {}
        for workload, number in self.devices.items():
            before, after = old[number], new[number]
            calls = {
                name: operation.operations - before.operations[name].operations
                for name, operation in after.operations.items()
            }
            result[workload] = {
                READS: calls[READ] + calls.get("READ_PLUS", 0),
                WRITTEN: after.written_bytes - before.written_bytes,
                METADATA: sum(count for name, count in calls.items() if name not in _NO_METADATA),
            }
        return result


def load_all(root: Path = RECORDINGS) -> list[WhoRecording]:
    """Every recording below a directory, in the order of the names."""
    folders = (Path(at) for at, _, names in os.walk(root, followlinks=True) if "resolved.txt" in names)
    return [WhoRecording(folder) for folder in sorted(folders)]


def _shared(kind: Kind) -> str:
    """The load that a number belongs to. Empty for a load that no truth is known of."""
    if kind.procedure in _NO_METADATA:
        of_interest = {(READ, False): READS, (WRITE, True): WRITTEN}
        return of_interest.get((kind.procedure, kind.blocks == BYTES), "")
    return METADATA


def _owner(thread: Thread, owners: Mapping[Thread, str]) -> str:
    """Workload of a thread: by cgroup, or by the name for a thread that lived too short for a look."""
    if thread in (KERNEL, UNKNOWN_WRITER) or thread.is_worker:
        return ""
    return owners.get(thread) or thread.name


def _shares(workload: str, truth: int, given: Counter[str]) -> Shares:
    right, kernel = given[workload], given[""]
    return Shares(truth, right, given.total() - right - kernel, kernel)


def _without_sizes(writes: Work) -> Work:
    """WRITEs of workers as if all had one size: the join of these recordings was made without sizes."""
    counts: Work = Counter()
    for (place, thread, kind), count in writes.items():
        is_sized = thread.is_worker and kind.blocks != BYTES
        counts[place, thread, Kind(WRITE, 1) if is_sized else kind] += count
    return counts
