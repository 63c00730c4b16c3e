"""The storage services a client may use, as a table: what an operation costs there, and what the service can bear.

A row is a service; its kinds are what is bought (a shape, a tier, a performance level). Every ceiling is a line over the
capacity with an end, and every figure has its source. Adding a service is adding a row.

Ceilings of `oci-fss` are those of `limits.py`, its costs those of `operations.py` and `transfers.py`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from fss_exporter.model.limits import SHAPES, Limits
from fss_exporter.model.operations import NFS3_OPERATIONS, READ, WRITE

GIB: Final = 1024**3
GB: Final = 10**9
TB: Final = 10**12
_MB: Final = 1e6
_KB: Final = 1e3


class Source(NamedTuple):
    """Where a figure is from, and of when it is."""

    document: str
    dated: str


_WHITE_PAPER: Final = Source("OCI File Storage Performance Characteristics 2.0", "2023-08")
_MOUNT_TARGETS: Final = Source("Managing Mount Targets, OCI documentation", "2026-09-05")
_APSARA: Final = Source("Apsara File Storage NAS Performance, version 20210922", "2021-09-22")
_LUSTRE: Final = Source("Managing Lustre file systems, OCI documentation", "2026-09-05")
_BLOCK_ENDS: Final = Source("Balanced Performance and Ultra High Performance, OCI documentation", "2026-09-05")
_BLOCK_BETWEEN: Final = Source("our line through the documented figures of 10 and 120 VPU/GB", "2026-11")
_BLOCK_LOW: Final = Source("commonly quoted for lower cost volumes, found in no document read", "2026-11")


@dataclass(frozen=True, slots=True)
class Line:
    """A ceiling that grows with the capacity up to an end.

    Attributes:
        source: where it is from.
        per_unit: what each `unit_bytes` of capacity add; None for a ceiling that does not depend on it.
        unit_bytes: the capacity `per_unit` speaks of.
        most: where it ends; None where no end is stated.
    """

    source: Source
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
    """What one file system, mount target or volume can bear; None where unpublished or not known.

    Attributes:
        iops: I/O operations per second, in the service's own count.
        read_bytes_per_second, write_bytes_per_second: payload bytes of each direction.
        bytes_per_second: payload bytes of both directions together.
    """

    iops: float | None = None
    read_bytes_per_second: float | None = None
    write_bytes_per_second: float | None = None
    bytes_per_second: float | None = None


@dataclass(frozen=True, slots=True)
class OneClient:
    """What one client was seen to reach: objectives, not ceilings. Operations of 4 KiB, bytes of 1 MiB each."""

    source: Source
    read_iops: float
    write_iops: float
    read_bytes_per_second: float
    write_bytes_per_second: float


@dataclass(frozen=True, slots=True)
class Kind:
    """What is bought of a service.

    Attributes:
        iops, read, write, both: ceilings; bytes per second but for the first, None where unpublished.
        least_bytes: the smallest capacity there is.
        in_flight: requests the service takes at a time; None where unpublished.
        one_client: what one client was seen to reach.
        write_latency: stated seconds by size of the WRITE in bytes.
    """

    name: str
    iops: Line | None = None
    read: Line | None = None
    write: Line | None = None
    both: Line | None = None
    least_bytes: float = 0.0
    in_flight: int | None = None
    one_client: OneClient | None = None
    write_latency: Mapping[int, float] = field(default_factory=dict)

    def ceilings(self, capacity_bytes: float | None) -> Ceilings:
        """Its ceilings at a capacity; None for one that is not known."""
        lines = (self.iops, self.read, self.write, self.both)
        return Ceilings(*(None if line is None else line.at(capacity_bytes) for line in lines))

    @property
    def needs_capacity(self) -> bool:
        """Whether any ceiling depends on the capacity."""
        return any(line and line.per_unit is not None for line in (self.iops, self.read, self.write, self.both))

    def capacity_for(self, *, iops: float = 0.0, bytes_per_second: float = 0.0) -> float | None:
        """Least capacity in bytes that bears a load of reads or writes; None where none does, or nothing is published."""
        lines = [(self.iops, iops), *((line, bytes_per_second) for line in (self.read, self.write, self.both))]
        asked = [(line, wanted) for line, wanted in lines if line is not None and wanted > 0]
        if not asked:
            return None
        needed = [line.capacity_for(wanted) for line, wanted in asked]
        return None if None in needed else max(self.least_bytes, *(size for size in needed if size is not None))


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
        server_suffixes: ends of the names its mount targets go by.
    """

    name: str
    title: str
    cost: CostRule
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    server_suffixes: tuple[str, ...] = ()

    def prices(self, operation: str) -> bool:
        """Whether the cost of an NFS operation is counted."""
        return operation in _PRICED[self.cost]

    def ceilings(self, kind: str, capacity_bytes: float | None) -> Ceilings:
        """Ceilings of a kind at a capacity; none for a kind that is not in the table."""
        found = self.kinds.get(kind)
        return Ceilings() if found is None else found.ceilings(capacity_bytes)


_PRICED: Final[Mapping[CostRule, frozenset[str]]] = MappingProxyType(
    {"weighted": frozenset(NFS3_OPERATIONS), "plain": frozenset((READ, WRITE)), "unknown": frozenset()}
)


def _kinds(kinds: Iterable[Kind]) -> Mapping[str, Kind]:
    return MappingProxyType({kind.name: kind for kind in kinds})


def _shape(name: str, limits: Limits) -> Kind:
    def fixed(value: float | None) -> Line | None:
        source = _WHITE_PAPER if name == "standard" else _MOUNT_TARGETS
        return None if value is None else Line(source, most=value)

    return Kind(name, fixed(limits.iops), fixed(limits.read_bytes_per_second), fixed(limits.write_bytes_per_second))


def _apsara(
    name: str, per_1000_gib: float, in_flight: int | None, one_client: float, latency: dict[int, float]
) -> Kind:
    return Kind(
        name,
        both=Line(_APSARA, per_1000_gib, 1000 * GIB),
        in_flight=in_flight,
        one_client=OneClient(_APSARA, 14_000, 10_000, one_client, one_client),
        write_latency=MappingProxyType(latency),
    )


def _lustre(mb_per_second_per_tb: int) -> Kind:
    """Reads and writes are taken together: no document says that each has the whole of it."""
    line = Line(_LUSTRE, mb_per_second_per_tb * _MB, TB)
    return Kind(f"mbps-per-tb-{mb_per_second_per_tb}", both=line, least_bytes=31.2 * 1024 * GIB)


def _volume(vpus: int) -> Kind:
    """A volume of so many performance units per GB; figures of 10 and 120 are documented, those between lie on a line."""
    source = _BLOCK_ENDS if vpus in (10, 120) else _BLOCK_BETWEEN
    iops = Line(source, 45 + 1.5 * vpus, GB, 2_500.0 * vpus)
    throughput = Line(source, (360 + 12 * vpus) * _KB, GB, (280 + 20 * vpus) * _MB)
    return Kind(f"vpu-{vpus}", iops=iops, both=throughput)


OCI_FSS: Final = Service(
    "oci-fss", "OCI File Storage", "weighted", _kinds(_shape(shape.name, shape.limits) for shape in SHAPES.values())
)
APSARA_NAS: Final = Service(
    "apsara-nas",
    "Apsara File Storage NAS",
    "plain",
    _kinds(
        (
            _apsara("capacity", 150 * _MB, 128, 150 * _MB, {4096: 0.010, 8192: 0.015, 1024**2: 0.100}),
            _apsara("performance", 600 * _MB, None, 300 * _MB, {}),
        )
    ),
    (".nas.aliyuncs.com",),
)
LUSTRE: Final = Service(
    "lustre", "OCI File Storage with Lustre", "plain", _kinds(_lustre(tier) for tier in (125, 250, 500, 1000))
)
BLOCK_VOLUME: Final = Service(
    "block-volume",
    "OCI Block Volume",
    "plain",
    _kinds((Kind("vpu-0", iops=Line(_BLOCK_LOW, 2, GB, 3_000)), *(_volume(vpus) for vpus in range(10, 121, 10)))),
)
NONE: Final = Service("none", "no service with a known ceiling", "unknown")

SERVICES: Final[Mapping[str, Service]] = MappingProxyType(
    {service.name: service for service in (OCI_FSS, APSARA_NAS, LUSTRE, BLOCK_VOLUME, NONE)}
)
"""Every service by name."""


def recognised(server: str) -> Service | None:
    """The service a server's name tells; None where it tells none."""
    name = server.rstrip(".").lower()
    return next((one for one in SERVICES.values() if one.server_suffixes and name.endswith(one.server_suffixes)), None)
