"""The facts about an account as JSON for a bug report, without OCIDs, names or addresses. Pure."""

import json
import re
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from fss_exporter.doctor.account_facts import MetricFacts, RegionFacts

_OCID = re.compile(r"ocid1\.([a-z0-9]+)\.[A-Za-z0-9._-]*")
_NAMES = re.compile(r"name$|address$|host$", re.IGNORECASE)  # Dimensions whose values are names that people chose


def holds_names(dimension: str, values: Iterable[str]) -> bool:
    """Return whether the values of a dimension are OCIDs or names that people chose."""
    return bool(_NAMES.search(dimension)) or any(_OCID.match(value) for value in values)


def record(version: str, regions: Iterable[RegionFacts]) -> str:
    """Return the facts as JSON, scrubbed. An OCID or name has the same stand-in everywhere."""
    scrub = _Scrubber()
    document = {"fss_exporter": version, "regions": [_region(facts, scrub) for facts in regions]}
    return json.dumps(scrub.everything(document), indent=2, ensure_ascii=False) + "\n"


def _region(facts: RegionFacts, scrub: "_Scrubber") -> dict[str, Any]:
    return {
        "region": facts.region,
        "operations": {
            name: {"outcome": tried.outcome.value, "error": tried.error} for name, tried in facts.tried.items()
        },
        "clock_ahead_seconds": facts.clock_ahead_seconds,
        "mount_targets": facts.mount_targets,
        "observed_throughput": dict(facts.observed_throughputs),
        "asked_minutes": facts.asked_minutes,
        "ingestion_lag_seconds": [asdict(lag) for lag in facts.lags],
        "metric_names_ignore_case": facts.names_ignore_case,
        "adding_two_metrics": facts.arithmetic,
        "metrics": [_metric(metric, scrub) for metric in facts.metrics],
    }


def _metric(metric: MetricFacts, scrub: "_Scrubber") -> dict[str, Any]:
    dimensions = {
        name: [scrub.name(value) if _NAMES.search(name) else value for value in values]
        for name, values in metric.dimensions.items()
    }
    return asdict(metric) | {"dimensions": dimensions}


class _Scrubber:
    """Stand-ins, numbered in the order of appearance."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def name(self, value: str) -> str:
        return self._known.setdefault(f"name {value}", f"<name {self._count('name ') + 1}>")

    def everything(self, value: Any) -> Any:
        """Return the document with every OCID in any text replaced."""
        if isinstance(value, str):
            return _OCID.sub(self._ocid, value)
        if isinstance(value, dict):
            return {self.everything(key): self.everything(part) for key, part in value.items()}
        if isinstance(value, list | tuple):
            return [self.everything(part) for part in value]
        return value

    def _ocid(self, match: re.Match[str]) -> str:
        kind = match[1]
        return self._known.setdefault(f"ocid {match[0]}", f"<{kind} {self._count(f'ocid ocid1.{kind}.') + 1}>")

    def _count(self, prefix: str) -> int:
        return sum(1 for known in self._known if known.startswith(prefix))
