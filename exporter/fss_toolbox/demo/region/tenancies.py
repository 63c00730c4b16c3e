"""The small tenancy of the demo, read from `tenancy.yml`, and a tenancy of any size to measure with."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

from fss_toolbox.demo.region import demo_tenancy as records
from fss_toolbox.demo.region.api_operations import read_table

_DATA: Mapping[str, Any] = read_table(files(__package__).joinpath("tenancy.yml"))
_REQUESTS = {
    name: records.RequestMix(tuple(records.RequestRate(*row) for row in rows))
    for name, rows in _DATA["requests"].items()
}
REGION: str = _DATA["region"]
_Place = tuple[str, str]  # OCID of the compartment, availability domain
_Record = TypeVar("_Record", bound=records.DemoResource)


class _Builder:
    """Makes resources whose OCIDs follow from the names of tenancy and resource."""

    def __init__(self, tenancy: str) -> None:
        self.tenancy, self.tenancy_id = tenancy, records.ocid("tenancy", "", tenancy)

    def id(self, kind: str, name: str) -> str:
        return records.ocid(kind, REGION, f"{self.tenancy}/{name}")

    def compartment(self, name: str) -> records.DemoCompartment:
        return records.DemoCompartment(records.ocid("compartment", "", f"{self.tenancy}/{name}"), name, self.tenancy_id)

    def subnet(self, compartment: records.DemoCompartment, name: str, cidr: str, label: str | None) -> records.Subnet:
        return records.Subnet(
            self.id("subnet", f"sn-{name}"), f"sn-{name}", compartment.id, self.id("vcn", "fss"), cidr, label
        )

    def resource(self, record: type[_Record], kind: str, name: str, place: _Place, **row: Any) -> _Record:
        return record(self.id(kind, name), name, *place, **row)

    def mount_target(
        self, name: str, place: _Place, subnet: records.Subnet, *, shape: str = "standard", **row: Any
    ) -> Any:
        ids = {"export_set_id": self.id("exportset", name), "private_ip_id": self.id("privateip", name)}
        given = {"host_label": name, "ceilings": _DATA["ceilings"][shape], "subnet_id": subnet.id, **ids, **row}
        return self.resource(records.DemoMountTarget, "mounttarget", name, place, **given)

    def file_system(self, name: str, place: _Place, used_bytes: int, *, quotas: bool = False) -> records.DemoFileSystem:
        """Return a file system, metered with snapshots and directory entries and so larger than its data."""
        sizes = {"metered_bytes": used_bytes + used_bytes // 9, "used_bytes": used_bytes}
        return self.resource(records.DemoFileSystem, "filesystem", name, place, quota_rules=quotas, **sizes)

    def link(
        self, target: records.DemoMountTarget, system: records.DemoFileSystem, path: str, requests: str
    ) -> records.Link:
        return records.Link(self.id("export", f"{target.name}:{path}"), target.id, system.id, path, _REQUESTS[requests])

    def finished(self, name: str, zones: Iterable[str], **resources: Any) -> records.Tenancy:
        topics = (self.id("onstopic", "storage-oncall"),)
        return records.Tenancy(self.tenancy_id, name, REGION, tuple(zones), topics=topics, **resources)


@cache
def small(tenancy: str = "fssdemo") -> records.Tenancy:
    """Return the tenancy of the demo: three compartments, two availability domains, five mount targets."""
    build = _Builder(tenancy)
    compartments = {name: build.compartment(name) for name in _DATA["compartments"]}
    zones = {zone: f"qIZq:{REGION.upper()}-{zone}" for zone in ("AD-1", "AD-2")}
    places = {
        name: (compartments[compartment].id, zones[zone]) for name, (compartment, zone) in _DATA["places"].items()
    }
    subnets = {name: build.subnet(compartments["network"], name, *row) for name, row in _DATA["subnets"].items()}
    connector = build.resource(records.DemoConnector, "outboundconnector", "ldap-corp", places["here"])
    targets = {}
    for name, row in _rows("mount_targets", places):
        row["connector_id"] = connector.id if row.pop("connector", None) else ""
        targets[name] = build.mount_target(name, row.pop("place"), subnets[row.pop("subnet")], **row)
    systems = {
        name: build.file_system(name, places[place], terabytes * 10**12, quotas=quotas)
        for name, (place, terabytes, quotas) in _DATA["file_systems"].items()
    }
    copied = {"file_system_id": systems["projects"].id, "interval_minutes": 60, "bytes_per_second": 24_000_000}
    replication = build.resource(records.DemoReplication, "replication", "projects-to-zurich", places["here"], **copied)
    lustre = [
        build.resource(
            records.LustreFileSystem, "lustrefilesystem", name, subnet_id=subnets[row.pop("subnet")].id, **row
        )
        for name, row in _rows("lustre", places)
    ]
    return build.finished(
        tenancy,
        zones.values(),
        compartments=tuple(compartments.values()),
        subnets=tuple(subnets.values()),
        mount_targets=tuple(targets.values()),
        file_systems=tuple(systems.values()),
        links=tuple(
            build.link(targets[target], systems[other], path, mix) for target, other, path, mix in _DATA["exports"]
        ),
        replications=(replication,),
        connectors=(connector,),
        streams=(build.id("stream", "alarms"),),
        lustre_file_systems=tuple(lustre),
        volumes=tuple(_volumes(build, places)),
    )


def _volumes(build: _Builder, places: Mapping[str, _Place]) -> Iterator[records.Volume]:
    for name, row in _rows("volumes", places):
        yield build.resource(records.Volume, "bootvolume" if row.get("boot") else "volume", name, **row)


def _rows(kind: str, places: Mapping[str, _Place]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield name and fields of each resource of a kind, with compartment and availability domain as `place`."""
    for name, row in _DATA[kind].items():
        yield name, {**row, "place": places[row["place"]]}


def large(mount_targets: int, file_systems_each: int = 4) -> records.Tenancy:
    """Return standard mount targets, at most 65,000, all alike, each with file systems of its own."""
    build = _Builder(f"large-{mount_targets}-{file_systems_each}")
    zone = f"qIZq:{REGION.upper()}-AD-1"
    compartment = build.compartment("storage")
    place = compartment.id, zone
    subnet = build.subnet(compartment, "large", "10.96.0.0/16", "large")
    targets: list[records.DemoMountTarget] = []
    systems: list[records.DemoFileSystem] = []
    links: list[records.Link] = []
    for number in range(mount_targets):
        row: dict[str, Any] = {
            "address": f"10.96.{number >> 8}.{number & 255}",
            "observed_gbps": 1,
            "connections": 20 + number % 80,
        }
        targets.append(build.mount_target(f"mt-{number:05}", place, subnet, **row))
        for at in range(file_systems_each):
            systems.append(build.file_system(f"fs-{number:05}-{at}", place, 10**12))
            links.append(build.link(targets[-1], systems[-1], f"/export/{at}", "projects-aside"))
    return build.finished(
        "large",
        [zone],
        compartments=(compartment,),
        subnets=(subnet,),
        mount_targets=tuple(targets),
        file_systems=tuple(systems),
        links=tuple(links),
    )
