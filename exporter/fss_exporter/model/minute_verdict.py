# SPDX-License-Identifier: Apache-2.0
"""Judge one minute of one mount target: was it good or bad for its users, or is that unknown?

The figures are what the server publishes for one minute. A minute with less than one request a second is good, because it
hurt nobody, and because a mean of few requests says little.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from fss_exporter.model.thresholds import LATENCY_CRITICAL_RATIO, SUCCESS_WARNING_RATIO

Verdict = Literal["good", "bad", "unknown"]

VERDICTS: Final[tuple[Verdict, ...]] = ("good", "bad", "unknown")
"""Every verdict on a minute."""

LEAST_REQUESTS = 1.0  # Requests a second of a minute that is judged by its figures

_KNOWN_SHARE: Final = 0.99  # least share of requests with a known latency


@dataclass(frozen=True, slots=True)
class KindOfRequests:
    """The requests of one kind and size to one file system in one minute."""

    file_system: str
    operation_class: str  # one of `OPERATION_CLASSES`
    rate: float  # requests a second
    latency: float | None  # mean seconds; None without a figure
    objective: float  # seconds that are still good

    @property
    def ratio(self) -> float | None:
        """Latency as a multiple of the objective. None without a latency."""
        return None if self.latency is None else self.latency / self.objective


@dataclass(frozen=True, slots=True)
class MountTargetMinute:
    """What is known of one minute of one mount target."""

    requests: tuple[KindOfRequests, ...] | None  # None if it is unknown whether there were requests
    success: float | None  # share of successful requests, 0 to 1; None without a figure

    @property
    def is_idle(self) -> bool:
        """Whether there were known to be less than `LEAST_REQUESTS`."""
        return self.requests is not None and _rate(self.requests) < LEAST_REQUESTS


def availability(minute: MountTargetMinute) -> Verdict:
    """Judge the share of successful requests of a minute."""
    if minute.is_idle:
        return "good"
    if minute.requests is None or minute.success is None:
        return "unknown"
    return "bad" if minute.success < SUCCESS_WARNING_RATIO else "good"


def latency(minute: MountTargetMinute) -> Verdict:
    """Judge the latency of a minute, weighted by requests, of all file systems together and of each file system."""
    if minute.is_idle:
        return "good"
    if minute.requests is None or not _is_known(minute.requests):
        return "unknown"
    ratio = latency_ratio(minute)
    return "bad" if ratio is not None and ratio >= LATENCY_CRITICAL_RATIO else "good"


def latency_ratio(minute: MountTargetMinute) -> float | None:
    """Return the latency of a minute as a multiple of the objectives, weighted by requests.

    The larger of all file systems together and each file system with at least `LEAST_REQUESTS`. None without such requests.
    """
    requests = minute.requests or ()
    systems = _groups((request.file_system, request) for request in requests).values()
    means = (_mean_ratio(group) for group in (requests, *systems) if _rate(group) >= LEAST_REQUESTS)
    return max((mean for mean in means if mean is not None), default=None)


def latency_ratios(minute: MountTargetMinute) -> Mapping[str, float]:
    """Return the same for each class of operations that has requests with a known latency."""
    by_class = _groups((request.operation_class, request) for request in minute.requests or ())
    means = {name: _mean_ratio(group) for name, group in by_class.items()}
    return {name: mean for name, mean in means.items() if mean is not None}


def _rate(requests: Iterable[KindOfRequests]) -> float:
    return sum(request.rate for request in requests)


def _is_known(requests: Sequence[KindOfRequests]) -> bool:
    """Return whether the latency of nearly all requests is known."""
    return _rate(request for request in requests if request.latency is not None) >= _KNOWN_SHARE * _rate(requests)


def _mean_ratio(requests: Iterable[KindOfRequests]) -> float | None:
    known = [(group.rate, ratio) for group in requests if (ratio := group.ratio) is not None]
    total = sum(rate for rate, _ in known)
    return sum(rate * ratio for rate, ratio in known) / total if total else None


def _groups(named: Iterable[tuple[str, KindOfRequests]]) -> Mapping[str, list[KindOfRequests]]:
    groups: dict[str, list[KindOfRequests]] = defaultdict(list)
    for name, group in named:
        groups[name].append(group)
    return groups
