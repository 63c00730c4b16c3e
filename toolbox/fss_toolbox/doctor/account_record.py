# SPDX-License-Identifier: Apache-2.0
"""The record of `doctor --record`: what an account answered, as JSON without OCIDs, names or addresses. Pure.

Issues quote the record. `doctor`, `calibrate` and `alarms` read the record with `--facts`.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from pydantic import TypeAdapter, ValidationError

from fss_exporter.errors import UsageError
from fss_exporter.ocid import OCID, kind_of
from fss_toolbox.doctor.account_facts import NAMES, RegionFacts
from fss_toolbox.mql import JoinOrder


@dataclass(frozen=True, slots=True)
class AccountRecord:
    """The answers of an account on one day."""

    version: Literal[1]  # of this format
    fss_exporter: str  # version of the program that wrote the record
    recorded_at: str  # UTC, `2026-11-25T22:00:00Z`
    regions: tuple[RegionFacts, ...]

    @property
    def day(self) -> str:
        """Day of the record, `2026-11-25`."""
        return self.recorded_at[:10]

    def region(self, name: str) -> RegionFacts:
        """Return the facts of a region.

        Raises:
            UsageError: the record has no such region.
        """
        for facts in self.regions:
            if facts.region == name:
                return facts
        names = ", ".join(facts.region for facts in self.regions) or "none"
        raise UsageError(f"--facts: the record has no region {name}. Known are {names}")


_MISTAKE: Final = "a mistake in the settings. Its text can have names, so the record leaves it out"
_FORMAT: Final = TypeAdapter(AccountRecord)
_JOIN_ORDERS: Final[Mapping[str, JoinOrder]] = {order: order for order in get_args(JoinOrder)}


def join_order(facts: RegionFacts | None) -> JoinOrder | None:
    """Return how Monitoring reads `&&` and `||` without parentheses. None if no record of the account says it."""
    return None if facts is None else _JOIN_ORDERS.get(facts.order_of_and_and_or)


def spellings(facts: RegionFacts) -> dict[str, str]:
    """Return the account's names of metrics by name in lower case. Of several spellings the documented one wins."""
    metrics = sorted(facts.metrics, key=lambda metric: (metric.spelling == metric.documented, metric.spelling))
    return {metric.spelling.lower(): metric.spelling for metric in metrics}


def error_types(facts: RegionFacts) -> dict[str, Sequence[str]]:
    """Return the event types that each metric of errors has been seen with, by its documented name."""
    return {
        metric.documented: sorted(metric.dimensions["errorType"])
        for metric in facts.metrics
        if metric.documented and metric.dimensions.get("errorType")
    }


def record_json(record: AccountRecord) -> str:
    """Return the record as JSON, scrubbed. An OCID or name has the same stand-in everywhere."""
    document = _FORMAT.dump_python(record, mode="json")
    scrub = _Scrubber()
    for region in document["regions"]:
        del region["availability_domains"]  # they are keyed by addresses
        for tried in region["operations"].values():
            if tried["is_mistake"]:
                tried["error"] = _MISTAKE
        for metric in region["metrics"]:
            metric["dimensions"] = {
                name: [scrub.name(value) if NAMES.search(name) else value for value in values]
                for name, values in metric["dimensions"].items()
            }
    return json.dumps(scrub.everything(document), indent=2, ensure_ascii=False) + "\n"


def read_record(source: str, content: bytes) -> AccountRecord:
    """Read a record from JSON. A UsageError names the place that is no record of this version."""
    try:
        return _FORMAT.validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise UsageError(
            f"{source}: not a record of doctor --record: {place + ': ' if place else ''}{first['msg']}"
        ) from None


class _Scrubber:
    """Stand-ins, numbered in the order of appearance."""

    def __init__(self) -> None:
        self._stand_ins: dict[str, str] = {}

    def name(self, value: str) -> str:
        return self._stand_ins.setdefault(f"name {value}", f"<name {self._count('name ') + 1}>")

    def everything(self, value: Any) -> Any:
        """Return the document with every OCID in any text replaced."""
        if isinstance(value, str):
            return OCID.sub(self._ocid, value)
        if isinstance(value, dict):
            return {self.everything(key): self.everything(part) for key, part in value.items()}
        if isinstance(value, list | tuple):
            return [self.everything(part) for part in value]
        return value

    def _ocid(self, match: re.Match[str]) -> str:
        kind = kind_of(match[0])
        return self._stand_ins.setdefault(f"{kind} {match[0]}", f"<{kind} {self._count(f'{kind} ocid') + 1}>")

    def _count(self, prefix: str) -> int:
        return sum(1 for value in self._stand_ins if value.startswith(prefix))
