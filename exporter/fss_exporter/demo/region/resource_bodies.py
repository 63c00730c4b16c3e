"""Bodies of the inventory APIs, as the API reference gives each model. `resources.yml` holds the fields that never change."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from importlib.resources import files
from typing import Any

import yaml

from fss_exporter.demo.region.demo_tenancy import (
    DemoCompartment,
    DemoConnector,
    DemoFileSystem,
    DemoMountTarget,
    DemoReplication,
    Link,
    LustreFileSystem,
    Subnet,
    Tenancy,
    Volume,
)
from fss_exporter.demo.region.metric_streams import recovery_point_age

Body = dict[str, Any]
_FIXED: Mapping[str, Body] = yaml.safe_load(files(__package__).joinpath("resources.yml").read_text())


def rfc3339(epoch_seconds: float) -> str:
    """A time as OCI prints it: `2027-01-15T08:00:00.000Z`."""
    moment = datetime.fromtimestamp(epoch_seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def etag(body: object) -> str:
    """A version that changes with the body."""
    return sha256(repr(body).encode()).hexdigest()[:32]


def _common(one: Any) -> Body:
    """Fields of every resource with a name, a compartment and an availability domain."""
    named = {"id": one.id, "displayName": one.name, "compartmentId": one.compartment_id}
    return _FIXED["common"] | named | {"availabilityDomain": one.availability_domain}


def mount_target(one: DemoMountTarget) -> tuple[Body, Body]:
    """MountTargetSummary, and the further fields of MountTarget."""
    gbps = one.observed_gbps
    summary = {
        "exportSetId": one.export_set_id,
        "privateIpIds": [one.private_ip_id],
        "subnetId": one.subnet_id,
        "observedThroughput": gbps,
        "requestedThroughput": gbps,
        "reservedStorageCapacity": gbps * 1000 if gbps and gbps > 1 else None,
        "freeformTags": dict(one.tags),
    }
    more = dict(_FIXED["MountTarget"])
    if one.connector_id:
        more |= {"idmapType": "LDAP", "ldapIdmap": _FIXED["ldapIdmap"] | {"outboundConnector1Id": one.connector_id}}
    if one.kerberos:
        more["kerberos"] = _FIXED["kerberos"]
    return _common(one) | _FIXED["MountTargetSummary"] | summary, more


def file_system(one: DemoFileSystem, tenancy: Tenancy) -> tuple[Body, Body]:
    """FileSystemSummary, and the further fields of FileSystem."""
    summary = {
        "meteredBytes": one.metered_bytes,
        "quotaEnforcementState": "ENABLED" if one.quota_rules else "DISABLED",
        "replicationSourceCount": sum(other.file_system_id == one.id for other in tenancy.replications),
    }
    more = _FIXED["FileSystem"] | {"areQuotaRulesEnabled": one.quota_rules}
    return _common(one) | _FIXED["FileSystemSummary"] | summary, more


def export(one: Link, target: DemoMountTarget) -> tuple[Body, Body]:
    """ExportSummary, and the further fields of Export."""
    ids = {"id": one.id, "exportSetId": target.export_set_id, "fileSystemId": one.file_system_id, "path": one.path}
    return _FIXED["ExportSummary"] | ids, _FIXED["Export"]


def export_set(one: DemoMountTarget, tenancy: Tenancy) -> tuple[Body, Body]:
    """ExportSetSummary, and the further fields of ExportSet."""
    vcn = next(subnet.vcn_id for subnet in tenancy.subnets if subnet.id == one.subnet_id)
    where = {"compartmentId": one.compartment_id, "availabilityDomain": one.availability_domain, "vcnId": vcn}
    named = {"id": one.export_set_id, "displayName": f"{one.name} - export set"}
    return _FIXED["ExportSetSummary"] | where | named, _FIXED["ExportSet"]


def replication(one: DemoReplication, now: float) -> tuple[Body, Body]:
    """ReplicationSummary, and the further fields of Replication. The recovery point moves with each snapshot only."""
    minute = int(now // 60)
    summary = {
        "replicationInterval": one.interval_minutes,
        "recoveryPointTime": rfc3339(minute * 60 - recovery_point_age(one, minute)),
    }
    more = {
        "sourceId": one.file_system_id,
        "targetId": one.target_id,
        "replicationTargetId": one.target_id.replace("filesystem", "replicationtarget"),
    }
    return _common(one) | _FIXED["ReplicationSummary"] | summary, _FIXED["Replication"] | more


def connector(one: DemoConnector) -> tuple[Body, Body]:
    """LdapBindAccountSummary, and the further fields of LdapBindAccount."""
    summary = {"endpoints": [{"hostname": one.hostname, "port": one.port}], "bindDistinguishedName": one.bind_dn}
    return _common(one) | _FIXED["OutboundConnectorSummary"] | summary, _FIXED["OutboundConnector"]


def compartment(one: DemoCompartment) -> Body:
    """Compartment."""
    named = {"id": one.id, "compartmentId": one.parent_id, "name": one.name, "description": f"{one.name} of the demo"}
    return _FIXED["Compartment"] | named


def private_ip(one: DemoMountTarget, compartment_id: str) -> Body:
    """PrivateIp of a mount target, in the compartment of the subnet."""
    return _FIXED["PrivateIp"] | {
        "id": one.private_ip_id,
        "compartmentId": compartment_id,
        "availabilityDomain": one.availability_domain,
        "displayName": one.name,
        "hostnameLabel": one.hostname or None,
        "ipAddress": one.address,
        "subnetId": one.subnet_id,
        "vnicId": one.private_ip_id.replace("privateip", "vnic"),
    }


def subnet(one: Subnet) -> Body:
    """Subnet; `subnetDomainName` is absent for a subnet without a DNS label."""
    fixed = {name: value for name, value in _FIXED["common"].items() if name != "lifecycleState"} | _FIXED["Subnet"]
    return fixed | {
        "id": one.id,
        "compartmentId": one.compartment_id,
        "vcnId": one.vcn_id,
        "displayName": one.name,
        "cidrBlock": one.cidr,
        "dnsLabel": one.dns_label or None,
        "subnetDomainName": one.domain or None,
        "routeTableId": one.id.replace("subnet", "routetable"),
        "virtualRouterIp": f"{one.cidr.split('/')[0].rsplit('.', 1)[0]}.1",
    }


def lustre(one: LustreFileSystem) -> Body:
    """LustreFileSystemSummary."""
    bought = {"capacityInGBs": one.capacity_gb, "performanceTier": f"MBPS_PER_TB_{one.tier}"}
    return _common(one) | _FIXED["LustreFileSystemSummary"] | bought | {"subnetId": one.subnet_id}


def volume(one: Volume) -> Body:
    """Volume, and BootVolume with the same fields."""
    sizes = {"sizeInGBs": one.size_gb, "sizeInMBs": one.size_gb * 1024, "vpusPerGB": one.vpus_per_gb}
    return _common(one) | _FIXED["Volume"] | sizes


@dataclass(frozen=True, slots=True)
class ResourceBody:
    """A resource as lists show it (`summary`), as Get shows it (`full`), and fields that only filters see (`hidden`)."""

    summary: Body
    more: Body
    hidden: Mapping[str, str | None]

    @property
    def full(self) -> Body:
        """The body that Get answers."""
        return self.summary | self.more

    def has(self, field: str, value: object) -> bool:
        """Whether a filter of a list chooses the resource."""
        return (self.summary | self.more | dict(self.hidden)).get(field) == value
