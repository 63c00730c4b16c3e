# SPDX-License-Identifier: Apache-2.0
"""Convert items of the listings, parsed JSON, to frozen records. An item of an undocumented form costs only itself."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from sys import intern
from typing import Any, Final

from fss_exporter.addresses import one_spelling
from fss_exporter.oci.cloud_client import Compartment, Listing, PrivateIp, epoch_seconds
from fss_exporter.oci.inventory import oci_inventory as records
from fss_exporter.oci.inventory.selection import defined_tag

Item = Mapping[str, Any]

# State of a clone that still copies the data of the parent. OCI shows the state in a separate field.
HYDRATING: Final = "HYDRATING"

_TOO_LARGE: Final = 1 << 63  # numbers of the API are signed, with 64 bits

_OCID: Final = re.compile(r"[\w.:-]+", re.ASCII)  # safe in a query. A quote or `|` would change the query

_NO_TAGS: Final[Mapping[str, str]] = {}


def listing(make: Callable[[Item], Any], items: Iterable[Any]) -> Listing:
    """Return the records of items, and which items were not as documented."""
    made, broken = [], []
    for item in items:
        try:
            made.append(make(item))
        except (AttributeError, KeyError, TypeError, ValueError):
            ocid = item.get("id") if isinstance(item, Mapping) else None
            broken.append(ocid if isinstance(ocid, str) else "")
    return Listing(tuple(made), tuple(broken))


def availability_domain(item: Item) -> str:
    """Return the name of an AvailabilityDomain."""
    if not (name := text_of(item["name"])):
        raise ValueError("no name")  # no listing can be asked for it
    return name


def compartment(item: Item) -> Compartment:
    """Return the record of a Compartment."""
    return Compartment(text_of(item["id"]), text_of(item["name"]), text_of(item.get("compartmentId") or ""))


def private_ip(item: Item) -> PrivateIp:
    """Return the record of a PrivateIp, or of an Ipv6, which has no host name."""
    address = one_spelling(text_of(item["ipAddress"]))
    return PrivateIp(text_of(item["id"]), address, text_of(item.get("hostnameLabel") or ""))


def service_limit(item: Item) -> tuple[str, float]:
    """Return availability domain and limit of a LimitValueSummary."""
    limit = whole(item["value"])
    if limit is None:
        raise ValueError("no limit")
    return text_of(item["availabilityDomain"]), float(limit)


def mount_target(item: Item) -> records.MountTarget:
    """Return the record of a MountTargetSummary."""
    addresses = item.get("privateIpIds") or ("",)
    return records.MountTarget(
        **_resource(item),
        export_set_id=text_of(item["exportSetId"]),
        subnet_id=text_of(item.get("subnetId") or ""),
        private_ip_id=text_of(addresses[0]),
        ipv6_ids=tuple(text_of(ocid) for ocid in item.get("mountTargetIpv6Ids") or ()),
        observed_throughput_gbps=whole(item.get("observedThroughput")),
        requested_throughput_gbps=whole(item.get("requestedThroughput")),
    )


def file_system(item: Item) -> records.FileSystem:
    """Return the record of a FileSystemSummary. A clone that still copies its parent's data has the state HYDRATING."""
    system = records.FileSystem(**_resource(item), metered_bytes=whole(item.get("meteredBytes")))
    is_clone = bool((item.get("sourceDetails") or {}).get("parentFileSystemId"))
    if is_clone and item.get("isHydrated") is False and system.state == "ACTIVE":
        return replace(system, state=HYDRATING)
    return system


def export_set(item: Item) -> records.ExportSet:
    """Return the record of an ExportSetSummary."""
    return records.ExportSet(id=text_of(item["id"]), vcn_id=text_of(item.get("vcnId") or ""))


def export(item: Item) -> records.Export:
    """Return the record of an ExportSummary."""
    return records.Export(
        id=text_of(item["id"]),
        path=text_of(item["path"]),
        state=text_of(item["lifecycleState"]),
        file_system_id=text_of(item["fileSystemId"]),
        export_set_id=text_of(item["exportSetId"]),
    )


def replication(item: Item) -> records.Replication:
    """Return the record of a ReplicationSummary."""
    minutes = whole(item.get("replicationInterval"))
    moment = item.get("recoveryPointTime")
    return records.Replication(
        **_resource(item),
        interval_seconds=None if minutes is None else minutes * 60.0,
        recovery_point=epoch_seconds(moment) if moment else None,
    )


def connector(item: Item) -> records.Connector:
    """Return the record of an OutboundConnectorSummary."""
    return records.Connector(**_resource(item), type=text_of(item.get("connectorType") or ""))


def lustre_file_system(item: Item) -> records.ServiceResource:
    """Return the record of a LustreFileSystemSummary."""
    tier = text_of(item["performanceTier"]).removeprefix("MBPS_PER_TB_")
    size = _gigabytes(item["capacityInGBs"])
    return records.ServiceResource(**_resource(item), service="lustre", kind=f"mbps-per-tb-{tier}", capacity_bytes=size)


def volume(item: Item) -> records.ServiceResource:
    """Return the record of a Volume or BootVolume."""
    vpus = whole(item.get("autoTunedVpusPerGB"))
    vpus = whole(item["vpusPerGB"]) if vpus is None else vpus
    size = _gigabytes(item["sizeInGBs"])
    return records.ServiceResource(**_resource(item), service="block-volume", kind=f"vpu-{vpus}", capacity_bytes=size)


def _resource(item: Item) -> dict[str, Any]:
    identity = text_of(item["id"])
    if not _OCID.fullmatch(identity):
        raise ValueError(f"not an OCID: {identity!r}")
    return {
        "id": identity,
        "name": text_of(item.get("displayName") or identity),
        "compartment_id": text_of(item["compartmentId"]),
        "availability_domain": text_of(item.get("availabilityDomain") or ""),
        "state": text_of(item["lifecycleState"]),
        "tags": _tags(item),
    }


def _tags(item: Item) -> Mapping[str, str]:
    """Return tags in one mapping. Keys of defined tags are in small letters, because OCI compares them without case."""
    freeform, defined = item.get("freeformTags") or {}, item.get("definedTags") or {}
    if not freeform and not defined:
        return _NO_TAGS
    tags = {
        defined_tag(f"{space}.{key}"): text_of(str(value))
        for space, pairs in defined.items()
        for key, value in (pairs or {}).items()
    }
    return {**tags, **{key: text_of(str(value)) for key, value in freeform.items()}}


def _gigabytes(value: object) -> float:
    size = whole(value)
    if size is None or size <= 0:
        raise ValueError(f"not a capacity: {value!r}")
    return size * 1e9


def text_of(value: object) -> str:
    """Return a text that UTF-8 can encode. JSON can escape half a character, and `/metrics` and pages could not be written.

    Raises:
        TypeError: the value is no text.
    """
    if not isinstance(value, str):
        raise TypeError(f"not text: {value!r}")
    if not value.isascii():
        value = value.encode(errors="replace").decode()
    return intern(value)  # the same OCIDs, names and states come in many items


def whole(value: object) -> int | None:
    """Return a whole number from 0 to 2^63, or None.

    Raises:
        TypeError, ValueError: the value is no such number.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"not a number: {value!r}")
    if not 0 <= value < _TOO_LARGE:
        raise ValueError("not a number that the API has")
    return int(value)
