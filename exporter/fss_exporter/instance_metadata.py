# SPDX-License-Identifier: Apache-2.0
"""Whether this host is an instance of OCI, and its metadata, version 2: the place of the instance and the bandwidth of its network."""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fss_exporter.addresses import network_name

if TYPE_CHECKING:
    from http.client import HTTPResponse

# The service is link-local and wants the header `Authorization: Bearer Oracle`.
METADATA_URL: Final = "http://169.254.169.254/opc/v2/instance/"

_ASSET_TAG: Final = "OracleCloud.com"
_LARGEST: Final = 1 << 20
_MOST_GBPS: Final = 100_000.0
_DEADLINE_S: Final = 2.0  # a command at the prompt waits no longer


def is_oci_instance(sysfs: Path) -> bool:
    """Whether this host is an instance of OCI, by the asset tag that its firmware shows."""
    try:
        tag = (sysfs / "class/dmi/id/chassis_asset_tag").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return tag.strip() == _ASSET_TAG


@dataclass(frozen=True, slots=True)
class InstanceMetadata:
    """The metadata of an instance. A missing field is empty or None."""

    availability_domain: str = ""  # name with the prefix of the tenancy
    region: str = ""  # e.g. `us-phoenix-1`
    network_bytes_per_second: float | None = None  # bandwidth of the network in each direction


def read_instance_metadata(url: str, deadline_s: float) -> InstanceMetadata | None:
    """Return the metadata at a URL, without any proxy. None without an answer, for example outside of OCI."""
    import urllib.request  # noqa: PLC0415  # HTTP clients take 3 MiB, and an agent outside of OCI does not ask
    from http.client import HTTPException  # noqa: PLC0415  # ditto

    request = urllib.request.Request(url, headers={"Authorization": "Bearer Oracle"})  # noqa: S310  # http, checked by the caller
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=deadline_s) as answer:
            document = json.loads(read_body(answer, _LARGEST, deadline_s))
    except (HTTPException, OSError, ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    domain, region = document.get("availabilityDomain"), document.get("canonicalRegionName") or document.get("region")
    return InstanceMetadata(_name(domain), _name(region), _bandwidth(document.get("shapeConfig")))


def _name(value: object) -> str:
    """Return a name of the metadata. Empty for an odd one, which would become a label of every series."""
    try:
        return network_name(value) if isinstance(value, str) else ""
    except ValueError:
        return ""


def read_body(answer: "HTTPResponse", most_bytes: int, deadline_s: float) -> bytes:
    """Return the body of an answer, cut at `most_bytes`. The time-out of a socket alone holds for each single read.

    Raises:
        TimeoutError: the body takes longer.
        ConnectionError: the body is shorter than the answer says.
    """
    body, until = bytearray(), time.monotonic() + deadline_s
    length = answer.length  # None where the answer does not say. Reading may count it down
    while len(body) < most_bytes and (part := answer.read1(most_bytes - len(body))):
        body += part
        if time.monotonic() > until:
            raise TimeoutError(f"the answer takes longer than {deadline_s:g} s")
    if length is not None and len(body) < min(length, most_bytes):
        raise ConnectionError(f"the answer broke off after {len(body):,} of {length:,} bytes")
    return bytes(body)


def own_bandwidth(sysfs: Path, url: str = METADATA_URL) -> float | None:
    """Return the bytes per second of this host's network, by the instance metadata. None outside of OCI."""
    metadata = read_instance_metadata(url, _DEADLINE_S) if is_oci_instance(sysfs) else None
    return metadata.network_bytes_per_second if metadata else None


def _bandwidth(shape: Any) -> float | None:
    """Return the bytes per second of `networkingBandwidthInGbps`, a documented field of the API for the shape of an instance.

    A missing or odd field is not an error, because no document says that the metadata contain the field.
    """
    value = shape.get("networkingBandwidthInGbps") if isinstance(shape, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value * 1e9 / 8 if 0 < value <= _MOST_GBPS else None
