"""The Kerberos and LDAP rows of `oci_filestorage`. Successes stand among the errors, as documented.

Documentation "File System Metrics", read 2026-09-05: "Keytab Load Success" is an `errorType` of KerberosErrors and
"Connection Success" one of LdapConnectionErrors; the Ldap* metrics are published for mount targets *and* for outbound
connectors, under the same names with another owner in `resourceId`.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from fss_exporter.demo.region.activity import Activity
from fss_exporter.demo.region.namespaces import Row, Stream
from fss_exporter.demo.region.traffic import chance

KERBEROS_EVENTS: Mapping[str, float] = {
    "Keytab Load Success": 1.0,
    "No Keytab": 0.0,
    "No Key": 0.0,
    "Key Version Mismatch": 0.02,
    "Clock Skew": 0.05,
}
"""Events of KerberosErrors a minute, on average."""

LDAP_CONNECTION_EVENTS: Mapping[str, float] = {
    "Connection Success": 12.0,
    "Timeout": 0.10,
    "Connection Refused or Reset": 0.02,
    "Name Resolution Failure": 0.0,
    "Bind Login Failed": 0.0,
    "Certificate Validation Failure": 0.0,
}
"""Events of LdapConnectionErrors a minute, on average."""

LDAP_REQUESTS: Mapping[str, float] = {
    "UserId-by-UserName": 240.0,
    "UserName-by-UserId": 90.0,
    "GroupIdList-by-UserName": 300.0,
}
"""LDAP requests a minute, on average."""


def _events(average: float, *seed: int) -> Callable[[int], float]:
    """Whole events of a minute whose long-run mean is `average`."""
    return lambda minute: float(int(average + chance(*seed, minute)))


def _kerberos(activity: Activity) -> Iterator[Stream]:
    for target in activity.mount_targets.values():
        if target.kerberos:
            for at, (event, average) in enumerate(KERBEROS_EVENTS.items()):
                labels = {"resourceId": target.id, "mtResourceName": target.name, "errorType": event}
                yield Stream(target.compartment_id, target.id, labels, _events(average, 11, at))


def _ldap_pairs(activity: Activity) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Owner's compartment, owner and common dimensions: each pair of mount target and connector twice, once for each owner."""
    connectors = {connector.id: connector for connector in activity.tenancy.connectors}
    for target in activity.mount_targets.values():
        connector = connectors.get(target.connector_id)
        if connector is not None:
            for owner in (target, connector):
                names = {"mountTargetId": target.id, "mtResourceName": target.name, "obcResourceName": connector.name}
                yield owner.compartment_id, owner.id, {"resourceId": owner.id, **names}


def _ldap(dimension: str, values: Mapping[str, Callable[[int], float]], activity: Activity) -> Iterator[Stream]:
    for compartment_id, owner_id, labels in _ldap_pairs(activity):
        for name, value in values.items():
            yield Stream(compartment_id, owner_id, {**labels, dimension: name}, value)


def _ldap_request_errors(activity: Activity) -> Iterator[Stream]:
    for compartment_id, owner_id, labels in _ldap_pairs(activity):
        for at, request in enumerate(LDAP_REQUESTS):
            dimensions = {**labels, "requestType": request, "errorType": "Timeout"}
            yield Stream(compartment_id, owner_id, dimensions, _events(0.03, 13, at))


_CONNECTION_EVENTS = {
    name: _events(average, 17, at) for at, (name, average) in enumerate(LDAP_CONNECTION_EVENTS.items())
}
_REQUESTS = {name: _events(average, 19, at) for at, (name, average) in enumerate(LDAP_REQUESTS.items())}


def _request_latency(at: int, minute: int) -> float:
    return round(0.004 + 0.002 * chance(23, at, minute), 6)


_LATENCIES = {name: partial(_request_latency, at) for at, name in enumerate(LDAP_REQUESTS)}
_LDAP = ("resourceId", "mountTargetId", "mtResourceName", "obcResourceName")

IDENTITY_ROWS = (
    Row("KerberosErrors", "count", "Kerberos Errors", ("resourceId", "mtResourceName", "errorType"), _kerberos),
    Row(
        "LdapRequestThroughput",
        "count",
        "LDAP Request Throughput",
        (*_LDAP, "requestType"),
        partial(_ldap, "requestType", _REQUESTS),
    ),
    Row(
        "LdapRequestAverageLatency",
        "seconds",
        "LDAP Request Latency",
        (*_LDAP, "requestType"),
        partial(_ldap, "requestType", _LATENCIES),
    ),
    Row(
        "LdapConnectionErrors",
        "count",
        "LDAP Connection Errors",
        (*_LDAP, "errorType"),
        partial(_ldap, "errorType", _CONNECTION_EVENTS),
    ),
    Row(
        "LdapRequestErrors", "count", "LDAP Request Errors", (*_LDAP, "requestType", "errorType"), _ldap_request_errors
    ),
)
