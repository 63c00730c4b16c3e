"""The cloud client in memory: a region whose resources, figures and failures a test writes down."""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from fss_exporter.errors import CloudError
from fss_exporter.oci.cloud_client import (
    LimitedKind,
    Listing,
    MetricRequest,
    Point,
    PrivateIp,
    RefusedStream,
    Scope,
    Stream,
)
from fss_exporter.oci.inventory.oci_inventory import Export, ExportSet, FileSystem, MountTarget
from fss_exporter.oci.metric_table import METRICS, OciMetric
from fss_toolbox import mql

TENANCY = "ocid1.tenancy.oc1..t"
DOMAIN = "AD-1"


def mount_target(name: str) -> MountTarget:
    """A mount target with an address and an export set of its own."""
    return MountTarget(
        id=f"ocid1.mounttarget.oc1..{name}",
        name=name,
        compartment_id=TENANCY,
        availability_domain=DOMAIN,
        state="ACTIVE",
        export_set_id=f"set-{name}",
        subnet_id="subnet",
        private_ip_id=f"ip-{name}",
    )


def stamp(seconds: int) -> str:
    """A time stamp as OCI writes it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def _file_system(target: MountTarget) -> FileSystem:
    ocid = f"ocid1.filesystem.oc1..{target.name}"
    return FileSystem(
        id=ocid, name=f"fs-{target.name}", compartment_id=TENANCY, availability_domain=DOMAIN, state="ACTIVE"
    )


def _export(target: MountTarget) -> Export:
    system = _file_system(target).id
    return Export(
        id=f"{system}-export", path="/a", state="ACTIVE", file_system_id=system, export_set_id=target.export_set_id
    )


def _dimensions(metric: OciMetric | None, target: MountTarget) -> dict[str, str]:
    if metric is None or metric.owner != "behind":
        return {"resourceId": target.id}
    further = {"size": "0B_to_8KiB", "operation": "GETATTR"}
    return {
        "mountTargetId": target.id,
        "resourceId": _file_system(target).id,
        **{name: further[name] for name in metric.dimensions},
    }


@dataclass
class FakeCloud:
    """See `cloud_client.CloudClient`.

    Attributes:
        targets: mount targets of the tenancy.
        unlisted: names of mount targets that the listing leaves out.
        has_file_systems: whether each mount target has one file system behind it, with small READs and GETATTRs.
        figure: value of a metric and mount target in a minute (its end); None for no point.
        refuse: the error of an API operation, None where it is answered.
        refuse_metric: the error of the query of a metric, None where it is answered.
        refuse_scope: the error of ListMetrics in a scope, None where it is answered.
        tree: the compartments below the root.
        spoil: changes the streams of an answer.
        calls: API operations in the order they were called.
        asked: first minute of the last query, by scope.
    """

    targets: Sequence[MountTarget] = ()
    unlisted: Container[str] = ()
    has_file_systems: bool = False
    figure: Callable[[str, str, int], float | None] = lambda *_: 1.0
    refuse: Callable[[str], CloudError | None] = lambda _: None
    refuse_metric: Callable[[str], CloudError | None] = lambda _: None
    refuse_scope: Callable[[Scope], CloudError | None] = lambda _: None
    spoil: Callable[[list[Stream | None]], list[Stream | None]] = lambda streams: streams
    names: Sequence[str] = ("MountTargetReadThroughput", "MountTargetConnections")
    calls: list[str] = field(default_factory=list)
    asked: dict[Scope, int] = field(default_factory=dict)
    region: str = "eu-frankfurt-1"
    tenancy_id: str = TENANCY
    tenancy: str = TENANCY
    clock_skew_seconds: float | None = 0.0
    limits: Mapping[LimitedKind, Mapping[str, float]] = field(default_factory=lambda: {"mount_targets": {DOMAIN: 2.0}})
    tree: Listing = field(default_factory=lambda: Listing(()))

    def _call(self, operation: str) -> None:
        self.calls.append(operation)
        error = self.refuse(operation)
        if error is not None:
            raise error

    def availability_domains(self, compartment_id: str) -> tuple[str, ...]:
        del compartment_id
        self._call("ListAvailabilityDomains")
        return (DOMAIN,)

    def compartments(self) -> Listing:
        self._call("ListCompartments")
        return self.tree

    def compartments_in(self, compartment_id: str) -> Listing:
        self._call("ListCompartments")
        return Listing(tuple(record for record in self.tree.records if record.parent_id == compartment_id))

    def compartment_name(self, ocid: str) -> str:
        self._call("GetCompartment")
        return next((record.name for record in self.tree.records if record.id == ocid), ocid)

    def resources(self, operation: str, compartment_id: str, availability_domain: str = "") -> Listing:
        self._call(operation)
        listings: dict[str, Sequence[Any]] = {
            "ListMountTargets": [target for target in self.targets if target.name not in self.unlisted],
            "ListFileSystems": [_file_system(target) for target in self.targets if self.has_file_systems],
            "ListExports": [_export(target) for target in self.targets if self.has_file_systems],
            "ListExportSets": [ExportSet(id=target.export_set_id, vcn_id="vcn") for target in self.targets],
        }
        del compartment_id, availability_domain
        return Listing(tuple(listings.get(operation, ())))

    def private_ip(self, ocid: str) -> PrivateIp:
        self._call("GetPrivateIp")
        return PrivateIp(ocid, f"10.0.0.{len(self.calls) % 250}", "host")

    def ipv6(self, ocid: str) -> PrivateIp:
        self._call("GetIpv6")
        return PrivateIp(ocid, f"2001:db8::{ocid}", "")

    def private_ips(self, subnet_id: str) -> tuple[PrivateIp, ...]:
        self._call("ListPrivateIps")
        del subnet_id
        return tuple(
            PrivateIp(target.private_ip_id, f"10.1.{at // 250}.{at % 250}", "")
            for at, target in enumerate(self.targets)
        )

    def subnet_domain(self, subnet_id: str) -> str:
        self._call("GetSubnet")
        return f"{subnet_id}.example.com"

    def service_limits(self) -> Mapping[LimitedKind, Mapping[str, float]]:
        self._call("ListLimitValues")
        return self.limits

    def metric_names(self, scope: Scope, namespace: str) -> tuple[str, ...]:
        self._call("ListMetrics")
        if error := self.refuse_scope(scope):
            raise error
        del namespace
        return tuple(self.names)

    def summarize(self, request: MetricRequest) -> list[Stream | None]:
        self._call("SummarizeMetricsData")
        self.asked[request.scope] = request.start
        (metric,) = mql.metrics(mql.parse(request.query))
        if error := self.refuse_metric(metric.name):
            raise error
        streams: list[Stream | None] = []
        for target in self.targets:
            minutes = range(request.start, request.end, 60)
            figures = ((minute, self.figure(metric.name, target.name, minute)) for minute in minutes)
            points = [Point(stamp(minute), value) for minute, value in figures if value is not None]
            streams.append(Stream(_dimensions(METRICS.get(metric.name), target), tuple(points)))
        return self.spoil(streams)

    def post_metric_data(self, data: Sequence[Mapping[str, Any]]) -> tuple[RefusedStream, ...]:
        self._call("PostMetricData")
        del data
        return ()
