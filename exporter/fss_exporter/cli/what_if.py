"""`--what-if NAME=VALUE`: a scenario with one thing changed."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import click

from fss_exporter import units
from fss_exporter.errors import UsageError
from fss_exporter.model.capacity import Clients, Plan, plan
from fss_exporter.model.limits import SHAPES, Limits
from fss_exporter.model.traffic import Traffic, scaled

MOST_CLIENTS = 1_000_000
MOST_REQUESTS = 1_000_000_000
"""Above these a figure is a slip of the finger."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A workload, and what it runs on.

    Attributes:
        traffic: the whole workload.
        shape: name of the shape of the mount targets.
        limits: ceilings of one mount target.
        clients: what the clients bring along.
        target: share of a ceiling to stay at or below.
        closed: whether the workload is what latency and concurrency allow, and changes with them.
    """

    traffic: Traffic
    shape: str
    limits: Limits
    clients: Clients
    target: float
    closed: bool = False

    def answer(self) -> Plan:
        """What it needs."""
        return plan(self.traffic, self.limits, self.clients, self.target)


def _whole(text: str) -> int:
    if (
        not text.isascii()
        or not text.isdigit()
        or len(text) > len(str(MOST_CLIENTS))
        or not 0 < int(text) <= MOST_CLIENTS
    ):
        raise click.BadParameter(f"{text!r} is not a whole number from 1 to {MOST_CLIENTS:,}")
    return int(text)


def _connections(text: str) -> int:
    count = _whole(text)
    if count > 16:
        raise click.BadParameter(f"{count} is more than the 16 connections Linux makes")
    return count


def _above_zero(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= MOST_REQUESTS:
        raise click.BadParameter(f"{text!r} is not a number above zero, up to {MOST_REQUESTS:,}")
    return value


def _ratio(text: str) -> float:
    value = _above_zero(text)
    if value > 1:
        raise click.BadParameter(f"{text!r} is not a share above 0 and up to 1")
    return value


_OF_CLIENTS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "nconnect": ("nconnect", _connections),
    "clients": ("count", _whole),
    "concurrency": ("concurrency", _above_zero),
    "latency": ("latency_seconds", units.latency),
    "network-rtt": ("network_rtt_seconds", units.latency),
    "client-bandwidth": ("bandwidth", units.bandwidth),
}


def what_if(scenario: Scenario, change: str, limits_of: Callable[[str], Limits]) -> Scenario:
    """The scenario with one thing changed.

    Args:
        scenario: as it is.
        change: `name=value`.
        limits_of: ceilings of a shape.

    Raises:
        UsageError: the change names nothing known, or its value does not fit.
    """
    name, equals, value = change.partition("=")
    if not equals:
        raise UsageError(f"--what-if {change}: write it like nconnect=16")
    try:
        if name in _OF_CLIENTS:
            attribute, read = _OF_CLIENTS[name]
            return _with(scenario, replace(scenario.clients, **{attribute: read(value)}))
        if name == "target":
            return replace(scenario, target=_ratio(value))
    except click.BadParameter as wrong:
        raise UsageError(f"--what-if {change}: {wrong.message}") from wrong
    if name == "shape":
        if value not in SHAPES:
            raise UsageError(f"--what-if {change}: not a shape; known are {', '.join(SHAPES)}")
        return replace(scenario, shape=value, limits=limits_of(value))
    raise UsageError(f"--what-if {change}: known are {', '.join((*_OF_CLIENTS, 'target', 'shape'))}")


def _with(scenario: Scenario, clients: Clients) -> Scenario:
    before, after = scenario.clients.highest_rate, clients.highest_rate
    if not scenario.closed or before is None or after is None:
        return replace(scenario, clients=clients)
    return replace(scenario, clients=clients, traffic=scaled(scenario.traffic, after / before))
