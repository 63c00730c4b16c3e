"""The load of a thread on a mount target in one interval, and the cost."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from fss_exporter.model.cost_overrides import NO_OVERRIDES, CostOverrides
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.model.service_table import CostRule
from fss_exporter.nfs.exact.size_counts import NO_TRANSFERS, CountedTransfers, device_of, exact_cost
from fss_exporter.nfs.superblocks import Superblock

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
    """The target of a load."""

    address: str  # of the mount target
    version: int  # of NFS, 3 or 4
    rule: CostRule  # how the service behind the address counts operations


class Places:
    """The places of one reading of mountstats."""

    def __init__(self, superblocks: Iterable[Superblock] = ()) -> None:
        self.by_device: dict[int, Place] = {}
        self._by_address: dict[tuple[str, int], Place] = {}
        for one in superblocks:
            version = 4 if one.mounts and one.mounts[0].fstype == _NFS4 else 3
            place = Place(one.key.address, version, one.known.cost)
            self.by_device[device_of(one.number)] = place
            self._by_address.setdefault((place.address, version), place)

    def of(self, address: str, version: int) -> Place | None:
        """Return the place of an NFS version's calls to an address. None without a mount."""
        return self._by_address.get((address, version))

    @property
    def priced(self) -> dict[str, bool]:
        """The address of every mount, and whether the service publishes the cost of operations."""
        found: dict[str, bool] = {}
        for (address, _), place in self._by_address.items():
            found[address] = found.get(address, False) or place.rule != "unknown"
        return found


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
        transfers = sum(overrides.scaled(name, exact_cost(name, one)).point for name, one in sized)
        return transfers + sum(overrides.weights.get(name, 0.0) * count for name, count in self.calls.items())
