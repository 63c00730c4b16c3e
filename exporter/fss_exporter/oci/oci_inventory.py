"""What is there: frozen records of mount targets and what belongs to them. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field


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
class ServiceResource:
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
    service_resources: Mapping[str, ServiceResource] = field(default_factory=dict)

    @property
    def services(self) -> frozenset[str]:
        """Other storage services there is something of."""
        return frozenset(one.service for one in self.service_resources.values())

    def compartment(self, compartment_id: str) -> str:
        """The compartment's name, or its OCID where the name is not known."""
        return self.compartments.get(compartment_id, compartment_id)
