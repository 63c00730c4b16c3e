# SPDX-License-Identifier: Apache-2.0
"""Judge one minute of one mount target: was it good or bad for its users, or is that unknown?

The figures are what the server publishes for one minute. A minute with less than one request a second is good, because it
hurt nobody, and because a mean of few requests says little. For the same reason a kind of requests counts from one request a second.
If three requests come in a minute and none succeeds, the minute is bad, however few they are.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from fss_exporter.model.thresholds import LATENCY_CRITICAL_RATIO, LEAST_FAILED_REQUESTS, SUCCESS_WARNING_RATIO

Verdict = Literal["good", "bad", "unknown"]

VERDICTS: Final[tuple[Verdict, ...]] = ("good", "bad", "unknown")  # every verdict on a minute

LEAST_REQUESTS = 1.0  # Requests a second of a minute, or of a kind of requests, that is judged by its figures

_KNOWN_SHARE: Final = 0.99  # least share of requests with a known latency


class RequestKind(NamedTuple):
    """What has one latency objective and one latency: READs or WRITEs of one size, or all metadata operations."""

    file_system: str  # OCID. Empty for all file systems of the mount target together
    name: str  # `read`, `write` or `metadata`
    size: str  # as OCI names it. Empty for metadata


@dataclass(frozen=True, slots=True)
class RequestStream:
    """The requests of one stream to one file system in one minute."""

    kind: RequestKind
    rate: float  # requests a second
    latency: float | None  # mean seconds; None without a figure
    objective: float  # seconds that are still good


class Served(NamedTuple):
    """Requests whose latency is known."""

    rate: float  # requests a second
    weighted: float  # rate times the latency as a multiple of the objective


@dataclass(frozen=True, slots=True)
class MountTargetMinute:
    """What is known of one minute of one mount target."""

    requests: tuple[RequestStream, ...] | None  # None if it is unknown whether there were requests
    success: float | None  # share of successful requests, 0 to 1; None without a figure

    @property
    def is_idle(self) -> bool:
        """Whether there were known to be less than `LEAST_REQUESTS`."""
        return self.requests is not None and _rate(self.requests) < LEAST_REQUESTS


def availability(minute: MountTargetMinute) -> Verdict:
    """Judge the share of successful requests of a minute."""
    success = judged_success(minute)
    if success is None:
        return "unknown"
    return "bad" if success < SUCCESS_WARNING_RATIO else "good"


def judged_success(minute: MountTargetMinute) -> float | None:
    """Return the share of successful requests that counts. None if it is unknown.

    It is 1 for so few requests that they hurt nobody. It is 0 for few requests of which none succeeds.
    """
    if minute.requests is None:
        return None
    if not needs_success(_rate(minute.requests)):
        return 1.0
    return 1.0 if minute.is_idle and minute.success else minute.success


def needs_success(rate: float) -> bool:
    """Return whether the verdict on a minute with so many requests a second needs their share of successes."""
    return round(60 * rate, 6) >= LEAST_FAILED_REQUESTS  # a sum of rates is not exact


def latency(minute: MountTargetMinute) -> Verdict:
    """Judge the latency of a minute by the worst kind of requests."""
    if minute.is_idle:
        return "good"
    if minute.requests is None or not _is_known(minute.requests):
        return "unknown"
    ratio = latency_ratio(minute)
    return "bad" if ratio is not None and ratio >= LATENCY_CRITICAL_RATIO else "good"


def latency_ratio(minute: MountTargetMinute) -> float | None:
    """Return the latency of the worst kind of requests as a multiple of its objective. None without a kind that counts."""
    return max(mean_ratios((by_kind(minute),)).values(), default=None)


def by_kind(minute: MountTargetMinute) -> Mapping[RequestKind, Served]:
    """Return the requests of each kind, to each file system and to all file systems together."""
    rates: dict[RequestKind, float] = defaultdict(float)
    weighted: dict[RequestKind, float] = defaultdict(float)
    for request in minute.requests or ():
        if request.latency is not None:
            for kind in (request.kind, request.kind._replace(file_system="")):
                rates[kind] += request.rate
                weighted[kind] += request.rate * request.latency / request.objective
    return {kind: Served(rate, weighted[kind]) for kind, rate in rates.items()}


def mean_ratios(minutes: Sequence[Mapping[RequestKind, Served]]) -> Mapping[RequestKind, float]:
    """Return the latency of each kind over some minutes as a multiple of the objective, weighted by requests.

    Only kinds with `LEAST_REQUESTS` a second or more on the mean of the minutes.
    """
    kinds = {kind for minute in minutes for kind in minute}
    none = Served(0.0, 0.0)
    ratios = {}
    for kind in kinds:
        served = [minute.get(kind, none) for minute in minutes]
        rate = sum(part.rate for part in served)
        if rate >= LEAST_REQUESTS * len(minutes):
            ratios[kind] = sum(part.weighted for part in served) / rate
    return ratios


def worst_kinds(ratios: Mapping[RequestKind, float]) -> Mapping[RequestKind, float]:
    """Return the worst kind of READs, of WRITEs and of metadata. One file system wins over all of them together."""
    worst: dict[str, RequestKind] = {}
    for kind in sorted(ratios, key=lambda kind: (round(ratios[kind], 9), kind)):
        worst[kind.name] = kind
    return {kind: ratios[kind] for kind in worst.values()}


def _rate(requests: Iterable[RequestStream]) -> float:
    return sum(request.rate for request in requests)


def _is_known(requests: Sequence[RequestStream]) -> bool:
    """Return whether the latency of nearly all requests is known."""
    return _rate(request for request in requests if request.latency is not None) >= _KNOWN_SHARE * _rate(requests)
