"""The resources of a demo tenancy, and the requests that clients send to each export. All records are frozen."""

import hashlib
from base64 import b32encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from fss_exporter.demo.region.requests_per_second import IDLE, RequestMix

CREATED = datetime(2024, 3, 1, 9, 0, tzinfo=UTC)
"""Creation time of every resource in a demo tenancy."""


def ocid(kind: str, region: str, name: str) -> str:
    """A well-formed OCID that depends only on the arguments; `region` is empty for global resources."""
    unique = b32encode(hashlib.sha256(f"{kind}/{region}/{name}".encode()).digest()).decode().lower().rstrip("=")
    return f"ocid1.{kind}.oc1.{region.replace('-', '_')}.aaaaaaaa{unique}"


@dataclass(frozen=True, slots=True)
class DemoCompartment:
    """A compartment below the tenancy; `parent_id` is the tenancy's OCID for the first level."""

    id: str
    name: str
    parent_id: str


@dataclass(frozen=True, slots=True)
class Subnet:
    """A subnet of the network compartment. `domain` is empty for a subnet without a DNS label."""

    id: str
    name: str
    compartment_id: str
    vcn_id: str
    cidr: str
    dns_label: str

    @property
    def domain(self) -> str:
        """The DNS domain of the subnet, empty without a label."""
        return f"{self.dns_label}.fssdemo.oraclevcn.com" if self.dns_label else ""


@dataclass(frozen=True, slots=True)
class DemoMountTarget:
    """A mount target and its export set."""

    id: str
    name: str
    compartment_id: str
    availability_domain: str
    subnet_id: str
    address: str  # IPv4 address; the private IP itself lives in the subnet's compartment
    hostname: str  # host name label of the private IP, empty without one
    export_set_id: str
    private_ip_id: str
    # most `iops`, `read_bytes` and `written_bytes` a second, where the tenancy states them
    ceilings: Mapping[str, float]
    observed_gbps: int | None = None  # `observedThroughput`; None as some standard mount targets report it
    connections: int = 0  # NFS client connections on average
    health: float = 99.98  # share of NFS requests that succeed, percent
    connector_id: str = ""  # outbound connector for users and groups, empty without LDAP
    kerberos: bool = False  # whether the mount target publishes Kerberos events
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DemoFileSystem:
    """A file system. `FileSystemUsage` shows `used_bytes`, the API bills `metered_bytes` by the hour."""

    id: str
    name: str
    compartment_id: str
    availability_domain: str
    metered_bytes: int
    used_bytes: int
    quota_rules: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """An export: one file system behind one mount target, and the requests that take this way."""

    id: str
    mount_target_id: str
    file_system_id: str
    path: str
    requests: RequestMix = IDLE


@dataclass(frozen=True, slots=True)
class DemoReplication:
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
class DemoConnector:
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
    """A file system of File Storage with Lustre; amounts are averages per second."""

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
    """A block volume, or a boot volume."""

    id: str
    name: str
    compartment_id: str
    availability_domain: str
    size_gb: int
    vpus_per_gb: int
    # reads, writes: operations per second that the instance asks for on average
    reads: float
    writes: float
    operation_bytes: int
    # guaranteed_iops, guaranteed_bytes: ceilings per second
    guaranteed_iops: float
    guaranteed_bytes: float
    boot: bool = False


Named = DemoCompartment | DemoMountTarget | DemoFileSystem | DemoReplication | DemoConnector | LustreFileSystem | Volume


@dataclass(frozen=True, slots=True)
class Tenancy:
    """One tenancy as one region shows it."""

    id: str
    name: str
    region: str
    home_region: str
    availability_domains: tuple[str, ...]
    compartments: tuple[DemoCompartment, ...]
    subnets: tuple[Subnet, ...] = ()
    mount_targets: tuple[DemoMountTarget, ...] = ()
    file_systems: tuple[DemoFileSystem, ...] = ()
    links: tuple[Link, ...] = ()
    replications: tuple[DemoReplication, ...] = ()
    connectors: tuple[DemoConnector, ...] = ()
    # topics, streams: OCIDs that alarms may name as destinations
    topics: tuple[str, ...] = ()
    streams: tuple[str, ...] = ()
    publishes_iops: bool = True  # whether the undocumented `MountTargetIOPS` is published
    lustre_file_systems: tuple[LustreFileSystem, ...] = ()
    volumes: tuple[Volume, ...] = ()

    @property
    def compartment_ids(self) -> frozenset[str]:
        """Every compartment, the root included."""
        return frozenset({self.id, *(compartment.id for compartment in self.compartments)})

    def named(self, name: str) -> str:
        """The OCID of the one resource with this display name; an OCID is returned as it is.

        Raises:
            LookupError: no resource, or several, have this name.
        """
        if name.startswith("ocid1."):
            return name
        named: tuple[tuple[Named, ...], ...] = (
            self.mount_targets,
            self.file_systems,
            self.replications,
            self.connectors,
            self.compartments,
            self.lustre_file_systems,
            self.volumes,
        )
        found = [one.id for resources in named for one in resources if one.name == name]
        if len(found) != 1:
            raise LookupError(f"{len(found)} resources of tenancy {self.name} are called {name!r}; use the OCID")
        return found[0]
