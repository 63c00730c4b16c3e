"""Checks of an account: credentials, permissions, clock and metrics. Pure."""

from collections.abc import Collection, Iterator
from typing import Final

from fss_exporter.doctor.account_facts import CallOutcome, Lag, MetricFacts, RegionFacts, Subscriptions, Tried
from fss_exporter.doctor.discovered import check_discovered
from fss_exporter.doctor.findings import PROJECT, WHITE_PAPER, Finding, Severity

_SKEW_REFUSED: Final = 300.0
"""Age of a signature in seconds from which OCI refuses the signature."""

_SKEW_NOTED: Final = 60.0
_LATE: Final = 300.0
"""Age of a newest point in seconds from which ingestion is late. OCI's own alarms wait three minutes."""

_PARTS: Final = (
    "ListReplications ListOutboundConnectors GetPrivateIp GetSubnet ListLustreFileSystems ListVolumes ListBootVolumes"
)
_LESSER: Final = dict.fromkeys(_PARTS.split(), Severity.WARNING) | {"ListRegionSubscriptions": Severity.ADVICE}
"""Calls whose failure costs some metrics, names or a check. A failure of any other call costs everything."""

_NAMED: Final = 3
_SUBSCRIBED: Final = "OCI API, ListRegionSubscriptions"
_ALARM_DEFAULT: Final = "OCI documentation, Overview of Monitoring, read 2026-09-05"


def check_subscriptions(subscriptions: Subscriptions, regions: Collection[str]) -> Iterator[Finding]:
    """Compare the checked regions with the subscribed regions of the tenancy."""
    if subscriptions.found is None:
        return
    known = {region: subscriptions.of(region) for region in regions}
    for region, one in known.items():
        if one is None:
            message = "the tenancy is not subscribed to it, so every call would be refused"
            fix = "check its name, which is like eu-frankfurt-1. Subscribe to the region in the Console, or take the region out of oci.regions"
            yield Finding("regions", Severity.PROBLEM, region, message, fix, _SUBSCRIBED)
        elif one.status != "READY":
            message, fix = (
                f"its subscription is {one.status or 'without a status'}, not READY",
                "try again in some minutes",
            )
            yield Finding("regions", Severity.WARNING, region, message, fix, _SUBSCRIBED)
    ready = [one.region for one in known.values() if one is not None and one.status == "READY"]
    if ready:
        yield Finding("regions", Severity.OK, "", f"subscribed to {', '.join(ready)}")
    others = sorted({one.region for one in subscriptions.found} - {one.region for one in known.values() if one})
    if others:
        message = f"not looked at, though subscribed to: {', '.join(others)}"
        fix = "name those that have mount targets in oci.regions, or with --oci.region"
        yield Finding("regions", Severity.ADVICE, "", message, fix)


def check_region(facts: RegionFacts) -> Iterator[Finding]:
    """Check one region."""
    yield from _operations(facts)
    yield from _clock(facts)
    yield from _resources(facts)
    yield from _metrics(facts)
    yield from _lag(facts)
    yield from check_discovered(facts)


def _operations(facts: RegionFacts) -> Iterator[Finding]:
    answered = [name for name, tried in facts.tried.items() if tried.outcome is CallOutcome.OK]
    for name, tried in facts.tried.items():
        if tried.outcome is CallOutcome.OK:
            continue
        severity = _LESSER.get(name, Severity.PROBLEM)
        if tried.outcome is CallOutcome.SILENT:
            severity = Severity.PROBLEM
        elif tried.outcome is CallOutcome.LATE and answered:  # the network works, and the account is not at fault
            severity = Severity.WARNING
        yield Finding(
            "permissions" if tried.outcome is CallOutcome.REFUSED else "api",
            severity,
            f"{facts.region} {name}",
            tried.error,
            _fix(tried),
        )
    if answered:
        message = f"{len(answered)} API operations answered: {', '.join(sorted(answered))}"
        yield Finding("api", Severity.OK, facts.region, message)


def _fix(tried: Tried) -> str:
    if tried.outcome is CallOutcome.REFUSED and "Allow " not in tried.error:
        return "correct the credentials or this host's clock: without a signature that holds, every call is refused"
    return {
        CallOutcome.REFUSED: "have the statement added to a policy. The user or instance must be in the group it names",
        CallOutcome.LATE: "run doctor again. oci.read_timeout and oci.answer_timeout set how long doctor waits",
        CallOutcome.SILENT: "check the route, proxy, DNS and firewall to OCI's endpoints (service gateway or NAT gateway)",
    }.get(tried.outcome, "try again. If it stays, give the request id to OCI's support")


def _clock(facts: RegionFacts) -> Iterator[Finding]:
    ahead = facts.clock_ahead_seconds
    if ahead is None:
        return
    if abs(ahead) < _SKEW_NOTED:
        yield Finding("clock", Severity.OK, facts.region, "this host's clock agrees with OCI's")
        return
    severity = Severity.PROBLEM if abs(ahead) >= _SKEW_REFUSED else Severity.WARNING
    message = f"this host's clock is {abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} OCI's"
    fix = "synchronise it (chrony); OCI refuses signatures that are five minutes off"
    yield Finding("clock", severity, facts.region, message, fix, "OCI documentation, Request Signatures")


def _resources(facts: RegionFacts) -> Iterator[Finding]:
    if facts.mount_targets == 0:
        fix = "check --oci.region and --oci.compartment, and that inspect mount-targets reaches those compartments"
        yield Finding("inventory", Severity.WARNING, facts.region, "no mount targets", fix)
    elif facts.mount_targets is not None:
        few = (
            ""
            if facts.all_addresses
            else ". Only a few of their addresses were looked up, which shows that it is allowed"
        )
        yield Finding("inventory", Severity.OK, facts.region, f"{facts.mount_targets:,} mount targets{few}")


def _metrics(facts: RegionFacts) -> Iterator[Finding]:
    listed = facts.tried.get("ListMetrics")
    is_whole = listed is not None and listed.outcome is CallOutcome.OK
    if not is_whole and not facts.metrics:
        return
    if not facts.metrics:
        fix = "metrics appear minutes after a file system exists. Check that read metrics reaches its compartment"
        yield Finding("metrics", Severity.WARNING, facts.region, "Monitoring has no metric of oci_filestorage", fix)
        return
    for metric in facts.metrics:
        yield from _metric(facts.region, metric)
    asked = [metric for metric in facts.metrics if metric.streams is not None]
    active = sum(1 for metric in asked if metric.streams)
    message = f"{len(asked)} metrics answered, {active} of them with points of the last {facts.asked_minutes} minutes"
    yield Finding("metrics", Severity.OK, facts.region, message)
    if is_whole and "MountTargetIOPS" not in {metric.documented for metric in facts.metrics}:
        message = "MountTargetIOPS is not there: IOPS of mount targets are estimated from requests by size"
        fix = "nothing to do. Alarms on MountTargetIOPS would never fire here"
        yield Finding("metrics", Severity.ADVICE, facts.region, message, fix, WHITE_PAPER)


def _metric(region: str, metric: MetricFacts) -> Iterator[Finding]:
    subject = f"{region} {metric.spelling}"
    if metric.error:
        yield Finding("metrics", Severity.WARNING, subject, metric.error, "see what else failed")
    if metric.is_large:
        message = f"more than {metric.listed:,} streams. The poller splits the query where one answer cannot hold them"
        yield Finding("metrics", Severity.OK, subject, message)
    if not metric.documented:
        message = "not documented, so it is not collected"
        yield Finding("metrics", Severity.ADVICE, subject, message, "report it, with doctor --record", PROJECT)
    elif metric.spelling != metric.documented:
        yield Finding(
            "metrics",
            Severity.OK,
            subject,
            f"documented as {metric.documented}. The poller asks with the spelling of this account",
        )
    elif metric.is_steady and metric.streams == 0:
        message = "no points, though it is sent also while idle"
        fix = "check again in some minutes. Deleted resources stay listed for 90 days"
        yield Finding("metrics", Severity.ADVICE, subject, message, fix, PROJECT)


def _lag(facts: RegionFacts) -> Iterator[Finding]:
    steady = [metric for metric in facts.metrics if metric.is_steady]
    ages = [(one.newest_age_seconds, one.spelling) for one in steady if one.newest_age_seconds is not None]
    if facts.lags:
        yield from _measured(facts.region, facts.lags)
    elif ages:
        message = f"newest minutes ended {_span(ages)} ago. --wait 90s measures how late a minute comes"
        yield _judged(facts.region, max(ages)[0], message)


def _measured(region: str, lags: tuple[Lag, ...]) -> Iterator[Finding]:
    came = [(lag.at_most, lag.metric) for lag in lags if lag.at_most is not None]
    if came:
        yield _judged(region, max(came)[0], f"a new minute could be read within {_span(came)} of its end")
    missing = [(lag.at_least, lag.metric) for lag in lags if lag.at_most is None]
    if missing:
        names = ", ".join(name for _, name in missing[:_NAMED])
        names += f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
        message = f"no new minute came of {names}. The next one ended {max(missing)[0]:.0f} s ago"
        yield _judged(region, max(missing)[0], message)


def _span(seconds: Collection[tuple[float, str]]) -> str:
    """Return the least and the most seconds, each with the metric."""
    least, most = min(seconds), max(seconds)
    return f"{least[0]:.0f} s ({least[1]})" + (f" to {most[0]:.0f} s ({most[1]})" if most != least else "")


def _judged(region: str, seconds: float, message: str) -> Finding:
    if seconds <= _LATE:
        return Finding("ingestion-lag", Severity.OK, region, message)
    fix = "wait, or look at OCI's status page. Alarms and dashboards see the same age"
    source = f"{_ALARM_DEFAULT}; threshold: {PROJECT}"
    return Finding("ingestion-lag", Severity.WARNING, region, message, fix, source)
