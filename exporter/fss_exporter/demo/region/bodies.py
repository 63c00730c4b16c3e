"""Bodies of the File Storage API: what the API reference gives each model. Summaries are poorer than what Get answers."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from fss_exporter.demo.region.activity import Activity
from fss_exporter.demo.region.filestorage import recovery_point_age
from fss_exporter.demo.region.tenancy import CREATED, Connector, FileSystem, Link, MountTarget, Replication

Body = dict[str, Any]


def rfc3339(moment: datetime) -> str:
    """A time as OCI prints it."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def etag(body: object) -> str:
    """A version that changes with the body."""
    return sha256(repr(body).encode()).hexdigest()[:32]


def _common(resource: MountTarget | FileSystem | Replication | Connector) -> Body:
    return {
        "id": resource.id,
        "displayName": resource.name,
        "compartmentId": resource.compartment_id,
        "availabilityDomain": resource.availability_domain,
        "lifecycleState": "ACTIVE",
        "timeCreated": rfc3339(CREATED),
        "freeformTags": dict(getattr(resource, "tags", {})),
        "definedTags": {},
        "systemTags": {},
        "locks": [],
    }


@dataclass(frozen=True)
class Bodies:
    """Resources of a tenancy as the API shows them.

    Args:
        activity: what there is.
        now: epoch seconds.
    """

    activity: Activity
    now: Callable[[], float]

    def mount_target_summary(self, target: MountTarget) -> Body:
        """MountTargetSummary. `observedThroughput` of a standard one may be absent, 0 or 1: no document says which."""
        gbps = target.observed_gbps
        return _common(target) | {
            "exportSetId": target.export_set_id,
            "privateIpIds": [target.private_ip_id],
            "mountTargetIpv6Ids": [],
            "subnetId": target.subnet_id,
            "nsgIds": [],
            "observedThroughput": gbps,
            "requestedThroughput": gbps,
            "reservedStorageCapacity": gbps * 1000 if gbps and gbps > 1 else None,
            "timeBillingCycleEnd": None,
            "securityAttributes": {},
        }

    def mount_target(self, target: MountTarget) -> Body:
        """MountTarget."""
        idmap = {
            "schemaType": "RFC2307",
            "outboundConnector1Id": target.connector_id,
            "cacheRefreshIntervalSeconds": 300,
        }
        kerberos = {"kerberosRealm": "CORP.EXAMPLE", "isKerberosEnabled": True}
        return self.mount_target_summary(target) | {
            "lifecycleDetails": "",
            "idmapType": "LDAP" if target.connector_id else "NONE",
            "ldapIdmap": idmap if target.connector_id else None,
            "kerberos": kerberos if target.kerberos else None,
        }

    def file_system_summary(self, system: FileSystem) -> Body:
        """FileSystemSummary."""
        sources = sum(replication.file_system_id == system.id for replication in self.activity.tenancy.replications)
        return _common(system) | {
            "meteredBytes": system.metered_bytes,
            "kmsKeyId": "",
            "sourceDetails": {"parentFileSystemId": None, "sourceSnapshotId": None},
            "isCloneParent": False,
            "isHydrated": True,
            "lifecycleDetails": "",
            "cloneAttachStatus": "DETACHED",
            "quotaEnforcementState": "ENABLED" if system.quota_rules else "DISABLED",
            "compartmentQuotaEnforcementState": "NOT_BLOCKED",
            "replicationSourceCount": sources,
        }

    def file_system(self, system: FileSystem) -> Body:
        """FileSystem."""
        more = {"cloneCount": 0, "isTargetable": False, "replicationTargetId": None, "filesystemSnapshotPolicyId": None}
        return self.file_system_summary(system) | more | {"areQuotaRulesEnabled": system.quota_rules}

    def export_summary(self, link: Link) -> Body:
        """ExportSummary."""
        return {
            "id": link.export_id,
            "exportSetId": self.activity.mount_targets[link.mount_target_id].export_set_id,
            "fileSystemId": link.file_system_id,
            "path": link.path,
            "lifecycleState": "ACTIVE",
            "isIdmapGroupsForSysAuth": False,
            "timeCreated": rfc3339(CREATED),
            "locks": [],
        }

    def export(self, link: Link) -> Body:
        """Export."""
        option = {
            "source": "0.0.0.0/0",
            "requirePrivilegedSourcePort": True,
            "access": "READ_WRITE",
            "identitySquash": "NONE",
            "anonymousUid": 65534,
            "anonymousGid": 65534,
            "isAnonymousAccessAllowed": False,
            "allowedAuth": ["SYS"],
        }
        return self.export_summary(link) | {"exportOptions": [option]}

    def export_set_summary(self, target: MountTarget) -> Body:
        """ExportSetSummary."""
        subnets = {subnet.id: subnet.vcn_id for subnet in self.activity.tenancy.subnets}
        kept = ("compartmentId", "availabilityDomain", "lifecycleState", "timeCreated")
        common = {name: value for name, value in _common(target).items() if name in kept}
        named = {"id": target.export_set_id, "displayName": f"{target.name} - export set"}
        return common | named | {"vcnId": subnets[target.subnet_id]}

    def export_set(self, target: MountTarget) -> Body:
        """ExportSet. The reported size is 8 EiB unless overridden, documented: "Managing Mount Targets"."""
        return self.export_set_summary(target) | {"maxFsStatBytes": 8589934592 * 2**30, "maxFsStatFiles": None}

    def replication_summary(self, replication: Replication) -> Body:
        """ReplicationSummary."""
        age = recovery_point_age(replication, int(self.now() // 60))
        return _common(replication) | {
            "replicationInterval": replication.interval_minutes,
            "lifecycleDetails": "",
            "recoveryPointTime": rfc3339(datetime.fromtimestamp(self.now() - age, UTC)),
        }

    def replication(self, replication: Replication) -> Body:
        """Replication."""
        return self.replication_summary(replication) | {
            "sourceId": replication.file_system_id,
            "targetId": replication.target_id,
            "replicationTargetId": replication.target_id.replace("filesystem", "replicationtarget"),
            "lastSnapshotId": None,
            "deltaStatus": "IDLE",
            "deltaProgress": 0,
        }

    def connector_summary(self, connector: Connector) -> Body:
        """LdapBindAccountSummary: an LDAP bind account is the one kind of connector there is."""
        return _common(connector) | {
            "connectorType": "LDAPBIND",
            "endpoints": [{"hostname": connector.hostname, "port": connector.port}],
            "bindDistinguishedName": connector.bind_dn,
        }

    def connector(self, connector: Connector) -> Body:
        """LdapBindAccount."""
        secrets = (
            "passwordSecretId",
            "passwordSecretVersion",
            "trustedCertificateSecretId",
            "trustedCertificateSecretVersion",
        )
        return self.connector_summary(connector) | dict.fromkeys(secrets)
