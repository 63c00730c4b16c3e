# SPDX-License-Identifier: Apache-2.0
"""Judge how an address served one client for some seconds: hanging, failing, slow, near or fine. Pure.

The agent judges, because only the agent knows each client and each second: rules then add up seconds, and need no means of means. A
host sees a part of the load only: it is near a ceiling that its own load brings near, and fine says nothing about ceilings.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from fss_exporter.model.knowledge import FigureSource, KnownFigure
from fss_exporter.model.operations import METADATA_READ, METADATA_WRITE
from fss_exporter.model.server_estimate import BUCKETS
from fss_exporter.model.state import CLIENT_LATENCY, ERRORS, TAIL, WAIT, Evidence, Judgement, judged
from fss_exporter.model.thresholds import DEFAULT_LATENCY_SECONDS, LEAST_WAIT_SECONDS

Verdict = Literal["fine", "slow", "failing", "hanging", "idle"]

# The words of a client's time, with `idle` for a fine time without requests. Time near a ceiling is fine: it hurts nobody.
VERDICTS: Final[tuple[Verdict, ...]] = ("fine", "slow", "failing", "hanging", "idle")

# Fewer requests are too few for a share of errors or a mean. In a span of ten seconds this is one request a second.
# Fewer late requests are too few for a tail.
LEAST_REQUESTS: Final = 10


class JudgedRequests(NamedTuple):
    """Requests of one class to one address that a p99 objective has judged."""

    requests: int = 0
    late: int = 0  # took longer than the objective

    def plus(self, other: "JudgedRequests") -> "JudgedRequests":
        """Add two counts."""
        return JudgedRequests(self.requests + other.requests, self.late + other.late)


NO_TAILS: Final[Mapping[str, JudgedRequests]] = {}


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
    tails: Mapping[str, JudgedRequests] = field(
        default_factory=lambda: NO_TAILS
    )  # by class, where a p99 objective is stated

    @property
    def requests(self) -> int:
        """Requests that ended, of all classes."""
        return sum(work.requests for work in self.classes.values())


def judge_client(
    work: AddressWork, stated: Mapping[str, float], *, has_defaults: bool, near: Iterable[Evidence] = ()
) -> Judgement:
    """Judge what one client asked of one address.

    Args:
        work: what the client asked for.
        stated: latency objectives of the configuration, seconds by class.
        has_defaults: whether the default objectives hold, as for OCI File Storage. Other services can be slow on purpose.
        near: ceilings that the load of the client brings near.
    """
    is_idle = work.requests == 0 and work.longest_wait_seconds < LEAST_WAIT_SECONDS
    return judged((*_evidence(work, stated, has_defaults=has_defaults), *near), is_idle=is_idle)


def verdict_of(judgement: Judgement) -> Verdict:
    """Return the word under which the time of a client is counted."""
    if judgement.is_idle:
        return "idle"
    return next((verdict for verdict in VERDICTS if verdict == judgement.state.word), "fine")


def _evidence(work: AddressWork, stated: Mapping[str, float], *, has_defaults: bool) -> Iterator[Evidence]:
    yield Evidence(WAIT, _of_host(work.longest_wait_seconds))
    requests = work.requests
    if requests < LEAST_REQUESTS:
        return
    yield Evidence(ERRORS, _of_host(work.unexpected_errors / requests))
    for name, of_class in work.classes.items():
        objective = stated.get(name) or (default_objective(name, of_class) if has_defaults else None)
        if objective and of_class.requests >= LEAST_REQUESTS:
            yield Evidence(CLIENT_LATENCY, _of_host(of_class.mean_rtt_seconds / objective), name)
    for name, tail in work.tails.items():
        if tail.late >= LEAST_REQUESTS:
            yield Evidence(TAIL, _of_host(tail.late / tail.requests), name)


def _of_host(value: float) -> KnownFigure:
    return KnownFigure(value, FigureSource.HOST)


def default_objective(name: str, work: ClassWork) -> float:
    """Return the default latency objective of a class in seconds, for READs and WRITEs by their mean size."""
    if name in {METADATA_READ, METADATA_WRITE}:
        return DEFAULT_LATENCY_SECONDS["metadata", ""]
    mean_bytes = work.payload_bytes / work.requests if work.requests else 0.0
    bucket = next((bucket for bucket in BUCKETS if mean_bytes <= bucket.up_to_bytes), BUCKETS[-1])
    return DEFAULT_LATENCY_SECONDS[name, bucket.name]
