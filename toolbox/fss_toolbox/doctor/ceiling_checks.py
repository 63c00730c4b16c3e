# SPDX-License-Identifier: Apache-2.0
"""The observed ceilings of a poller beside the stated ones, as findings."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

from fss_exporter.samples import Samples
from fss_exporter.terminal_text import first_names
from fss_toolbox import printed
from fss_toolbox.doctor.findings import Finding, finding_of
from fss_toolbox.sizing.uses import IOPS, READ_BANDWIDTH, WRITE_BANDWIDTH

# Part of the name of the metrics, what people call it, and unit, by resource.
_CEILINGS: Final = {
    "iops": ("iops", IOPS, "IOPS"),
    "read_bandwidth": ("read_bytes_per_second", READ_BANDWIDTH, "B/s"),
    "write_bandwidth": ("write_bytes_per_second", WRITE_BANDWIDTH, "B/s"),
}

_ByMountTarget = Mapping[tuple[str, ...], float]  # ceilings by OCID

_SAME: Final = 0.05  # an observed ceiling that differs by less is the stated one
_MOST_NAMES: Final = 5


def check_ceilings(samples: Samples) -> Iterator[Finding]:
    """Yield a finding for each mount target without an IOPS ceiling, for each observed ceiling, and for each reason why a stated one stays."""
    plateaus = {(of["mount_target_id"], of["resource"]): (of, count) for of, count in _plateaus(samples)}
    seconds, newest = (
        samples.by(f"fss_mount_target_observed_limit_{name}", "mount_target_id", "resource")
        for name in ("duration_seconds", "timestamp_seconds")
    )
    observed_limits, limits = (
        {
            resource: samples.by(f"{prefix}{field}_limit", "mount_target_id")
            for resource, (field, _, _) in _CEILINGS.items()
        }
        for prefix in ("fss_mount_target_observed_", "fss_mount_target_")
    )
    yield from _without_iops(samples, limits["iops"], observed_limits["iops"])
    without: dict[str, set[str]] = defaultdict(set)
    for (ocid, resource), (labels, count) in sorted(plateaus.items()):
        _, name, unit = _CEILINGS[resource]
        observed, limit = observed_limits[resource].get((ocid,)), limits[resource].get((ocid,))
        if not count or observed is None:
            without[labels["reason"]].add(labels["mount_target"])
            continue
        differs = limit is None or abs(observed - limit) > _SAME * limit
        yield finding_of(
            "ceiling.differs" if differs else "ceiling.agrees",
            labels["mount_target"],
            resource=name,
            observed=printed.amount(observed, unit),
            limit="no figure" if limit is None else printed.amount(limit, unit),
            plateaus="1 plateau" if count == 1 else f"{count:.0f} plateaus",
            minutes=seconds.get((ocid, resource), 0.0) / 60,
            date=_day(newest.get((ocid, resource))),
        )
    for reason, names in sorted(without.items()):
        yield finding_of("ceiling.none-yet", names=first_names(sorted(names), _MOST_NAMES), reason=reason)


def _without_iops(samples: Samples, limits: _ByMountTarget, observed_limits: _ByMountTarget) -> Iterator[Finding]:
    """Yield a finding for each mount target of a shape whose IOPS ceiling is unpublished, if nobody stated one."""
    for labels, _ in samples.all("fss_mount_target_info"):
        key = (labels["mount_target_id"],)
        if key not in limits:
            observed = observed_limits.get(key)
            take = f", or take the observed {printed.amount(observed, 'IOPS')} with limits: observed"
            offer = "" if observed is None else take
            yield finding_of("ceiling.no-iops", labels["mount_target"], shape=labels["shape"], or_observed=offer)


def _day(moment: float | None) -> str:
    """Return the day of a moment in epoch seconds. The page of another program can have any figure."""
    try:
        return "on an unknown day" if moment is None else f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d}"
    except (OverflowError, ValueError, OSError):
        return "on an unknown day"


def _plateaus(samples: Samples) -> Iterator[tuple[dict[str, str], float]]:
    for labels, count in samples.all("fss_mount_target_observed_limit_plateaus"):
        if labels["resource"] in _CEILINGS:
            yield dict(labels), count
