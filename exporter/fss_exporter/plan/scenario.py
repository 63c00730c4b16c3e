"""A workload with mount targets and clients, and `--what-if NAME=VALUE`, which changes one value."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import click

from fss_exporter import units
from fss_exporter.errors import UsageError
from fss_exporter.model import capacity
from fss_exporter.model.limits import SHAPES, Limits
from fss_exporter.model.traffic import scaled
from fss_exporter.plan.inputs import LEAST_FIGURE, MOST_CLIENTS, MOST_MOUNT_TARGETS, MOST_REQUESTS
from fss_exporter.plan.load import Load


@dataclass(frozen=True, slots=True)
class Scenario:
    """A workload with mount targets and clients."""

    load: Load  # the whole workload
    shape: str  # name of the shape of the mount targets
    limits: Limits  # ceilings of one mount target
    clients: capacity.ClientHosts  # the hosts
    target: float  # share of a ceiling to stay at or below
    mount_targets: int | None = None  # number that shares the load evenly. None if the answer gives the number

    def answer(self) -> capacity.CapacityAnswer:
        """Return the needs of the workload. A job needs no number of mount targets, because a job only takes longer."""
        given = self.mount_targets or (1 if self.load.is_job else None)
        found = capacity.capacity_answer(self.load.traffic, self.limits, self.clients, self.target, given)
        return replace(found, mount_targets=None, mount_targets_at_worst=None) if self.load.is_job else found

    def job_time(self) -> capacity.JobTime | None:
        """Return the time of a job. None for a workload that is a rate, or without a known bound."""
        if not self.load.is_job:
            return None
        traffic = self.load.traffic
        found = (
            *capacity.server_uses(traffic, self.limits, self.clients, self.mount_targets or 1),
            *capacity.client_uses(traffic, self.clients),
        )
        return capacity.job_time(found, traffic.all_operations.operations, self.clients)


@dataclass(frozen=True, slots=True)
class Case:
    """One workload with its answer."""

    address: str  # of the recorded mount target; empty for a stated workload
    scenario: Scenario  # workload, mount targets and clients
    changed: tuple[tuple[str, Scenario], ...]  # what-if scenarios by the change, as the operator wrote it


def _whole(text: str, most: int = MOST_CLIENTS) -> int:
    digits = text.isascii() and text.isdigit() and len(text) <= len(str(most))
    if not digits or not 0 < int(text) <= most:
        raise click.BadParameter(f"{text!r} is not a whole number from 1 to {most:,}")
    return int(text)


def _above_zero(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not LEAST_FIGURE <= value <= MOST_REQUESTS:
        raise click.BadParameter(f"{text!r} is not a number above zero, from {LEAST_FIGURE} to {MOST_REQUESTS:,}")
    return value


def _ratio(text: str) -> float:
    value = _above_zero(text)
    if value > 1:
        raise click.BadParameter(f"{text!r} is not a share above 0 and up to 1")
    return value


_OF_CLIENTS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "nconnect": ("nconnect", partial(_whole, most=16)),
    "clients": ("count", _whole),
    "concurrency": ("concurrency", _above_zero),
    "latency": ("latency_seconds", units.latency),
    "network-rtt": ("network_rtt_seconds", units.latency),
    "client-bandwidth": ("bandwidth", units.network),
}
_KNOWN = ", ".join((*_OF_CLIENTS, "mount-targets", "target", "shape"))


def what_if(scenario: Scenario, change: str, limits_of: Callable[[str], Limits]) -> Scenario:
    """Return the scenario with one change, `name=value`. `limits_of` returns the ceilings of a shape.

    Raises:
        UsageError: the name is unknown, or the value does not fit.
    """
    name, equals, value = change.partition("=")
    if not equals:
        raise UsageError(f"--what-if {change}: write it like nconnect=16")
    try:
        if name in _OF_CLIENTS:
            attribute, read = _OF_CLIENTS[name]
            return _with(scenario, replace(scenario.clients, **{attribute: read(value)}))
        if name == "mount-targets":
            return replace(scenario, mount_targets=_whole(value, MOST_MOUNT_TARGETS))
        if name == "target":
            return replace(scenario, target=_ratio(value))
    except click.BadParameter as wrong:
        raise UsageError(f"--what-if {change}: {wrong.message}") from wrong
    if name == "shape":
        if value not in SHAPES:
            raise UsageError(f"--what-if {change}: not a shape. Known are {', '.join(SHAPES)}")
        return replace(scenario, shape=value, limits=limits_of(value))
    raise UsageError(f"--what-if {change}: known are {_KNOWN}")


def _with(scenario: Scenario, clients: capacity.ClientHosts) -> Scenario:
    before, after = scenario.clients.highest_rate, clients.highest_rate
    if not scenario.load.follows_latency or before is None or after is None:
        return replace(scenario, clients=clients)
    load = replace(scenario.load, traffic=scaled(scenario.load.traffic, after / before))
    return replace(scenario, clients=clients, load=load)
