# SPDX-License-Identifier: Apache-2.0
"""The generated clients of the SDK, with answers as bytes, and the large answer of Monitoring as records.

The SDK's models of an answer cost fifty times as much as parsed JSON, and one broken row would cost all of them. A large
tenancy's poll brings 60 MB of JSON, and most of the JSON repeats the query. `decode_streams` reads two fields of each
stream into records, in a quarter of the time and with less memory than dictionaries.
"""

import json
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final, TypeVar

from msgspec import DecodeError, ValidationError, convert
from msgspec.json import Decoder
from oci.base_client import BYTES_RESPONSE_TYPE
from oci.regions import endpoint_for
from oci.retry import NoneRetryStrategy

from fss_exporter.oci.cloud_client import Point, Stream

# Package and class of the SDK by the name of the service in `Session.call`.
_CLIENTS: Final[Mapping[str, tuple[str, str]]] = {
    "monitoring": ("oci.monitoring", "MonitoringClient"),
    "monitoring_ingestion": ("oci.monitoring", "MonitoringClient"),
    "file_storage": ("oci.file_storage", "FileStorageClient"),
    "identity": ("oci.identity", "IdentityClient"),
    "virtual_network": ("oci.core", "VirtualNetworkClient"),
    "block_storage": ("oci.core", "BlockstorageClient"),
    "lustre_file_storage": ("oci.lustre_file_storage", "LustreFileStorageClient"),
    "limits": ("oci.limits", "LimitsClient"),
}

# The SDK's documentation of `post_metric_data` leaves this endpoint to the caller.
_INGESTION_ENDPOINT: Final = "https://telemetry-ingestion.{region}.{secondLevelDomain}"


def open_client(service: str, config: Mapping[str, Any], **options: Any) -> Any:
    """Return the SDK's client of a service, whose operations return bytes and try once.

    Args:
        service: name of the service, such as `file_storage`.
        config: configuration of the SDK.
        options: those of the SDK's clients.
    """
    module, name = _CLIENTS[service]
    if service == "monitoring_ingestion" and "service_endpoint" not in options:
        options["service_endpoint"] = endpoint_for(
            service, config["region"], service_endpoint_template=_INGESTION_ENDPOINT
        )
    # Imported here, because a package with all models of its service takes up to 42 MiB (Networking, SDK 2.189).
    client = getattr(import_module(module), name)(config, retry_strategy=NoneRetryStrategy(), **options)
    client.base_client.call_api = _for_bytes(client.base_client.call_api)
    return client


def _for_bytes(call_api: Callable[..., Any]) -> Callable[..., Any]:
    def call(**options: Any) -> Any:
        has_answer = options.get("response_type") is not None  # a DELETE has none
        return call_api(**(options | ({"response_type": BYTES_RESPONSE_TYPE} if has_answer else {})))

    return call


_T = TypeVar("_T")

_MOST_DIGITS: Final = 400  # more than the largest float has. Python refuses more than 4,300

_ALL_GOOD: Final = Decoder(list[Stream])


def decode_json(content: bytes) -> Any:
    """Return parsed JSON. An integer that Python refuses to read is its text, so that it costs its row and not the answer.

    Raises:
        JSONDecodeError, UnicodeDecodeError: the content is not JSON.
    """
    return json.loads(content, parse_int=_integer)


def _integer(text: str) -> int | str:
    return int(text) if len(text) <= _MOST_DIGITS else text


def decode_streams(content: bytes) -> list[Stream | None]:
    """Return the streams of an answer (JSON) in order. A stream with an undocumented form is None.

    Raises:
        JSONDecodeError: the content is not JSON, or not a list.
    """
    try:
        return [*_ALL_GOOD.decode(content)]
    except DecodeError:  # one bad stream is no reason to lose the others
        items = decode_json(content)
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
