"""The inventory from the plain JSON of the listings. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Final, TypeVar

from fss_exporter.oci.oci_inventory import (
    Connector,
    Export,
    FileSystem,
    Inventory,
    MountTarget,
    Replication,
    ServiceResource,
)
from fss_exporter.oci.tag_filter import Row, Tags

_GONE: Final = frozenset({"DELETED", "FAILED", "TERMINATED"})

_Record = TypeVar("_Record")
_Identified = TypeVar("_Identified", MountTarget, FileSystem, Replication, Connector, ServiceResource)


@dataclass(frozen=True, slots=True)
class Listings:
    """Rows of the listings of one region, all compartments and availability domains together."""

    mount_targets: tuple[Row, ...] = ()
    file_systems: tuple[Row, ...] = ()
    exports: tuple[Row, ...] = ()
    export_sets: tuple[Row, ...] = ()
    replications: tuple[Row, ...] = ()
    connectors: tuple[Row, ...] = ()
    lustre_file_systems: tuple[Row, ...] = ()
    volumes: tuple[Row, ...] = ()


def build(listings: Listings, compartments: Mapping[str, str], tags: Tags) -> tuple[Inventory, int]:
    """The inventory, and how many rows were not as documented; each of those costs only itself.

    With tags to include, file systems and exports go with their mount targets; replications and connectors need the
    tags themselves.
    """
    made = _Made()
    networks = {str(row.get("id")): str(row.get("vcnId") or "") for row in listings.export_sets}
    targets = made.by_id(lambda row: _mount_target(row, networks), filter(tags.wants, listings.mount_targets))
    by_export_set = {target.export_set_id: target.id for target in targets.values()}
    exported = (row for row in listings.exports if row.get("exportSetId") in by_export_set)
    exports = list(made.of(lambda row: _export(row, by_export_set), exported))
    behind = {export.file_system_id for export in exports}
    wanted = (row for row in listings.file_systems if tags.wants(row) or (row.get("id") in behind and tags.spares(row)))
    systems = made.by_id(_file_system, wanted)
    lustre = made.by_id(_lustre, filter(tags.wants, listings.lustre_file_systems))
    volumes = made.by_id(_volume, filter(tags.wants, listings.volumes))
    inventory = Inventory(
        targets,
        systems,
        tuple(export for export in exports if export.file_system_id in systems),
        made.by_id(_replication, filter(tags.wants, listings.replications)),
        made.by_id(_connector, filter(tags.wants, listings.connectors)),
        MappingProxyType(dict(compartments)),
        MappingProxyType({**lustre, **volumes}),
    )
    return inventory, made.broken


class _Made:
    """Makes records of rows and counts those that are not as documented; gone ones are neither broken nor there."""

    def __init__(self) -> None:
        self.broken = 0

    def of(self, make: Callable[[Row], _Record], rows: Iterable[Row]) -> Iterator[_Record]:
        for row in rows:
            if row.get("lifecycleState") in _GONE:
                continue
            try:
                record = make(row)
            except (KeyError, TypeError, ValueError):
                self.broken += 1
            else:
                yield record

    def by_id(self, make: Callable[[Row], _Identified], rows: Iterable[Row]) -> Mapping[str, _Identified]:
        return MappingProxyType({one.id: one for one in self.of(make, rows)})


def _named(row: Row) -> tuple[str, str, str, str, str]:
    identity = _text(row["id"])
    name = row.get("displayName") or identity
    zone = row.get("availabilityDomain") or ""
    return identity, _text(name), _text(row["compartmentId"]), _text(zone), _text(row["lifecycleState"])


def _mount_target(row: Row, networks: Mapping[str, str]) -> MountTarget:
    addresses = row.get("privateIpIds") or ("",)
    return MountTarget(
        *_named(row),
        export_set_id=_text(row["exportSetId"]),
        subnet_id=_text(row.get("subnetId") or ""),
        private_ip_id=_text(addresses[0]),
        observed_throughput_gbps=_whole(row.get("observedThroughput")),
        vcn_id=networks.get(row["exportSetId"], ""),
    )


def _file_system(row: Row) -> FileSystem:
    return FileSystem(*_named(row), metered_bytes=_whole(row.get("meteredBytes")))


def _export(row: Row, by_export_set: Mapping[str, str]) -> Export:
    identity, path, state, system = (_text(row[key]) for key in ("id", "path", "lifecycleState", "fileSystemId"))
    return Export(identity, path, state, system, by_export_set[row["exportSetId"]])


def _replication(row: Row) -> Replication:
    minutes = _whole(row.get("replicationInterval"))
    moment = row.get("recoveryPointTime")
    return Replication(
        *_named(row),
        interval_seconds=None if minutes is None else minutes * 60.0,
        recovery_point=datetime.fromisoformat(moment).timestamp() if moment else None,
    )


def _connector(row: Row) -> Connector:
    return Connector(*_named(row), type=str(row.get("connectorType") or ""))


def _lustre(row: Row) -> ServiceResource:
    tier = _text(row["performanceTier"]).removeprefix("MBPS_PER_TB_")
    return ServiceResource(*_named(row), "lustre", f"mbps-per-tb-{tier}", _gigabytes(row["capacityInGBs"]))


def _volume(row: Row) -> ServiceResource:
    vpus = _whole(row.get("autoTunedVpusPerGB"))
    vpus = _whole(row["vpusPerGB"]) if vpus is None else vpus
    return ServiceResource(*_named(row), "block-volume", f"vpu-{vpus}", _gigabytes(row["sizeInGBs"]))


def _gigabytes(value: object) -> float:
    size = _whole(value)
    if size is None or size <= 0:
        raise ValueError(f"not a capacity: {value!r}")
    return size * 1e9


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"not text: {value!r}")
    return value


def _whole(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"not a number: {value!r}")
    return int(value)
