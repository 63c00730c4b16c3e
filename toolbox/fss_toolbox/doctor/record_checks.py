# SPDX-License-Identifier: Apache-2.0
"""Compare what an account answers with an earlier record. Pure."""

from collections.abc import Iterator

from fss_toolbox.doctor.account_facts import CallOutcome, RegionFacts
from fss_toolbox.doctor.account_record import AccountRecord, join_order
from fss_toolbox.doctor.findings import Finding, finding_of


def check_record(record: AccountRecord, facts: RegionFacts) -> Iterator[Finding]:
    """Yield what changed in a region since a record, and what only the record knows."""
    earlier = next((recorded for recorded in record.regions if recorded.region == facts.region), None)
    if earlier is None:
        yield finding_of("record.no-region", facts.region, day=record.day)
        return
    changes = [*_permissions(record.day, earlier, facts), *_metrics(record.day, earlier, facts)]
    changes += _answers(record.day, earlier, facts)
    yield from changes or [finding_of("record.same", facts.region, day=record.day)]


def _permissions(day: str, earlier: RegionFacts, facts: RegionFacts) -> Iterator[Finding]:
    for name, tried in facts.operations.items():
        before = earlier.operations.get(name)
        outcomes = (before.outcome if before else None, tried.outcome)
        if outcomes == (CallOutcome.OK, CallOutcome.REFUSED):
            yield finding_of("record.refused", f"{facts.region} {name}", day=day)
        elif outcomes == (CallOutcome.REFUSED, CallOutcome.OK):
            yield finding_of("record.allowed", f"{facts.region} {name}", day=day)


def _metrics(day: str, earlier: RegionFacts, facts: RegionFacts) -> Iterator[Finding]:
    listed = [record.operations.get("ListMetrics") for record in (earlier, facts)]
    if not all(tried and tried.outcome is CallOutcome.OK for tried in listed):
        return
    before, now = ({metric.spelling for metric in record.metrics} for record in (earlier, facts))
    for name in sorted(before - now):
        yield finding_of("record.metric-gone", f"{facts.region} {name}", day=day)
    for name in sorted(now - before):
        yield finding_of("record.metric-new", f"{facts.region} {name}", day=day)


def _answers(day: str, earlier: RegionFacts, facts: RegionFacts) -> Iterator[Finding]:
    answers: dict[str, list[str]] = {
        "&& and || without parentheses": [join_order(record) or "" for record in (earlier, facts)],
        "OCI names a minute by its": [str(record.minutes_named_by) for record in (earlier, facts)],
        "metric names in queries ignore case": [
            {None: "", True: "yes", False: "no"}[record.metric_names_ignore_case] for record in (earlier, facts)
        ],
        "MountTargetReadThroughput over FileSystemReadThroughput": [
            "" if record.throughput_factor == "cannot tell" else record.throughput_factor for record in (earlier, facts)
        ],
        "names of limits": [", ".join(record.limit_names or ()) for record in (earlier, facts)],
    }
    for what, (before, now) in answers.items():
        if before and now and before != now:
            yield finding_of("record.changed", facts.region, what=what, before=before, now=now, day=day)
        elif before and not now:
            yield finding_of("record.kept", facts.region, what=what, before=before, day=day)
