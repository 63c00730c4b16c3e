"""The inventory APIs over a tenancy: File Storage (20171215), Identity and Core Services (20160918), Lustre (20250228)."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fss_exporter.demo.region import refusal, resource_bodies as bodies
from fss_exporter.demo.region.activity import Activity
from fss_exporter.demo.region.api_messages import (
    Compartments,
    ExportsQuery,
    FileSystems,
    InCompartment,
    InZone,
    LimitValues,
    Listed,
    Message,
    MountTargets,
    Page,
    PrivateIps,
    Replications,
)
from fss_exporter.demo.region.demo_tenancy import DemoCompartment, Link
from fss_exporter.demo.region.resource_bodies import Body, ResourceBody, etag
from fss_exporter.demo.region.wire import ApiAnswer, ApiOperation, Call, paged

_REGION_KEYS = {"eu-frankfurt-1": "FRA", "eu-zurich-1": "ZRH", "us-ashburn-1": "IAD", "us-phoenix-1": "PHX"}
_MOUNT_TARGET_LIMIT = "mount-target-count"
_NOT_FILTERS = {"limit", "page", "sortBy", "sortOrder", "compartmentIdInSubtree", "accessLevel"}
Resources = Callable[[], Iterable[ResourceBody]]


@dataclass(frozen=True)
class InventoryApi:
    """Lists and single resources."""

    activity: Activity  # the resources that exist, and those that are gone
    now: Callable[[], float]  # epoch seconds
    largest_page: int  # most items of a page

    def operations(self) -> Iterator[ApiOperation]:
        """Every list and every Get."""
        storage: tuple[tuple[str, type[Page], Resources], ...] = (
            ("MountTarget", MountTargets, self._mount_targets),
            ("FileSystem", FileSystems, self._file_systems),
            ("ExportSet", InZone, self._export_sets),
            ("Replication", Replications, self._replications),
            ("OutboundConnector", InZone, self._connectors),
            ("Export", ExportsQuery, self._exports),
        )
        for name, query, resources in storage:
            path = f"/20171215/{name[0].lower()}{name[1:]}s"
            yield ApiOperation(f"List{name}s", "GET", path, self._lister(resources), query)
            yield ApiOperation(f"Get{name}", "GET", f"{path}/{{id}}", self._getter(resources))
        identity: tuple[tuple[str, str, Callable[[Call], ApiAnswer], type[Message]], ...] = (
            ("ListAvailabilityDomains", "availabilityDomains", self._list_zones, InCompartment),
            ("ListCompartments", "compartments", self._list_compartments, Compartments),
            ("GetCompartment", "compartments/{id}", self._getter(self._compartments), Message),
            ("GetTenancy", "tenancies/{id}", self._get_tenancy, Message),
            ("ListRegionSubscriptions", "tenancies/{id}/regionSubscriptions", self._list_regions, Message),
            ("GetPrivateIp", "privateIps/{id}", self._getter(self._private_ips), Message),
            ("ListPrivateIps", "privateIps", self._list_private_ips, PrivateIps),
            ("GetSubnet", "subnets/{id}", self._getter(self._subnets), Message),
            ("ListVolumes", "volumes", self._lister(lambda: self._volumes(boot=False)), Listed),
            ("ListBootVolumes", "bootVolumes", self._lister(lambda: self._volumes(boot=True)), Listed),
        )
        for name, path, handle, model in identity:
            yield ApiOperation(name, "GET", f"/20160918/{path}", handle, model)
        yield ApiOperation("ListLimitValues", "GET", "/20190729/limitValues", self._list_limits, LimitValues)
        yield ApiOperation("ListLustreFileSystems", "GET", "/20250228/lustreFileSystems", self._list_lustre, Listed)

    # -- resources that exist

    def _living(self, resources: Iterable[Any]) -> list[Any]:
        return [resource for resource in resources if self.activity.lives(resource.id)]

    def _mount_targets(self) -> Iterator[ResourceBody]:
        for one in self._living(self.activity.tenancy.mount_targets):
            yield ResourceBody(*bodies.mount_target(one), {})

    def _file_systems(self) -> Iterator[ResourceBody]:
        for one in self._living(self.activity.tenancy.file_systems):
            yield ResourceBody(*bodies.file_system(one, self.activity.tenancy), {})

    def _export_sets(self) -> Iterator[ResourceBody]:
        for one in self._living(self.activity.tenancy.mount_targets):
            yield ResourceBody(*bodies.export_set(one, self.activity.tenancy), {})

    def _replications(self) -> Iterator[ResourceBody]:
        for one in self._living(self.activity.tenancy.replications):
            yield ResourceBody(*bodies.replication(one, self.now()), {"fileSystemId": one.file_system_id})

    def _connectors(self) -> Iterator[ResourceBody]:
        for one in self._living(self.activity.tenancy.connectors):
            yield ResourceBody(*bodies.connector(one), {})

    def _exports(self) -> Iterator[ResourceBody]:
        for one in self._living_links():
            target = self.activity.mount_targets[one.mount_target_id]
            yield ResourceBody(*bodies.export(one, target), {"compartmentId": target.compartment_id})

    def _living_links(self) -> list[Link]:
        lives = self.activity.lives
        return [one for one in self.activity.tenancy.links if lives(one.mount_target_id) and lives(one.file_system_id)]

    def _compartments(self) -> Iterator[ResourceBody]:
        tenancy = self.activity.tenancy
        for one in (DemoCompartment(tenancy.id, tenancy.name, tenancy.id), *tenancy.compartments):
            yield ResourceBody(bodies.compartment(one), {}, {})

    def _private_ips(self) -> Iterator[ResourceBody]:
        compartments = {subnet.id: subnet.compartment_id for subnet in self.activity.tenancy.subnets}
        for one in self._living(self.activity.tenancy.mount_targets):
            yield ResourceBody(bodies.private_ip(one, compartments[one.subnet_id]), {}, {})

    def _subnets(self) -> Iterator[ResourceBody]:
        for one in self.activity.tenancy.subnets:
            yield ResourceBody(bodies.subnet(one), {}, {})

    def _volumes(self, *, boot: bool) -> Iterator[ResourceBody]:
        for one in self._living(self.activity.tenancy.volumes):
            if one.boot == boot:
                yield ResourceBody(bodies.volume(one), {}, {})

    def _lustre(self) -> Iterator[ResourceBody]:
        for one in self._living(self.activity.tenancy.lustre_file_systems):
            yield ResourceBody(bodies.lustre(one), {}, {})

    # -- answers

    def _getter(self, resources: Resources) -> Callable[[Call], ApiAnswer]:
        def get(call: Call) -> ApiAnswer:
            for one in resources():
                if one.summary["id"] == call.path["id"]:
                    return ApiAnswer(one.full, headers={"etag": etag(one.full)})
            raise refusal.not_authorized_or_not_found()

        return get

    def _lister(self, resources: Resources) -> Callable[[Call], ApiAnswer]:
        def show(call: Call) -> ApiAnswer:
            wanted = call.query.model_dump(by_alias=True, exclude_none=True, exclude_unset=True)
            self._check_scope(wanted)
            filters = {name: value for name, value in wanted.items() if name not in _NOT_FILTERS}
            found = [one for one in resources() if all(one.has(*pair) for pair in filters.items())]
            chosen = _sorted([one.summary for one in found], wanted.get("sortBy", ""), wanted.get("sortOrder"))
            return paged(chosen, call.query, self.largest_page)

        return show

    def _check_scope(self, wanted: Mapping[str, str]) -> None:
        """A compartment, export set or file system that is unknown or gone is an error and not an empty list."""
        tenancy = self.activity.tenancy
        if not any(wanted.get(name) for name in ("compartmentId", "exportSetId", "fileSystemId", "availabilityDomain")):
            raise refusal.missing("one of compartmentId, exportSetId and fileSystemId is required")
        if wanted.get("availabilityDomain", tenancy.availability_domains[0]) not in tenancy.availability_domains:
            zone = wanted["availabilityDomain"]
            raise refusal.invalid(f"query parameter availabilityDomain: this region has no {zone}")
        known = {
            "compartmentId": tenancy.compartment_ids,
            "exportSetId": {target.export_set_id for target in self._living(tenancy.mount_targets)},
            "fileSystemId": {system.id for system in self._living(tenancy.file_systems)},
        }
        for name, ids in known.items():
            if name in wanted and wanted[name] not in ids:
                raise refusal.not_authorized_or_not_found(name.removesuffix("Id"))

    def _list_lustre(self, call: Call) -> ApiAnswer:
        """The page is wrapped, as in the newer APIs."""
        answer = self._lister(self._lustre)(call)
        return ApiAnswer({"items": answer.body}, headers=answer.headers)

    def _list_private_ips(self, call: Call) -> ApiAnswer:
        subnet_id = call.query.subnet_id
        if all(subnet.id != subnet_id for subnet in self.activity.tenancy.subnets):
            raise refusal.not_authorized_or_not_found("subnet")
        found = [one.summary for one in self._private_ips() if one.summary["subnetId"] == subnet_id]
        return paged(found, call.query, self.largest_page)

    def _list_limits(self, call: Call) -> ApiAnswer:
        """Mount targets by availability domain; a tenancy of more than 100 has a raised limit."""
        tenancy = self.activity.tenancy
        if call.query.compartment_id != tenancy.id:
            raise refusal.not_authorized_or_not_found("tenancy")
        if (call.query.service_name, call.query.name or _MOUNT_TARGET_LIMIT) != ("filesystem", _MOUNT_TARGET_LIMIT):
            return ApiAnswer([])
        value = 100 if len(tenancy.mount_targets) <= 100 else 2 * len(tenancy.mount_targets)
        rows = [
            {"name": _MOUNT_TARGET_LIMIT, "scopeType": "AD", "availabilityDomain": zone, "value": value}
            for zone in tenancy.availability_domains
        ]
        return paged(rows, call.query, self.largest_page)

    def _list_zones(self, call: Call) -> ApiAnswer:
        tenancy = self.activity.tenancy
        self._check_scope({"compartmentId": call.query.compartment_id})
        zones = ((name, f"ocid1.availabilitydomain.oc1..{name.lower()}") for name in tenancy.availability_domains)
        return ApiAnswer([{"name": name, "id": id_, "compartmentId": tenancy.id} for name, id_ in zones])

    def _list_compartments(self, call: Call) -> ApiAnswer:
        """First-level children, or the whole tree from the tenancy. Never the tenancy itself."""
        query: Compartments = call.query
        tenancy = self.activity.tenancy
        self._check_scope({"compartmentId": query.compartment_id})
        if query.compartment_id_in_subtree and query.compartment_id != tenancy.id:
            raise refusal.invalid("query parameter compartmentIdInSubtree may be true only for the tenancy")
        found = [
            bodies.compartment(one)
            for one in tenancy.compartments
            if query.compartment_id_in_subtree or one.parent_id == query.compartment_id
            if query.name in (None, one.name) and query.lifecycle_state in (None, "ACTIVE")
        ]
        return paged(_sorted(found, query.sort_by or "", query.sort_order), query, self.largest_page)

    def _get_tenancy(self, call: Call) -> ApiAnswer:
        tenancy = self._tenancy(call)
        home = _REGION_KEYS.get(tenancy.home_region, tenancy.home_region)
        tags: Body = {"freeformTags": {}, "definedTags": {}}
        return ApiAnswer({"id": tenancy.id, "name": tenancy.name, "description": "demo", "homeRegionKey": home} | tags)

    def _tenancy(self, call: Call) -> Any:
        if call.path["id"] != self.activity.tenancy.id:
            raise refusal.not_authorized_or_not_found("tenancy")
        return self.activity.tenancy

    def _list_regions(self, call: Call) -> ApiAnswer:
        tenancy = self._tenancy(call)
        names = dict.fromkeys((tenancy.home_region, tenancy.region))
        keys = {name: {"regionKey": _REGION_KEYS.get(name, name), "regionName": name} for name in names}
        home = {name: {"status": "READY", "isHomeRegion": name == tenancy.home_region} for name in names}
        return ApiAnswer([keys[name] | home[name] for name in names])


def _sorted(found: list[Body], by: str, order: str | None) -> list[Body]:
    """By time, newest first, unless asked otherwise; names ascend unless asked otherwise."""
    key = {"displayname": "displayName", "path": "path", "name": "name"}.get(by.lower(), "timeCreated")
    return sorted(
        found, key=lambda body: str(body[key]), reverse=(order or ("DESC" if key == "timeCreated" else "ASC")) == "DESC"
    )
