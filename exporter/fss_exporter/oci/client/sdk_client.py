# SPDX-License-Identifier: Apache-2.0
"""The poller's client on the OCI SDK: typed calls over a `Session`."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from fss_exporter.oci.client import listed_records
from fss_exporter.oci.client.failures import broken
from fss_exporter.oci.client.listed_records import listing, text_of, whole
from fss_exporter.oci.client.service_clients import decode_json, decode_streams
from fss_exporter.oci.client.session import Session, api_name
from fss_exporter.oci.cloud_client import (
    LIMITED_KINDS,
    LimitedKind,
    Listing,
    MetricRequest,
    PrivateIp,
    RefusedStream,
    Scope,
    Stream,
)

_PAGE_ITEMS: Final = 1000
_ATTEMPTS_TO_POST: Final = 2  # OCI may have taken a post whose answer is lost, and a further attempt then posts twice
_NO_REASON: Final = "no reason given"

# Service, method and record of an item by API operation.
_LISTINGS: Final[Mapping[str, tuple[str, str, Callable[[Mapping[str, Any]], Any]]]] = {
    api_name(method): (service, method, make)
    for service, method, make in (
        ("file_storage", "list_mount_targets", listed_records.mount_target),
        ("file_storage", "list_file_systems", listed_records.file_system),
        ("file_storage", "list_export_sets", listed_records.export_set),
        ("file_storage", "list_exports", listed_records.export),
        ("file_storage", "list_replications", listed_records.replication),
        ("file_storage", "list_outbound_connectors", listed_records.connector),
        ("lustre_file_storage", "list_lustre_file_systems", listed_records.lustre_file_system),
        ("block_storage", "list_volumes", listed_records.volume),
        ("block_storage", "list_boot_volumes", listed_records.volume),
    )
}


def service_limit_of(kind: LimitedKind, names: Collection[str]) -> str:
    """Return the name of the service limit of a kind of resources among the limits of File Storage, or an empty text.

    Quota policies and programs use `mount-target-count`, that of standard mount targets, and `file-system-count`. An account
    with another spelling has one name with `mount-target`.
    """
    word = kind.removesuffix("s").replace("_", "-")
    alike = [name for name in names if word in name.lower().replace("_", "-")]
    exact = [name for name in alike if name.lower().replace("_", "-") == f"{word}-count"]
    return (exact or (alike if len(alike) == 1 else [""]))[0]


class SdkClient:
    """The calls of `cloud_client.CloudClient` in the region of a session."""

    def __init__(self, session: Session) -> None:
        self.region = session.region
        self.tenancy_id = session.tenancy_id
        self.tenancy = session.tenancy
        self._session = session

    @property
    def clock_skew_seconds(self) -> float | None:
        return self._session.clock_skew_seconds

    def availability_domains(self, compartment_id: str) -> tuple[str, ...]:
        items = self._items("identity", "list_availability_domains", compartment_id=compartment_id)
        listed = listing(listed_records.availability_domain, items)
        if listed.broken or not listed.records:  # without its domain a resource would be hidden
            message = f"{len(listed.broken)} of {len(items)} rows are no availability domain"
            raise broken(message, "ListAvailabilityDomains", self.region)
        return listed.records

    def compartments(self) -> Listing:
        return self._compartments(self.tenancy_id, compartment_id_in_subtree=True)

    def compartments_in(self, compartment_id: str) -> Listing:
        return self._compartments(compartment_id)

    def compartment_name(self, ocid: str) -> str:
        item = self._session.call("identity", "get_compartment", ocid).data
        try:
            return listed_records.compartment(item).name
        except (AttributeError, KeyError, TypeError):
            raise broken("the answer has no name", "GetCompartment", self.region) from None

    def resources(self, operation: str, compartment_id: str, availability_domain: str = "") -> Listing:
        service, method, make = _LISTINGS[operation]
        where = {"availability_domain": availability_domain} if availability_domain else {}
        return listing(make, self._items(service, method, compartment_id=compartment_id, limit=_PAGE_ITEMS, **where))

    def private_ip(self, ocid: str) -> PrivateIp:
        return self._address("get_private_ip", ocid)

    def ipv6(self, ocid: str) -> PrivateIp:
        return self._address("get_ipv6", ocid)

    def _address(self, method: str, ocid: str) -> PrivateIp:
        item = self._session.call("virtual_network", method, ocid).data
        try:
            return listed_records.private_ip(item)
        except (AttributeError, KeyError, TypeError):
            raise broken("the answer has no address", api_name(method), self.region) from None

    def private_ips(self, subnet_id: str) -> tuple[PrivateIp, ...]:
        items = self._items("virtual_network", "list_private_ips", subnet_id=subnet_id, limit=_PAGE_ITEMS)
        return listing(listed_records.private_ip, items).records

    def subnet_domain(self, subnet_id: str) -> str:
        item = self._session.call("virtual_network", "get_subnet", subnet_id).data
        domain = item.get("subnetDomainName") if isinstance(item, dict) else None
        return text_of(domain) if isinstance(domain, str) else ""

    def service_limits(self) -> Mapping[LimitedKind, Mapping[str, float]]:
        items = self._items(
            "limits", "list_limit_values", compartment_id=self.tenancy_id, service_name="filesystem", limit=_PAGE_ITEMS
        )
        names = _names(items)

        def of(kind: LimitedKind) -> Mapping[str, float]:
            name = service_limit_of(kind, names)
            return dict(
                listing(listed_records.service_limit, (item for item in items if _names([item]) == [name])).records
            )

        return {kind: of(kind) for kind in LIMITED_KINDS}

    def metric_names(self, scope: Scope, namespace: str) -> tuple[str, ...]:
        items = self._items(
            "monitoring",
            "list_metrics",
            body={"namespace": namespace, "groupBy": ["name"]},
            **scope.parameters,
        )
        return tuple(_names(items))

    def summarize(self, request: MetricRequest) -> list[Stream | None]:
        answer = self._session.call(
            "monitoring",
            "summarize_metrics_data",
            body=request.details,
            decode=decode_streams,
            **request.scope.parameters,
        )
        streams: list[Stream | None] = answer.data
        asked = (None, request.namespace)
        return [stream if stream and stream.namespace in asked else None for stream in streams]

    def post_metric_data(self, data: Sequence[Mapping[str, Any]]) -> tuple[RefusedStream, ...]:
        body = {"metricData": list(data), "batchAtomicity": "NON_ATOMIC"}
        # OCI has taken what an unreadable answer with status 200 is about, so the session must not try again.
        sent = self._session.call(
            "monitoring_ingestion", "post_metric_data", body=body, decode=_json_or_bytes, attempts=_ATTEMPTS_TO_POST
        )
        answer = sent.data or {}
        try:
            failed = min(whole(answer.get("failedMetricsCount")) or 0, len(data))
            listed = (answer.get("failedMetrics") or []) if failed else []
            refused = [RefusedStream(_place(row, data), str(row.get("message") or _NO_REASON)) for row in listed]
        except (AttributeError, TypeError, ValueError) as error:
            raise broken("the answer is not as documented", "PostMetricData", self.region) from error
        return tuple(refused) + (RefusedStream(None, _NO_REASON),) * (failed - len(refused))

    def _compartments(self, compartment_id: str, **options: Any) -> Listing:
        options |= {"lifecycle_state": "ACTIVE", "limit": _PAGE_ITEMS}
        items = self._items("identity", "list_compartments", compartment_id=compartment_id, **options)
        return listing(listed_records.compartment, items)

    def _items(self, service: str, operation: str, **options: Any) -> list[Any]:
        pages = self._session.pages(service, operation, **options)
        return [item for page in pages for item in page]


def _json_or_bytes(content: bytes) -> Any:
    """Return parsed JSON, or what is no JSON as it is."""
    try:
        return decode_json(content)
    except (ValueError, RecursionError):
        return content


def _place(refusal: Mapping[str, Any], data: Sequence[Mapping[str, Any]]) -> int | None:
    """Return the place of a refused stream in what was posted. None if the refusal does not say which stream it is."""
    named = refusal.get("metricData") or {}
    identity = named.get("name"), named.get("compartmentId"), named.get("dimensions")
    streams = ((own["name"], own["compartmentId"], own["dimensions"]) for own in data)
    return next((place for place, own in enumerate(streams) if own == identity), None)


def _names(items: Iterable[Any]) -> list[str]:
    """Return the names in items. An item of an undocumented form has none."""
    return [item["name"] for item in items if isinstance(item, dict) and isinstance(item.get("name"), str)]
