# SPDX-License-Identifier: Apache-2.0
"""The table of storage services, with the cost of an operation and the ceilings of each service.

A row is a service. The types of a service are the things to buy: a shape, a tier or a performance level. Every ceiling is a
line over the capacity with an end, and every figure has a source. To add a service, add a row.

The ceilings of `oci-fss` come from `limits.py`. The costs come from `operations.py`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import ceil, inf
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from fss_exporter.model.limits import ROUNDING, SHAPES, Limits


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
        """Return the least capacity in bytes with the ceiling `wanted`. None if none reaches `wanted`, 0 if any does."""
        if self.most is not None and wanted > self.most * (1 + ROUNDING):
            return None
        return 0.0 if self.per_unit is None else wanted * self.unit_bytes / self.per_unit


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
    # larger capacities on sale: a step in bytes, and the capacity up to which the step holds. Empty for any capacity
    steps: tuple[tuple[float, float], ...] = ()
    in_flight: int | None = None  # requests that the service takes at a time. None if unpublished
    one_client: OneClient | None = None  # documented throughput of a single client
    write_latency: Mapping[int, float] = field(default_factory=dict)  # stated seconds by size of the WRITE in bytes
    remark: str = ""  # further figures of a document, with source and date

    def on_sale(self, capacity_bytes: float) -> float:
        """Return the least capacity on sale, in bytes, that is not below a capacity."""
        size = self.least_bytes
        if capacity_bytes <= size or not self.steps:
            return max(size, capacity_bytes)
        for step, end in self.steps:
            wanted = size + ceil((min(capacity_bytes, end) - size) / step - ROUNDING) * step
            if wanted >= capacity_bytes * (1 - ROUNDING):
                return wanted
            size = end
        return capacity_bytes

    def stated_latency(self, size_bytes: float) -> float | None:
        """Return the service's stated seconds for a WRITE of this size, or for the next larger stated size."""
        stated = [seconds for size, seconds in sorted(self.write_latency.items()) if size >= size_bytes]
        return stated[0] if stated else None

    def ceilings(self, capacity_bytes: float | None) -> Limits:
        """Return the ceilings at a capacity. None means an unknown capacity."""
        iops, read, write, both = (None if line is None else line.at(capacity_bytes) for line in self._lines)
        return Limits(iops, read, write, bytes_per_second=both)

    @property
    def needs_capacity(self) -> bool:
        """Whether any ceiling depends on the capacity."""
        return any(line and line.per_unit is not None for line in self._lines)

    @property
    def sources(self) -> frozenset[Citation]:
        """The documents of the ceilings."""
        return frozenset(line.source for line in self._lines if line)

    @property
    def _lines(self) -> tuple[CapacityCeiling | None, ...]:
        return self.iops, self.read, self.write, self.both


# `weighted`: the table of OCI File Storage. `plain`: a READ or WRITE of any size is 1, all else 0. `unknown`: no estimate.
CostRule = Literal["weighted", "plain", "unknown"]


@dataclass(frozen=True, slots=True)
class Service:
    """A storage service, as a row of the table of services."""

    name: str  # name in configuration and labels
    title: str  # name for people
    cost: CostRule  # way of counting operations
    kinds: Mapping[str, ServiceType] = field(default_factory=dict)  # types on sale, by name
    server_suffixes: tuple[str, ...] = ()  # endings of the names of the service's mount targets
    client_rules: tuple[str, ...] = ()  # recommendations of the service for clients, a sentence each

    def ceilings(self, kind: str, capacity_bytes: float | None) -> Limits:
        """Return the ceilings of a type at a capacity. Empty for a type that is not in the table."""
        sold = self.kinds.get(kind)
        return Limits() if sold is None else sold.ceilings(capacity_bytes)


GIB: Final = 1024**3
TIB: Final = 1024**4
GB: Final = 10**9
TB: Final = 10**12
_MIB: Final = 1024.0**2
_MB: Final = 1e6
_KB: Final = 1e3


_WHITE_PAPER: Final = Citation("OCI File Storage Performance Characteristics 2.0", "2023-08")
_MOUNT_TARGETS: Final = Citation("Managing Mount Targets, OCI documentation", "2026-09-05")
_APSARA: Final = Citation("Apsara File Storage NAS Performance, version 20210922", "2021-09-22")
_LUSTRE: Final = Citation("Managing Lustre file systems, OCI documentation", "2026-09-05")
_LOWER_COST: Final = Citation("Lower Cost, OCI Block Volume documentation", "2023-09-26")
_BALANCED: Final = Citation("Balanced Performance, OCI Block Volume documentation", "2026-09-05")
_HIGHER: Final = Citation("Higher Performance, OCI Block Volume documentation", "2024-05-30")
_ULTRA_HIGH: Final = Citation("Ultra High Performance, OCI Block Volume documentation", "2024-06-04")


_EARLIER: Final = {
    20: "earlier figures are 35,000 IOPS and 480 MB/s, from Block Volume Elastic Performance, OCI documentation before Ultra High"
    " Performance (read 2026-11-22). Lustre File System Performance on OCI has the earlier figures too"
}


_LUSTRE_SIZES: Final = (
    "capacities are 31.2 TiB, more in steps of 10.4 TiB up to 124.8 TiB, and of 41.6 TiB above."
    " Source: Increasing File System Capacity, OCI documentation (read 2026-11-28). The API reference of Lustre (SDK 2.189.0) says multiples of 5 TB"
)


def _kinds(kinds: Iterable[ServiceType]) -> Mapping[str, ServiceType]:
    return MappingProxyType({kind.name: kind for kind in kinds})


def _shape(name: str, limits: Limits) -> ServiceType:
    def fixed(value: float | None) -> CapacityCeiling | None:
        source = _WHITE_PAPER if name == "standard" else _MOUNT_TARGETS
        return None if value is None else CapacityCeiling(source, most=value)

    return ServiceType(
        name, fixed(limits.iops), fixed(limits.read_bytes_per_second), fixed(limits.write_bytes_per_second)
    )


def _apsara(
    name: str, per_1000_gib: float, in_flight: int | None, one_client: float, latency: dict[int, float]
) -> ServiceType:
    return ServiceType(
        name,
        both=CapacityCeiling(_APSARA, per_1000_gib, 1000 * GIB),
        in_flight=in_flight,
        one_client=OneClient(_APSARA, 14_000, 10_000, one_client, one_client),
        write_latency=MappingProxyType(latency),
    )


def _lustre(mb_per_second_per_tb: int) -> ServiceType:
    """Use a single ceiling for reads and writes together, because no document gives each direction the whole figure."""
    line = CapacityCeiling(_LUSTRE, mb_per_second_per_tb * _MB, TB)
    steps = ((10.4 * TIB, 124.8 * TIB), (41.6 * TIB, inf))
    name = f"mbps-per-tb-{mb_per_second_per_tb}"
    return ServiceType(name, both=line, least_bytes=31.2 * TIB, steps=steps, remark=_LUSTRE_SIZES)


def _volume(vpus: int) -> ServiceType:
    """Return a volume with performance units per GB. The documented figures of 10 to 120 units lie on a line."""
    source = {10: _BALANCED, 20: _HIGHER}.get(vpus, _ULTRA_HIGH)
    iops = CapacityCeiling(source, 45 + 1.5 * vpus, GB, 2_500.0 * vpus)
    throughput = CapacityCeiling(source, (360 + 12 * vpus) * _KB, GB, (280 + 20 * vpus) * _MB)
    return ServiceType(f"vpu-{vpus}", iops=iops, both=throughput, remark=_EARLIER.get(vpus, ""))


OCI_FSS: Final = Service(
    "oci-fss", "OCI File Storage", "weighted", _kinds(_shape(shape.name, shape.limits) for shape in SHAPES.values())
)
APSARA_NAS: Final = Service(
    "apsara-nas",
    "Apsara File Storage NAS",
    "plain",
    _kinds(
        (
            _apsara("capacity", 150 * _MIB, 128, 150 * _MIB, {4096: 0.010, 8192: 0.015, 1024**2: 0.100}),
            _apsara("performance", 600 * _MIB, None, 300 * _MIB, {}),
        )
    ),
    (".nas.aliyuncs.com",),
    (
        "more capacity gives more bandwidth: a sparse file raises the capacity at once, and is charged",
        "NGINX: log file names without variables, or open_log_file_cache, so that a log line does not close the file",
        "large directories: mount with nordirplus, and keep fewer than 10,000 entries in each",
        "SMB shares are out of scope: this exporter reads NFS clients",
    ),
)
# MB of this document are MiB: its fio runs of 1 MiB against "150 MB/s" end at 148 to 153 requests a second.
LUSTRE: Final = Service(
    "lustre", "OCI File Storage with Lustre", "plain", _kinds(_lustre(tier) for tier in (125, 250, 500, 1000))
)
BLOCK_VOLUME: Final = Service(
    "block-volume",
    "OCI Block Volume",
    "plain",
    _kinds(
        (
            ServiceType(
                "vpu-0",
                iops=CapacityCeiling(_LOWER_COST, 2, GB, 3_000),
                both=CapacityCeiling(_LOWER_COST, 240 * _KB, GB, 480 * _MB),
            ),
            *(_volume(vpus) for vpus in range(10, 121, 10)),
        )
    ),
)
NONE: Final = Service("none", "no service with a known ceiling", "unknown")

# Every service by name.
SERVICES: Final[Mapping[str, Service]] = MappingProxyType(
    {service.name: service for service in (OCI_FSS, APSARA_NAS, LUSTRE, BLOCK_VOLUME, NONE)}
)


class SeriesKey(NamedTuple):
    """The labels of a mount's series, in the order of the text."""

    address: str  # address of the mount target
    server: str  # the server's name as mounted
    export: str  # path of the export
    service: str = OCI_FSS.name  # name of the storage service, from the table of services


def recognised(server: str) -> Service | None:
    """Return the service of a server name. None for an unknown name."""
    name = server.rstrip(".").lower()
    return next((row for row in SERVICES.values() if row.server_suffixes and name.endswith(row.server_suffixes)), None)
