"""The lists that tell what there is of Lustre and block volumes: APIs 20250228 and 20160918 (Core Services) of SDK 2.189."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from fss_exporter.demo.region import refusal
from fss_exporter.demo.region.activity import Activity
from fss_exporter.demo.region.bodies import rfc3339
from fss_exporter.demo.region.tenancy import CREATED, LustreFileSystem, Volume
from fss_exporter.demo.region.wire import Answer, Call, Operation, Page, paged

Body = dict[str, Any]


class Listed(Page):
    """Query of the lists."""

    compartment_id: str
    availability_domain: str | None = None
    lifecycle_state: str | None = None
    display_name: str | None = None
    id: str | None = None
    sort_by: str | None = None
    sort_order: str | None = None


def _shared(resource: LustreFileSystem | Volume, state: str) -> Body:
    return {
        "id": resource.id,
        "displayName": resource.name,
        "compartmentId": resource.compartment_id,
        "availabilityDomain": resource.availability_domain,
        "lifecycleState": state,
        "timeCreated": rfc3339(CREATED),
        "freeformTags": {},
        "definedTags": {},
        "systemTags": {},
    }


def _lustre(one: LustreFileSystem) -> Body:
    """LustreFileSystemSummary."""
    return _shared(one, "ACTIVE") | {
        "timeUpdated": rfc3339(CREATED),
        "timeBillingCycleEnd": rfc3339(CREATED),
        "fileSystemName": "lustrefs",
        "fileSystemDescription": "",
        "capacityInGBs": one.capacity_gb,
        "performanceTier": f"MBPS_PER_TB_{one.tier}",
        "managementServiceAddress": "10.80.3.60",
        "lnet": "tcp",
        "majorVersion": "2.15",
        "subnetId": one.subnet_id,
        "nsgIds": [],
        "rootSquashConfiguration": {"identitySquash": "NONE", "squashUid": 65534, "squashGid": 65534},
    }


def _volume(one: Volume) -> Body:
    """Volume, and BootVolume, which has the same attributes here."""
    return _shared(one, "AVAILABLE") | {
        "sizeInGBs": one.size_gb,
        "sizeInMBs": one.size_gb * 1024,
        "vpusPerGB": one.vpus_per_gb,
        "isHydrated": True,
    }


@dataclass(frozen=True)
class Neighbours:
    """The parts of the Lustre and Block Volume APIs that an inventory needs.

    Args:
        activity: what there is, and what is gone.
        largest_page: most items a page has.
    """

    activity: Activity
    largest_page: int

    def operations(self) -> tuple[Operation, ...]:
        """What it serves."""
        return (
            Operation("ListLustreFileSystems", "GET", "/20250228/lustreFileSystems", self.list_lustre, Listed),
            Operation("ListVolumes", "GET", "/20160918/volumes", self.list_volumes, Listed),
            Operation("ListBootVolumes", "GET", "/20160918/bootVolumes", self.list_boot_volumes, Listed),
        )

    def _listed(self, call: Call, resources: Iterable[Any], body: Callable[[Any], Body]) -> Answer:
        query: Listed = call.query
        if query.compartment_id not in self.activity.tenancy.compartment_ids:
            raise refusal.not_authorized_or_not_found("compartment")
        found = [
            body(one)
            for one in resources
            if one.compartment_id == query.compartment_id and self.activity.lives(one.id)
            if query.availability_domain in (None, one.availability_domain)
        ]
        return paged(found, query, self.largest_page)

    def list_lustre(self, call: Call) -> Answer:
        """ListLustreFileSystems; the page is wrapped, as in the newer APIs."""
        answer = self._listed(call, self.activity.tenancy.lustre_file_systems, _lustre)
        return Answer({"items": answer.body}, headers=answer.headers)

    def list_volumes(self, call: Call) -> Answer:
        """ListVolumes."""
        return self._listed(call, (one for one in self.activity.tenancy.volumes if not one.boot), _volume)

    def list_boot_volumes(self, call: Call) -> Answer:
        """ListBootVolumes."""
        return self._listed(call, (one for one in self.activity.tenancy.volumes if one.boot), _volume)
