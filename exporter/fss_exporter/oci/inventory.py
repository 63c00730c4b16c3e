"""What is there: frozen records of mount targets and what belongs to them, made from the plain JSON of the listings. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

Row = Mapping[str, Any]

_GONE: Final = frozenset({"DELETED", "FAILED", "TERMINATED"})


@dataclass(frozen=True, slots=True)
class MountTarget:
    """A mount target.

    Attributes:
        observed_throughput_gbps: the throughput that is billed and enforced; None as some standard ones report it.
        private_ip_id: OCID of its address; empty where it has none.
        address: IP address; empty while it is not known.
        fqdn: host name; empty while it is not known, or without DNS label.
        pending: whether address and host name are still to be looked up for the first time.
        vcn_id: OCID of its network; empty while it is not known.
    """

    id: str
    name: str
    compartment_id: str
    availability_domain: str
    state: str
    export_set_id: str
    subnet_id: str
    private_ip_id: str
    observed_throughput_gbps: int | None
    address: str = ""
    fqdn: str = ""
    vcn_id: str = ""
    pending: bool = False


@dataclass(frozen=True, slots=True)
class FileSystem:
    """A file system; `metered_bytes` is what is billed, refreshed hourly."""

    id: str
    name: str
    compartment_id: str
    availability_domain: str
    state: str
    metered_bytes: int | None


@dataclass(frozen=True, slots=True)
class Export:
    """A file system behind a mount target, at a path."""

    id: str
    path: str
    state: str
    file_system_id: str
    mount_target_id: str


@dataclass(frozen=True, slots=True)
class Replication:
    """A replication; times are epoch seconds, None where the API gives none."""

    id: str
    name: str
    compartment_id: str
    availability_domain: str
    state: str
    interval_seconds: float | None
    recovery_point: float | None


@dataclass(frozen=True, slots=True)
class Connector:
    """An outbound connector, in practice to an LDAP server."""

    id: str
    name: str
    compartment_id: str
    availability_domain: str
    state: str
    type: str


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A resource of another storage service.

    Attributes:
        service: row of the model's table of services.
        kind: what was bought, as that row has it; a kind the row does not have has no ceilings.
        capacity_bytes: what was bought of it.
    """

    id: str
    name: str
    compartment_id: str
    availability_domain: str
    state: str
    service: str
    kind: str
    capacity_bytes: float


@dataclass(frozen=True, slots=True)
class Inventory:
    """Everything in one region, by OCID. Deleted resources are not in it.

    Attributes:
        compartments: names by OCID, the tenancy's own included; an OCID stands for itself where its name is not known.
    """

    mount_targets: Mapping[str, MountTarget] = field(default_factory=dict)
    file_systems: Mapping[str, FileSystem] = field(default_factory=dict)
    exports: tuple[Export, ...] = ()
    replications: Mapping[str, Replication] = field(default_factory=dict)
    connectors: Mapping[str, Connector] = field(default_factory=dict)
    compartments: Mapping[str, str] = field(default_factory=dict)
    neighbours: Mapping[str, Neighbour] = field(default_factory=dict)

    def compartment(self, compartment_id: str) -> str:
        """The compartment's name, or its OCID where the name is not known."""
        return self.compartments.get(compartment_id, compartment_id)


@dataclass(frozen=True, slots=True)
class Tags:
    """Which resources are wanted, by tag: `key` is a freeform tag, `namespace.key` a defined one.

    Attributes:
        include: all of these have to be there; a value may end in `*`.
        exclude: none of these may be there.
    """

    include: Mapping[str, str] = field(default_factory=dict)
    exclude: Mapping[str, str] = field(default_factory=dict)

    def wants(self, row: Row) -> bool:
        """Whether a listed resource is included, and not excluded."""
        return self.spares(row) and all(_has_tag(row, key, value) for key, value in self.include.items())

    def spares(self, row: Row) -> bool:
        """Whether a listed resource is not excluded."""
        return not any(_has_tag(row, key, value) for key, value in self.exclude.items())


def _has_tag(row: Row, key: str, wanted: str) -> bool:
    namespace, _, name = key.rpartition(".")
    found = (row.get("freeformTags") or {}).get(key)
    if found is None and namespace:
        found = ((row.get("definedTags") or {}).get(namespace) or {}).get(name)
    if found is None:
        return False
    return str(found).startswith(wanted[:-1]) if wanted.endswith("*") else str(found) == wanted


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
    broken = _Broken()
    networks = {row.get("id"): str(row.get("vcnId") or "") for row in listings.export_sets}
    targets = {
        target.id: target
        for row in listings.mount_targets
        if tags.wants(row)
        for target in broken.tried(_mount_target, row, networks)
    }
    by_export_set = {target.export_set_id: target.id for target in targets.values()}
    exports = [
        export
        for row in listings.exports
        if row.get("exportSetId") in by_export_set
        for export in broken.tried(_export, row, by_export_set)
    ]
    behind = {export.file_system_id for export in exports}
    systems = {
        system.id: system
        for row in listings.file_systems
        if tags.wants(row) or (row.get("id") in behind and tags.spares(row))
        for system in broken.tried(_file_system, row)
    }
    replications = (
        found for row in listings.replications if tags.wants(row) for found in broken.tried(_replication, row)
    )
    connectors = (found for row in listings.connectors if tags.wants(row) for found in broken.tried(_connector, row))
    neighbours = (
        found
        for make, rows in ((_lustre, listings.lustre_file_systems), (_volume, listings.volumes))
        for row in rows
        if tags.wants(row)
        for found in broken.tried(make, row)
    )
    inventory = Inventory(
        MappingProxyType(targets),
        MappingProxyType(systems),
        tuple(export for export in exports if export.file_system_id in systems),
        MappingProxyType({one.id: one for one in replications}),
        MappingProxyType({one.id: one for one in connectors}),
        MappingProxyType(dict(compartments)),
        MappingProxyType({one.id: one for one in neighbours}),
    )
    return inventory, broken.count


class _Broken:
    """Counts rows that are not as documented; gone ones are neither broken nor there."""

    def __init__(self) -> None:
        self.count = 0

    def tried(self, make: Any, row: Row, *more: object) -> Iterable[Any]:
        try:
            return () if row.get("lifecycleState") in _GONE else (make(row, *more),)
        except (KeyError, TypeError, ValueError):
            self.count += 1
            return ()


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


def _lustre(row: Row) -> Neighbour:
    tier = _text(row["performanceTier"]).removeprefix("MBPS_PER_TB_")
    return Neighbour(*_named(row), "lustre", f"mbps-per-tb-{tier}", _gigabytes(row["capacityInGBs"]))


def _volume(row: Row) -> Neighbour:
    vpus = _whole(row.get("autoTunedVpusPerGB"))
    vpus = _whole(row["vpusPerGB"]) if vpus is None else vpus
    return Neighbour(*_named(row), "block-volume", f"vpu-{vpus}", _gigabytes(row["sizeInGBs"]))


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
