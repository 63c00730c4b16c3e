"""Checks of an account: credentials, permissions, clock, and what Monitoring really has. Pure."""

from collections.abc import Iterator
from typing import Final

from fss_exporter.doctor.account_facts import MetricFacts, Outcome, RegionFacts
from fss_exporter.doctor.findings import PROJECT, WHITE_PAPER, Finding, Severity
from fss_exporter.doctor.record import names_somebody
from fss_exporter.oci.metrics import METRICS

_SKEW_REFUSED: Final = 300.0
"""Seconds after which OCI refuses a signature."""

_SKEW_NOTED: Final = 60.0
_LATE: Final = 300.0
"""Age of a newest point, seconds, from which on ingestion is late: OCI's own alarms wait three minutes."""

_OPTIONAL: Final = frozenset(("ListReplications", "ListOutboundConnectors", "GetPrivateIp", "GetSubnet"))
"""Without these some metrics or names are missing; without the others there is nothing."""

_ALARM_DEFAULT: Final = "OCI documentation, Overview of Monitoring, read 2026-09-05"


def check_region(facts: RegionFacts) -> Iterator[Finding]:
    """Everything about one region."""
    yield from _operations(facts)
    yield from _clock(facts)
    yield from _resources(facts)
    yield from _metrics(facts)
    yield from _lag(facts)
    yield from _discovered(facts)


def _operations(facts: RegionFacts) -> Iterator[Finding]:
    answered = [name for name, tried in facts.tried.items() if tried.outcome is Outcome.OK]
    for name, tried in facts.tried.items():
        if tried.outcome is Outcome.OK:
            continue
        severity = Severity.WARNING if name in _OPTIONAL else Severity.PROBLEM
        yield Finding(
            "permissions" if tried.outcome is Outcome.REFUSED else "api",
            severity,
            f"{facts.region} {name}",
            tried.error,
            _fix(tried.outcome),
        )
    if answered:
        message = f"{len(answered)} API operations answered: {', '.join(sorted(answered))}"
        yield Finding("api", Severity.OK, facts.region, message)


def _fix(outcome: Outcome) -> str:
    return {
        Outcome.REFUSED: "have the statement added to a policy; the user or instance must be in the group it names",
        Outcome.SILENT: "check the route, proxy, DNS and firewall to OCI's endpoints (service gateway or NAT gateway)",
    }.get(outcome, "try again; if it stays, give the request id to OCI's support")


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
        yield Finding("inventory", Severity.OK, facts.region, f"{facts.mount_targets} mount targets")


def _metrics(facts: RegionFacts) -> Iterator[Finding]:
    if facts.tried.get("ListMetrics") is None or facts.tried["ListMetrics"].outcome is not Outcome.OK:
        return
    if not facts.metrics:
        fix = "metrics appear minutes after a file system exists; check that read metrics reaches its compartment"
        yield Finding("metrics", Severity.WARNING, facts.region, "Monitoring has no metric of oci_filestorage", fix)
        return
    for metric in facts.metrics:
        yield from _metric(facts.region, metric)
    asked = [metric for metric in facts.metrics if metric.streams is not None]
    active = sum(1 for metric in asked if metric.streams)
    message = f"{len(asked)} metrics answered, {active} of them with points of the last {facts.asked_minutes} minutes"
    yield Finding("metrics", Severity.OK, facts.region, message)
    if "MountTargetIOPS" not in {metric.documented for metric in facts.metrics}:
        message = "MountTargetIOPS is not there: IOPS of mount targets are estimated from requests by size"
        fix = "nothing to do; alarms on MountTargetIOPS would never fire here"
        yield Finding("metrics", Severity.ADVICE, facts.region, message, fix, WHITE_PAPER)


def _metric(region: str, metric: MetricFacts) -> Iterator[Finding]:
    subject = f"{region} {metric.spelling}"
    if metric.error:
        yield Finding("metrics", Severity.WARNING, subject, metric.error, "see what else failed")
    if not metric.documented:
        message = "not documented, so it is not collected"
        yield Finding("metrics", Severity.ADVICE, subject, message, "report it, with doctor --record", PROJECT)
    elif metric.spelling != metric.documented:
        yield Finding(
            "metrics", Severity.OK, subject, f"documented as {metric.documented}; asked for as it is spelt here"
        )
    elif METRICS[metric.documented].idle == "zero" and metric.streams == 0:
        message = "no points, though it is sent also while idle"
        fix = "check again in some minutes; deleted resources stay listed for 90 days"
        yield Finding("metrics", Severity.ADVICE, subject, message, fix, PROJECT)


def _lag(facts: RegionFacts) -> Iterator[Finding]:
    ages = [
        (metric.newest_age_seconds, metric.spelling)
        for metric in facts.metrics
        if metric.newest_age_seconds is not None and metric.documented and METRICS[metric.documented].idle == "zero"
    ]
    if not ages:
        return
    newest, oldest = min(ages), max(ages)
    message = f"newest points are {newest[0]:.0f} s old ({newest[1]}) to {oldest[0]:.0f} s ({oldest[1]})"
    if oldest[0] <= _LATE:
        yield Finding("ingestion-lag", Severity.OK, facts.region, message)
        return
    fix = "wait, or look at OCI's status page; alarms and dashboards see the same age"
    yield Finding(
        "ingestion-lag", Severity.WARNING, facts.region, message, fix, f"{_ALARM_DEFAULT}; threshold: {PROJECT}"
    )


def _discovered(facts: RegionFacts) -> Iterator[Finding]:
    """What no document says and this account tells; `--record` has all of it."""
    values: dict[str, set[str]] = {}
    for metric in facts.metrics:
        for name, found in metric.dimensions.items():
            if not names_somebody(name, found):
                values.setdefault(name, set()).update(found)
    for name, distinct in sorted(values.items()):
        yield Finding("discovered", Severity.OK, facts.region, f"values of {name}: {', '.join(sorted(distinct))}")
    told = {
        "observedThroughput of mount targets": ", ".join(
            f"{gbps} ({count})" for gbps, count in facts.observed_throughputs.items()
        ),
        "metric names in queries ignore case": {None: "", True: "yes", False: "no"}[facts.names_ignore_case],
        "two metrics added in one query": facts.arithmetic,
    }
    for what, answer in told.items():
        if answer:
            yield Finding("discovered", Severity.OK, facts.region, f"{what}: {answer}")
