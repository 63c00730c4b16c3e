# SPDX-License-Identifier: Apache-2.0
"""What Oracle bills for File Storage in each availability domain, from a Prometheus that scrapes a poller."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from fss_exporter.model.limits import SHAPES
from fss_toolbox.plan.load import Load
from fss_toolbox.plan.prometheus_api import Prometheus
from fss_toolbox.sizing.domain_bill import DomainBill

_Domain = tuple[str, str, str]  # tenancy, region and availability domain
_DOMAIN: Final = ("tenancy", "region", "availability_domain")
_IN_DOMAIN: Final = ", ".join(_DOMAIN)


def with_bills(prometheus: Prometheus, loads: Mapping[str, Load]) -> dict[str, Load]:
    """Return loads with the bill of the availability domain of their mount target. A domain without billed sizes has none.

    Raises:
        SourceError: Prometheus does not answer.
    """
    stored = _stored(prometheus)
    shapes = prometheus.by(
        f"group by (mount_target_id, shape, {_IN_DOMAIN}) (last_over_time(fss_mount_target_info[10m]))",
        prometheus.now,
        "mount_target_id",
        "shape",
        *_DOMAIN,
    )
    entitled: dict[_Domain, float] = defaultdict(float)
    own: dict[str, tuple[_Domain, float]] = {}
    for ocid, shape, *place in shapes:
        domain = (place[0], place[1], place[2])
        entitlement = SHAPES[shape].entitlement_bytes if shape in SHAPES else 0.0
        entitled[domain] += entitlement
        own[ocid] = (domain, entitlement)

    def bill(load: Load) -> DomainBill | None:
        domain, entitlement = own.get(load.mount_target_id, (None, 0.0))
        if domain is None or domain not in stored:
            return None
        return DomainBill(stored[domain], entitled[domain], entitlement)

    return {name: replace(load, bill=bill(load)) for name, load in loads.items()}


def _stored(prometheus: Prometheus) -> dict[_Domain, float]:
    """Return the billed bytes of all file systems by domain."""
    sizes = "max by (file_system_id) (last_over_time(fss_file_system_metered_bytes[10m]))"
    places = f"group by (file_system_id, {_IN_DOMAIN}) (last_over_time(fss_file_system_info[10m]))"
    query = f"sum by ({_IN_DOMAIN}) ({sizes} * on (file_system_id) group_right () {places})"
    return {
        (tenancy, region, domain): stored
        for (tenancy, region, domain), stored in prometheus.by(query, prometheus.now, *_DOMAIN).items()
    }
