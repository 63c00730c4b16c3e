"""From the metric families of one collection to the rows of the page. Pure: the clock comes in as arguments."""

from collections.abc import Iterable
from datetime import datetime

from prometheus_client.metrics_core import Metric as Family

from fss_exporter.web.status.clients import Look, address_rows, iops_by_address, look, mount_rows
from fss_exporter.web.status.mount_targets import mount_target_rows
from fss_exporter.web.status.rows import CollectorRow, RegionRow, StatusPage
from fss_exporter.web.status.samples import Samples

_REFRESH_SECONDS = 15
_REFRESH_FOR_RATES_SECONDS = 2
_LEAST_SECONDS_OF_A_RATE = 1.0


def status_page(
    families: Iterable[Family], *, now: datetime, at: float, earlier: Look | None = None
) -> tuple[StatusPage, Look]:
    """The page, and the look at the client counters that the next page may take its rates from.

    Args:
        families: one collection of the registry behind `/metrics`.
        now: time of day of the collection, aware of its zone.
        at: the same moment in seconds of a clock that never goes back.
        earlier: what a former page returned; rates are over the time since. None where there was none.
    """
    samples = Samples(families)
    this = look(samples, at)
    comparable = earlier is not None and at - earlier.at >= _LEAST_SECONDS_OF_A_RATE
    before = earlier if earlier is not None and comparable else None
    waiting = bool(this.totals) and before is None
    page = StatusPage(
        version=next((labels["version"] for labels, _ in samples.all("fss_exporter_build_info")), ""),
        now=now,
        mount_targets=mount_target_rows(samples, iops_by_address(this, before) if before else {}),
        addresses=address_rows(samples, _known_addresses(samples)),
        mounts=mount_rows(samples, this, before) if before else (),
        collectors=_collectors(samples),
        regions=_regions(samples, now.timestamp()),
        rates_over_seconds=at - before.at if before else None,
        problems=_problems(samples),
        refresh_seconds=_REFRESH_FOR_RATES_SECONDS if waiting else _REFRESH_SECONDS,
    )
    return page, this


def _known_addresses(samples: Samples) -> dict[str, tuple[str, float | None]]:
    limits = samples.by("fss_mount_target_iops_limit", "mount_target_id")
    return {
        labels["address"]: (labels["mount_target"], limits.get((labels["mount_target_id"],)))
        for labels, _ in samples.all("fss_mount_target_info")
        if labels["address"]
    }


def _collectors(samples: Samples) -> tuple[CollectorRow, ...]:
    durations = samples.by("fss_collector_duration_seconds", "collector")
    return tuple(
        CollectorRow(name, success == 1, durations.get((name,)))
        for (name,), success in sorted(samples.by("fss_collector_success", "collector").items())
    )


def _regions(samples: Samples, now: float) -> tuple[RegionRow, ...]:
    ended = samples.by("fss_oci_poll_timestamp_seconds", "region")
    durations = samples.by("fss_oci_poll_duration_seconds", "region")
    inventory = samples.by("fss_oci_inventory_age_seconds", "region")
    rows = []
    for (region,), success in sorted(samples.by("fss_oci_poll_success", "region").items()):
        ages = [age for labels, age in samples.all("fss_oci_datapoint_age_seconds") if labels["region"] == region]
        failed = sorted(
            labels["oci_metric"]
            for labels, answered in samples.all("fss_oci_metric_success")
            if labels["region"] == region and not answered
        )
        rows.append(
            RegionRow(
                region=region,
                success=success == 1,
                polled_seconds_ago=max(0.0, now - ended[region,]) if (region,) in ended else None,
                duration_seconds=durations.get((region,)),
                inventory_age_seconds=inventory.get((region,)),
                newest_data_age_seconds=min(ages, default=None),
                oldest_data_age_seconds=max(ages, default=None),
                failed_metrics=tuple(failed),
            )
        )
    return tuple(rows)


def _problems(samples: Samples) -> tuple[str, ...]:
    """What the monitoring misses, each as one sentence."""
    found = [
        f"{count:,.0f} times a record of mountstats or mountinfo could not be read ({reason})."
        for (reason,), count in sorted(samples.by("fss_nfs_records_skipped_total", "reason").items())
        if count
    ]
    forwarders = sum(samples.by("fss_nfs_unresolved_forwarder_addresses").values())
    if forwarders:
        found.append(
            f"{forwarders:.0f} in-transit TLS forwarder addresses are not in address_map of the configuration."
        )
    for (region,), count in sorted(samples.by("fss_oci_ambiguous_addresses", "region").items()):
        if count:
            found.append(
                f"{count:.0f} mount targets in {region} share an address with another: not joined with clients."
            )
    for (region, operation), success in sorted(samples.by("fss_oci_inventory_success", "region", "operation").items()):
        if not success:
            found.append(f"{operation} failed in {region}; the log says why and what to allow.")
    return tuple(found)
