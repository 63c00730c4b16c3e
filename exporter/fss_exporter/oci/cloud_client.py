# SPDX-License-Identifier: Apache-2.0
"""The calls of the poller in one region, with frozen records as answers.

`oci.client.SdkClient` implements the calls with the OCI SDK. A fake in memory implements the calls for unit tests. Every
method may raise a `CloudError`, and `EndLoop` when the exporter stops.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, Literal, NamedTuple, Protocol, get_args

from msgspec import Struct, field

LimitedKind = Literal["mount_targets", "file_systems"]  # what a tenancy may have only so many of
LIMITED_KINDS: Final[tuple[LimitedKind, ...]] = get_args(LimitedKind)


@dataclass(frozen=True, slots=True)
class Listing:
    """The records of one listing, and the OCIDs of rows with an undocumented form. Empty for a row without a readable OCID."""

    records: tuple[Any, ...]
    broken: tuple[str, ...] = ()

    def with_records_of(self, earlier: "Listing") -> "Listing":
        """Return the listing with the earlier record in the place of each broken row.

        A broken row without an OCID may be any of the earlier records, so all of them stay.
        """
        listed = {record.id for record in self.records}
        lost = [record for record in earlier.records if record.id not in listed]
        kept = [record for record in lost if "" in self.broken or record.id in self.broken]
        return replace(self, records=(*self.records, *kept))


@dataclass(frozen=True, slots=True)
class Compartment:
    """A compartment below the root of the tenancy."""

    id: str
    name: str
    parent_id: str = ""  # empty if OCI does not say


@dataclass(frozen=True, slots=True)
class PrivateIp:
    """A private IP, or an IPv6 address. The host label may be empty."""

    id: str
    address: str
    host_label: str


class Point(Struct, frozen=True, gc=False):
    """One aggregated data point: an RFC 3339 time stamp, and a value in the metric's unit."""

    timestamp: str
    value: float


Points = dict[int, float]  # values by the end of their minute, epoch seconds


class Stream(Struct, frozen=True, gc=False):
    """One metric stream: dimension values by name, the points, and the namespace of the metric if the answer names it."""

    dimensions: dict[str, Any]
    points: tuple[Point, ...] = field(name="aggregatedDatapoints")
    broken_points: int = 0
    namespace: str | None = None


class RefusedStream(NamedTuple):
    """A posted stream that OCI did not take."""

    place: int | None  # in what was posted. None if OCI does not say which stream it is
    reason: str


@dataclass(frozen=True, slots=True)
class Scope:
    """The range of one query: a compartment, or with `subtree` the whole tenancy."""

    compartment_id: str
    subtree: bool = False

    @property
    def parameters(self) -> dict[str, Any]:
        """Query parameters of a call to Monitoring in this scope."""
        return {"compartment_id": self.compartment_id, "compartment_id_in_subtree": True if self.subtree else None}


@dataclass(frozen=True, slots=True)
class MetricRequest:
    """One query of Monitoring."""

    scope: Scope  # compartment, or the whole tenancy
    namespace: str  # namespace of the metric
    query: str  # in MQL
    start: int  # epoch seconds of the first minute's end
    end: int  # epoch seconds behind the last minute's end

    @property
    def details(self) -> dict[str, str]:
        """SummarizeMetricsDataDetails of the query."""
        times = {"startTime": time_stamp(self.start), "endTime": time_stamp(self.end)}
        return {"namespace": self.namespace, "query": self.query, **times, "resolution": "1m"}


def dimensions_of(items: Iterable[Any]) -> dict[str, set[str]]:
    """Return the values of each dimension in rows of ListMetrics. A row of an undocumented form has none."""
    values: dict[str, set[str]] = defaultdict(set)
    for item in items:
        dimensions = item.get("dimensions") if isinstance(item, Mapping) else None
        for name, value in dimensions.items() if isinstance(dimensions, Mapping) else ():
            if isinstance(value, str):
                values[name].add(value)
    return values


def time_stamp(seconds: int) -> str:
    """Return epoch seconds in the form of the API."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def epoch_seconds(stamp: str) -> float:
    """Return the time of a stamp, or raise ValueError for another form or a stamp without a time zone."""
    moment = datetime.fromisoformat(stamp)
    if moment.tzinfo is None:
        raise ValueError(f"no time zone: {stamp!r}")
    return moment.timestamp()


class CloudClient(Protocol):
    """Calls in one region."""

    region: str  # name of the region
    tenancy_id: str  # OCID of the tenancy
    tenancy: str  # value of the label: the name of the account, else the OCID

    @property
    def clock_skew_seconds(self) -> float | None:
        """Clock of this host minus clock of OCI. None before the first answer."""

    def availability_domains(self, compartment_id: str) -> tuple[str, ...]:
        """Return names of the region's availability domains, for which any compartment will do (ListAvailabilityDomains)."""

    def compartments(self) -> Listing:
        """Return all active compartments of the tenancy (ListCompartments)."""

    def compartments_in(self, compartment_id: str) -> Listing:
        """Return the active compartments directly in another one (ListCompartments)."""

    def compartment_name(self, ocid: str) -> str:
        """Return the name of one compartment (GetCompartment)."""

    def resources(self, operation: str, compartment_id: str, availability_domain: str = "") -> Listing:
        """Return resources in a compartment, as records of `oci_inventory`. The API operation says which (`ListVolumes`)."""

    def private_ip(self, ocid: str) -> PrivateIp:
        """Return one private IP (GetPrivateIp)."""

    def ipv6(self, ocid: str) -> PrivateIp:
        """Return one IPv6 address (GetIpv6)."""

    def private_ips(self, subnet_id: str) -> tuple[PrivateIp, ...]:
        """Return the private IPs of a subnet, without rows of an undocumented form (ListPrivateIps)."""

    def subnet_domain(self, subnet_id: str) -> str:
        """Return the DNS domain of a subnet, or an empty text (GetSubnet)."""

    def service_limits(self) -> Mapping[LimitedKind, Mapping[str, float]]:
        """Return the service limit of each kind of resources by availability domain (ListLimitValues)."""

    def metric_names(self, scope: Scope, namespace: str) -> tuple[str, ...]:
        """Return the names of a scope's metrics of the last 90 days (ListMetrics)."""

    def summarize(self, request: MetricRequest) -> list[Stream | None]:
        """Return the streams of one query (SummarizeMetricsData). A stream with an undocumented form is None."""

    def post_metric_data(self, data: Sequence[Mapping[str, Any]]) -> tuple[RefusedStream, ...]:
        """Post custom metrics (PostMetricData), and return each refused stream."""
