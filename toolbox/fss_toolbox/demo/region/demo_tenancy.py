# SPDX-License-Identifier: Apache-2.0
"""The resources of a demo tenancy, and the requests that clients send to each export. All records are frozen.

The cost of each request is written down in `tenancy.yml`. Nothing here uses the cost model of the exporter, so the
agreement of the region's MountTargetIOPS with the exporter's estimate is evidence.
"""

import hashlib
from base64 import b32encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from fss_toolbox.mql import JoinOrder

# Largest size in bytes of each value of dimension `size`. Documented: "File System Metrics".
SIZE_BUCKETS: Mapping[str, int] = {"0B_to_8KiB": 8192, "8KiB_to_64KiB": 65536, "64KiB_to_1MiB": 1 << 20}


class RequestRate(NamedTuple):
    """Requests of one operation and size."""

    operation: str  # NFSv3 procedure
    size: int  # payload bytes of one request; 0 for all but READ and WRITE
    per_second: float  # requests a second
    io_operations: float  # mount-target I/O operations of one request


@dataclass(frozen=True)
class RequestMix:
    """The requests that clients send to one export in a second."""

    rates: tuple[RequestRate, ...] = ()

    def requests(self, operation: str, bucket: str = "") -> float:
        """Return requests a second of an operation, of all sizes or of one size bucket."""
        return sum(
            rate.per_second
            for rate in self.rates
            if rate.operation == operation and (not bucket or bucket_of(rate.size) == bucket)
        )

    @cached_property
    def read_bytes(self) -> float:
        """Payload bytes of READ a second."""
        return sum(rate.size * rate.per_second for rate in self.rates if rate.operation == "READ")

    @cached_property
    def written_bytes(self) -> float:
        """Payload bytes of WRITE a second."""
        return sum(rate.size * rate.per_second for rate in self.rates if rate.operation == "WRITE")

    @cached_property
    def io_operations(self) -> float:
        """Mount-target I/O operations a second."""
        return sum(rate.io_operations * rate.per_second for rate in self.rates)


IDLE = RequestMix()  # No request at all


def bucket_of(size: int) -> str:
    """Return the size bucket of a request. Larger requests than the last bucket count there."""
    return next((name for name, largest in SIZE_BUCKETS.items() if size <= largest), "64KiB_to_1MiB")


def ocid(kind: str, region: str, name: str) -> str:
    """Return a well-formed OCID that depends only on the arguments. `region` is empty for global resources."""
    unique = b32encode(hashlib.sha256(f"{kind}/{region}/{name}".encode()).digest()).decode().lower().rstrip("=")
    return f"ocid1.{kind}.oc1.{region.replace('-', '_')}.aaaaaaaa{unique}"


@dataclass(frozen=True, slots=True)
class DemoCompartment:
    """A compartment below the tenancy. `parent_id` is the tenancy's OCID for the first level."""

    id: str
    name: str
    parent_id: str


@dataclass(frozen=True, slots=True)
class Subnet:
    """A subnet of the network compartment."""

    id: str
    name: str
    compartment_id: str
    vcn_id: str
    cidr: str
    label: str | None  # DNS label; None for a subnet without names

    @property
    def domain(self) -> str | None:
        """The DNS domain of the subnet, None without a label."""
        return f"{self.label}.fssdemo.oraclevcn.com" if self.label else None


@dataclass(frozen=True, slots=True)
class DemoResource:
    """A resource with a display name in a compartment and availability domain."""

    id: str
    name: str
    compartment_id: str
    availability_domain: str


@dataclass(frozen=True, slots=True)
class DemoMountTarget(DemoResource):
    """A mount target and its export set."""

    subnet_id: str
    address: str  # IPv4 address; the private IP itself lives in the subnet's compartment
    host_label: str | None  # host name label of the private IP
    export_set_id: str
    private_ip_id: str
    ipv6_id: str
    # most `io_operations`, `read_bytes` and `written_bytes` a second, where the tenancy states them
    ceilings: Mapping[str, float]
    observed_gbps: int | None = None  # `observedThroughput`; None as some standard mount targets report it
    connections: int = 0  # NFS client connections on average
    health: float = 99.98  # share of NFS requests that succeed, percent
    connector_id: str = ""  # outbound connector for users and groups, empty without LDAP
    kerberos: bool = False  # whether the mount target publishes Kerberos events
    tags: Mapping[str, str] = field(default_factory=dict)
    ipv6_address: str = ""  # empty without one

    @property
    def ipv6_ids(self) -> list[str]:
        """OCIDs of the IPv6 addresses."""
        return [self.ipv6_id] if self.ipv6_address else []


@dataclass(frozen=True, slots=True)
class DemoFileSystem(DemoResource):
    """A file system. `FileSystemUsage` shows `used_bytes`, the API bills `metered_bytes` by the hour."""

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
class DemoReplication(DemoResource):
    """A replication of a file system to another region."""

    file_system_id: str
    interval_minutes: int
    bytes_per_second: int

    def recovery_point_age(self, minute: int) -> float:
        """Return seconds since the last applied snapshot: a saw-tooth of one to two intervals."""
        return 60.0 * (self.interval_minutes + minute % self.interval_minutes)


@dataclass(frozen=True, slots=True)
class DemoConnector(DemoResource):
    """An outbound connector to an LDAP server."""


@dataclass(frozen=True, slots=True)
class LustreFileSystem(DemoResource):
    """A file system of File Storage with Lustre. Amounts are averages per second."""

    subnet_id: str
    capacity_gb: int
    tier: int
    read_bytes: float
    written_bytes: float
    reads: float
    writes: float
    metadata_operations: float
    used_share: float

    @property
    def performance_tier(self) -> str:
        """`performanceTier` of the API."""
        return f"MBPS_PER_TB_{self.tier}"


@dataclass(frozen=True, slots=True)
class Volume(DemoResource):
    """A block volume, or a boot volume."""

    size_gb: int
    vpus_per_gb: int
    reads: float  # operations per second that the volume serves on average
    writes: float
    throttled: float  # operations per second that the volume does not serve in time
    read_bytes: float  # bytes per second of the served operations
    written_bytes: float
    guaranteed_iops: float  # ceilings per second
    guaranteed_bytes: float
    boot: bool = False


@dataclass(frozen=True, slots=True)
class Tenancy:
    """One tenancy as one region shows it."""

    id: str
    name: str
    region: str
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
    # order in which Monitoring reads `&&` and `||` without parentheses. None refuses a mixture
    join_order: JoinOrder | None = "&& binds tighter"
    limit_names: tuple[str, ...] = ("mount-target-count", "file-system-count")  # service limits of File Storage
    lustre_file_systems: tuple[LustreFileSystem, ...] = ()
    volumes: tuple[Volume, ...] = ()

    @property
    def compartment_ids(self) -> frozenset[str]:
        """Every compartment, the root included."""
        return frozenset({self.id, *(compartment.id for compartment in self.compartments)})

    def named(self, name: str) -> str:
        """Return the OCID of a resource, by display name or OCID. LookupError for no resource or several."""
        listed: Iterator[DemoResource] = chain(
            self.mount_targets,
            self.file_systems,
            self.replications,
            self.connectors,
            self.lustre_file_systems,
            self.volumes,
        )
        ids = [resource.id for resource in listed if name in (resource.name, resource.id)]
        if len(ids) != 1:
            raise LookupError(f"{len(ids)} resources of tenancy {self.name} are called {name!r}. Use the OCID")
        return ids[0]
