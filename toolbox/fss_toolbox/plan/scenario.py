# SPDX-License-Identifier: Apache-2.0
"""A workload with mount targets and clients, and `--what-if NAME=VALUE`, which changes one value."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import click

from fss_exporter.errors import UsageError
from fss_exporter.model.limits import SHAPES, Limits
from fss_toolbox.plan.inputs import PlanInputs
from fss_toolbox.plan.load import Load
from fss_toolbox.sizing import capacity
from fss_toolbox.sizing.options import Option
from fss_toolbox.sizing.uses import Use
from fss_toolbox.sizing.workload import scaled


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
        """Return the needs of the workload. A job needs a time and no number of mount targets: with fewer it only takes longer."""
        traffic, given = self.load.traffic, self.mount_targets
        if not self.load.is_job:
            return capacity.capacity_answer(traffic, self.limits, self.clients, self.target, given)
        answer = capacity.capacity_answer(traffic, self.limits, self.clients, self.target, given or 1)
        bounds = (*answer.mount_target, *answer.clients)
        time = capacity.job_time(bounds, traffic.all_operations.operations, self.clients)
        binds = time.binds if time else None
        return replace(answer, job=time, binds=binds, mount_targets=None, mount_targets_at_worst=None)

    def share_or_seconds(self, use: Use) -> float | None:
        """Return the share of a bound that a rate uses, or the seconds that the bound alone makes a job last. None if unknown."""
        if not self.load.is_job:
            return use.ratio
        return capacity.job_seconds(use, self.load.traffic.all_operations.operations, self.clients)


@dataclass(frozen=True, slots=True)
class Case:
    """One workload with its answer."""

    address: str  # address or name of the recorded mount target; empty for a stated workload
    scenario: Scenario  # workload, mount targets and clients
    changed: tuple[tuple[str, Scenario], ...]  # what-if scenarios by the change, as the operator wrote it
    options: tuple[Option, ...] = ()  # the options of --compare


_OF_CLIENTS = {
    "nconnect": "nconnect",
    "clients": "count",
    "concurrency": "concurrency",
    "latency": "latency_seconds",
    "network-rtt": "network_rtt_seconds",
    "client-bandwidth": "bandwidth",
}
_CHANGES = (*_OF_CLIENTS, "mount-targets", "target")
_FLAGS = {name: field.metadata for field in fields(PlanInputs) for name in field.metadata["names"]}


def what_if(scenario: Scenario, change: str, limits_of: Callable[[str], Limits]) -> Scenario:
    """Return the scenario with one change, `name=value`. `limits_of` returns the ceilings of a shape.

    Raises:
        UsageError: the name is unknown, or the flag of this name does not take the value.
    """
    name, equals, value = change.partition("=")
    if not equals:
        raise UsageError(f"--what-if {change}: write it like nconnect=16")
    if name == "shape" and value in SHAPES:
        return replace(scenario, shape=value, limits=limits_of(value))
    if name == "shape":
        raise UsageError(f"--what-if {change}: not a shape. Known are {', '.join(SHAPES)}")
    if name not in _CHANGES:
        raise UsageError(f"--what-if {change}: known are {', '.join((*_CHANGES, 'shape'))}")
    try:
        figure = click.types.convert_type(_FLAGS[f"--{name}"]["type"])(value)
    except click.BadParameter as wrong:
        raise UsageError(f"--what-if {change}: {wrong.message}") from wrong
    if name in _OF_CLIENTS:
        return _with(scenario, replace(scenario.clients, **{_OF_CLIENTS[name]: figure}))
    return replace(scenario, **{name.replace("-", "_"): figure})


def _with(scenario: Scenario, clients: capacity.ClientHosts) -> Scenario:
    before, after = scenario.clients.highest_rate, clients.highest_rate
    if not scenario.load.follows_latency or before is None or after is None:
        return replace(scenario, clients=clients)
    load = replace(scenario.load, traffic=scaled(scenario.load.traffic, after / before))
    return replace(scenario, clients=clients, load=load)
