"""Building a tenancy by names: OCIDs and the rest follow."""

from collections.abc import Mapping
from dataclasses import dataclass

from fss_exporter.demo.region.tenancy import Compartment, FileSystem, Link, MountTarget, Subnet, ocid
from fss_exporter.demo.region.traffic import IDLE, Traffic


@dataclass(frozen=True, slots=True)
class Place:
    """Where a resource lives: compartment and availability domain."""

    compartment: Compartment
    zone: str


class Builder:
    """Makes resources whose OCIDs follow from their names.

    Args:
        tenancy: name of the tenancy.
        region: where everything is.
    """

    def __init__(self, tenancy: str, region: str) -> None:
        self.tenancy = tenancy
        self.region = region
        self.tenancy_id = ocid("tenancy", "", tenancy)

    def id(self, kind: str, name: str) -> str:
        """The OCID of a regional resource."""
        return ocid(kind, self.region, f"{self.tenancy}/{name}")

    def compartment(self, name: str) -> Compartment:
        """A first-level compartment."""
        return Compartment(ocid("compartment", "", f"{self.tenancy}/{name}"), name, self.tenancy_id)

    def subnet(self, compartment: Compartment, name: str, cidr: str, dns_label: str) -> Subnet:
        """A subnet of the one VCN."""
        return Subnet(self.id("subnet", name), name, compartment.id, self.id("vcn", "fss"), cidr, dns_label)

    def mount_target(
        self,
        name: str,
        address: str,
        place: Place,
        subnet: Subnet,
        *,
        observed_gbps: int | None = None,
        hostname: str | None = None,
        connections: int = 0,
        health: float = 99.98,
        connector_id: str = "",
        kerberos: bool = False,
        tags: Mapping[str, str] | None = None,
    ) -> MountTarget:
        """A mount target with its export set and private IP; its host name is its name unless given."""
        return MountTarget(
            id=self.id("mounttarget", name),
            name=name,
            compartment_id=place.compartment.id,
            availability_domain=place.zone,
            subnet_id=subnet.id,
            address=address,
            hostname=name if hostname is None else hostname,
            export_set_id=self.id("exportset", name),
            private_ip_id=self.id("privateip", name),
            observed_gbps=observed_gbps,
            connections=connections,
            health=health,
            connector_id=connector_id,
            kerberos=kerberos,
            tags=tags or {},
        )

    def file_system(self, name: str, used_bytes: int, place: Place, *, quota_rules: bool = False) -> FileSystem:
        """A file system; it is metered with snapshots and directory entries, so more than used."""
        metered = used_bytes + used_bytes // 9
        return FileSystem(
            self.id("filesystem", name), name, place.compartment.id, place.zone, metered, used_bytes, quota_rules
        )

    def link(self, mount_target: MountTarget, file_system: FileSystem, path: str, traffic: Traffic = IDLE) -> Link:
        """An export and its traffic."""
        return Link(self.id("export", f"{mount_target.name}:{path}"), mount_target.id, file_system.id, path, traffic)
