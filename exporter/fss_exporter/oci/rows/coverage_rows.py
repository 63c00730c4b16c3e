# SPDX-License-Identifier: Apache-2.0
"""What the poller of a region should see, and what it sees, as rows of the catalogue. Pure."""

from collections.abc import Iterable, Iterator

from fss_exporter.oci.iam import NEEDS
from fss_exporter.oci.rows.inventory_rows import Rows
from fss_exporter.oci.snapshot import RegionSnapshot

_QUERY = "SummarizeMetricsData"


def coverage_rows(region: RegionSnapshot) -> Iterator[tuple[str, Rows]]:
    """Yield the rows of `fss_expected`, `fss_seen` and `fss_oci_permission_missing`."""
    listed, metrics = region.inventory, region.poll.metrics if region.poll else {}
    answered = sum(metric.success for metric in metrics.values())
    refused = {*listed.refused, *([_QUERY] if region.poll and region.poll.is_refused else ())}
    tried = {*listed.succeeded, "ListLimitValues", _QUERY, *refused} - listed.optional
    expected = _permissions(tried)
    missing = _permissions(refused - listed.optional)
    parts = {
        "regions": (1, int(region.poll is not None and region.poll.has_answer)),
        "compartments": (listed.compartments_expected, listed.compartments_seen),
        "metrics": (len(metrics), answered),
        "permissions": (len(expected), len(expected - missing)),
    }
    yield "fss_expected", [((region.region, part), float(of)) for part, (of, _) in parts.items()]
    yield "fss_seen", [((region.region, part), float(seen)) for part, (_, seen) in parts.items()]
    yield (
        "fss_oci_permission_missing",
        [((region.region, permission), 1.0) for permission in sorted(_permissions(refused))],
    )


def _permissions(operations: Iterable[str]) -> set[str]:
    return {NEEDS[name].permission for name in operations if name in NEEDS}
