# SPDX-License-Identifier: Apache-2.0
"""Checks of an account: credentials, permissions, clock, metrics and undocumented behaviour of OCI Monitoring. Pure."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Final

from fss_exporter.oci.client.sdk_client import service_limit_of
from fss_exporter.oci.cloud_client import LIMITED_KINDS
from fss_exporter.terminal_text import first_names
from fss_toolbox.doctor.account_facts import (
    CallOutcome,
    Lag,
    MetricFacts,
    RegionFacts,
    Subscriptions,
    Tried,
    holds_names,
)
from fss_toolbox.doctor.findings import Finding, Severity, finding_of

_SKEW_REFUSED: Final = 300.0  # Age of a signature in seconds from which OCI refuses the signature
_SKEW_NOTED: Final = 60.0

# Age of a newest point in seconds from which ingestion is late. OCI's own alarms wait three minutes.
_LATE: Final = 300.0

_PARTS: Final = (
    "ListReplications ListOutboundConnectors GetPrivateIp GetIpv6 GetSubnet ListLimitValues ListLustreFileSystems"
    " ListVolumes ListBootVolumes"
)

# Calls whose failure costs some metrics, names or a check. A failure of any other call costs everything.
_LESSER: Final = dict.fromkeys(_PARTS.split(), Severity.WARNING) | {"ListRegionSubscriptions": Severity.ADVICE}

_NAMED: Final = 3

# Findings about the unit of MountTargetReadThroughput.
_UNITS: Final = {"1": "metrics.per-second", "60": "metrics.per-interval", "cannot tell": "metrics.unit-unknown"}


def check_subscriptions(subscriptions: Subscriptions, regions: Collection[str]) -> Iterator[Finding]:
    """Compare the checked regions with the subscribed regions of the tenancy."""
    if subscriptions.listed is None:
        return
    by_region = {region: subscriptions.of(region) for region in regions}
    for region, subscription in by_region.items():
        if subscription is None:
            yield finding_of("regions.not-subscribed", region)
        elif subscription.status != "READY":
            yield finding_of("regions.not-ready", region, status=subscription.status or "without a status")
    ready = [
        subscription.region
        for subscription in by_region.values()
        if subscription is not None and subscription.status == "READY"
    ]
    if ready:
        yield finding_of("regions.ready", regions=", ".join(ready))
    others = sorted(
        {subscription.region for subscription in subscriptions.listed}
        - {subscription.region for subscription in by_region.values() if subscription}
    )
    if others:
        yield finding_of("regions.others", regions=", ".join(others))


def check_region(facts: RegionFacts) -> Iterator[Finding]:
    """Check one region."""
    yield from _operations(facts)
    yield from _clock(facts)
    yield from _resources(facts)
    yield from _limits(facts)
    yield from _metrics(facts)
    yield from _lag(facts)
    yield from _discovered(facts)


def _operations(facts: RegionFacts) -> Iterator[Finding]:
    answered = sorted(name for name, tried in facts.operations.items() if tried.outcome is CallOutcome.OK)
    for name, tried in facts.operations.items():
        if tried.outcome is not CallOutcome.OK:
            finding = finding_of(_failure(tried), f"{facts.region} {name}", error=tried.error)
            severity = finding.severity if tried.outcome is CallOutcome.SILENT else _LESSER.get(name, finding.severity)
            if tried.is_optional:
                severity = Severity.ADVICE
            if tried.outcome is CallOutcome.LATE and answered:  # the network works, and the account is not at fault
                severity = Severity.WARNING
            yield replace(finding, severity=severity)
    if answered:
        yield finding_of("api.answered", facts.region, count=len(answered), operations=", ".join(answered))


def _failure(tried: Tried) -> str:
    if tried.outcome is CallOutcome.REFUSED:
        return "permissions.policy" if "Allow " in tried.error else "permissions.signature"
    return {CallOutcome.SILENT: "api.silent", CallOutcome.LATE: "api.late"}.get(tried.outcome, "api.failed")


def _clock(facts: RegionFacts) -> Iterator[Finding]:
    ahead = facts.clock_ahead_seconds
    if ahead is None:
        return
    seconds, direction = abs(ahead), "ahead of" if ahead > 0 else "behind"
    kind = "clock.agrees" if seconds < _SKEW_NOTED else "clock.off" if seconds < _SKEW_REFUSED else "clock.refused"
    yield finding_of(kind, facts.region, seconds=seconds, direction=direction)


def _resources(facts: RegionFacts) -> Iterator[Finding]:
    if facts.mount_targets is not None:
        with_some = "inventory.all" if facts.all_addresses else "inventory.few-addresses"
        yield finding_of(
            with_some if facts.mount_targets else "inventory.none", facts.region, count=facts.mount_targets
        )


def _limits(facts: RegionFacts) -> Iterator[Finding]:
    for kind in LIMITED_KINDS if facts.limit_names else ():
        name, what = service_limit_of(kind, facts.limit_names or ()), kind.replace("_", " ")
        names = ", ".join(facts.limit_names or ())
        yield finding_of("limits.known" if name else "limits.unknown", facts.region, name=name, names=names, what=what)


def _metrics(facts: RegionFacts) -> Iterator[Finding]:
    listed = facts.operations.get("ListMetrics")
    is_whole = listed is not None and listed.outcome is CallOutcome.OK
    if not is_whole and not facts.metrics:
        return
    if not facts.metrics:
        yield finding_of("metrics.none", facts.region)
        return
    for error in dict.fromkeys(metric.error for metric in facts.metrics if metric.error):
        names = first_names([metric.spelling for metric in facts.metrics if metric.error == error], _NAMED)
        yield finding_of("metrics.failed", facts.region, names=names, error=error)
    for metric in facts.metrics:
        yield from _metric(f"{facts.region} {metric.spelling}", metric)
    if facts.throughput_factor:
        yield finding_of(_UNITS[facts.throughput_factor], facts.region)
    silent = [metric.spelling for metric in facts.metrics if metric.is_steady and metric.streams == 0]
    if silent:
        yield finding_of("metrics.silent", facts.region, names=first_names(silent, _NAMED))
    asked = [metric for metric in facts.metrics if metric.streams is not None]
    active = sum(1 for metric in asked if metric.streams)
    if asked:
        yield finding_of("metrics.answered", facts.region, count=len(asked), active=active, minutes=facts.asked_minutes)
    if is_whole and "MountTargetIOPS" not in {metric.documented for metric in facts.metrics}:
        yield finding_of("metrics.no-iops", facts.region)


def _metric(subject: str, metric: MetricFacts) -> Iterator[Finding]:
    if metric.is_large:
        yield finding_of("metrics.large", subject, count=metric.listed)
    if not metric.documented:
        yield finding_of("metrics.undocumented", subject)
    elif metric.spelling != metric.documented:
        yield finding_of("metrics.spelled", subject, name=metric.documented)


def _lag(facts: RegionFacts) -> Iterator[Finding]:
    steady = [metric for metric in facts.metrics if metric.is_steady]
    ages = [(metric.newest_age_seconds, metric.spelling) for metric in steady if metric.newest_age_seconds is not None]
    if facts.ingestion_lags:
        yield from _measured(facts.region, facts.ingestion_lags)
    elif ages:
        message = f"newest minutes ended {_span(ages)} ago. --wait 90s measures how late a minute comes"
        yield _judged(facts.region, max(ages)[0], message)


def _measured(region: str, lags: tuple[Lag, ...]) -> Iterator[Finding]:
    came = [(lag.at_most, lag.metric) for lag in lags if lag.at_most is not None]
    if came:
        yield _judged(region, max(came)[0], f"a new minute could be read within {_span(came)} of its end")
    missing = [(lag.at_least, lag.metric) for lag in lags if lag.at_most is None]
    if missing:
        names = first_names([name for _, name in missing], _NAMED)
        message = f"no new minute came of {names}. The next one ended {max(missing)[0]:.0f} s ago"
        yield _judged(region, max(missing)[0], message)


def _span(seconds: Collection[tuple[float, str]]) -> str:
    """Return the least and the most seconds, each with the metric."""
    least, most = min(seconds), max(seconds)
    return f"{least[0]:.0f} s ({least[1]})" + (f" to {most[0]:.0f} s ({most[1]})" if most != least else "")


def _judged(region: str, seconds: float, message: str) -> Finding:
    return finding_of("ingestion-lag.fine" if seconds <= _LATE else "ingestion-lag.late", region, message=message)


def _discovered(facts: RegionFacts) -> Iterator[Finding]:
    """Yield dimension values and undocumented behaviour of one region. `--record` saves all of them."""
    values: dict[str, set[str]] = {}
    for metric in facts.metrics:
        for name, distinct in metric.dimensions.items():
            if not holds_names(name, distinct):
                values.setdefault(name, set()).update(distinct)
    of = " among the streams of the first page" if any(metric.is_large for metric in facts.metrics) else ""
    throughputs = (f"{gbps} ({count})" for gbps, count in facts.observed_throughputs.items())
    answers = {f"values of {name}{of}": ", ".join(sorted(distinct)) for name, distinct in sorted(values.items())} | {
        "points are stamped with the end of their minute": _stamped_at_the_end(facts),
        "streams without points are answered": _answers_empty_streams(facts),
        "observedThroughput of mount targets": ", ".join(throughputs),
        "metric names in queries ignore case": {None: "", True: "yes", False: "no"}[facts.metric_names_ignore_case],
        "two metrics added in one query": facts.adding_two_metrics,
        "&& and || without parentheses": facts.order_of_and_and_or,
        "names of limits": ", ".join(facts.limit_names or ()),
    }
    for what, answer in answers.items():
        if answer:
            yield finding_of("discovered.values", facts.region, what=what, answer=answer)


def _stamped_at_the_end(facts: RegionFacts) -> str:
    return "yes, some could be read within a minute" if facts.minutes_named_by == "end" else ""


def _answers_empty_streams(facts: RegionFacts) -> str:
    if any(metric.empty_streams for metric in facts.metrics):
        return "yes"
    whole = (metric for metric in facts.metrics if not metric.is_merged)
    return "no" if any(metric.streams is not None and metric.streams < metric.listed for metric in whole) else ""
