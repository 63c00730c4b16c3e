"""The table of storage services, with the cost of an operation and the ceilings of each service.

A row is a service. The types of a service are the things to buy: a shape, a tier or a performance level. Every ceiling is a
line over the capacity with an end, and every figure has a source. To add a service, add a row.

The ceilings of `oci-fss` come from `limits.py`. The costs come from `operations.py` and `transfers.py`.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from fss_exporter.model.limits import SHAPES, Limits
from fss_exporter.model.storage_service import CapacityCeiling, Citation, OneClient, Service, ServiceType

GIB: Final = 1024**3
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
    return ServiceType(f"mbps-per-tb-{mb_per_second_per_tb}", both=line, least_bytes=31.2 * 1024 * GIB)


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

SERVICES: Final[Mapping[str, Service]] = MappingProxyType(
    {service.name: service for service in (OCI_FSS, APSARA_NAS, LUSTRE, BLOCK_VOLUME, NONE)}
)
"""Every service by name."""


def recognised(server: str) -> Service | None:
    """Return the service of a server name. None for an unknown name."""
    name = server.rstrip(".").lower()
    return next((one for one in SERVICES.values() if one.server_suffixes and name.endswith(one.server_suffixes)), None)
