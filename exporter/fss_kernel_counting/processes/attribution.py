# SPDX-License-Identifier: Apache-2.0
"""Assign the counts of one look at the tables to threads.

A thread that reads, or that writes with O_DIRECT or O_SYNC, sends its own calls. Workers of the kernel send delayed
write-back, RENAME and the OPEN of NFSv4. Other tables then name the process behind the worker: a *claim*. Unclaimed work
stays with the kernel, unclaimed write-back with the unknown writer.

A process may also have the name kworker. The name only decides whether work can be claimed. `identities.py` decides
whether a thread belongs to the kernel.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from fss_exporter.model.cost_overrides import CostOverrides
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.model.service_table import CostRule
from fss_exporter.nfs.superblocks import Superblock
from fss_kernel_counting.processes.costliest import Amount
from fss_kernel_counting.sizes.size_counts import CountedTransfers, device_of, exact_cost

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
        self._by_device: dict[int, Place] = {}
        self._by_address: dict[tuple[str, int], Place] = {}
        for superblock in superblocks:
            version = 4 if superblock.mounts and superblock.mounts[0].fstype == _NFS4 else 3
            place = Place(superblock.key.address, version, superblock.storage.cost)
            self._by_device[device_of(superblock.number)] = place
            self._by_address.setdefault((place.address, version), place)

    def of_device(self, device: int) -> Place | None:
        """Return the place of a device number. None without a mount."""
        return self._by_device.get(device)

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


BYTES: Final = -1  # In place of a number of blocks: the payload of READs or WRITEs is counted, in bytes


class Kind(NamedTuple):
    """What a number counts: calls of a procedure, or the payload of the calls."""

    procedure: str
    blocks: int = 0  # 32 KiB blocks that each READ or WRITE starts, or `BYTES`. 0 for other procedures


Work = Counter[tuple[Place, Thread, Kind]]

CLAIMED: Final = frozenset((WRITE, "RENAME", "OPEN"))  # Calls of workers that other events give back to the process


@dataclass(slots=True)
class Counted:
    """Counts of the tables since the last look."""

    # by the thread that sent a READ or WRITE, or waited for the answer to another call
    sent: Work = field(default_factory=Counter)
    # WRITEs of workers by the thread that dirtied the file. Empty where the join is off
    joined: Work = field(default_factory=Counter)
    claims: Work = field(default_factory=Counter)  # calls that a process began and a worker carried out


class Attribution:
    """Give the work of the kernel's workers to the threads that claim the work, look after look.

    The tables of a look are read one after another, so a claim can appear one look before the work. Work stays open until the
    claims of the next look, and a claim ahead of the work waits for the work.
    """

    def __init__(self) -> None:
        self._open: Counter[tuple[Place, Kind]] = Counter()

    def loads(self, counted: Counted) -> Work:
        """Return the loads of one look. Work with a possible later claim comes with the next look."""
        # Another kernel may not use a worker for such a call, and then the call is the thread's own.
        claims = counted.joined + (counted.claims - counted.sent)
        loads = Counter(claims)
        self._open.subtract(_by_kind(claims))
        left = +self._open
        self._open.subtract(left)
        for (place, kind), count in left.items():
            loads[place, UNKNOWN_WRITER if kind.procedure == WRITE else KERNEL, kind] += count
        for (place, thread, kind), count in counted.sent.items():
            if thread.is_worker and kind.procedure in CLAIMED:
                self._open[place, kind] += count
            else:
                loads[place, thread, kind] += count
        return loads


def _by_kind(work: Work) -> Counter[tuple[Place, Kind]]:
    total: Counter[tuple[Place, Kind]] = Counter()
    for (place, _, kind), count in work.items():
        total[place, kind] += count
    return total


def amount(rule: CostRule, kind: Kind, count: int, overrides: CostOverrides) -> Amount:
    """Return the load of so many calls or bytes of a kind. The cost is 0 if the service publishes no cost."""
    procedure, blocks = kind
    if blocks == BYTES:
        return Amount(read_bytes=count) if procedure == READ else Amount(written_bytes=count)
    cost = 0.0
    if rule == "plain":
        cost = float(procedure in (READ, WRITE))
    elif rule == "weighted" and procedure in (READ, WRITE):
        cost = overrides.scaled(procedure, exact_cost(procedure, CountedTransfers(1, blocks))).point
    elif rule == "weighted":
        cost = overrides.weights.get(procedure, 0.0)
    return Amount(count, count * cost)
