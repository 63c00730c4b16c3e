"""The answers of an account, as input of the checks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Self

from fss_exporter.errors import LateAnswer, NotAuthorized, Unreachable
from fss_exporter.oci.metric_table import METRICS


class CallOutcome(Enum):
    """How a call ended."""

    OK = "ok"
    REFUSED = "refused"
    SILENT = "no answer"
    LATE = "no answer in time"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Tried:
    """One API operation with the first failure of several calls."""

    outcome: CallOutcome  # how it ended
    error: str = ""  # the whole message, with the missing policy statement where one is known; empty where it went well

    @classmethod
    def of(cls, error: Exception | None) -> Self:
        """Return the outcome of a call with this error. None stands for an answer."""
        if error is None:
            return cls(CallOutcome.OK)
        if isinstance(error, NotAuthorized):
            return cls(CallOutcome.REFUSED, str(error))
        if isinstance(error, LateAnswer):
            return cls(CallOutcome.LATE, f"could not be asked: {error}")
        return cls(CallOutcome.SILENT if isinstance(error, Unreachable) else CallOutcome.FAILED, str(error))


@dataclass(frozen=True, slots=True)
class Subscription:
    """One region of a tenancy: name (`eu-frankfurt-1`), key (`FRA`) and status, `READY` for a usable region."""

    region: str
    key: str
    status: str


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """The regions of a tenancy."""

    tried: Mapping[str, Tried] = field(default_factory=dict)  # how asking went, by the region that was asked
    found: tuple[Subscription, ...] | None = None  # the regions; None if no call was answered

    def of(self, region: str) -> Subscription | None:
        """Return the subscription to a region, by name or key. None without a subscription."""
        name = region.lower()
        return next((one for one in self.found or () if name in {one.region.lower(), one.key.lower()}), None)


@dataclass(frozen=True, slots=True)
class MetricFacts:
    """One metric of the tenancy."""

    spelling: str  # as ListMetrics gave it
    documented: str  # the documented name it goes by; empty for one that is not documented
    listed: int  # streams on the first page of ListMetrics, which remembers them for 90 days
    dimensions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # values by dimension
    units: tuple[str, ...] = ()  # `metadata.unit` of its streams
    # streams with a point in the last minutes, those of all resources merged into one where there are too many for one
    # answer; None where the query failed
    streams: int | None = None
    newest_age_seconds: float | None = None  # age of its newest point when it was asked for; None where there is none
    minutes: int = 0  # distinct minutes of those asked for that had a point
    error: str = ""  # why the query failed; empty where it did not
    empty_streams: int = 0  # streams that were answered without a point
    # it has more streams than a page of ListMetrics, so `listed` and `dimensions` are those of the first page
    is_large: bool = False

    @property
    def is_steady(self) -> bool:
        """Whether OCI sends a point for every minute, also without traffic."""
        return self.documented in METRICS and METRICS[self.documented].idle == "zero"


@dataclass(frozen=True, slots=True)
class Lag:
    """Seconds from the end of a minute to the first successful read of the minute's point."""

    metric: str  # as ListMetrics spells it
    at_least: float  # when it could not yet be read
    at_most: float | None  # when it could be read; None if it did not come while `doctor` waited


@dataclass(frozen=True, slots=True)
class RegionFacts:
    """One region."""

    region: str  # its name
    tried: Mapping[str, Tried] = field(default_factory=dict)  # every API operation that was called
    # how far this host's clock is ahead of OCI's; None where there was no answer
    clock_ahead_seconds: float | None = None
    mount_targets: int | None = None  # how many there are; None where they could not be listed
    # `observedThroughput` of the mount targets and how often, `absent` for none
    observed_throughputs: Mapping[str, int] = field(default_factory=dict)
    availability_domains: Mapping[str, str] = field(default_factory=dict)  # of mount targets, by address
    metrics: tuple[MetricFacts, ...] = ()  # every metric of the namespace
    asked_minutes: int = 0  # how many minutes each metric was asked for
    lags: tuple[Lag, ...] = ()  # measured ingestion lags; empty without a wait
    # whether MQL takes a metric name in another case; None where that could not be tried
    names_ignore_case: bool | None = None
    arithmetic: str = ""  # what came of adding two metrics in one query; empty where that could not be tried
    all_addresses: bool = True  # whether the address of each was looked up; of many mount targets only a few are
