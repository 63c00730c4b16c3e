# SPDX-License-Identifier: Apache-2.0
"""A small client in place of the SDK's generated clients, and the large answer of Monitoring as records.

The client uses the SDK's base client, because a generated client loads every model of the service: 21 MiB resident (SDK 2.189)
for two GETs of Networking, 15 MiB for the lists of File Storage and Identity. Tests compare the requests with the generated
clients'.

A large tenancy's poll brings 60 MB of JSON, and most of the JSON repeats the query. `decode_streams` reads two fields of each
stream into records, in a quarter of the time and with less memory than dictionaries.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeVar

from msgspec import DecodeError, ValidationError, convert
from msgspec.json import Decoder
from oci.base_client import BYTES_RESPONSE_TYPE, BaseClient
from pydantic.alias_generators import to_camel

from fss_exporter.oci.cloud_client import Point, Stream


class _Service(NamedTuple):
    base_path: str
    endpoint: str
    endpoint_name: str = ""


_CORE: Final = _Service("/20160918", "https://iaas.{region}.{secondLevelDomain}", "iaas")

# Services by their name in `Session.call`. Paths and endpoints: OCI Python SDK 2.189.
_SERVICES: Final[Mapping[str, _Service]] = {
    "monitoring": _Service("/20180401", "https://telemetry.{region}.{secondLevelDomain}"),
    "monitoring_ingestion": _Service("/20180401", "https://telemetry-ingestion.{region}.{secondLevelDomain}"),
    "file_storage": _Service("/20171215", "https://filestorage.{region}.oci.{secondLevelDomain}", "filestorage"),
    "identity": _Service("/20160918", "https://identity.{region}.oci.{secondLevelDomain}"),
    "virtual_network": _CORE,
    "block_storage": _CORE,
    "lustre_file_storage": _Service("/20250228", "https://lustre-file-storage.{region}.oci.{secondLevelDomain}"),
    "limits": _Service("/20190729", "https://limits.{region}.oci.{secondLevelDomain}"),
}

# Method and path by operation. All others are listings such as `GET /mountTargets` of `list_mount_targets`.
_OPERATIONS: Final[Mapping[str, tuple[str, str]]] = {
    "summarize_metrics_data": ("POST", "/metrics/actions/summarizeMetricsData"),
    "list_metrics": ("POST", "/metrics/actions/listMetrics"),
    "post_metric_data": ("POST", "/metrics"),
    "create_alarm": ("POST", "/alarms"),
    "get_alarm": ("GET", "/alarms/{id}"),
    "update_alarm": ("PUT", "/alarms/{id}"),
    "delete_alarm": ("DELETE", "/alarms/{id}"),
    "get_private_ip": ("GET", "/privateIps/{id}"),
    "get_subnet": ("GET", "/subnets/{id}"),
    "get_compartment": ("GET", "/compartments/{id}"),
    "list_region_subscriptions": ("GET", "/tenancies/{id}/regionSubscriptions"),
}

_HEADER_OPTIONS: Final = {"if_match": "if-match", "opc_retry_token": "opc-retry-token"}


class ServiceClient:
    """The operations of one service. `options` are those of the SDK's `BaseClient`."""

    def __init__(self, service: str, config: Mapping[str, Any], *, signer: Any, **options: Any) -> None:
        service_facts = _SERVICES[service]
        if service_facts.endpoint_name:
            options["endpoint_service_name"] = service_facts.endpoint_name
        self.base_client = BaseClient(
            service,
            config,
            signer,
            {},
            regional_client=True,
            base_path=service_facts.base_path,
            service_endpoint_template=service_facts.endpoint,
            service_endpoint_template_per_realm={},
            **options,
        )

    def call(self, operation: str, ocid: str = "", *, body: object = None, **options: Any) -> Any:
        """Send one request. Return the SDK's response, whose data are bytes, or None after a DELETE.

        `ocid` stands in the path. `options` are the headers `if_match` and `opc_retry_token`, and query parameters.
        """
        method, path = _OPERATIONS.get(operation) or ("GET", f"/{to_camel(operation.removeprefix('list_'))}")
        headers = {header: options.pop(name) for name, header in _HEADER_OPTIONS.items() if name in options}
        return self.base_client.call_api(
            resource_path=path,
            method=method,
            path_params={"id": ocid} if ocid else None,
            query_params={to_camel(name): value for name, value in options.items() if value is not None} or None,
            header_params={"accept": "application/json", "content-type": "application/json", **headers},
            body=body,
            response_type=None if method == "DELETE" else BYTES_RESPONSE_TYPE,
            operation_name=operation,
        )


_T = TypeVar("_T")

_ALL_GOOD: Final = Decoder(list[Stream])


def decode_streams(content: bytes) -> list[Stream | None]:
    """Return the streams of an answer (JSON) in order. A stream with an undocumented form is None.

    Raises:
        JSONDecodeError: the content is not JSON, or not a list.
    """
    try:
        return [*_ALL_GOOD.decode(content)]
    except DecodeError:  # one bad stream is no reason to lose the others
        items = json.loads(content)
    if not isinstance(items, list):
        raise json.JSONDecodeError("not a list", "", 0)
    return [_converted(item) for item in items]


def _converted(item: object) -> Stream | None:
    """Return the stream without broken points. None for any other undocumented form."""
    if (stream := _as(Stream, item)) is not None:
        return stream
    if not isinstance(item, dict) or not isinstance(item.get("aggregatedDatapoints"), list):
        return None
    dimensions = _as(dict[str, Any], item.get("dimensions"))
    if dimensions is None:
        return None
    points = tuple(point for raw in item["aggregatedDatapoints"] if (point := _as(Point, raw)) is not None)
    namespace = item.get("namespace")
    broken = len(item["aggregatedDatapoints"]) - len(points)
    return Stream(dimensions, points, broken, namespace if isinstance(namespace, str) else None)


def _as(kind: type[_T], item: object) -> _T | None:
    """Return parsed JSON as a record. None for an undocumented form, and for a name with half a character."""
    try:
        return convert(item, kind)
    except (ValidationError, UnicodeEncodeError):
        return None
