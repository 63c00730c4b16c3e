"""Assign the counts of one look at the tables to threads.

A thread that reads, or that writes with O_DIRECT or O_SYNC, sends its own calls. Workers of the kernel send delayed
write-back, RENAME and the OPEN of NFSv4. Other tables then name the process behind the worker: a *claim*. Unclaimed work
stays with the kernel, unclaimed write-back with the unknown writer.

A process may also have the name kworker. The name only decides whether work can be claimed. `identities.py` decides
whether a thread belongs to the kernel.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Generic, NamedTuple, TypeVar

from fss_exporter.model.cost_overrides import NO_OVERRIDES, CostOverrides
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.model.service_table import CostRule
from fss_exporter.nfs.superblocks import Superblock
from fss_kernel_counting.sizes.size_counts import NO_TRANSFERS, CountedTransfers, device_of, exact_cost

_NFS4: Final = "nfs4"


class Thread(NamedTuple):
    """A thread as the kernel's tables name it."""

    number: int  # thread number of the host; 0 for `KERNEL` and `UNKNOWN_WRITER`
    name: str  # up to 15 bytes, chosen by the process itself

    @property
    def is_worker(self) -> bool:
        """Whether the name is that of the kernel's workers, which send write-back and asynchronous calls."""
        return self.name.startswith("kworker")


KERNEL: Final = Thread(0, "kernel")  # Work of the kernel's own threads that no table gives to a process

UNKNOWN_WRITER: Final = Thread(0, "unknown writer")  # Write-back whose author no table names


class Place(NamedTuple):
    """All mounts of one NFS version at one address. Loads are added up by place."""

    address: str  # address of the mount target
    version: int  # NFS version, 3 or 4
    rule: CostRule  # how the service behind the address counts operations


class Places:
    """The places of one reading of mountstats, by device number, and by address and version of an RPC client."""

    def __init__(self, superblocks: Iterable[Superblock] = ()) -> None:
        self.by_device: dict[int, Place] = {}
        self._by_address: dict[tuple[str, int], Place] = {}
        for superblock in superblocks:
            version = 4 if superblock.mounts and superblock.mounts[0].fstype == _NFS4 else 3
            place = Place(superblock.key.address, version, superblock.known.cost)
            self.by_device[device_of(superblock.number)] = place
            self._by_address.setdefault((place.address, version), place)

    def of(self, address: str, version: int) -> Place | None:
        """Return the place of an NFS version's calls to an address. None without a mount."""
        return self._by_address.get((address, version))

    @property
    def priced(self) -> dict[str, bool]:
        """The address of every mount, and whether the service publishes the cost of operations."""
        priced: dict[str, bool] = {}
        for (address, _), place in self._by_address.items():
            priced[address] = priced.get(address, False) or place.rule != "unknown"
        return priced


@dataclass(slots=True)
class ThreadLoad:
    """Calls and bytes of a thread in one interval."""

    reads: CountedTransfers = NO_TRANSFERS  # READs with their requested sizes
    writes: CountedTransfers = NO_TRANSFERS  # WRITEs with their sizes
    calls: Counter[str] = field(default_factory=Counter)  # all other NFS calls by procedure

    @property
    def operations(self) -> int:
        """NFS calls of any procedure."""
        return self.reads.operations + self.writes.operations + self.calls.total()

    def cost(self, rule: CostRule, overrides: CostOverrides = NO_OVERRIDES) -> float | None:
        """Return mount-target I/O operations. None if the service publishes no cost."""
        if rule == "unknown":
            return None
        if rule == "plain":
            return float(self.reads.operations + self.writes.operations)
        sized = ((READ, self.reads), (WRITE, self.writes))
        transfers = sum(overrides.scaled(name, exact_cost(name, sizes)).point for name, sizes in sized)
        return transfers + sum(overrides.weights.get(name, 0.0) * count for name, count in self.calls.items())


CLAIMED: Final = frozenset(("RENAME", "OPEN"))  # Calls of workers that other events give back to the process

_BY_SIZE: Final = frozenset((READ, "READ_PLUS", WRITE))
# The tables of sizes have these calls.

_PAYLOAD: Final = 0
# Key of the payload bytes beside keys that are numbers of blocks. A transfer starts at least one block, so 0 is free.

Key = TypeVar("Key", bound=Hashable)
TransfersBy = dict[tuple[Place, Thread], CountedTransfers]
CallsBy = Counter[tuple[Place, Thread, str]]


@dataclass(slots=True)
class Counted:
    """Counts of the tables since the last look."""

    reads: TransfersBy = field(default_factory=dict)  # READs by the thread that sent the call
    writes: TransfersBy = field(default_factory=dict)  # WRITEs by the thread that sent the call
    # WRITEs of workers by the thread that dirtied the file. Empty where the join is off
    joined: TransfersBy = field(default_factory=dict)
    calls: CallsBy = field(default_factory=Counter)  # calls of all procedures by the thread that waited for the answer
    claims: CallsBy = field(default_factory=Counter)  # calls that a process began and a worker carried out


class Unclaimed(Generic[Key]):
    """Work of the kernel's workers that no process has claimed.

    The tables of a look are read one after another, so a claim can appear one look before the work. Work stays open until the
    claims of the next look, and a claim ahead of the work waits for the work.
    """

    def __init__(self) -> None:
        self._open: Counter[Key] = Counter()

    def settle(self, done: Mapping[Key, int], claimed: Mapping[Key, int]) -> Counter[Key]:
        """Settle one look. Return the work of earlier looks that no process has claimed. `done` is work of the workers."""
        self._open.subtract(claimed)
        left = +self._open
        self._open.subtract(left)
        self._open.update(done)
        return left


class Attribution:
    """Add the work of the kernel's workers to the threads that claim the work, look after look."""

    def __init__(self) -> None:
        self._writes: Unclaimed[tuple[Place, int]] = Unclaimed()
        self._calls: Unclaimed[tuple[Place, str]] = Unclaimed()

    def loads(self, counted: Counted) -> dict[tuple[Place, Thread], ThreadLoad]:
        """Return the loads of one look. Work with a possible later claim comes with the next look."""
        result: dict[tuple[Place, Thread], ThreadLoad] = defaultdict(ThreadLoad)
        for (place, thread), reads in counted.reads.items():
            load = result[place, thread]
            load.reads = load.reads.plus(reads)
        own = {key: transfers for key, transfers in counted.writes.items() if not key[1].is_worker}
        for writes in (own, counted.joined, self._unknown(counted)):
            for (place, thread), transfers in writes.items():
                load = result[place, thread]
                load.writes = load.writes.plus(transfers)
        for calls in (_waited_for(counted.calls), _claims(counted), self._left(counted)):
            for (place, thread, procedure), count in calls.items():
                result[place, thread].calls[procedure] += count
        return dict(result)

    def _unknown(self, counted: Counted) -> TransfersBy:
        """Return write-back of earlier looks that no process has claimed."""
        done = _blocks((place, transfers) for (place, thread), transfers in counted.writes.items() if thread.is_worker)
        left = self._writes.settle(
            done, _blocks((place, transfers) for (place, _), transfers in counted.joined.items())
        )
        sizes: dict[Place, dict[int, int]] = defaultdict(dict)
        for (place, blocks), count in left.items():
            sizes[place][blocks] = count
        return {(place, UNKNOWN_WRITER): _transfers(by_blocks) for place, by_blocks in sizes.items()}

    def _left(self, counted: Counted) -> CallsBy:
        """Return calls of workers from earlier looks that no process has claimed."""
        done: Counter[tuple[Place, str]] = Counter()
        for (place, thread, procedure), count in counted.calls.items():
            if thread.is_worker and procedure in CLAIMED:
                done[place, procedure] += count
        claimed: Counter[tuple[Place, str]] = Counter()
        for (place, _, procedure), count in _claims(counted).items():
            claimed[place, procedure] += count
        left = self._calls.settle(done, claimed)
        return Counter({(place, KERNEL, procedure): count for (place, procedure), count in left.items()})


def _waited_for(calls: CallsBy) -> CallsBy:
    """Return calls without calls counted by size and without calls that a process may claim."""
    result: CallsBy = Counter()
    for (place, thread, procedure), count in calls.items():
        if procedure not in _BY_SIZE and not (thread.is_worker and procedure in CLAIMED):
            result[place, thread, procedure] += count
    return result


def _claims(counted: Counted) -> CallsBy:
    """Return claims without calls of the thread itself, because another kernel may not use a worker for such calls."""
    return +(counted.claims - Counter({key: counted.calls[key] for key in counted.claims}))


def _blocks(transfers: Iterable[tuple[Place, CountedTransfers]]) -> Counter[tuple[Place, int]]:
    """Return the number of transfers by place and blocks of a transfer, and the payload bytes by place and `_PAYLOAD`."""
    result: Counter[tuple[Place, int]] = Counter()
    for place, own in transfers:
        result[place, _PAYLOAD] += own.payload_bytes
        for blocks, count in own.by_blocks.items():
            result[place, blocks] += count
    return result


def _transfers(by_blocks: Mapping[int, int]) -> CountedTransfers:
    sizes = {blocks: count for blocks, count in by_blocks.items() if blocks != _PAYLOAD}
    return CountedTransfers.of_sizes(sizes, by_blocks.get(_PAYLOAD, 0))
