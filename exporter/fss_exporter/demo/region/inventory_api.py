"""The inventory APIs over a tenancy: File Storage (20171215), Identity and Core Services (20160918), Lustre (20250228)."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fss_exporter.demo.region import refusal
from fss_exporter.demo.region.activity import Activity
from fss_exporter.demo.region.api_operations import ApiAnswer, Call, Handler
from fss_exporter.demo.region.demo_tenancy import DemoCompartment, Tenancy
from fss_exporter.demo.region.resource_bodies import Body, ResourceBody, etag, rfc3339
from fss_exporter.demo.region.wire import paged

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

    @property
    def tenancy(self) -> Tenancy:
        """The tenancy whose resources are listed."""
        return self.activity.tenancy

    def handlers(self) -> Iterator[tuple[str, Handler]]:
        """Return the handler of every list and every Get, by API operation."""
        both: Mapping[str, Resources] = {
            "MountTarget": self._mount_targets,
            "FileSystem": self._file_systems,
            "ExportSet": self._export_sets,
            "Replication": self._replications,
            "OutboundConnector": lambda: self._bodies("OutboundConnector", self.tenancy.connectors),
            "Export": self._exports,
        }
        for name, resources in both.items():
            yield f"List{name}s", self._lister(resources)
            yield f"Get{name}", self._getter(resources)
        yield "GetCompartment", self._getter(self._compartments)
        yield "GetPrivateIp", self._getter(self._private_ips)
        yield "GetSubnet", self._getter(lambda: [ResourceBody.of("Subnet", one) for one in self.tenancy.subnets])
        yield "ListVolumes", self._lister(lambda: self._volumes(boot=False))
        yield "ListBootVolumes", self._lister(lambda: self._volumes(boot=True))
        yield "ListLustreFileSystems", self._list_lustre
        yield "ListPrivateIps", self._list_private_ips
        yield "ListLimitValues", self._list_limits
        yield "ListAvailabilityDomains", self._list_zones
        yield "ListCompartments", self._list_compartments
        yield "GetTenancy", self._get_tenancy
        yield "ListRegionSubscriptions", self._list_regions

    # -- resources that exist

    def _living(self, resources: Iterable[Any]) -> list[Any]:
        return [resource for resource in resources if self.activity.lives(resource.id)]

    def _bodies(self, model: str, resources: Iterable[Any]) -> list[ResourceBody]:
        return [ResourceBody.of(model, one) for one in self._living(resources)]

    def _mount_targets(self) -> Iterator[ResourceBody]:
        for one in self._living(self.tenancy.mount_targets):
            ldap, kerberos = ("WithLdap",) if one.connector_id else (), ("WithKerberos",) if one.kerberos else ()
            yield ResourceBody.of("MountTarget", one, *ldap, *kerberos)

    def _file_systems(self) -> Iterator[ResourceBody]:
        for one in self._living(self.tenancy.file_systems):
            replications = sum(other.file_system_id == one.id for other in self.tenancy.replications)
            yield ResourceBody.of("FileSystem", one, replications=replications)

    def _export_sets(self) -> Iterator[ResourceBody]:
        networks = {subnet.id: subnet.vcn_id for subnet in self.tenancy.subnets}
        for one in self._living(self.tenancy.mount_targets):
            yield ResourceBody.of("ExportSet", one, vcn_id=networks[one.subnet_id])

    def _replications(self) -> Iterator[ResourceBody]:
        minute = int(self.now() // 60)
        for one in self._living(self.tenancy.replications):
            point = rfc3339(minute * 60 - one.recovery_point_age(minute))  # moves with each snapshot only
            yield ResourceBody.of("Replication", one, hidden={"fileSystemId": one.file_system_id}, recovery_point=point)

    def _exports(self) -> Iterator[ResourceBody]:
        lives = self.activity.lives
        for one in self.tenancy.links:
            if lives(one.mount_target_id) and lives(one.file_system_id):
                target = self.activity.mount_targets[one.mount_target_id]
                hidden = {"compartmentId": target.compartment_id}
                yield ResourceBody.of("Export", one, hidden=hidden, export_set_id=target.export_set_id)

    def _compartments(self) -> Iterator[ResourceBody]:
        for one in (DemoCompartment(self.tenancy.id, self.tenancy.name, self.tenancy.id), *self.tenancy.compartments):
            yield ResourceBody.of("Compartment", one)

    def _private_ips(self) -> Iterator[ResourceBody]:
        compartments = {subnet.id: subnet.compartment_id for subnet in self.tenancy.subnets}
        for one in self._living(self.tenancy.mount_targets):
            yield ResourceBody.of("PrivateIp", one, subnet_compartment_id=compartments[one.subnet_id])

    def _volumes(self, *, boot: bool) -> list[ResourceBody]:
        return self._bodies("Volume", (one for one in self.tenancy.volumes if one.boot == boot))

    # -- answers

    def _getter(self, resources: Resources) -> Handler:
        def get(call: Call) -> ApiAnswer:
            for one in resources():
                if one.summary["id"] == call.path["id"]:
                    return ApiAnswer(one.full, headers={"etag": etag(one.full)})
            raise refusal.not_authorized_or_not_found()

        return get

    def _lister(self, resources: Resources) -> Handler:
        def show(call: Call) -> ApiAnswer:
            wanted = call.query.model_dump(by_alias=True, exclude_none=True, exclude_unset=True)
            self._check_scope(wanted)
            filters = {name: value for name, value in wanted.items() if name not in _NOT_FILTERS}
            found = [one for one in resources() if all(one.has(*pair) for pair in filters.items())]
            chosen = _sorted([one.summary for one in found], wanted.get("sortBy", ""), wanted.get("sortOrder"))
            return paged(chosen, call.query, self.largest_page)

        return show

    def _check_scope(self, wanted: Mapping[str, str]) -> None:
        """Refuse a compartment, export set or file system that is unknown or gone: the list would not be empty."""
        tenancy = self.tenancy
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
        """Wrap the page, as the newer APIs do."""
        listed = self._lister(lambda: self._bodies("LustreFileSystem", self.tenancy.lustre_file_systems))
        answer = listed(call)
        return ApiAnswer({"items": answer.body}, headers=answer.headers)

    def _list_private_ips(self, call: Call) -> ApiAnswer:
        subnet_id = call.query.subnet_id
        if all(subnet.id != subnet_id for subnet in self.tenancy.subnets):
            raise refusal.not_authorized_or_not_found("subnet")
        found = [one.summary for one in self._private_ips() if one.summary["subnetId"] == subnet_id]
        return paged(found, call.query, self.largest_page)

    def _list_limits(self, call: Call) -> ApiAnswer:
        """List the limit of mount targets by availability domain. A tenancy of more than 100 has a raised limit."""
        self._check_tenancy(call.query.compartment_id)
        if (call.query.service_name, call.query.name or _MOUNT_TARGET_LIMIT) != ("filesystem", _MOUNT_TARGET_LIMIT):
            return ApiAnswer([])
        count = len(self.tenancy.mount_targets)
        limit = {"name": _MOUNT_TARGET_LIMIT, "scopeType": "AD", "value": 100 if count <= 100 else 2 * count}
        rows = [limit | {"availabilityDomain": zone} for zone in self.tenancy.availability_domains]
        return paged(rows, call.query, self.largest_page)

    def _list_zones(self, call: Call) -> ApiAnswer:
        self._check_scope({"compartmentId": call.query.compartment_id})
        ids = {name: f"ocid1.availabilitydomain.oc1..{name.lower()}" for name in self.tenancy.availability_domains}
        return ApiAnswer([{"name": name, "id": id_, "compartmentId": self.tenancy.id} for name, id_ in ids.items()])

    def _list_compartments(self, call: Call) -> ApiAnswer:
        """List first-level children, or the whole tree from the tenancy, and never the tenancy itself."""
        query = call.query
        self._check_scope({"compartmentId": query.compartment_id})
        if query.compartment_id_in_subtree and query.compartment_id != self.tenancy.id:
            raise refusal.invalid("query parameter compartmentIdInSubtree may be true only for the tenancy")
        found = [
            ResourceBody.of("Compartment", one).summary
            for one in self.tenancy.compartments
            if query.compartment_id_in_subtree or one.parent_id == query.compartment_id
            if query.name in (None, one.name) and query.lifecycle_state in (None, "ACTIVE")
        ]
        return paged(_sorted(found, query.sort_by or "", query.sort_order), query, self.largest_page)

    def _get_tenancy(self, call: Call) -> ApiAnswer:
        self._check_tenancy(call.path["id"])
        home = _REGION_KEYS.get(self.tenancy.home_region, self.tenancy.home_region)
        body: Body = {"id": self.tenancy.id, "name": self.tenancy.name, "description": "demo", "homeRegionKey": home}
        return ApiAnswer(body | {"freeformTags": {}, "definedTags": {}})

    def _list_regions(self, call: Call) -> ApiAnswer:
        self._check_tenancy(call.path["id"])
        home, here = self.tenancy.home_region, self.tenancy.region
        return ApiAnswer(
            [
                {
                    "regionKey": _REGION_KEYS.get(name, name),
                    "regionName": name,
                    "status": "READY",
                    "isHomeRegion": name == home,
                }
                for name in dict.fromkeys((home, here))
            ]
        )

    def _check_tenancy(self, ocid: str) -> None:
        if ocid != self.tenancy.id:
            raise refusal.not_authorized_or_not_found("tenancy")


def _sorted(found: list[Body], by: str, order: str | None) -> list[Body]:
    """Sort by time, newest first, or by name, ascending, unless the query says otherwise."""
    key = {"displayname": "displayName", "path": "path", "name": "name"}.get(by.lower(), "timeCreated")
    order = order or ("DESC" if key == "timeCreated" else "ASC")
    return sorted(found, key=lambda body: str(body[key]), reverse=order == "DESC")
