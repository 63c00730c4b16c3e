"""From the alerts that fire in each minute to pages and tickets: the routes and inhibitions of docs/alertmanager.md."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml
from tests.rules.pack import ROOT

Labels = frozenset[tuple[str, str]]

TEXT = (ROOT / "docs" / "alertmanager.md").read_text(encoding="utf-8")
BLOCK, BY_TEAM, NIGHTLY_BACKUP, FLEET_IS_OFF = re.findall(r"^```yaml\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
CONFIGURATION: dict[str, Any] = yaml.safe_load(BLOCK)


def matches(matchers: Sequence[str], labels: Mapping[str, str]) -> bool:
    """Whether all matchers let the labels through."""
    for matcher in matchers:
        label, operator, pattern = re.fullmatch(r'(\w+) (=|=~|!=) "(.*)"', matcher).groups()  # type: ignore[union-attr]  # no match is a failure
        if (re.fullmatch(pattern, labels.get(label, "")) is not None) == (operator == "!="):
            return False
    return True


def inhibits(source: Mapping[str, str], target: Mapping[str, str]) -> bool:
    """Whether one alert holds another back, as Alertmanager decides: a missing label is an empty label."""
    return source != target and any(
        matches(rule["source_matchers"], source)
        and matches(rule["target_matchers"], target)
        and all(source.get(label, "") == target.get(label, "") for label in rule.get("equal", ()))
        for rule in CONFIGURATION["inhibit_rules"]
    )


@dataclass(frozen=True)
class Notification:
    """One message: the minute, the receiver and the alerts that are new in it."""

    minute: float
    receiver: str
    group: tuple[str, ...]
    alerts: tuple[str, ...]

    @property
    def kind(self) -> str:
        """`page` or `ticket`."""
        return {"pager": "page", "tickets": "ticket"}[self.receiver]

    def __str__(self) -> str:
        names = (name if count == 1 else f"{name} ({count})" for name, count in Counter(self.alerts).items())
        return f"{self.kind} {'+'.join(names)} {self.minute:g}"


def notifications(firing: Mapping[float, frozenset[Labels]]) -> list[Notification]:
    """Messages about alerts that begin to fire, or that are no longer held back, minute by minute."""
    sent: list[Notification] = []
    told: frozenset[Labels] = frozenset()
    for minute, alerts in sorted(firing.items()):
        heard = frozenset(alert for alert in alerts if not any(inhibits(dict(other), dict(alert)) for other in alerts))
        groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        for alert in heard - told:
            labels = dict(alert)
            groups.setdefault(_route(labels), []).append(labels["alertname"])
        sent += [
            Notification(minute, receiver, group, tuple(sorted(names))) for (receiver, group), names in groups.items()
        ]
        told = (told & alerts) | heard  # An alert that was sent and is held back later was not ended.
    return sent


def _route(labels: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    top = CONFIGURATION["route"]
    route = next((route for route in top["routes"] if matches(route["matchers"], labels)), top)
    return route["receiver"], tuple(labels.get(label, "") for label in route.get("group_by", top["group_by"]))
