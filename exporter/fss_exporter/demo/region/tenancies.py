"""The small tenancy of the demo, read from `tenancy.yml`, and a tenancy of any size to measure with."""

from collections.abc import Mapping
from functools import cache
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
    ocid,
)
from fss_exporter.demo.region.requests_per_second import RequestMix, RequestRate

_DATA: Mapping[str, Any] = yaml.safe_load(files(__package__).joinpath("tenancy.yml").read_text())
_REQUESTS = {name: RequestMix(tuple(RequestRate(*row) for row in rows)) for name, rows in _DATA["requests"].items()}
REGION: str = _DATA["region"]


class _Builder:
    """Makes resources whose OCIDs follow from the names of tenancy and resource."""

    def __init__(self, tenancy: str, region: str) -> None:
        self.tenancy, self.region, self.tenancy_id = tenancy, region, ocid("tenancy", "", tenancy)

    def id(self, kind: str, name: str) -> str:
        return ocid(kind, self.region, f"{self.tenancy}/{name}")

    def compartment(self, name: str) -> DemoCompartment:
        return DemoCompartment(ocid("compartment", "", f"{self.tenancy}/{name}"), name, self.tenancy_id)

    def subnet(self, compartment: DemoCompartment, name: str, cidr: str, label: str | None) -> Subnet:
        return Subnet(self.id("subnet", f"sn-{name}"), f"sn-{name}", compartment.id, self.id("vcn", "fss"), cidr, label)

    def mount_target(
        self, name: str, place: tuple[str, str], subnet: Subnet, *, shape: str = "standard", **row: Any
    ) -> DemoMountTarget:
        ids = {"export_set_id": self.id("exportset", name), "private_ip_id": self.id("privateip", name)}
        given = {"host_label": name, "ceilings": _DATA["ceilings"][shape], **ids, **row}
        return DemoMountTarget(self.id("mounttarget", name), name, *place, subnet.id, **given)

    def file_system(
        self, name: str, place: tuple[str, str], used_bytes: int, *, quotas: bool = False
    ) -> DemoFileSystem:
        """Return a file system, metered with snapshots and directory entries and so larger than its data."""
        metered = used_bytes + used_bytes // 9
        return DemoFileSystem(self.id("filesystem", name), name, *place, metered, used_bytes, quotas)

    def link(self, target: DemoMountTarget, system: DemoFileSystem, path: str, requests: str) -> Link:
        return Link(self.id("export", f"{target.name}:{path}"), target.id, system.id, path, _REQUESTS[requests])


@cache
def small(region: str = REGION) -> Tenancy:
    """Return the tenancy of the demo: three compartments, two availability domains, five mount targets."""
    build = _Builder("fssdemo", region)
    compartments = {name: build.compartment(name) for name in _DATA["compartments"]}
    zones = {zone: f"qIZq:{region.upper()}-{zone}" for zone in ("AD-1", "AD-2")}
    places = {name: (compartments[one].id, zones[zone]) for name, (one, zone) in _DATA["places"].items()}
    subnets = {name: build.subnet(compartments["network"], name, *row) for name, row in _DATA["subnets"].items()}
    connector = DemoConnector(
        build.id("outboundconnector", "ldap-corp"), "ldap-corp", *places["here"], "ldap.corp.example", 636, "cn=nfs"
    )
    targets = {}
    for name, row in _DATA["mount_targets"].items():
        rest = {key: value for key, value in row.items() if key not in ("place", "subnet", "connector")}
        rest["connector_id"] = connector.id if "connector" in row else ""
        targets[name] = build.mount_target(name, places[row["place"]], subnets[row["subnet"]], **rest)
    systems = {
        name: build.file_system(name, places[place], terabytes * 10**12, quotas=quotas)
        for name, (place, terabytes, quotas) in _DATA["file_systems"].items()
    }
    source, copy = systems["projects"].id, ocid("filesystem", "eu-zurich-1", "projects")
    replication = build.id("replication", "projects"), "projects-to-zurich", *places["here"]
    return Tenancy(
        id=build.tenancy_id,
        name="fssdemo",
        region=region,
        home_region=REGION,
        availability_domains=tuple(zones.values()),
        compartments=tuple(compartments.values()),
        subnets=tuple(subnets.values()),
        mount_targets=tuple(targets.values()),
        file_systems=tuple(systems.values()),
        links=tuple(build.link(targets[one], systems[other], path, mix) for one, other, path, mix in _DATA["exports"]),
        replications=(DemoReplication(*replication, source, copy, 60, 24_000_000),),
        connectors=(connector,),
        topics=(build.id("onstopic", "storage-oncall"),),
        streams=(build.id("stream", "alarms"),),
        lustre_file_systems=tuple(_lustre(build, name, places, subnets, row) for name, row in _DATA["lustre"].items()),
        volumes=tuple(_volume(build, name, places, row) for name, row in _DATA["volumes"].items()),
    )


def _lustre(
    build: _Builder,
    name: str,
    places: Mapping[str, tuple[str, str]],
    subnets: Mapping[str, Subnet],
    row: dict[str, Any],
) -> LustreFileSystem:
    rest = {key: value for key, value in row.items() if key not in ("place", "subnet")}
    where = (*places[row["place"]], subnets[row["subnet"]].id)
    return LustreFileSystem(build.id("lustrefilesystem", name), name, *where, **rest)


def _volume(build: _Builder, name: str, places: Mapping[str, tuple[str, str]], row: dict[str, Any]) -> Volume:
    rest = {key: value for key, value in row.items() if key != "place"}
    return Volume(build.id("bootvolume" if row.get("boot") else "volume", name), name, *places[row["place"]], **rest)


def large(
    mount_targets: int = 1000, file_systems_each: int = 4, *, compartments: int = 1, region: str = REGION
) -> Tenancy:
    """Standard mount targets, all alike, each with file systems of its own.

    Args:
        mount_targets: number of mount targets, spread evenly over the compartments; at most 65,000.
        file_systems_each: file systems behind each.
        compartments: first-level compartments.
        region: name of the region.
    """
    build = _Builder(f"large-{mount_targets}-{file_systems_each}-{compartments}", region)
    zone = f"qIZq:{region.upper()}-AD-1"
    homes = [build.compartment(f"storage-{number}") for number in range(compartments)]
    subnet = build.subnet(homes[0], "large", "10.96.0.0/16", "large")
    targets: list[DemoMountTarget] = []
    systems: list[DemoFileSystem] = []
    links: list[Link] = []
    for number in range(mount_targets):
        place = homes[number % compartments].id, zone
        row: dict[str, Any] = {
            "address": f"10.96.{number >> 8}.{number & 255}",
            "observed_gbps": 1,
            "connections": 20 + number % 80,
        }
        targets.append(build.mount_target(f"mt-{number:05}", place, subnet, **row))
        for at in range(file_systems_each):
            systems.append(build.file_system(f"fs-{number:05}-{at}", place, 10**12))
            links.append(build.link(targets[-1], systems[-1], f"/export/{at}", "projects-aside"))
    return Tenancy(
        id=build.tenancy_id,
        name="large",
        region=region,
        home_region=REGION,
        availability_domains=(zone,),
        compartments=tuple(homes),
        subnets=(subnet,),
        mount_targets=tuple(targets),
        file_systems=tuple(systems),
        links=tuple(links),
        topics=(build.id("onstopic", "storage-oncall"),),
    )
