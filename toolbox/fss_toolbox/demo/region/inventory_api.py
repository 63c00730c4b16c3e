# SPDX-License-Identifier: Apache-2.0
"""The inventory APIs over a tenancy: File Storage (20171215), Identity and Core Services (20160918), Lustre (20250228).

`resources.yml` has the fields of each model of the API reference, with attributes of the tenancy's records to fill in.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from fss_toolbox.demo.region import refusal
from fss_toolbox.demo.region.activity import Activity
from fss_toolbox.demo.region.api_operations import ApiAnswer, Call, Handler, read_table
from fss_toolbox.demo.region.demo_tenancy import DemoCompartment, Tenancy
from fss_toolbox.demo.region.wire import paged

_NOT_FILTERS = {"limit", "page"}
Body = dict[str, Any]
_MODELS: Mapping[str, Body] = read_table(files(__package__).joinpath("resources.yml"))


@lru_cache(maxsize=10_000)  # the streams of an answer have the same minutes
def epoch(moment: datetime) -> float:
    """Return epoch seconds. A time without zone is UTC."""
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


@lru_cache(maxsize=10_000)
def rfc3339(epoch_seconds: float) -> str:
    """Return a time as OCI prints it: `2027-01-15T08:00:00.000Z`."""
    moment = datetime.fromtimestamp(epoch_seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def etag(body: object) -> str:
    """Return a version that changes with the body."""
    return sha256(repr(body).encode()).hexdigest()[:32]


class ResourceBody:
    """A resource in the API's own names, by a model such as `MountTarget` and a record of the tenancy.

    Only filters see `hidden` fields. `figures` are values of `$name` that are no attributes of the record.
    """

    def __init__(self, model: str, record: Any, hidden: Mapping[str, str] | None = None, **figures: Any) -> None:
        self._template = _MODELS[model]
        self._record, self._hidden, self._figures = record, hidden or {}, figures

    @property
    def shown(self) -> Body:
        """The resource as lists and Get show the resource."""
        filled: Body = _filled(self._template, self._record, self._figures)
        return filled

    def has(self, name: str, value: object) -> bool:
        """Return whether a filter of a list chooses the resource."""
        return bool(self._hidden.get(name, _filled(self._template.get(name), self._record, self._figures)) == value)


def _filled(template: Any, record: Any, figures: Mapping[str, Any]) -> Any:
    if isinstance(template, dict):
        return {name: _filled(value, record, figures) for name, value in template.items()}
    if isinstance(template, list):
        return [_filled(value, record, figures) for value in template]
    if isinstance(template, str) and template.startswith("$"):
        name = template[1:]
        return figures[name] if name in figures else getattr(record, name)
    return template


Resources = Callable[[], Iterable[ResourceBody]]


class InventoryApi:
    """Lists and single resources.

    `activity` knows present and deleted resources, `now` returns epoch seconds, and `largest_page` is the most items of a page.
    """

    def __init__(self, activity: Activity, now: Callable[[], float], largest_page: int) -> None:
        self.activity = activity
        self.now = now
        self.largest_page = largest_page

    @property
    def tenancy(self) -> Tenancy:
        """The tenancy whose resources are listed."""
        return self.activity.tenancy

    def handlers(self) -> Mapping[str, Handler]:
        """Return the handler of every list and every Get, by API operation."""
        listed: Mapping[str, Resources] = {
            "MountTargets": lambda: self._bodies("MountTarget", self.tenancy.mount_targets),
            "FileSystems": self._file_systems,
            "ExportSets": self._export_sets,
            "Replications": self._replications,
            "OutboundConnectors": lambda: self._bodies("OutboundConnector", self.tenancy.connectors),
            "Exports": self._exports,
            "Volumes": lambda: self._volumes(boot=False),
            "BootVolumes": lambda: self._volumes(boot=True),
        }
        return {
            **{f"List{name}": self._lister(resources) for name, resources in listed.items()},
            "GetPrivateIp": self._getter(self._private_ips),
            "GetIpv6": self._getter(self._ipv6s),
            "GetSubnet": self._getter(lambda: self._bodies("Subnet", self.tenancy.subnets)),
            "ListLustreFileSystems": self._list_lustre,
            "ListPrivateIps": self._list_private_ips,
            "ListLimitValues": self._list_limits,
            "ListAvailabilityDomains": self._list_zones,
            "ListCompartments": self._list_compartments,
            "GetCompartment": self._getter(self._compartments),
            "ListRegionSubscriptions": self._list_regions,
        }

    # -- resources that exist

    def _living(self, resources: Iterable[Any]) -> list[Any]:
        return [resource for resource in resources if self.activity.lives(resource.id)]

    def _bodies(self, model: str, resources: Iterable[Any]) -> list[ResourceBody]:
        return [ResourceBody(model, resource) for resource in self._living(resources)]

    def _file_systems(self) -> Iterator[ResourceBody]:
        for file_system in self._living(self.tenancy.file_systems):
            replications = sum(other.file_system_id == file_system.id for other in self.tenancy.replications)
            yield ResourceBody("FileSystem", file_system, replications=replications)

    def _export_sets(self) -> Iterator[ResourceBody]:
        networks = {subnet.id: subnet.vcn_id for subnet in self.tenancy.subnets}
        for target in self._living(self.tenancy.mount_targets):
            yield ResourceBody("ExportSet", target, vcn_id=networks[target.subnet_id])

    def _replications(self) -> Iterator[ResourceBody]:
        minute = int(self.now() // 60)
        for replication in self._living(self.tenancy.replications):
            point = rfc3339(minute * 60 - replication.recovery_point_age(minute))  # moves with each snapshot only
            yield ResourceBody("Replication", replication, recovery_point=point)

    def _exports(self) -> Iterator[ResourceBody]:
        lives = self.activity.lives
        for link in self.tenancy.links:
            if lives(link.mount_target_id) and lives(link.file_system_id):
                target = self.activity.mount_targets[link.mount_target_id]
                hidden = {"compartmentId": target.compartment_id}
                yield ResourceBody("Export", link, hidden=hidden, export_set_id=target.export_set_id)

    def _private_ips(self) -> Iterator[ResourceBody]:
        compartments = {subnet.id: subnet.compartment_id for subnet in self.tenancy.subnets}
        for target in self._living(self.tenancy.mount_targets):
            yield ResourceBody("PrivateIp", target, subnet_compartment_id=compartments[target.subnet_id])

    def _ipv6s(self) -> Iterator[ResourceBody]:
        compartments = {subnet.id: subnet.compartment_id for subnet in self.tenancy.subnets}
        for target in self._living(self.tenancy.mount_targets):
            if target.ipv6_address:
                yield ResourceBody("Ipv6", target, subnet_compartment_id=compartments[target.subnet_id])

    def _compartments(self) -> Iterator[ResourceBody]:
        """Yield the root, which has no parent, and the compartments below."""
        tenancy = self.tenancy
        for compartment in (DemoCompartment(tenancy.id, tenancy.name, tenancy.id), *tenancy.compartments):
            yield ResourceBody("Compartment", compartment)

    def _volumes(self, *, boot: bool) -> Iterator[ResourceBody]:
        for volume in self._living(self.tenancy.volumes):
            if volume.boot == boot:
                yield ResourceBody("Volume", volume, size_mb=volume.size_gb * 1024)

    # -- answers

    def _getter(self, resources: Resources) -> Handler:
        def get(call: Call) -> ApiAnswer:
            for body in resources():
                if body.has("id", call.path["id"]):
                    return ApiAnswer(body.shown, headers={"etag": etag(body.shown)})
            raise refusal.not_authorized_or_not_found()

        return get

    def _lister(self, resources: Resources) -> Handler:
        def show(call: Call) -> ApiAnswer:
            wanted = call.query.model_dump(by_alias=True, exclude_none=True, exclude_unset=True)
            self._check_scope(wanted)
            filters = {name: value for name, value in wanted.items() if name not in _NOT_FILTERS}
            return self._page((body for body in resources() if all(body.has(*pair) for pair in filters.items())), call)

        return show

    def _page(self, bodies: Iterable[ResourceBody], call: Call) -> ApiAnswer:
        page = paged(list(bodies), call.query, self.largest_page)
        return ApiAnswer([body.shown for body in page.body], headers=page.headers)

    def _check_scope(self, wanted: Mapping[str, str]) -> None:
        """Refuse an unknown compartment or availability domain: the list would not be empty."""
        tenancy = self.tenancy
        if not any(wanted.get(name) for name in ("compartmentId", "exportSetId", "fileSystemId", "availabilityDomain")):
            raise refusal.missing("one of compartmentId, exportSetId and fileSystemId is required")
        if wanted.get("availabilityDomain", tenancy.availability_domains[0]) not in tenancy.availability_domains:
            zone = wanted["availabilityDomain"]
            raise refusal.invalid(f"query parameter availabilityDomain: this region has no {zone}")
        if wanted.get("compartmentId", tenancy.id) not in tenancy.compartment_ids:
            raise refusal.not_authorized_or_not_found("compartment")

    def _list_lustre(self, call: Call) -> ApiAnswer:
        """Wrap the page, as the newer APIs do."""
        listed = self._lister(lambda: self._bodies("LustreFileSystem", self.tenancy.lustre_file_systems))
        answer = listed(call)
        return ApiAnswer({"items": answer.body}, headers=answer.headers)

    def _list_private_ips(self, call: Call) -> ApiAnswer:
        subnet_id = call.query.subnet_id
        if all(subnet.id != subnet_id for subnet in self.tenancy.subnets):
            raise refusal.not_authorized_or_not_found("subnet")
        return self._page((body for body in self._private_ips() if body.has("subnetId", subnet_id)), call)

    def _list_limits(self, call: Call) -> ApiAnswer:
        """List the limits by availability domain. A tenancy with more than 100 of a kind has raised limits."""
        self._check_tenancy(call.query.compartment_id)
        count = max(len(self.tenancy.mount_targets), len(self.tenancy.file_systems))
        limit = {"scopeType": "AD", "value": 100 if count <= 100 else 2 * count}
        rows = [
            {"name": name, "availabilityDomain": zone, **limit}
            for name in self.tenancy.limit_names
            for zone in self.tenancy.availability_domains
            if (call.query.service_name, call.query.name or name) == ("filesystem", name)
        ]
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
        bodies = [
            ResourceBody("Compartment", compartment)
            for compartment in self.tenancy.compartments
            if query.compartment_id_in_subtree or compartment.parent_id == query.compartment_id
            if query.name in (None, compartment.name) and query.lifecycle_state in (None, "ACTIVE")
        ]
        return self._page(bodies, call)

    def _list_regions(self, call: Call) -> ApiAnswer:
        self._check_tenancy(call.path["id"])
        region = {"regionKey": "FRA", "regionName": self.tenancy.region, "isHomeRegion": True, "status": "READY"}
        return ApiAnswer([region])

    def _check_tenancy(self, ocid: str) -> None:
        if ocid != self.tenancy.id:
            raise refusal.not_authorized_or_not_found("tenancy")
