# SPDX-License-Identifier: Apache-2.0
"""What the poller of a region should see, and what it sees, as rows of the catalogue. Pure."""

from collections.abc import Iterable, Iterator

from fss_exporter.oci.iam import NEEDS
from fss_exporter.oci.inventory.oci_inventory import Inventory
from fss_exporter.oci.rows.inventory_rows import BY_REGION, Rows
from fss_exporter.oci.snapshot import RegionSnapshot

_QUERY = "SummarizeMetricsData"


def coverage_rows(region: RegionSnapshot) -> Iterator[Rows]:
    """Yield the rows of `fss_coverage_expected`, `fss_coverage_seen`, `fss_oci_unlisted_resources` and `fss_oci_permission_missing`."""
    listed, metrics = region.inventory, region.poll.metrics if region.poll else {}
    answered = sum(metric.success for metric in metrics.values())
    refused = {*listed.refused, *([_QUERY] if region.poll and region.poll.is_refused else ())}
    tried = {*listed.succeeded, "ListLimitValues", _QUERY, *refused} - listed.optional
    expected = _permissions(tried)
    missing = _permissions(refused - listed.optional)
    inventory = listed.inventory or Inventory()
    resources = {"mount_target": len(inventory.mount_targets), "file_system": len(inventory.own_file_systems)}
    unlisted = region.poll.unlisted if region.poll else {}
    parts = {
        "regions": (1, int(region.poll is not None and region.poll.has_answer)),
        "compartments": (listed.compartments_expected, listed.compartments_seen),
        "metrics": (len(metrics), answered),
        "permissions": (len(expected), len(expected - missing)),
        **{f"{kind}s": (number + unlisted.get(kind, 0), number) for kind, number in resources.items()},
    }
    if region.poll and region.poll.goes_on is not None:
        parts["ledger"] = (1, int(region.poll.goes_on))
    by_part = (*BY_REGION, "part")
    yield Rows(
        "fss_coverage_expected", by_part, [((region.region, part), float(of)) for part, (of, _) in parts.items()]
    )
    yield Rows(
        "fss_coverage_seen", by_part, [((region.region, part), float(seen)) for part, (_, seen) in parts.items()]
    )
    yield Rows(
        "fss_oci_unlisted_resources",
        (*BY_REGION, "kind"),
        [((region.region, kind), float(number)) for kind, number in unlisted.items()],
    )
    yield Rows(
        "fss_oci_permission_missing",
        (*BY_REGION, "permission"),
        [((region.region, permission), 1.0) for permission in sorted(_permissions(refused))],
    )


def _permissions(operations: Iterable[str]) -> set[str]:
    return {NEEDS[name].permission for name in operations if name in NEEDS}
