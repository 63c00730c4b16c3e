"""File Storage (20171215): mount targets, file systems, exports, export sets, replications, outbound connectors."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from fss_exporter.demo.region import refusal
from fss_exporter.demo.region.activity import Activity
from fss_exporter.demo.region.bodies import Bodies, Body, etag
from fss_exporter.demo.region.tenancy import Link
from fss_exporter.demo.region.wire import Answer, Call, Operation, Page, paged

BASE = "/20171215"
State = Literal["CREATING", "ACTIVE", "UPDATING", "DELETING", "DELETED", "FAILED"]


class InZone(Page):
    """Query of the lists that need a compartment and an availability domain: all but ListExports."""

    compartment_id: str
    availability_domain: str
    display_name: str | None = None
    lifecycle_state: State | None = None
    id: str | None = None
    sort_by: Annotated[str, Field(pattern="^(TIMECREATED|DISPLAYNAME)$")] | None = None
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
    """Query of ListReplications, the one list that spells sortBy in camelCase."""

    file_system_id: str | None = None
    sort_by: Annotated[str, Field(pattern="^(timeCreated|displayName)$")] | None = None


class Exports(Page):
    """Query of ListExports: one of the three ids is needed, documented: ListExports."""

    compartment_id: str | None = None
    export_set_id: str | None = None
    file_system_id: str | None = None
    lifecycle_state: State | None = None
    id: str | None = None
    sort_by: Literal["TIMECREATED", "PATH"] | None = None
    sort_order: Literal["ASC", "DESC"] | None = None


@dataclass(frozen=True)
class Inventory:
    """The File Storage API over a tenancy.

    Args:
        activity: what there is, and what is gone.
        bodies: how it is shown.
        largest_page: most items a page has.
    """

    activity: Activity
    bodies: Bodies
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

    # -- lists

    def _living(self, resources: Iterable[Any]) -> list[Any]:
        return [resource for resource in resources if self.activity.lives(resource.id)]

    def _in_zone(self, call: Call, bodies: Iterable[Body]) -> Answer:
        query: InZone = call.query
        tenancy = self.activity.tenancy
        if query.compartment_id not in tenancy.compartment_ids:
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
            call,
            (self.bodies.mount_target_summary(target) for target in targets if chosen in (None, target.export_set_id)),
        )

    def list_file_systems(self, call: Call) -> Answer:
        """ListFileSystems; no demo file system is a clone or follows a snapshot policy."""
        query: FileSystems = call.query
        derived = (query.source_snapshot_id, query.parent_file_system_id, query.filesystem_snapshot_policy_id)
        systems = [] if any(derived) else self._living(self.activity.tenancy.file_systems)
        return self._in_zone(call, (self.bodies.file_system_summary(system) for system in systems))

    def list_export_sets(self, call: Call) -> Answer:
        """ListExportSets."""
        targets = self._living(self.activity.tenancy.mount_targets)
        return self._in_zone(call, (self.bodies.export_set_summary(target) for target in targets))

    def list_replications(self, call: Call) -> Answer:
        """ListReplications."""
        chosen = call.query.file_system_id
        living = self._living(self.activity.tenancy.replications)
        return self._in_zone(
            call, (self.bodies.replication_summary(one) for one in living if chosen in (None, one.file_system_id))
        )

    def list_connectors(self, call: Call) -> Answer:
        """ListOutboundConnectors."""
        living = self._living(self.activity.tenancy.connectors)
        return self._in_zone(call, (self.bodies.connector_summary(connector) for connector in living))

    def list_exports(self, call: Call) -> Answer:
        """ListExports, by compartment (of the mount target), export set or file system."""
        query: Exports = call.query
        if not (query.compartment_id or query.export_set_id or query.file_system_id):
            raise refusal.missing("one of compartmentId, exportSetId and fileSystemId is required")
        self._check_scope(query)
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
        bodies = _chosen((self.bodies.export_summary(link) for link in links), wanted)
        return paged(_sorted(bodies, query.sort_by, query.sort_order), query, self.largest_page)

    def _check_scope(self, query: Exports) -> None:
        """What is not there, or gone, is an error and not an empty list."""
        living = {target.export_set_id for target in self._living(self.activity.tenancy.mount_targets)}
        systems = {system.id for system in self._living(self.activity.tenancy.file_systems)}
        checks = (
            (query.compartment_id, self.activity.tenancy.compartment_ids, "compartment"),
            (query.export_set_id, living, "export set"),
            (query.file_system_id, systems, "file system"),
        )
        for wanted, known, what in checks:
            if wanted is not None and wanted not in known:
                raise refusal.not_authorized_or_not_found(what)

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
        return self._one(living, call.path["mountTargetId"], self.bodies.mount_target)

    def get_file_system(self, call: Call) -> Answer:
        """GetFileSystem."""
        return self._one(
            self._living(self.activity.tenancy.file_systems), call.path["fileSystemId"], self.bodies.file_system
        )

    def get_export_set(self, call: Call) -> Answer:
        """GetExportSet."""
        living = self._living(self.activity.tenancy.mount_targets)
        return self._one(living, call.path["exportSetId"], self.bodies.export_set, "export_set_id")

    def get_export(self, call: Call) -> Answer:
        """GetExport."""
        return self._one(self._living_links(), call.path["exportId"], self.bodies.export, "export_id")

    def get_replication(self, call: Call) -> Answer:
        """GetReplication."""
        return self._one(
            self._living(self.activity.tenancy.replications), call.path["replicationId"], self.bodies.replication
        )

    def get_connector(self, call: Call) -> Answer:
        """GetOutboundConnector."""
        living = self._living(self.activity.tenancy.connectors)
        return self._one(living, call.path["outboundConnectorId"], self.bodies.connector)


def _chosen(bodies: Iterable[Body], wanted: Mapping[str, str | None]) -> list[Body]:
    return [body for body in bodies if all(value is None or body.get(name) == value for name, value in wanted.items())]


def _sorted(bodies: list[Body], by: str | None, order: str | None) -> list[Body]:
    """By time, newest first, unless asked otherwise; names ascend unless asked otherwise."""
    key = {"displayname": "displayName", "path": "path"}.get((by or "").lower(), "timeCreated")
    descending = order == "DESC" if order else key == "timeCreated"
    return sorted(bodies, key=lambda body: str(body[key]), reverse=descending)
