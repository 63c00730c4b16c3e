"""What a storage service is: how it counts operations, and ceilings that grow with what is bought of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from fss_exporter.model.operations import NFS3_OPERATIONS, READ, WRITE


class Citation(NamedTuple):
    """Where a figure is from, and of when it is."""

    document: str
    dated: str


@dataclass(frozen=True, slots=True)
class CapacityCeiling:
    """A ceiling that grows with the capacity up to an end.

    Attributes:
        source: where it is from.
        per_unit: the ceiling that each `unit_bytes` of capacity add; None for a ceiling that does not depend on capacity.
        unit_bytes: the capacity `per_unit` speaks of.
        most: where it ends; None where no end is stated.
    """

    source: Citation
    per_unit: float | None = None
    unit_bytes: float = 1.0
    most: float | None = None

    def at(self, capacity_bytes: float | None) -> float | None:
        """The ceiling of so much capacity; None where it depends on a capacity that is not known.

        Raises:
            ValueError: a capacity that is not positive.
        """
        if self.per_unit is None:
            return self.most
        if capacity_bytes is None:
            return None
        if not 0 < capacity_bytes < inf:
            raise ValueError(f"a capacity of {capacity_bytes} bytes")
        return min(self.per_unit * capacity_bytes / self.unit_bytes, inf if self.most is None else self.most)

    def capacity_for(self, wanted: float) -> float | None:
        """Least capacity in bytes whose ceiling is `wanted`; None where no capacity reaches it, 0 where any does."""
        if wanted > (inf if self.most is None else self.most):
            return None
        return 0.0 if self.per_unit is None else wanted * self.unit_bytes / self.per_unit


@dataclass(frozen=True, slots=True)
class Ceilings:
    """Ceilings of one file system, mount target or volume; None where unpublished or not known.

    Attributes:
        iops: I/O operations per second, in the service's own count.
        read_bytes_per_second, write_bytes_per_second: payload bytes of each direction.
        bytes_per_second: payload bytes of both directions together.
    """

    iops: float | None = None
    read_bytes_per_second: float | None = None
    write_bytes_per_second: float | None = None
    bytes_per_second: float | None = None

    def times(self, count: int) -> "Ceilings":
        """Ceilings of `count` of them together."""
        every = (self.iops, self.read_bytes_per_second, self.write_bytes_per_second, self.bytes_per_second)
        return Ceilings(*(None if one is None else one * count for one in every))


@dataclass(frozen=True, slots=True)
class OneClient:
    """What one client was seen to reach: objectives, not ceilings. Operations of 4 KiB, bytes of 1 MiB each."""

    source: Citation
    read_iops: float
    write_iops: float
    read_bytes_per_second: float
    write_bytes_per_second: float


@dataclass(frozen=True, slots=True)
class ServiceType:
    """What is bought of a service.

    Attributes:
        iops, read, write, both: ceilings; bytes per second but for the first, None where unpublished.
        least_bytes: the smallest capacity there is.
        in_flight: requests the service takes at a time; None where unpublished.
        one_client: what one client was seen to reach.
        write_latency: stated seconds by size of the WRITE in bytes.
        remark: other figures that a document prints, with source and date.
    """

    name: str
    iops: CapacityCeiling | None = None
    read: CapacityCeiling | None = None
    write: CapacityCeiling | None = None
    both: CapacityCeiling | None = None
    least_bytes: float = 0.0
    in_flight: int | None = None
    one_client: OneClient | None = None
    write_latency: Mapping[int, float] = field(default_factory=dict)
    remark: str = ""

    def stated_latency(self, size_bytes: float) -> float | None:
        """Seconds that the service states for a WRITE of this size, or of the next larger stated size."""
        stated = [seconds for size, seconds in sorted(self.write_latency.items()) if size >= size_bytes]
        return stated[0] if stated else None

    def ceilings(self, capacity_bytes: float | None) -> Ceilings:
        """Its ceilings at a capacity; None for one that is not known."""
        lines = (self.iops, self.read, self.write, self.both)
        return Ceilings(*(None if line is None else line.at(capacity_bytes) for line in lines))

    @property
    def needs_capacity(self) -> bool:
        """Whether any ceiling depends on the capacity."""
        return any(line and line.per_unit is not None for line in (self.iops, self.read, self.write, self.both))


CostRule = Literal["weighted", "plain", "unknown"]
"""`weighted`: the table of OCI File Storage. `plain`: a READ or WRITE of any size is 1, all else 0. `unknown`: no estimate."""


@dataclass(frozen=True, slots=True)
class Service:
    """One row of the table.

    Attributes:
        name: as configuration and labels have it.
        title: as people call it.
        cost: how operations are counted.
        kinds: what can be bought, by name.
        server_suffixes: ends of the names of its mount targets.
        client_rules: what the service recommends to its clients, a sentence each.
    """

    name: str
    title: str
    cost: CostRule
    kinds: Mapping[str, ServiceType] = field(default_factory=dict)
    server_suffixes: tuple[str, ...] = ()
    client_rules: tuple[str, ...] = ()

    def prices(self, operation: str) -> bool:
        """Whether the cost of an NFS operation is counted."""
        return operation in _PRICED[self.cost]

    def ceilings(self, kind: str, capacity_bytes: float | None) -> Ceilings:
        """Ceilings of a kind at a capacity; none for a kind that is not in the table."""
        found = self.kinds.get(kind)
        return Ceilings() if found is None else found.ceilings(capacity_bytes)


@dataclass(frozen=True, slots=True)
class ServiceChoice:
    """A service, and what was bought of it as far as the operator says.

    Attributes:
        service: the service.
        kind: its type; None where the operator names none.
        capacity_bytes: the capacity; None where the operator names none.
    """

    service: Service
    kind: ServiceType | None = None
    capacity_bytes: float | None = None

    @property
    def ceilings(self) -> Ceilings:
        """Its ceilings, as far as type and capacity determine them."""
        return Ceilings() if self.kind is None else self.kind.ceilings(self.capacity_bytes)


_PRICED: Final[Mapping[CostRule, frozenset[str]]] = MappingProxyType(
    {"weighted": frozenset(NFS3_OPERATIONS), "plain": frozenset((READ, WRITE)), "unknown": frozenset()}
)
