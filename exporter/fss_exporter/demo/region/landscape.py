"""Identity and Networking (20160918): availability domains, compartments, regions, private IPs, subnets."""

from dataclasses import dataclass
from typing import Any, Literal

from fss_exporter.demo.region import refusal
from fss_exporter.demo.region.activity import Activity
from fss_exporter.demo.region.bodies import etag, rfc3339
from fss_exporter.demo.region.tenancy import CREATED, Compartment, Subnet
from fss_exporter.demo.region.wire import Answer, Call, Message, Operation, Page, paged

BASE = "/20160918"
_REGION_KEYS = {"eu-frankfurt-1": "FRA", "eu-zurich-1": "ZRH", "us-ashburn-1": "IAD", "us-phoenix-1": "PHX"}


class InCompartment(Message):
    """Query of ListAvailabilityDomains."""

    compartment_id: str


class Compartments(Page):
    """Query of ListCompartments."""

    compartment_id: str
    access_level: Literal["ANY", "ACCESSIBLE"] | None = None
    compartment_id_in_subtree: bool = False
    name: str | None = None
    sort_by: Literal["TIMECREATED", "NAME"] | None = None
    sort_order: Literal["ASC", "DESC"] | None = None
    lifecycle_state: Literal["CREATING", "ACTIVE", "INACTIVE", "DELETING", "DELETED"] | None = None


@dataclass(frozen=True)
class Landscape:
    """The parts of the Identity and Virtual Network APIs that an inventory needs.

    Args:
        activity: what there is, and what is gone.
        largest_page: most items a page has.
    """

    activity: Activity
    largest_page: int

    def operations(self) -> tuple[Operation, ...]:
        """What it serves."""
        rows = (
            ("ListAvailabilityDomains", "availabilityDomains", self.list_availability_domains, InCompartment),
            ("ListCompartments", "compartments", self.list_compartments, Compartments),
            ("GetCompartment", "compartments/{compartmentId}", self.get_compartment, Message),
            ("GetTenancy", "tenancies/{tenancyId}", self.get_tenancy, Message),
            ("ListRegionSubscriptions", "tenancies/{tenancyId}/regionSubscriptions", self.list_regions, Message),
            ("GetPrivateIp", "privateIps/{privateIpId}", self.get_private_ip, Message),
            ("GetSubnet", "subnets/{subnetId}", self.get_subnet, Message),
        )
        return tuple(Operation(name, "GET", f"{BASE}/{path}", handle, query) for name, path, handle, query in rows)

    def _check_compartment(self, compartment_id: str) -> None:
        tenancy = self.activity.tenancy
        if compartment_id not in tenancy.compartment_ids:
            raise refusal.not_authorized_or_not_found("compartment")

    def list_availability_domains(self, call: Call) -> Answer:
        """ListAvailabilityDomains; `compartmentId` may be the tenancy or any compartment."""
        self._check_compartment(call.query.compartment_id)
        tenancy = self.activity.tenancy
        return Answer(
            [
                {"name": name, "id": f"ocid1.availabilitydomain.oc1..{name.lower()}", "compartmentId": tenancy.id}
                for name in tenancy.availability_domains
            ]
        )

    def list_compartments(self, call: Call) -> Answer:
        """ListCompartments: first-level children, or the whole tree from the tenancy. Never the tenancy itself."""
        query: Compartments = call.query
        self._check_compartment(query.compartment_id)
        tenancy = self.activity.tenancy
        if query.compartment_id_in_subtree and query.compartment_id != tenancy.id:
            raise refusal.invalid("query parameter compartmentIdInSubtree may be true only for the tenancy")
        if query.lifecycle_state not in (None, "ACTIVE"):
            return Answer([])
        found = [
            _compartment(compartment)
            for compartment in tenancy.compartments
            if query.compartment_id_in_subtree or compartment.parent_id == query.compartment_id
            if query.name in (None, compartment.name)
        ]
        by_name = query.sort_by == "NAME"
        descending = query.sort_order == "DESC" if query.sort_order else not by_name
        found.sort(key=lambda body: str(body["name" if by_name else "timeCreated"]), reverse=descending)
        return paged(found, query, self.largest_page)

    def get_compartment(self, call: Call) -> Answer:
        """GetCompartment, the root compartment included."""
        tenancy = self.activity.tenancy
        root = Compartment(tenancy.id, tenancy.name, tenancy.id)
        for compartment in (root, *tenancy.compartments):
            if compartment.id == call.path["compartmentId"]:
                return _single(_compartment(compartment))
        raise refusal.not_authorized_or_not_found("compartment")

    def _check_tenancy(self, tenancy_id: str) -> None:
        if tenancy_id != self.activity.tenancy.id:
            raise refusal.not_authorized_or_not_found("tenancy")

    def get_tenancy(self, call: Call) -> Answer:
        """GetTenancy."""
        self._check_tenancy(call.path["tenancyId"])
        tenancy = self.activity.tenancy
        home = _REGION_KEYS.get(tenancy.home_region, tenancy.home_region)
        tags: dict[str, object] = {"freeformTags": {}, "definedTags": {}}
        return Answer({"id": tenancy.id, "name": tenancy.name, "description": "demo", "homeRegionKey": home} | tags)

    def list_regions(self, call: Call) -> Answer:
        """ListRegionSubscriptions."""
        self._check_tenancy(call.path["tenancyId"])
        tenancy = self.activity.tenancy
        return Answer(
            [
                {
                    "regionKey": _REGION_KEYS.get(name, name),
                    "regionName": name,
                    "status": "READY",
                    "isHomeRegion": name == tenancy.home_region,
                }
                for name in dict.fromkeys((tenancy.home_region, tenancy.region))
            ]
        )

    def get_private_ip(self, call: Call) -> Answer:
        """GetPrivateIp: the address of a mount target. It lives in the subnet's compartment, not the mount target's."""
        tenancy = self.activity.tenancy
        compartments = {subnet.id: subnet.compartment_id for subnet in tenancy.subnets}
        for target in tenancy.mount_targets:
            if target.private_ip_id == call.path["privateIpId"] and self.activity.lives(target.id):
                return _single(
                    {
                        "id": target.private_ip_id,
                        "compartmentId": compartments[target.subnet_id],
                        "availabilityDomain": target.availability_domain,
                        "displayName": target.name,
                        "hostnameLabel": target.hostname or None,
                        "ipAddress": target.address,
                        "isPrimary": False,
                        "subnetId": target.subnet_id,
                        "timeCreated": rfc3339(CREATED),
                        "vnicId": target.private_ip_id.replace("privateip", "vnic"),
                        "ipState": "ASSIGNED",
                        "lifetime": "EPHEMERAL",
                        "freeformTags": {},
                        "definedTags": {},
                    }
                )
        raise refusal.not_authorized_or_not_found("private IP")

    def get_subnet(self, call: Call) -> Answer:
        """GetSubnet; `subnetDomainName` is absent for a subnet without a DNS label."""
        for subnet in self.activity.tenancy.subnets:
            if subnet.id == call.path["subnetId"]:
                return _single(_subnet(subnet))
        raise refusal.not_authorized_or_not_found("subnet")


def _single(body: dict[str, Any]) -> Answer:
    return Answer(body, headers={"etag": etag(body)})


def _compartment(compartment: Compartment) -> dict[str, Any]:
    return {
        "id": compartment.id,
        "compartmentId": compartment.parent_id,
        "name": compartment.name,
        "description": f"{compartment.name} of the demo tenancy",
        "timeCreated": rfc3339(CREATED),
        "lifecycleState": "ACTIVE",
        "inactiveStatus": None,
        "isAccessible": True,
        "freeformTags": {},
        "definedTags": {},
    }


def _subnet(subnet: Subnet) -> dict[str, Any]:
    network = subnet.cidr.split("/", maxsplit=1)[0]
    return {
        "id": subnet.id,
        "compartmentId": subnet.compartment_id,
        "vcnId": subnet.vcn_id,
        "displayName": subnet.name,
        "cidrBlock": subnet.cidr,
        "dnsLabel": subnet.dns_label or None,
        "subnetDomainName": subnet.domain or None,
        "lifecycleState": "AVAILABLE",
        "routeTableId": subnet.id.replace("subnet", "routetable"),
        "virtualRouterIp": f"{network.rsplit('.', 1)[0]}.1",
        "virtualRouterMac": "00:00:17:00:00:01",
        "prohibitPublicIpOnVnic": True,
        "prohibitInternetIngress": True,
        "timeCreated": rfc3339(CREATED),
        "freeformTags": {},
        "definedTags": {},
        "systemTags": {},
    }
