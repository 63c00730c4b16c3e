"""Alarms as a provisioner would make them."""

from typing import Any

from tests.region import Tenancy

QUERY = "MountTargetIOPS[5m].groupBy(resourceId).max() >= 40000"


def alarm_details(tenancy: Tenancy, **changes: Any) -> dict[str, Any]:
    """Body of CreateAlarm over all mount targets; `changes` replace fields, None takes one out."""
    details = {
        "displayName": "fss-iops",
        "compartmentId": tenancy.compartments[1].id,
        "metricCompartmentId": tenancy.id,
        "metricCompartmentIdInSubtree": True,
        "namespace": "oci_filestorage",
        "query": QUERY,
        "severity": "WARNING",
        "destinations": [tenancy.topics[0]],
        "isEnabled": True,
        "pendingDuration": "PT10M",
        "overrides": [{"ruleName": "CRITICAL", "severity": "CRITICAL", "query": QUERY.replace("40000", "47500")}],
        "freeformTags": {"managed-by": "fss-exporter"},
    }
    return {name: value for name, value in (details | changes).items() if value is not None}
