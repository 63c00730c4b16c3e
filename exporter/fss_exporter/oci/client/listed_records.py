# SPDX-License-Identifier: Apache-2.0
"""Convert rows of the listings, parsed JSON, to frozen records. A row of an undocumented form costs only the row."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from sys import intern
from typing import Any, Final

from fss_exporter.oci.cloud_client import Compartment, Listing, PrivateIp, epoch_seconds
from fss_exporter.oci.inventory import oci_inventory as records
from fss_exporter.oci.inventory.selection import defined_tag

Row = Mapping[str, Any]

# State of a clone that still copies the data of the parent. OCI shows the state in a separate field.
HYDRATING: Final = "HYDRATING"

_TOO_LARGE: Final = 1 << 63  # numbers of the API are signed, with 64 bits

_OCID: Final = re.compile(r"[\w.:-]+", re.ASCII)  # safe in a query. A quote or `|` would change the query

_NO_TAGS: Final[Mapping[str, str]] = {}


def listing(make: Callable[[Row], Any], rows: Iterable[Any]) -> Listing:
    """Return the records of rows, and which rows were not as documented."""
    made, broken = [], []
    for row in rows:
        try:
            made.append(make(row))
        except (AttributeError, KeyError, TypeError, ValueError):
            ocid = row.get("id") if isinstance(row, Mapping) else None
            broken.append(ocid if isinstance(ocid, str) else "")
    return Listing(tuple(made), tuple(broken))


def compartment(row: Row) -> Compartment:
    """Return the record of a Compartment."""
    return Compartment(text_of(row["id"]), text_of(row["name"]))


def private_ip(row: Row) -> PrivateIp:
    """Return the record of a PrivateIp."""
    return PrivateIp(text_of(row["id"]), text_of(row["ipAddress"]), text_of(row.get("hostnameLabel") or ""))


def service_limit(row: Row) -> tuple[str, float]:
    """Return availability domain and limit of a LimitValueSummary."""
    limit = whole(row["value"])
    if limit is None:
        raise ValueError("no limit")
    return text_of(row["availabilityDomain"]), float(limit)


def mount_target(row: Row) -> records.MountTarget:
    """Return the record of a MountTargetSummary."""
    addresses = row.get("privateIpIds") or ("",)
    return records.MountTarget(
        **_resource(row),
        export_set_id=text_of(row["exportSetId"]),
        subnet_id=text_of(row.get("subnetId") or ""),
        private_ip_id=text_of(addresses[0]),
        observed_throughput_gbps=whole(row.get("observedThroughput")),
        requested_throughput_gbps=whole(row.get("requestedThroughput")),
    )


def file_system(row: Row) -> records.FileSystem:
    """Return the record of a FileSystemSummary. A clone that still copies its parent's data has the state HYDRATING."""
    system = records.FileSystem(**_resource(row), metered_bytes=whole(row.get("meteredBytes")))
    is_clone = bool((row.get("sourceDetails") or {}).get("parentFileSystemId"))
    if is_clone and row.get("isHydrated") is False and system.state == "ACTIVE":
        return replace(system, state=HYDRATING)
    return system


def export_set(row: Row) -> records.ExportSet:
    """Return the record of an ExportSetSummary."""
    return records.ExportSet(id=text_of(row["id"]), vcn_id=text_of(row.get("vcnId") or ""))


def export(row: Row) -> records.Export:
    """Return the record of an ExportSummary."""
    return records.Export(
        id=text_of(row["id"]),
        path=text_of(row["path"]),
        state=text_of(row["lifecycleState"]),
        file_system_id=text_of(row["fileSystemId"]),
        export_set_id=text_of(row["exportSetId"]),
    )


def replication(row: Row) -> records.Replication:
    """Return the record of a ReplicationSummary."""
    minutes = whole(row.get("replicationInterval"))
    moment = row.get("recoveryPointTime")
    return records.Replication(
        **_resource(row),
        interval_seconds=None if minutes is None else minutes * 60.0,
        recovery_point=epoch_seconds(moment) if moment else None,
    )


def connector(row: Row) -> records.Connector:
    """Return the record of an OutboundConnectorSummary."""
    return records.Connector(**_resource(row), type=text_of(row.get("connectorType") or ""))


def lustre_file_system(row: Row) -> records.ServiceResource:
    """Return the record of a LustreFileSystemSummary."""
    tier = text_of(row["performanceTier"]).removeprefix("MBPS_PER_TB_")
    size = _gigabytes(row["capacityInGBs"])
    return records.ServiceResource(**_resource(row), service="lustre", kind=f"mbps-per-tb-{tier}", capacity_bytes=size)


def volume(row: Row) -> records.ServiceResource:
    """Return the record of a Volume or BootVolume."""
    vpus = whole(row.get("autoTunedVpusPerGB"))
    vpus = whole(row["vpusPerGB"]) if vpus is None else vpus
    size = _gigabytes(row["sizeInGBs"])
    return records.ServiceResource(**_resource(row), service="block-volume", kind=f"vpu-{vpus}", capacity_bytes=size)


def _resource(row: Row) -> dict[str, Any]:
    identity = text_of(row["id"])
    if not _OCID.fullmatch(identity):
        raise ValueError(f"not an OCID: {identity!r}")
    return {
        "id": identity,
        "name": text_of(row.get("displayName") or identity),
        "compartment_id": text_of(row["compartmentId"]),
        "availability_domain": text_of(row.get("availabilityDomain") or ""),
        "state": text_of(row["lifecycleState"]),
        "tags": _tags(row),
    }


def _tags(row: Row) -> Mapping[str, str]:
    """Return tags in one mapping. Keys of defined tags are in small letters, because OCI compares them without case."""
    freeform, defined = row.get("freeformTags") or {}, row.get("definedTags") or {}
    if not freeform and not defined:
        return _NO_TAGS
    tags = {
        defined_tag(f"{space}.{key}"): str(value)
        for space, pairs in defined.items()
        for key, value in (pairs or {}).items()
    }
    return {**tags, **{key: str(value) for key, value in freeform.items()}}


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
    return intern(value)  # the same OCIDs, names and states come in many rows


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
