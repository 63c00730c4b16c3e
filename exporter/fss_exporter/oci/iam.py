"""The policy statement each API operation needs, for the message of a call that was refused.

Source: the policy references of File Storage (2025-03-04), Monitoring, Core Services and IAM. OCI answers 404 both for "no permission"
and for "does not exist", so a statement is what may be missing, not what is.
"""

from dataclasses import dataclass
from typing import Final

NAMESPACE: Final = "oci_filestorage"
"""Namespace of File Storage's metrics."""

PUBLISHED_NAMESPACE: Final = "fss_exporter"
"""Namespace of the metrics this exporter posts. It may not begin with `oci_` or `oracle_`. Documented at MetricDataDetails."""


@dataclass(frozen=True, slots=True)
class Need:
    """What an operation needs: `verb` on `resource`, in the compartment asked for unless `where` names another.

    `namespace` is that of the metrics, where the call names no other.
    """

    verb: str
    resource: str
    where: str = ""
    namespace: str = ""

    def condition(self, namespace: str = "") -> str:
        """What the statement ends with: only metrics of one namespace."""
        return f"target.metrics.namespace='{namespace or self.namespace}'" if self.namespace else ""


NEEDS: Final = {
    "ListMetrics": Need("read", "metrics", namespace=NAMESPACE),
    "SummarizeMetricsData": Need("read", "metrics", namespace=NAMESPACE),
    "ListMountTargets": Need("inspect", "mount-targets"),
    "ListFileSystems": Need("inspect", "file-systems"),
    "ListExports": Need("read", "export-sets"),
    "ListExportSets": Need("inspect", "export-sets"),
    "ListReplications": Need("inspect", "replications"),
    "ListOutboundConnectors": Need("inspect", "outbound-connectors"),
    "GetPrivateIp": Need("inspect", "private-ips", where="compartment <compartment of the network>"),
    "GetSubnet": Need("inspect", "subnets", where="compartment <compartment of the network>"),
    "ListAvailabilityDomains": Need("inspect", "compartments", where="tenancy"),
    "ListCompartments": Need("inspect", "compartments", where="tenancy"),
    "ListRegionSubscriptions": Need("inspect", "tenancies", where="tenancy"),
    "ListLustreFileSystems": Need("inspect", "lustre-file-systems"),
    "ListVolumes": Need("inspect", "volumes"),
    "ListBootVolumes": Need("inspect", "volumes"),
    "ListAlarms": Need("inspect", "alarms"),
    "GetAlarm": Need("read", "alarms"),
    "CreateAlarm": Need("manage", "alarms"),
    "UpdateAlarm": Need("manage", "alarms"),
    "DeleteAlarm": Need("manage", "alarms"),
    "PublishMessage": Need("use", "ons-topics", where="compartment <compartment of the topic>"),
    "PostMetricData": Need("use", "metrics", namespace=PUBLISHED_NAMESPACE),
}
"""By API operation."""

_SUBJECTS: Final = {
    "config_file": "group <group>",
    "instance_principal": "dynamic-group <dynamic group>",
    "resource_principal": "dynamic-group <dynamic group>",
    "workload_identity": "any-user",
}
_WORKLOAD: Final = (
    "request.principal.type = 'workload', request.principal.namespace = '<namespace>', "
    "request.principal.service_account = '<service account>', request.principal.cluster_id = '<cluster OCID>'"
)


def statement(operation: str, auth: str, compartment_id: str = "", namespace: str = "") -> str:
    """Return the policy statement that allows an operation; empty for an operation that is not in the table.

    Args:
        operation: API name, e.g. `ListMountTargets`.
        auth: how the exporter signs: decides whom the statement names.
        compartment_id: OCID of the compartment asked for; that of the tenancy makes it a statement on the tenancy.
        namespace: of the metrics asked for.
    """
    need = NEEDS.get(operation)
    if need is None:
        return ""
    place = need.where or _place(compartment_id)
    text = f"Allow {_SUBJECTS.get(auth, 'group <group>')} to {need.verb} {need.resource} in {place}"
    condition = need.condition(namespace)
    if auth == "workload_identity":
        return f"{text} where all {{{', '.join(filter(None, (_WORKLOAD, condition)))}}}"
    return f"{text} where {condition}" if condition else text


def _place(compartment_id: str) -> str:
    if compartment_id.startswith("ocid1.tenancy."):
        return "tenancy"
    return f"compartment id {compartment_id}" if compartment_id else "compartment <compartment>"
