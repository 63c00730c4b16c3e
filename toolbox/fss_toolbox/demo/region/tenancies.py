# SPDX-License-Identifier: Apache-2.0
"""The small tenancy of the demo, read from `tenancy.yml`, and a tenancy of any size to measure with."""

from collections.abc import Mapping
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
_KINDS = {"subnet": "subnet", "connector": "outboundconnector", "file_system": "filesystem"}
_Record = TypeVar("_Record", bound=records.DemoResource)


@cache
def small(tenancy: str = "fssdemo") -> records.Tenancy:
    """Return the tenancy of the demo: three compartments, two availability domains, five mount targets."""
    return _Builder(tenancy, _DATA).tenancy(tenancy)


def large(mount_targets: int, file_systems_each: int = 4) -> records.Tenancy:
    """Return standard mount targets, at most 65,000, all alike, each with file systems of its own."""
    exports = [(number, at) for number in range(mount_targets) for at in range(file_systems_each)]
    data = {
        "zones": ["AD-1"],
        "compartments": ["storage"],
        "network": "storage",
        "places": {"here": ["storage", "AD-1"]},
        "subnets": {"sn-large": ["10.96.0.0/16", "large"]},
        "mount_targets": {
            f"mt-{number:05}": {
                "place": "here",
                "subnet": "sn-large",
                "address": f"10.96.{number >> 8}.{number & 255}",
                "observed_gbps": 1,
                "connections": 20 + number % 80,
            }
            for number in range(mount_targets)
        },
        "file_systems": {f"fs-{number:05}-{at}": ["here", 1, False] for number, at in exports},
        "exports": [
            [f"mt-{number:05}", f"fs-{number:05}-{at}", f"/export/{at}", "projects-aside"] for number, at in exports
        ],
    }
    return _Builder(f"large-{mount_targets}-{file_systems_each}", data).tenancy("large")


class _Builder:
    """Makes the resources of a table in the form of `tenancy.yml`. OCIDs follow from `seed` and the names of resources."""

    def __init__(self, seed: str, data: Mapping[str, Any]) -> None:
        self._seed = seed
        self._data = data
        self._zones = {zone: f"qIZq:{REGION.upper()}-{zone}" for zone in data["zones"]}
        self._places = {
            name: (self._compartment(compartment), self._zones[zone])
            for name, (compartment, zone) in data["places"].items()
        }

    def tenancy(self, name: str) -> records.Tenancy:
        """Return the tenancy with a display name."""
        tenancy_id, data = records.ocid("tenancy", "", self._seed), self._data
        return records.Tenancy(
            tenancy_id,
            name,
            REGION,
            tuple(self._zones.values()),
            compartments=tuple(
                records.DemoCompartment(self._compartment(name), name, tenancy_id) for name in data["compartments"]
            ),
            subnets=tuple(self._subnet(name, *row) for name, row in data["subnets"].items()),
            mount_targets=tuple(self._mount_target(name, **row) for name, row in data["mount_targets"].items()),
            file_systems=tuple(self._file_system(name, *row) for name, row in data["file_systems"].items()),
            links=tuple(self._link(*row) for row in data["exports"]),
            replications=self._resources(records.DemoReplication, "replication"),
            connectors=self._resources(records.DemoConnector, "outboundconnector"),
            topics=(self._id("onstopic", "storage-oncall"),),
            streams=tuple(self._id("stream", name) for name in data.get("streams", ())),
            lustre_file_systems=self._resources(records.LustreFileSystem, "lustrefilesystem"),
            volumes=self._resources(records.Volume, "volume")
            + self._resources(records.Volume, "bootvolume", boot=True),
        )

    def _id(self, kind: str, name: str) -> str:
        return records.ocid(kind, REGION, f"{self._seed}/{name}")

    def _compartment(self, name: str) -> str:
        return records.ocid("compartment", "", f"{self._seed}/{name}")

    def _subnet(self, name: str, cidr: str, label: str | None) -> records.Subnet:
        network = self._compartment(self._data["network"])
        return records.Subnet(self._id("subnet", name), name, network, self._id("vcn", "fss"), cidr, label)

    def _resources(self, record: type[_Record], kind: str, **further: Any) -> tuple[_Record, ...]:
        rows = self._data.get(kind, {}).items()
        return tuple(self._resource(record, kind, name, **row, **further) for name, row in rows)

    def _resource(self, record: type[_Record], kind: str, name: str, place: str, **row: Any) -> _Record:
        """Return the record of a row. A reference to another resource by name becomes the OCID."""
        ids = {f"{key}_id": self._id(_KINDS[key], row.pop(key)) for key in _KINDS.keys() & row.keys()}
        compartment, zone = self._places[place]
        return record(self._id(kind, name), name, compartment, zone, **row, **ids)

    def _mount_target(self, name: str, *, shape: str = "standard", **row: Any) -> records.DemoMountTarget:
        ids = {
            "export_set_id": self._id("exportset", name),
            "private_ip_id": self._id("privateip", name),
            "ipv6_id": self._id("ipv6", name),
        }
        given = {"host_label": name, "ceilings": _DATA["ceilings"][shape], **ids, **row}
        return self._resource(records.DemoMountTarget, "mounttarget", name, **given)

    def _file_system(self, name: str, place: str, terabytes: int, quotas: bool) -> records.DemoFileSystem:
        """Return a file system, metered with snapshots and directory entries and so larger than its data."""
        used = terabytes * 10**12
        sizes = {"metered_bytes": used + used // 9, "used_bytes": used, "quota_rules": quotas}
        return self._resource(records.DemoFileSystem, "filesystem", name, place, **sizes)

    def _link(self, target: str, file_system: str, path: str, requests: str) -> records.Link:
        ids = (
            self._id("export", f"{target}:{path}"),
            self._id("mounttarget", target),
            self._id("filesystem", file_system),
        )
        return records.Link(*ids, path, _REQUESTS[requests])
