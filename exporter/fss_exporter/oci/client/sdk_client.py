# SPDX-License-Identifier: Apache-2.0
"""The poller's client on the OCI SDK: typed calls over a `Session`."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from fss_exporter.oci.client import listed_records
from fss_exporter.oci.client.failures import broken
from fss_exporter.oci.client.listed_records import listing, text_of, whole
from fss_exporter.oci.client.service_clients import decode_streams
from fss_exporter.oci.client.session import Session, api_name
from fss_exporter.oci.cloud_client import Listing, MetricRequest, PrivateIp, Scope, Stream

_PAGE_ITEMS: Final = 1000

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


def mount_target_limit(names: Collection[str]) -> str:
    """Return the name of the service limit of standard mount targets among the limits of File Storage, or an empty text.

    Quota policies and programs use `mount-target-count`. An account with another spelling has one name with `mount-target`.
    """
    alike = [name for name in names if "mount-target" in name.lower().replace("_", "-")]
    exact = [name for name in alike if name.lower().replace("_", "-") == "mount-target-count"]
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
        listed = listing(lambda item: text_of(item["name"]), items)
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
        item = self._session.call("virtual_network", "get_private_ip", ocid).data
        try:
            return listed_records.private_ip(item)
        except (AttributeError, KeyError, TypeError):
            raise broken("the answer has no address", "GetPrivateIp", self.region) from None

    def private_ips(self, subnet_id: str) -> tuple[PrivateIp, ...]:
        items = self._items("virtual_network", "list_private_ips", subnet_id=subnet_id, limit=_PAGE_ITEMS)
        return listing(listed_records.private_ip, items).records

    def subnet_domain(self, subnet_id: str) -> str:
        item = self._session.call("virtual_network", "get_subnet", subnet_id).data
        domain = item.get("subnetDomainName") if isinstance(item, dict) else None
        return text_of(domain) if isinstance(domain, str) else ""

    def mount_target_limits(self) -> Mapping[str, float]:
        items = self._items(
            "limits", "list_limit_values", compartment_id=self.tenancy_id, service_name="filesystem", limit=_PAGE_ITEMS
        )
        wanted = mount_target_limit(_names(items))
        named = (item for item in items if _names([item]) == [wanted])
        return dict(listing(listed_records.service_limit, named).records)

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

    def post_metric_data(self, data: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
        body = {"metricData": list(data), "batchAtomicity": "NON_ATOMIC"}
        answer = self._session.call("monitoring_ingestion", "post_metric_data", body=body).data or {}
        try:
            failed = min(whole(answer.get("failedMetricsCount")) or 0, len(data))
            listed = (answer.get("failedMetrics") or []) if failed else []
            messages = [str(refusal.get("message") or "no reason given") for refusal in listed]
        except (AttributeError, TypeError, ValueError) as error:
            raise broken("the answer is not as documented", "PostMetricData", self.region) from error
        return tuple(messages) + ("no reason given",) * (failed - len(messages))

    def _compartments(self, compartment_id: str, **options: Any) -> Listing:
        options |= {"lifecycle_state": "ACTIVE", "limit": _PAGE_ITEMS}
        items = self._items("identity", "list_compartments", compartment_id=compartment_id, **options)
        return listing(listed_records.compartment, items)

    def _items(self, service: str, operation: str, **options: Any) -> list[Any]:
        pages = self._session.pages(service, operation, **options)
        return [item for page in pages for item in page]


def _names(items: Iterable[Any]) -> list[str]:
    """Return the names in items. An item of an undocumented form has none."""
    return [item["name"] for item in items if isinstance(item, dict) and isinstance(item.get("name"), str)]
