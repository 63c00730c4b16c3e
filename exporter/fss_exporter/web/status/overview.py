# SPDX-License-Identifier: Apache-2.0
"""Convert the metric families of one collection to the rows of the page. The module is pure: the clock is an argument."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from fss_exporter.client_scrape import (
    Scraped,
    cost_of,
    durations_between,
    rates_between,
    scrape_of,
    states_with_load,
    traffic_of,
)
from fss_exporter.model.limits import Limits
from fss_exporter.model.service_table import OCI_FSS
from fss_exporter.samples import HasSamples, Samples
from fss_exporter.served_ceilings import ServedCeilings
from fss_exporter.terminal_text import first_names
from fss_exporter.web.status import client_rows
from fss_exporter.web.status.mount_target_rows import mount_target_rows
from fss_exporter.web.status.rows import CollectorRow, RegionRow, StatusPage


class TimedScrape(NamedTuple):
    """The counters of clients at one time."""

    at: float  # seconds of a clock that never goes back
    scrape: Scraped


def status_page(
    families: Iterable[HasSamples], *, now: datetime, at: float, earlier: TimedScrape
) -> tuple[StatusPage, TimedScrape]:
    """Return the page, and the counters from which a later page computes rates.

    The families are one collection of the registry behind `/metrics`, at the time of day `now`, which is `at` on a
    clock that never goes back. Rates cover the time since `earlier`: the counters of an earlier page, at least a
    second old, or the start of the exporter with all counters at 0.
    """
    samples = Samples(families)
    scrape = scrape_of(samples)
    rates = rates_between(earlier.scrape, scrape, at - earlier.at)
    costs = {mount: cost_of(own) for mount, own in rates.items()}
    known = [mount for mount in rates if mount.address in scrape.ceilings]
    states = states_with_load(
        scrape, {mount: traffic_of(mount.service, rates[mount], scrape.overrides) for mount in known}
    )
    name_of = _names_of(samples)
    page = StatusPage(
        now=now,
        mount_targets=mount_target_rows(samples, client_rows.iops_by_address(costs), states),
        addresses=client_rows.address_rows(
            samples,
            {**_of_other_services(samples), **scrape.ceilings},
            durations_between(earlier.scrape, scrape),
            states,
        ),
        mounts=client_rows.mount_rows(scrape, rates, costs),
        mount_count=len(rates),
        collectors=_collectors(samples, now.timestamp()),
        regions=_regions(samples, name_of, now.timestamp()),
        rates_over_seconds=at - earlier.at,
        problems=_problems(samples, name_of),
        discovering=_discovering(samples, name_of),
        stands_by=samples.by("fss_oci_leader").get(()) == 0,
        missing_mounts=next(iter(samples.by("fss_nfs_fstab_missing_mounts", "mount_point").items()), None),
    )
    return page, TimedScrape(at, scrape)


def _of_other_services(samples: Samples) -> dict[str, ServedCeilings]:
    """Return the addresses that no standard mount target has, without a ceiling."""
    return {
        labels["address"]: ServedCeilings(Limits(), labels["service"])
        for labels, _ in samples.all("fss_client_mount_info")
        if labels["service"] != OCI_FSS.name
    }


_PLACE = ("tenancy", "region")
NameOf = Callable[[str, str], str]  # names a region by tenancy and region


def _names_of(samples: Samples) -> NameOf:
    """Return a function that names a region, and the tenancy if there are several."""
    tenancies = {tenancy for (tenancy,) in samples.by("fss_oci_inventory_success", "tenancy")}

    def name(tenancy: str, region: str) -> str:
        return f"{tenancy} {region}" if region and len(tenancies) > 1 else region

    return name


def _discovering(samples: Samples, name_of: NameOf) -> tuple[str, ...]:
    complete = samples.by("fss_oci_inventory_last_success_timestamp_seconds", *_PLACE)
    places = {
        (labels["tenancy"], labels["region"])
        for name in ("fss_mount_target_info", "fss_oci_poll_success")
        for labels, _ in samples.all(name)
    }
    return tuple(sorted(name_of(*place) for place in places if place not in complete))


def _collectors(samples: Samples, now: float) -> tuple[CollectorRow, ...]:
    durations = samples.by("fss_collector_duration_seconds", "collector")
    succeeded = samples.by("fss_collector_last_success_timestamp_seconds", "collector")
    rows = {
        name: CollectorRow(name, success == 1, durations.get((name,)), _seconds_since(succeeded.get((name,)), now))
        for (name,), success in samples.by("fss_collector_success", "collector").items()
    }
    rows |= {name: CollectorRow(name, success=False, is_starting=True) for name in starting_collectors(samples)}
    return tuple(row for _, row in sorted(rows.items()))


def starting_collectors(samples: Samples) -> frozenset[str]:
    """Return the collectors whose first round runs, so that nothing has succeeded or failed."""
    return frozenset(name for (name,) in samples.by("fss_collector_starting", "collector"))


def _seconds_since(moment: float | None, now: float) -> float | None:
    return None if moment is None else max(0.0, now - moment)


def _regions(samples: Samples, name_of: NameOf, now: float) -> tuple[RegionRow, ...]:
    ended = samples.by("fss_oci_poll_timestamp_seconds", *_PLACE)
    durations = samples.by("fss_oci_poll_duration_seconds", *_PLACE)
    inventory = samples.by("fss_oci_inventory_age_seconds", *_PLACE)
    of_metrics = samples.by("fss_oci_metric_success", *_PLACE, "oci_metric")
    causes = causes_of_polls(samples.by("fss_oci_failed_calls", *_PLACE, *FAILED_CALL))
    rows = []
    for key, success in sorted(samples.by("fss_oci_poll_success", *_PLACE).items()):
        ages = [
            age
            for labels, age in samples.all("fss_oci_datapoint_age_seconds")
            if (labels["tenancy"], labels["region"]) == key
        ]
        rows.append(
            RegionRow(
                region=name_of(*key),
                success=success == 1,
                cause=causes.get(key, ""),
                polled_seconds_ago=_seconds_since(ended.get(key), now),
                duration_seconds=durations.get(key),
                inventory_age_seconds=inventory.get(key),
                newest_data_age_seconds=min(ages, default=None),
                oldest_data_age_seconds=max(ages, default=None),
                failed_metrics=tuple(
                    sorted(name for (*of, name), ok in of_metrics.items() if (*of,) == key and not ok)
                ),
            )
        )
    return tuple(rows)


def _problems(samples: Samples, name_of: NameOf) -> tuple[str, ...]:
    """Return the gaps of the monitoring, a sentence each."""
    problems = [*failed_calls(samples, name_of)]
    problems += [
        f"{count:,.0f} times a record of mountstats or mountinfo could not be read ({reason})."
        for (reason,), count in sorted(samples.by("fss_nfs_records_skipped_total", "reason").items())
        if count
    ]
    forwarders = sum(samples.by("fss_nfs_unresolved_forwarder_addresses").values())
    if forwarders:
        problems.append(
            f"{forwarders:.0f} in-transit TLS forwarder addresses are not in address_map of the configuration."
        )
    for place, count in sorted(samples.by("fss_oci_ambiguous_addresses", *_PLACE).items()):
        if count:
            problems.append(
                f"{count:.0f} mount targets in {name_of(*place)} cannot be told apart by their address: not joined with clients."
            )
    for (tenancy, region, part), (seen, expected) in sees_less(samples).items():
        where = f" in {name_of(tenancy, region)}" if region else ""
        problems.append(f"{seen:,.0f} of {expected:,.0f} {part.replace('_', ' ')} seen{where}.")
    for tenancy, region, permission in sorted(samples.by("fss_oci_permission_missing", *_PLACE, "permission")):
        where = name_of(tenancy, region)
        problems.append(f"OCI refuses {permission} in {where}. fss-exporter doctor prints the policy statement.")
    return tuple(problems)


def sees_less(samples: Samples) -> dict[tuple[str, ...], tuple[float, float]]:
    """Return how much is seen and expected, by tenancy, region and part, where less is seen.

    A region is not missed while the first poll runs.
    """
    expected, seen = (samples.by(name, *_PLACE, "part") for name in ("fss_coverage_expected", "fss_coverage_seen"))
    is_first_poll = any(name.partition("/")[0] == "oci" for name in starting_collectors(samples))
    return {
        key: (seen.get(key, 0.0), count)
        for key, count in sorted(expected.items())
        if seen.get(key, 0.0) < count and not (is_first_poll and key[-1] == "regions")
    }


_QUERY = "SummarizeMetricsData"
_REFUSED_STATUS = "401"
REFUSED = f"OCI refuses the credentials ({_REFUSED_STATUS})"
_CAUSES = {_REFUSED_STATUS: REFUSED, "unreachable": "OCI is unreachable", "broken answer": "OCI gives broken answers"}
_NAMED = 3  # so many operations with the same failure are named

FAILED_CALL = ("operation", "reason")  # labels of failed calls behind those of a place


def _cause(reason: str) -> str:
    return _CAUSES.get(reason) or (f"OCI answers {reason}" if reason.isdecimal() else f"calls of OCI fail ({reason})")


def causes_of_polls(calls: Mapping[tuple[str, ...], float]) -> dict[tuple[str, ...], str]:
    """Return by place why its last poll failed. `calls` are failed calls by place, operation and reason.

    Refused credentials stop every call. Else the most frequent failure of metric queries is the cause.
    """
    stopping = {
        (reason == _REFUSED_STATUS, number, tuple(place)): reason
        for (*place, operation, reason), number in calls.items()
        if operation == _QUERY or reason == _REFUSED_STATUS
    }
    return {place: _cause(reason) for (_, _, place), reason in sorted(stopping.items())}


def failed_calls(samples: Samples, name_of: NameOf) -> Iterator[str]:
    """Yield a sentence for all calls of a kind in a region that fail for the same reason."""
    calls_of: dict[tuple[str, str, str], dict[str, float]] = defaultdict(dict)
    for (tenancy, region, operation, reason), calls in samples.by(
        "fss_oci_failed_calls", *_PLACE, *FAILED_CALL
    ).items():
        kind = "metric query" if operation == _QUERY else "listing" if operation.startswith("List") else "lookup"
        calls_of[name_of(tenancy, region), kind, reason][operation] = calls
    cause_first = sorted(calls_of.items(), key=lambda one: (one[0][2] != _REFUSED_STATUS, one[0]))
    for (place, kind, reason), operations in cause_first:
        calls = sum(operations.values())
        plural = kind if calls == 1 else f"{kind.removesuffix('y')}ies" if kind.endswith("y") else f"{kind}s"
        names = first_names(sorted(operations), _NAMED)
        yield f"{_cause(reason)} in {place}: {calls:,.0f} {plural} failed ({names})."
