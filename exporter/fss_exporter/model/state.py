# SPDX-License-Identifier: Apache-2.0
"""The state of a mount target, or of an address on one host. Pure.

This module judges, and every view repeats its answer. The worst evidence decides, and no mean of good and bad evidence. Fine needs a
fresh figure of everything that is judged. A part of the load can bring a ceiling near, and never tells that all is fine.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final, Literal

from fss_exporter import durations
from fss_exporter.model.knowledge import FigureSource, Knowledge, KnownFigure
from fss_exporter.model.thresholds import (
    CRITICAL_RATIO,
    LATE_REQUESTS_SHARE,
    LATENCY_CRITICAL_RATIO,
    LEAST_WAIT_SECONDS,
    SUCCESS_WARNING_RATIO,
    WARNING_RATIO,
)


class State(IntEnum):
    """A state. The values are exported, and a larger value is a worse state."""

    FINE = 0
    NOT_KNOWN = 1  # nothing fresh could tell
    NEAR = 2  # at the warning of a ceiling or of a latency objective
    SLOW = 3  # above a latency objective
    FAILING = 4  # requests fail
    HANGING = 5  # requests have no reply

    @property
    def word(self) -> str:
        """The state as people read it."""
        return self.name.lower().replace("_", " ")


def whole_percent(ratio: float) -> int:
    """Return a share as whole per cent. A share below a threshold is never rounded up to the threshold."""
    return math.floor(ratio * 100 + 1e-9)  # 0.29 * 100 is 28.999...


@dataclass(frozen=True, slots=True)
class Subject:
    """Something that is judged.

    Attributes:
        name: what people call it.
        unit: unit of its figures.
        limits: figures from which on a state holds, the worst first.
        runbook: heading in docs/runbook.md, as part of its address.
        is_good_at_limit: whether a figure at the limit is still good.
        is_ceiling: whether the figure is the share of a ceiling. Then a part of the load says nothing of fine.
        is_estimated: whether clients estimate the figure. They count all else, such as bytes.
        of_minutes: which of the minutes of OCI the figure is, in words. A view shows the newest minute beside it.
    """

    name: str
    unit: Literal["seconds", "ratio"]
    limits: tuple[tuple[float, State], ...]
    runbook: str
    is_good_at_limit: bool = False
    is_ceiling: bool = False
    is_estimated: bool = False
    of_minutes: str = ""

    def near_at(self, ratio: float) -> "Subject":
        """Return the subject that is near at this share of the ceiling or of the objective."""
        limits = tuple((ratio if state is State.NEAR else limit, state) for limit, state in self.limits)
        return replace(self, limits=limits)

    def figure(self, value: float, source: FigureSource) -> KnownFigure:
        """Return a figure of now of which nobody states the bounds. What is counted needs none."""
        return (KnownFigure if self.is_estimated else KnownFigure.counted)(value, source)

    def whole_of(self, state: State) -> float | None:
        """Return the figure that counts as 1 in a state: the ceiling or the objective for near, else the limit. None without a limit."""
        limit = next((limit for limit, of_state in self.limits if of_state is state), None)
        return 1.0 if limit is not None and state is State.NEAR else limit

    def state_of(self, value: float) -> State:
        """Return the state of a value. It is fine below all limits."""
        for limit, state in self.limits:
            if value > limit or (value == limit and not self.is_good_at_limit):
                return state
        return State.FINE


# Whether OCI calls a mount target FAILED.
LIFECYCLE: Final = Subject("lifecycle", "ratio", ((1.0, State.HANGING),), "fssmounttargetdown")

WAIT: Final = Subject(
    "requests without a reply", "seconds", ((LEAST_WAIT_SECONDS, State.HANGING),), "fssmounttargetdown"
)
ERRORS: Final = Subject(
    "failed requests",
    "ratio",
    ((round(1 - SUCCESS_WARNING_RATIO, 9), State.FAILING),),
    "fssmounttargetfailing",
    is_good_at_limit=True,
)
LATENCY: Final = Subject(
    "latency",
    "ratio",
    ((LATENCY_CRITICAL_RATIO, State.SLOW), (WARNING_RATIO, State.NEAR)),
    "fssmounttargetslow",
)

# Latency of one class on one host, which is never near.
CLIENT_LATENCY: Final = Subject("latency", "ratio", ((LATENCY_CRITICAL_RATIO, State.SLOW),), "fssclientslow")

# Share of the requests of one class on one host that took longer than their p99 objective.
TAIL: Final = Subject(
    "late requests", "ratio", ((LATE_REQUESTS_SHARE, State.SLOW),), "fssclienttailslow", is_good_at_limit=True
)

# Detail of a wait that may have begun before anybody looked.
OR_MORE: Final = "or more"

# What is known of a wait while a request may have waited since before the first look.
NO_REPLY_YET: Final = "no reply since the start"


def _ceiling(
    name: str, runbook: str, near: float = WARNING_RATIO, *, is_estimated: bool = False, of_minutes: str = ""
) -> Subject:
    limits = ((near, State.NEAR),)
    return Subject(name, "ratio", limits, runbook, is_ceiling=True, is_estimated=is_estimated, of_minutes=of_minutes)


_LARGEST, _MEAN = " in the largest of five minutes", " in five minutes"


IOPS: Final = _ceiling("IOPS", "fssmounttargetiopshigh", is_estimated=True, of_minutes=_LARGEST)
READ_BANDWIDTH: Final = _ceiling("read bandwidth", "fssmounttargetreadbandwidthhigh", of_minutes=_MEAN)
WRITE_BANDWIDTH: Final = _ceiling("write bandwidth", "fssmounttargetwritebandwidthhigh", of_minutes=_MEAN)
CONNECTIONS: Final = _ceiling("connections", "fssmounttargetconnectionshigh", of_minutes=_MEAN)

_CLIENTS_NEAR: Final = "fssaddressutilisationhigh"

# What the load of clients alone is judged by, under the label `resource` of the rule `address_resource:fss_client_utilisation:ratio`.
CLIENT_CEILINGS: Final[Mapping[str, Subject]] = {
    "iops": _ceiling("IOPS", _CLIENTS_NEAR, is_estimated=True),
    "peak_iops": _ceiling("IOPS of the busiest second", _CLIENTS_NEAR, CRITICAL_RATIO, is_estimated=True),
    "read_bandwidth": _ceiling("read bandwidth", _CLIENTS_NEAR),
    "write_bandwidth": _ceiling("write bandwidth", _CLIENTS_NEAR),
    "bandwidth": _ceiling("bandwidth", _CLIENTS_NEAR),
}


@dataclass(frozen=True, slots=True)
class Evidence:
    """A figure that was judged.

    Attributes:
        subject: what was judged.
        figure: the figure with bounds, source, age and coverage. None if there is none.
        detail: which part of the subject, such as `READ up to 8 KiB`.
        who: client, file system or operation, if known.
        judged_before: the state that an exporter has given to the evidence, which nobody judges again. None for evidence to judge.
    """

    subject: Subject
    figure: KnownFigure | None
    detail: str = ""
    who: str = ""
    judged_before: State | None = None

    @property
    def state(self) -> State:
        """The state by this evidence alone."""
        if self.judged_before is not None:
            return self.judged_before
        if self.figure is None or self.figure.knowledge in (Knowledge.BEFORE, Knowledge.NOTHING):
            return State.NOT_KNOWN
        state = self.subject.state_of(self.figure.value)
        is_part = self.subject.is_ceiling and self.figure.source.is_part
        return State.NOT_KNOWN if state is State.FINE and is_part else state

    @property
    def limit_ratio(self) -> float | None:
        """The figure as a multiple of the whole of its state, or of the mildest limit. None without a figure."""
        if self.figure is None:
            return None
        return self.figure.value / (self.subject.whole_of(self.state) or min(limit for limit, _ in self.subject.limits))

    @property
    def text(self) -> str:
        """The figure in words, such as `no reply for 57 s` or `IOPS at 92 % of the ceiling`."""
        if self.figure is None:
            return NO_REPLY_YET if self.subject is WAIT else f"nothing is known of {self.subject.name}"
        value, of = self.figure.value, f" of {self.detail.replace('_', ' ')}" if self.detail else ""
        match self.subject.name:
            case WAIT.name:
                text = f"no reply for {durations.in_words(value)} {self.detail}".rstrip()
            case ERRORS.name:
                text = f"{100 * value:.1f} % of {self.detail} requests fail".replace("  ", " ")
            case TAIL.name:
                text = f"{100 * value:.1f} % of requests{of} take longer than the p99 objective"
            case LIFECYCLE.name:
                text = f"OCI calls it {self.detail}"
            case LATENCY.name:
                text = f"latency{of} at {whole_percent(value)} % of the objective"
            case name:
                share = self.figure.in_words(lambda ratio: f"{whole_percent(ratio)} %")
                of_minutes = "" if self.figure.source.is_part else self.subject.of_minutes
                text = f"{name} {'' if self.figure.word == 'at least' else 'at '}{share} of the ceiling{of_minutes}"
        return text


@dataclass(frozen=True, slots=True)
class Judgement:
    """A state with its evidence.

    Attributes:
        evidence: what was judged, the worst first.
        is_idle: whether nothing was asked and nothing waits. Idle is fine.
    """

    evidence: tuple[Evidence, ...]
    is_idle: bool = False

    @property
    def state(self) -> State:
        """The state of the worst evidence. Without any evidence the state is not known."""
        if self.is_idle:
            return State.FINE
        return max((evidence.state for evidence in self.evidence), default=State.NOT_KNOWN)

    @property
    def reasons(self) -> tuple[Evidence, ...]:
        """The evidence for the state."""
        state = self.state
        return tuple(evidence for evidence in self.evidence if evidence.state is state)


# Every subject of a mount target by its name.
SUBJECTS: Final[Mapping[str, Subject]] = {
    subject.name: subject
    for subject in (LIFECYCLE, WAIT, ERRORS, LATENCY, TAIL, IOPS, READ_BANDWIDTH, WRITE_BANDWIDTH, CONNECTIONS)
}

# Every subject of an address on one host by its name.
SUBJECTS_OF_HOSTS: Final[Mapping[str, Subject]] = {
    subject.name: subject for subject in (WAIT, ERRORS, CLIENT_LATENCY, TAIL, *CLIENT_CEILINGS.values())
}


_NOTHING_FRESH: Final = "fsscoverageincomplete"  # heading of the runbook about what is not known


@dataclass(frozen=True, slots=True)
class StateNow:
    """A state as a view shows it.

    Attributes:
        state: the state.
        seconds: how long the state has lasted. None if unknown.
        reasons: the evidence for a state that is not fine, the strongest first.
        is_idle: whether nothing was asked.
        judge: the only side that judged, such as `OCI`. Empty where clients and OCI did.
    """

    state: State
    seconds: float | None = None
    reasons: tuple[Evidence, ...] = ()
    is_idle: bool = False
    judge: str = ""

    @property
    def word(self) -> str:
        """The state in words. Fine for one side alone is not fine, because clients can hang while OCI sees nothing."""
        return f"no trouble seen by {self.judge}" if self.is_one_sided else self.state.word

    @property
    def tone(self) -> State:
        """The state whose colour a view shows. Fine for one side alone has the colour of what is not known."""
        return State.NOT_KNOWN if self.is_one_sided else self.state

    @property
    def is_one_sided(self) -> bool:
        """Whether one side alone judged, and sees no trouble."""
        return bool(self.judge) and self.state is State.FINE

    @property
    def told_seconds(self) -> float | None:
        """How long the state has lasted, if the first reason does not say it. A wait does."""
        return None if self.reasons and self.reasons[0].subject is WAIT else self.seconds

    @property
    def runbook(self) -> str:
        """Heading of the runbook that says what to do. Empty for fine."""
        if self.reasons:
            return self.reasons[0].subject.runbook
        return _NOTHING_FRESH if self.state is State.NOT_KNOWN else ""


NOT_KNOWN: Final = StateNow(State.NOT_KNOWN)


def counted(states: Iterable[StateNow]) -> Mapping[tuple[State, str], int]:
    """Return how many subjects have each tone and word, the worst first."""
    counts = Counter((now.tone, now.word) for now in states)
    return {key: counts[key] for key in sorted(counts, reverse=True)}


def judged(evidence: Iterable[Evidence], *, is_idle: bool = False) -> Judgement:
    """Judge evidence. The worst comes first, and among equals the one furthest beyond its limit."""
    ordered = sorted(evidence, key=lambda one: (-one.state, -(one.limit_ratio or 0.0), one.subject.name, one.detail))
    return Judgement(tuple(ordered), is_idle)
