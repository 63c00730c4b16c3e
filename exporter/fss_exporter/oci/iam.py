# SPDX-License-Identifier: Apache-2.0
"""The policy statement that each API operation needs, for the message of a refused call.

Source: the policy references of File Storage (2025-03-04), Monitoring, Core Services and IAM. OCI answers 404 both for "no
permission" and for "does not exist". So the message names a statement that may be missing.
"""

from dataclasses import dataclass
from typing import Final

from fss_exporter.ocid import kind_of

NAMESPACE: Final = "oci_filestorage"  # Namespace of File Storage's metrics

# Namespace of the metrics that this exporter posts. A name must not begin with `oci_` or `oracle_`. Source:
# MetricDataDetails.
PUBLISHED_NAMESPACE: Final = "fss_exporter"


@dataclass(frozen=True, slots=True)
class Need:
    """The permission of an operation: `verb` on `resource`, in the compartment of the call unless `where` names another.

    `namespace` is the namespace of the metrics, if the call names none.
    """

    verb: str
    resource: str
    where: str = ""
    namespace: str = ""

    @property
    def permission(self) -> str:
        """Verb and resource, as in `inspect mount-targets`."""
        return f"{self.verb} {self.resource}"

    def condition(self, namespace: str = "") -> str:
        """Return the end of the statement, which limits the permission to one namespace."""
        return f"target.metrics.namespace='{namespace or self.namespace}'" if self.namespace else ""


# By API operation.
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
    "GetIpv6": Need("inspect", "ipv6s", where="compartment <compartment of the network>"),
    "GetSubnet": Need("inspect", "subnets", where="compartment <compartment of the network>"),
    "ListAvailabilityDomains": Need("inspect", "compartments"),
    "ListCompartments": Need("inspect", "compartments"),
    "GetCompartment": Need("inspect", "compartments"),
    "ListLimitValues": Need("inspect", "limits", where="tenancy"),
    "ListRegionSubscriptions": Need("inspect", "tenancies", where="tenancy"),
    "ListLustreFileSystems": Need("inspect", "lustre-file-system"),
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
    """Return the policy statement that allows an operation (`ListMountTargets`). Empty for an unknown operation.

    The way of signing decides whom the statement names. The OCID of the tenancy makes a statement on the tenancy. The
    namespace is that of the metrics in the call.
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
    if kind_of(compartment_id) == "tenancy":
        return "tenancy"
    return f"compartment id {compartment_id}" if compartment_id else "compartment <compartment>"
