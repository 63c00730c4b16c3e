"""Records of a storage service: how the service counts operations, and ceilings that grow with the capacity."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from fss_exporter.model.operations import NFS3_OPERATIONS, READ, WRITE


class Citation(NamedTuple):
    """Source and date of a figure."""

    document: str
    dated: str


@dataclass(frozen=True, slots=True)
class CapacityCeiling:
    """A ceiling that grows with the capacity up to an end."""

    source: Citation  # source of the figures
    # growth of the ceiling for each `unit_bytes` of capacity. None for a ceiling that does not depend on capacity
    per_unit: float | None = None
    unit_bytes: float = 1.0  # capacity of a unit
    most: float | None = None  # end of the growth. None if no end is stated

    def at(self, capacity_bytes: float | None) -> float | None:
        """Return the ceiling at a capacity. None if the ceiling depends on an unknown capacity.

        Raises:
            ValueError: the capacity is not positive.
        """
        if self.per_unit is None:
            return self.most
        if capacity_bytes is None:
            return None
        if not 0 < capacity_bytes < inf:
            raise ValueError(f"a capacity of {capacity_bytes} bytes")
        return min(self.per_unit * capacity_bytes / self.unit_bytes, inf if self.most is None else self.most)

    def capacity_for(self, wanted: float) -> float | None:
        """Return the least capacity in bytes with the ceiling `wanted`. None if no capacity reaches `wanted`, 0 if any
        does.
        """
        if wanted > (inf if self.most is None else self.most):
            return None
        return 0.0 if self.per_unit is None else wanted * self.unit_bytes / self.per_unit


@dataclass(frozen=True, slots=True)
class Ceilings:
    """Ceilings of one file system, mount target or volume. None if unpublished or unknown."""

    iops: float | None = None  # I/O operations per second, as the service counts
    # read_bytes_per_second, write_bytes_per_second: payload bytes of each direction
    read_bytes_per_second: float | None = None
    write_bytes_per_second: float | None = None
    bytes_per_second: float | None = None  # payload bytes of both directions together

    def times(self, count: int) -> "Ceilings":
        """Return the ceilings of `count` pieces together."""
        every = (self.iops, self.read_bytes_per_second, self.write_bytes_per_second, self.bytes_per_second)
        return Ceilings(*(None if one is None else one * count for one in every))


@dataclass(frozen=True, slots=True)
class OneClient:
    """Documented throughput of a single client, with operations of 4 KiB and transfers of 1 MiB. No ceiling."""

    source: Citation
    read_iops: float
    write_iops: float
    read_bytes_per_second: float
    write_bytes_per_second: float


@dataclass(frozen=True, slots=True)
class ServiceType:
    """A type of a service that a customer buys."""

    name: str
    # iops, read, write, both: ceilings in operations or bytes per second. None if unpublished
    iops: CapacityCeiling | None = None
    read: CapacityCeiling | None = None
    write: CapacityCeiling | None = None
    both: CapacityCeiling | None = None
    least_bytes: float = 0.0  # smallest capacity on sale
    in_flight: int | None = None  # requests that the service takes at a time. None if unpublished
    one_client: OneClient | None = None  # documented throughput of a single client
    write_latency: Mapping[int, float] = field(default_factory=dict)  # stated seconds by size of the WRITE in bytes
    remark: str = ""  # further figures of a document, with source and date

    def stated_latency(self, size_bytes: float) -> float | None:
        """Return the service's stated seconds for a WRITE of this size, or for the next larger stated size."""
        stated = [seconds for size, seconds in sorted(self.write_latency.items()) if size >= size_bytes]
        return stated[0] if stated else None

    def ceilings(self, capacity_bytes: float | None) -> Ceilings:
        """Return the ceilings at a capacity. None means an unknown capacity."""
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
    """One row of the table."""

    name: str  # name in configuration and labels
    title: str  # name for people
    cost: CostRule  # way of counting operations
    kinds: Mapping[str, ServiceType] = field(default_factory=dict)  # types on sale, by name
    server_suffixes: tuple[str, ...] = ()  # endings of the names of the service's mount targets
    client_rules: tuple[str, ...] = ()  # recommendations of the service for clients, a sentence each

    def prices(self, operation: str) -> bool:
        """Whether the cost of an NFS operation is counted."""
        return operation in _PRICED[self.cost]

    def ceilings(self, kind: str, capacity_bytes: float | None) -> Ceilings:
        """Return the ceilings of a type at a capacity. Empty for a type that is not in the table."""
        found = self.kinds.get(kind)
        return Ceilings() if found is None else found.ceilings(capacity_bytes)


@dataclass(frozen=True, slots=True)
class ServiceChoice:
    """A service with the operator's choice of type and capacity."""

    service: Service  # the service
    kind: ServiceType | None = None  # type. None if the operator names none
    capacity_bytes: float | None = None  # capacity. None if the operator names none

    @property
    def ceilings(self) -> Ceilings:
        """The ceilings, as far as type and capacity determine them."""
        return Ceilings() if self.kind is None else self.kind.ceilings(self.capacity_bytes)


_PRICED: Final[Mapping[CostRule, frozenset[str]]] = MappingProxyType(
    {"weighted": frozenset(NFS3_OPERATIONS), "plain": frozenset((READ, WRITE)), "unknown": frozenset()}
)
