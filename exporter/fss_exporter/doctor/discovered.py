"""Undocumented behaviour of OCI Monitoring in one account. Pure."""

from collections.abc import Iterator
from typing import Final

from fss_exporter.doctor.account_facts import RegionFacts
from fss_exporter.doctor.findings import Finding, Severity
from fss_exporter.doctor.record import holds_names

_YOUNG: Final = 55.0
"""Most seconds after the stamp of a point that is stamped with the start of the minute, with five seconds for clocks.
"""


def check_discovered(facts: RegionFacts) -> Iterator[Finding]:
    """Yield dimension values and undocumented behaviour of one region. `--record` saves all of them."""
    values: dict[str, set[str]] = {}
    for metric in facts.metrics:
        for name, found in metric.dimensions.items():
            if not holds_names(name, found):
                values.setdefault(name, set()).update(found)
    for name, distinct in sorted(values.items()):
        of = " among the streams of the first page" if any(metric.is_large for metric in facts.metrics) else ""
        yield Finding("discovered", Severity.OK, facts.region, f"values of {name}{of}: {', '.join(sorted(distinct))}")
    answers = {
        "points are stamped with the end of their minute": _stamped_at_the_end(facts),
        "streams without points are answered": _answers_empty_streams(facts),
        "observedThroughput of mount targets": ", ".join(
            f"{gbps} ({count})" for gbps, count in facts.observed_throughputs.items()
        ),
        "metric names in queries ignore case": {None: "", True: "yes", False: "no"}[facts.names_ignore_case],
        "two metrics added in one query": facts.arithmetic,
    }
    for what, answer in answers.items():
        if answer:
            yield Finding("discovered", Severity.OK, facts.region, f"{what}: {answer}")


def _stamped_at_the_end(facts: RegionFacts) -> str:
    ahead = facts.clock_ahead_seconds or 0.0
    young = any(lag.at_most is not None and lag.at_most - ahead < _YOUNG for lag in facts.lags)
    return "yes, some could be read within a minute" if young else ""


def _answers_empty_streams(facts: RegionFacts) -> str:
    if any(one.empty_streams for one in facts.metrics):
        return "yes"
    return "no" if any(one.streams is not None and one.streams < one.listed for one in facts.metrics) else ""
