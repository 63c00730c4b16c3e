"""What a demo region holds: compartments, mount targets, file systems and what joins them. Frozen; nothing here changes.

The traffic of a link (a file system as it is used through one mount target) is the single source of every metric the
region publishes, so throughput, requests by size, metadata rates and IOPS of one mount target always agree.
"""

import hashlib
from base64 import b32encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from fss_exporter.demo.region.traffic import IDLE, Traffic

CREATED = datetime(2024, 3, 1, 9, 0, tzinfo=UTC)
"""When everything in a demo tenancy was created."""


def ocid(kind: str, region: str, name: str) -> str:
    """A well-formed OCID that depends on nothing but its arguments; `region` is empty for global resources."""
    unique = b32encode(hashlib.sha256(f"{kind}/{region}/{name}".encode()).digest()).decode().lower().rstrip("=")
    return f"ocid1.{kind}.oc1.{region.replace('-', '_')}.aaaaaaaa{unique}"


@dataclass(frozen=True, slots=True)
class Compartment:
    """A compartment below the tenancy; `parent_id` is the tenancy's OCID for the first level."""

    id: str
    name: str
    parent_id: str


@dataclass(frozen=True, slots=True)
class Subnet:
    """A subnet of the network compartment. `dns_label` may be empty: then no name ends in its domain."""

    id: str
    name: str
    compartment_id: str
    vcn_id: str
    cidr: str
    dns_label: str
    vcn_dns_label: str = "fssdemo"

    @property
    def domain(self) -> str:
        """The DNS domain of the subnet, empty without a label."""
        return f"{self.dns_label}.{self.vcn_dns_label}.oraclevcn.com" if self.dns_label else ""


@dataclass(frozen=True, slots=True)
class MountTarget:
    """A mount target and its export set.

    Attributes:
        address: its IPv4 address; the private IP itself lives in the subnet's compartment.
        hostname: the private IP's host name label, empty if it has none.
        observed_gbps: `observedThroughput`; None as some standard mount targets report it.
        connections: NFS client connections on average.
        health: share of NFS requests that succeed, percent.
        connector_id: outbound connector it asks for users and groups, empty without LDAP.
        kerberos: whether it publishes Kerberos events.
    """

    id: str
    name: str
    compartment_id: str
    availability_domain: str
    subnet_id: str
    address: str
    hostname: str
    export_set_id: str
    private_ip_id: str
    observed_gbps: int | None = None
    connections: int = 0
    health: float = 99.98
    connector_id: str = ""
    kerberos: bool = False
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FileSystem:
    """A file system. `used_bytes` is what `FileSystemUsage` shows, `metered_bytes` what the API bills by the hour."""

    id: str
    name: str
    compartment_id: str
    availability_domain: str
    metered_bytes: int
    used_bytes: int
    quota_rules: bool = False
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Link:
    """An export: one file system behind one mount target, and the traffic that takes this way."""

    export_id: str
    mount_target_id: str
    file_system_id: str
    path: str
    traffic: Traffic = IDLE


@dataclass(frozen=True, slots=True)
class Replication:
    """A replication of a file system to another region; the interval is in minutes."""

    id: str
    name: str
    compartment_id: str
    availability_domain: str
    file_system_id: str
    target_id: str
    interval_minutes: int
    bytes_per_second: int


@dataclass(frozen=True, slots=True)
class Connector:
    """An outbound connector to an LDAP server."""

    id: str
    name: str
    compartment_id: str
    availability_domain: str
    hostname: str
    port: int
    bind_dn: str


@dataclass(frozen=True, slots=True)
class LustreFileSystem:
    """A file system of File Storage with Lustre; amounts are per second on average."""

    id: str
    name: str
    compartment_id: str
    availability_domain: str
    subnet_id: str
    capacity_gb: int
    tier: int
    read_bytes: float
    written_bytes: float
    used_share: float


@dataclass(frozen=True, slots=True)
class Volume:
    """A block volume, or a boot volume; amounts are per second on average, asked, not served."""

    id: str
    name: str
    compartment_id: str
    availability_domain: str
    size_gb: int
    vpus_per_gb: int
    reads: float
    writes: float
    operation_bytes: int
    boot: bool = False


Resource = Compartment | MountTarget | FileSystem | Replication | Connector | LustreFileSystem | Volume
"""What has a display name of its own."""


@dataclass(frozen=True, slots=True)
class Tenancy:
    """One tenancy as one region shows it.

    Attributes:
        publishes_iops: whether the undocumented `MountTargetIOPS` is there.
        topics: OCIDs of notification topics alarms may name.
        streams: OCIDs of streams alarms may name.
    """

    id: str
    name: str
    region: str
    home_region: str
    availability_domains: tuple[str, ...]
    compartments: tuple[Compartment, ...]
    subnets: tuple[Subnet, ...] = ()
    mount_targets: tuple[MountTarget, ...] = ()
    file_systems: tuple[FileSystem, ...] = ()
    links: tuple[Link, ...] = ()
    replications: tuple[Replication, ...] = ()
    connectors: tuple[Connector, ...] = ()
    topics: tuple[str, ...] = ()
    streams: tuple[str, ...] = ()
    publishes_iops: bool = True
    lustre_file_systems: tuple[LustreFileSystem, ...] = ()
    volumes: tuple[Volume, ...] = ()

    @property
    def compartment_ids(self) -> frozenset[str]:
        """Every compartment, the root included."""
        return frozenset({self.id, *(compartment.id for compartment in self.compartments)})

    def named(self, name: str) -> str:
        """The OCID of the one resource with this display name; an OCID is taken as it is.

        Raises:
            LookupError: no resource, or several, have this name.
        """
        if name.startswith("ocid1."):
            return name
        resources: tuple[Resource, ...] = (
            *self.mount_targets,
            *self.file_systems,
            *self.replications,
            *self.connectors,
            *self.compartments,
            *self.lustre_file_systems,
            *self.volumes,
        )
        found = [resource.id for resource in resources if resource.name == name]
        if len(found) != 1:
            raise LookupError(f"{len(found)} resources of tenancy {self.name} are called {name!r}; use the OCID")
        return found[0]
