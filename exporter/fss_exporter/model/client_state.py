# SPDX-License-Identifier: Apache-2.0
"""Judge how an address served one client for some seconds: hanging, failing, slow, near, not known or fine. Pure.

The agent judges, because only the agent knows each client and each second: rules then add up seconds, and need no means of means. A
host sees a part of the load only: it is near a ceiling that its own load brings near, and fine says nothing about ceilings.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from fss_exporter.model.knowledge import FigureSource, KnownFigure
from fss_exporter.model.operations import METADATA_READ, METADATA_WRITE, READ_CLASS, WRITE_CLASS
from fss_exporter.model.server_estimate import BUCKETS
from fss_exporter.model.state import CLIENT_LATENCY, ERRORS, OR_MORE, TAIL, WAIT, Evidence, Judgement, State, judged
from fss_exporter.model.thresholds import DEFAULT_LATENCY_SECONDS, LEAST_FAILED_REQUESTS, LEAST_WAIT_SECONDS

Verdict = Literal["fine", "slow", "failing", "hanging", "idle", "unknown"]

# The words of a client's time, with `idle` for a fine time without requests. Time near a ceiling is fine: it hurts nobody.
VERDICTS: Final[tuple[Verdict, ...]] = ("fine", "slow", "failing", "hanging", "idle", "unknown")

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


class Wait(NamedTuple):
    """How long requests to one address have had no reply."""

    # 0 if replies come or nothing waits. None if a request may have waited since before the first look, and nothing has told since
    seconds: float | None = 0.0
    may_be_longer: bool = False  # whether the wait may have begun before the first look

    @property
    def is_hang(self) -> bool:
        """Whether the wait is longer than a lost packet takes."""
        return self.seconds is not None and self.seconds >= LEAST_WAIT_SECONDS


NO_WAIT: Final = Wait()


class Ended(NamedTuple):
    """Requests that ended: all READs, or all WRITEs and COMMITs."""

    requests: int = 0
    failed: int = 0

    def plus(self, other: "Ended") -> "Ended":
        """Add two counts."""
        return Ended(self.requests + other.requests, self.failed + other.failed)


NOTHING_ENDED: Final = Ended()


def added_up(spans: Iterable[Mapping[str, Ended]]) -> dict[str, Ended]:
    """Add up what ended in several spans, by class."""
    total: dict[str, Ended] = {}
    for span in spans:
        for name, ended in span.items():
            total[name] = total.get(name, NOTHING_ENDED).plus(ended)
    return total


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
    wait: Wait = NO_WAIT  # the longest
    ended: dict[str, Ended] = field(default_factory=dict)  # requests that carry data, by class
    ended_in_a_minute: Mapping[str, Ended] = field(default_factory=dict)  # the same of the last minute
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
    evidence = tuple(_evidence(work, stated, has_defaults=has_defaults))
    is_idle = work.requests == 0 and all(one.state is State.FINE for one in evidence)
    return judged((*evidence, *near), is_idle=is_idle)


def verdict_of(judgement: Judgement) -> Verdict:
    """Return the word under which the time of a client is counted."""
    if judgement.is_idle:
        return "idle"
    state = judgement.state
    if state is State.NOT_KNOWN:
        return "unknown"
    return next((verdict for verdict in VERDICTS if verdict == state.word), "fine")


def _evidence(work: AddressWork, stated: Mapping[str, float], *, has_defaults: bool) -> Iterator[Evidence]:
    yield _waiting(work.wait)
    yield from _failing(work)
    for name, of_class in work.classes.items():
        objective = stated.get(name) or (default_objective(name, of_class) if has_defaults else None)
        if objective and of_class.requests >= LEAST_REQUESTS:
            yield Evidence(CLIENT_LATENCY, _of_host(of_class.mean_rtt_seconds / objective), name)
    if work.requests >= LEAST_REQUESTS:
        for name, tail in work.tails.items():
            if tail.late >= LEAST_REQUESTS:
                yield Evidence(TAIL, _of_host(tail.late / tail.requests), name)


def _waiting(wait: Wait) -> Evidence:
    if wait.seconds is None:
        return Evidence(WAIT, None)
    return Evidence(WAIT, _of_host(wait.seconds), OR_MORE if wait.may_be_longer else "")


def _failing(work: AddressWork) -> Iterator[Evidence]:
    """Yield the share of failed requests of each class that carries data, and of all requests if these classes are fine.

    The classes are judged alone, because 1,000 good READs a second hide that every WRITE fails. All else is a sum: a program may
    cause errors of a single operation, such as GETATTRs of files that another client has removed.
    """
    alone = tuple(_failing_alone(work))
    yield from alone
    if work.requests >= LEAST_REQUESTS and all(one.state is State.FINE for one in alone):
        yield Evidence(ERRORS, _of_host(work.unexpected_errors / work.requests))


def _failing_alone(work: AddressWork) -> Iterator[Evidence]:
    for name in (READ_CLASS, WRITE_CLASS):
        now, minute = work.ended.get(name, NOTHING_ENDED), work.ended_in_a_minute.get(name, NOTHING_ENDED)
        if now.requests >= LEAST_REQUESTS:
            yield Evidence(ERRORS, _of_host(now.failed / now.requests), name)
        elif LEAST_FAILED_REQUESTS <= minute.failed == minute.requests:
            yield Evidence(ERRORS, _of_host(1.0), name)


def _of_host(value: float) -> KnownFigure:
    return KnownFigure(value, FigureSource.HOST)


def default_objective(name: str, work: ClassWork) -> float:
    """Return the default latency objective of a class in seconds, for READs and WRITEs by their mean size."""
    if name in {METADATA_READ, METADATA_WRITE}:
        return DEFAULT_LATENCY_SECONDS["metadata", ""]
    mean_bytes = work.payload_bytes / work.requests if work.requests else 0.0
    bucket = next((bucket for bucket in BUCKETS if mean_bytes <= bucket.up_to_bytes), BUCKETS[-1])
    return DEFAULT_LATENCY_SECONDS[name, bucket.name]
