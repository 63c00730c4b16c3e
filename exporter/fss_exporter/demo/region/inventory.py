"""File Storage (20171215): mount targets, file systems, exports, export sets, replications, outbound connectors.

Bodies hold what the API reference gives each model; the summaries of lists are poorer than what Get answers.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Literal

from fss_exporter.demo.region import refusal
from fss_exporter.demo.region.activity import Activity
from fss_exporter.demo.region.filestorage import recovery_point_age
from fss_exporter.demo.region.tenancy import CREATED, Connector, FileSystem, Link, MountTarget, Replication
from fss_exporter.demo.region.wire import Answer, Call, Operation, Page, paged

BASE = "/20171215"
State = Literal["CREATING", "ACTIVE", "UPDATING", "DELETING", "DELETED", "FAILED"]
Body = dict[str, Any]


class InZone(Page):
    """Query of the lists that need a compartment and an availability domain: all but ListExports."""

    compartment_id: str
    availability_domain: str
    display_name: str | None = None
    lifecycle_state: State | None = None
    id: str | None = None
    sort_by: Literal["TIMECREATED", "DISPLAYNAME", "timeCreated", "displayName"] | None = None
    sort_order: Literal["ASC", "DESC"] | None = None


class MountTargets(InZone):
    """Query of ListMountTargets."""

    export_set_id: str | None = None


class FileSystems(InZone):
    """Query of ListFileSystems."""

    source_snapshot_id: str | None = None
    parent_file_system_id: str | None = None
    filesystem_snapshot_policy_id: str | None = None


class Replications(InZone):
    """Query of ListReplications."""

    file_system_id: str | None = None


class Exports(Page):
    """Query of ListExports: one of the three ids is needed, documented: ListExports."""

    compartment_id: str | None = None
    export_set_id: str | None = None
    file_system_id: str | None = None
    lifecycle_state: State | None = None
    id: str | None = None
    sort_by: Literal["TIMECREATED", "PATH"] | None = None
    sort_order: Literal["ASC", "DESC"] | None = None


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
class Inventory:
    """The File Storage API over a tenancy.

    Args:
        activity: what there is, and what is gone.
        now: epoch seconds.
        largest_page: most items a page has.
    """

    activity: Activity
    now: Callable[[], float]
    largest_page: int

    def operations(self) -> tuple[Operation, ...]:
        """What it serves."""
        kinds: tuple[tuple[str, str, type[InZone], Callable[[Call], Answer], Callable[[Call], Answer]], ...] = (
            ("MountTarget", "mountTarget", MountTargets, self.list_mount_targets, self.get_mount_target),
            ("FileSystem", "fileSystem", FileSystems, self.list_file_systems, self.get_file_system),
            ("ExportSet", "exportSet", InZone, self.list_export_sets, self.get_export_set),
            ("Replication", "replication", Replications, self.list_replications, self.get_replication),
            ("OutboundConnector", "outboundConnector", InZone, self.list_connectors, self.get_connector),
        )
        operations = [
            Operation("ListExports", "GET", f"{BASE}/exports", self.list_exports, Exports),
            Operation("GetExport", "GET", f"{BASE}/exports/{{exportId}}", self.get_export),
        ]
        for name, word, query, many, one in kinds:
            operations.append(Operation(f"List{name}s", "GET", f"{BASE}/{word}s", many, query))
            operations.append(Operation(f"Get{name}", "GET", f"{BASE}/{word}s/{{{word}Id}}", one))
        return tuple(operations)

    # -- bodies

    def _mount_target_summary(self, target: MountTarget) -> Body:
        """`observedThroughput` of a standard one may be absent, 0 or 1: no document says which."""
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

    def _mount_target(self, target: MountTarget) -> Body:
        idmap = {
            "schemaType": "RFC2307",
            "outboundConnector1Id": target.connector_id,
            "cacheRefreshIntervalSeconds": 300,
        }
        kerberos = {"kerberosRealm": "CORP.EXAMPLE", "isKerberosEnabled": True}
        return self._mount_target_summary(target) | {
            "lifecycleDetails": "",
            "idmapType": "LDAP" if target.connector_id else "NONE",
            "ldapIdmap": idmap if target.connector_id else None,
            "kerberos": kerberos if target.kerberos else None,
        }

    def _file_system_summary(self, system: FileSystem) -> Body:
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

    def _file_system(self, system: FileSystem) -> Body:
        more = {"cloneCount": 0, "isTargetable": False, "replicationTargetId": None, "filesystemSnapshotPolicyId": None}
        return self._file_system_summary(system) | more | {"areQuotaRulesEnabled": system.quota_rules}

    def _export_summary(self, link: Link) -> Body:
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

    def _export(self, link: Link) -> Body:
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
        return self._export_summary(link) | {"exportOptions": [option]}

    def _export_set_summary(self, target: MountTarget) -> Body:
        subnets = {subnet.id: subnet.vcn_id for subnet in self.activity.tenancy.subnets}
        kept = ("compartmentId", "availabilityDomain", "lifecycleState", "timeCreated")
        common = {name: value for name, value in _common(target).items() if name in kept}
        named = {"id": target.export_set_id, "displayName": f"{target.name} - export set"}
        return common | named | {"vcnId": subnets[target.subnet_id]}

    def _export_set(self, target: MountTarget) -> Body:
        """The reported size is 8 EiB unless overridden, documented: "Managing Mount Targets"."""
        return self._export_set_summary(target) | {"maxFsStatBytes": 8589934592 * 2**30, "maxFsStatFiles": None}

    def _replication_summary(self, replication: Replication) -> Body:
        age = recovery_point_age(replication, int(self.now() // 60))
        return _common(replication) | {
            "replicationInterval": replication.interval_minutes,
            "lifecycleDetails": "",
            "recoveryPointTime": rfc3339(datetime.fromtimestamp(self.now() - age, UTC)),
        }

    def _replication(self, replication: Replication) -> Body:
        return self._replication_summary(replication) | {
            "sourceId": replication.file_system_id,
            "targetId": replication.target_id,
            "replicationTargetId": replication.target_id.replace("filesystem", "replicationtarget"),
            "lastSnapshotId": None,
            "deltaStatus": "IDLE",
            "deltaProgress": 0,
        }

    def _connector_summary(self, connector: Connector) -> Body:
        return _common(connector) | {
            "connectorType": "LDAPBIND",
            "endpoints": [{"hostname": connector.hostname, "port": connector.port}],
            "bindDistinguishedName": connector.bind_dn,
        }

    def _connector(self, connector: Connector) -> Body:
        secrets = (
            "passwordSecretId",
            "passwordSecretVersion",
            "trustedCertificateSecretId",
            "trustedCertificateSecretVersion",
        )
        return self._connector_summary(connector) | dict.fromkeys(secrets)

    # -- lists

    def _living(self, resources: Iterable[Any]) -> list[Any]:
        return [resource for resource in resources if self.activity.lives(resource.id)]

    def _in_zone(self, call: Call, bodies: Iterable[Body]) -> Answer:
        query: InZone = call.query
        tenancy = self.activity.tenancy
        if query.compartment_id not in {tenancy.id, *(compartment.id for compartment in tenancy.compartments)}:
            raise refusal.not_authorized_or_not_found("compartment")
        if query.availability_domain not in tenancy.availability_domains:
            raise refusal.invalid(f"query parameter availabilityDomain: this region has no {query.availability_domain}")
        wanted = {
            "compartmentId": query.compartment_id,
            "availabilityDomain": query.availability_domain,
            "displayName": query.display_name,
            "lifecycleState": query.lifecycle_state,
            "id": query.id,
        }
        return paged(_sorted(_chosen(bodies, wanted), query.sort_by, query.sort_order), query, self.largest_page)

    def list_mount_targets(self, call: Call) -> Answer:
        """ListMountTargets."""
        chosen = call.query.export_set_id
        targets = self._living(self.activity.tenancy.mount_targets)
        return self._in_zone(
            call, (self._mount_target_summary(target) for target in targets if chosen in (None, target.export_set_id))
        )

    def list_file_systems(self, call: Call) -> Answer:
        """ListFileSystems; no demo file system is a clone or follows a snapshot policy."""
        query: FileSystems = call.query
        derived = (query.source_snapshot_id, query.parent_file_system_id, query.filesystem_snapshot_policy_id)
        systems = [] if any(derived) else self._living(self.activity.tenancy.file_systems)
        return self._in_zone(call, (self._file_system_summary(system) for system in systems))

    def list_export_sets(self, call: Call) -> Answer:
        """ListExportSets."""
        targets = self._living(self.activity.tenancy.mount_targets)
        return self._in_zone(call, (self._export_set_summary(target) for target in targets))

    def list_replications(self, call: Call) -> Answer:
        """ListReplications."""
        chosen = call.query.file_system_id
        living = self._living(self.activity.tenancy.replications)
        return self._in_zone(
            call, (self._replication_summary(one) for one in living if chosen in (None, one.file_system_id))
        )

    def list_connectors(self, call: Call) -> Answer:
        """ListOutboundConnectors."""
        living = self._living(self.activity.tenancy.connectors)
        return self._in_zone(call, (self._connector_summary(connector) for connector in living))

    def list_exports(self, call: Call) -> Answer:
        """ListExports, by compartment (of the mount target), export set or file system."""
        query: Exports = call.query
        if not (query.compartment_id or query.export_set_id or query.file_system_id):
            raise refusal.missing("one of compartmentId, exportSetId and fileSystemId is required")
        targets = self.activity.mount_targets
        links = [
            link
            for link in self._living_links()
            if query.compartment_id in (None, targets[link.mount_target_id].compartment_id)
        ]
        wanted = {
            "exportSetId": query.export_set_id,
            "fileSystemId": query.file_system_id,
            "lifecycleState": query.lifecycle_state,
            "id": query.id,
        }
        bodies = _chosen((self._export_summary(link) for link in links), wanted)
        return paged(_sorted(bodies, query.sort_by, query.sort_order), query, self.largest_page)

    def _living_links(self) -> list[Link]:
        lives = self.activity.lives
        return [
            link for link in self.activity.tenancy.links if lives(link.mount_target_id) and lives(link.file_system_id)
        ]

    # -- single resources

    def _one(self, resources: Iterable[Any], wanted: str, body: Callable[[Any], Body], key: str = "id") -> Answer:
        for resource in resources:
            if getattr(resource, key) == wanted:
                shown = body(resource)
                return Answer(shown, headers={"etag": etag(shown)})
        raise refusal.not_authorized_or_not_found()

    def get_mount_target(self, call: Call) -> Answer:
        """GetMountTarget."""
        living = self._living(self.activity.tenancy.mount_targets)
        return self._one(living, call.path["mountTargetId"], self._mount_target)

    def get_file_system(self, call: Call) -> Answer:
        """GetFileSystem."""
        return self._one(self._living(self.activity.tenancy.file_systems), call.path["fileSystemId"], self._file_system)

    def get_export_set(self, call: Call) -> Answer:
        """GetExportSet."""
        living = self._living(self.activity.tenancy.mount_targets)
        return self._one(living, call.path["exportSetId"], self._export_set, "export_set_id")

    def get_export(self, call: Call) -> Answer:
        """GetExport."""
        return self._one(self._living_links(), call.path["exportId"], self._export, "export_id")

    def get_replication(self, call: Call) -> Answer:
        """GetReplication."""
        return self._one(
            self._living(self.activity.tenancy.replications), call.path["replicationId"], self._replication
        )

    def get_connector(self, call: Call) -> Answer:
        """GetOutboundConnector."""
        living = self._living(self.activity.tenancy.connectors)
        return self._one(living, call.path["outboundConnectorId"], self._connector)


def _chosen(bodies: Iterable[Body], wanted: Mapping[str, str | None]) -> list[Body]:
    return [body for body in bodies if all(value is None or body.get(name) == value for name, value in wanted.items())]


def _sorted(bodies: list[Body], by: str | None, order: str | None) -> list[Body]:
    """By time, newest first, unless asked otherwise; names ascend unless asked otherwise."""
    key = {"displayname": "displayName", "path": "path"}.get((by or "").lower(), "timeCreated")
    descending = order == "DESC" if order else key == "timeCreated"
    return sorted(bodies, key=lambda body: str(body[key]), reverse=descending)
