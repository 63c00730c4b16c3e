# SPDX-License-Identifier: Apache-2.0
"""Judge how an address served one client for some seconds. Pure.

The agent judges, because only the agent knows each client and each second: rules then add up seconds, and need no means of means.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from fss_exporter.model.operations import METADATA_READ, METADATA_WRITE
from fss_exporter.model.server_estimate import BUCKETS
from fss_exporter.model.thresholds import DEFAULT_LATENCY_SECONDS, LATENCY_CRITICAL_RATIO, SUCCESS_WARNING_RATIO

Verdict = Literal["served", "slow", "failing", "waiting", "idle"]

VERDICTS: Final[tuple[Verdict, ...]] = ("served", "slow", "failing", "waiting", "idle")

LEAST_WAIT_SECONDS: Final = 5.0
"""A request without any reply for this long waits. A shorter pause can be a lost packet. Decision of this project, November 2026."""

LEAST_REQUESTS: Final = 10
"""Fewer requests are too few for a share of errors or a mean. In a look of ten seconds this is one request a second."""


@dataclass(slots=True)
class ClassWork:
    """Requests of one class."""

    requests: int = 0
    rtt_ms: int = 0  # sum of the round trips
    payload_bytes: int = 0  # payload of READs or WRITEs

    @property
    def mean_rtt_seconds(self) -> float:
        """Mean round trip. 0 without requests."""
        return self.rtt_ms / self.requests / 1000 if self.requests else 0.0


@dataclass(slots=True)
class AddressWork:
    """What one client asked of one address in some seconds."""

    classes: dict[str, ClassWork] = field(default_factory=dict)
    unexpected_errors: int = 0  # errors of operations that do not fail in ordinary work
    longest_wait_seconds: float = 0.0  # without any reply while requests wait

    @property
    def requests(self) -> int:
        """Requests that ended, of all classes."""
        return sum(work.requests for work in self.classes.values())


def verdict_on(work: AddressWork, stated: Mapping[str, float], *, has_defaults: bool) -> Verdict:
    """Return the verdict, the worst first.

    Args:
        work: what the client asked for.
        stated: latency objectives of the configuration, seconds by class.
        has_defaults: whether the default objectives hold, as for OCI File Storage. Other services can be slow on purpose.
    """
    if work.longest_wait_seconds >= LEAST_WAIT_SECONDS:
        return "waiting"
    requests = work.requests
    if requests == 0:
        return "idle"
    if requests < LEAST_REQUESTS:
        return "served"
    if work.unexpected_errors > (1 - SUCCESS_WARNING_RATIO) * requests:
        return "failing"
    for name, of_class in work.classes.items():
        objective = stated.get(name) or (default_objective(name, of_class) if has_defaults else None)
        is_enough = of_class.requests >= LEAST_REQUESTS
        if objective and is_enough and of_class.mean_rtt_seconds >= LATENCY_CRITICAL_RATIO * objective:
            return "slow"
    return "served"


def default_objective(name: str, work: ClassWork) -> float:
    """Return the default latency objective of a class in seconds, for READs and WRITEs by their mean size."""
    if name in {METADATA_READ, METADATA_WRITE}:
        return DEFAULT_LATENCY_SECONDS["metadata", ""]
    mean_bytes = work.payload_bytes / work.requests if work.requests else 0.0
    bucket = next((bucket for bucket in BUCKETS if mean_bytes <= bucket.up_to_bytes), BUCKETS[-1])
    return DEFAULT_LATENCY_SECONDS[name, bucket.name]
