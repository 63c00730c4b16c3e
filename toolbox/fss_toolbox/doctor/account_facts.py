# SPDX-License-Identifier: Apache-2.0
"""The answers of an account, as input of the checks and of the record. Pure."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Literal, Self

from fss_exporter.errors import CloudError, LateAnswer, NotAuthorized, Unreachable
from fss_exporter.oci.metric_table import METRICS
from fss_exporter.ocid import OCID

NAMES: Final = re.compile(r"name$|address$|host$", re.IGNORECASE)  # Dimensions with names as values, which people chose

# Most seconds after the time stamp of a point that cannot be stamped with the start of its minute, with five for clocks.
_YOUNG_SECONDS: Final = 55.0


MinuteName = Literal["end", "start"]  # whether OCI names a minute by its end or by its start. Documents disagree


# MountTargetReadThroughput over FileSystemReadThroughput of the same bytes.
#
# Oracle's page of metrics says "bytes per interval" of the first and "per second" of the second. With 1 both have one unit.
ThroughputFactor = Literal["1", "60", "cannot tell"]

_LEAST_MINUTES: Final = 10  # with bytes in both metrics
_TOLERANCE: Final = 0.2  # a metric can miss minutes, and read-ahead ends in another minute


def throughput_factor(mount_target: Mapping[float, float], file_system: Mapping[float, float]) -> ThroughputFactor:
    """Return the factor between two metrics of the same bytes, from their values by minute."""
    shared = [minute for minute in mount_target.keys() & file_system.keys() if file_system[minute] > 0]
    if len(shared) < _LEAST_MINUTES:
        return "cannot tell"
    factor = sum(mount_target[minute] for minute in shared) / sum(file_system[minute] for minute in shared)
    if abs(factor - 1) <= _TOLERANCE:
        return "1"
    return "60" if abs(factor / 60 - 1) <= _TOLERANCE else "cannot tell"


class CallOutcome(Enum):
    """The result of a call to an OCI API."""

    OK = "ok"
    REFUSED = "refused"
    SILENT = "no answer"
    LATE = "no answer in time"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Tried:
    """One API operation with the first failure of several calls."""

    outcome: CallOutcome  # result of the call
    error: str = ""  # whole message, with the missing policy statement if known. Empty for an answer
    is_optional: bool = False  # whether polls succeed without the call
    is_mistake: bool = False  # whether the error is one of the settings, whose words can be names of compartments

    @classmethod
    def of(cls, error: Exception | None, *, is_optional: bool = False) -> Self:
        """Return the outcome of a call with this error. None stands for an answer."""
        if error is None:
            return cls(CallOutcome.OK)
        if isinstance(error, NotAuthorized):
            return cls(CallOutcome.REFUSED, str(error), is_optional)
        if isinstance(error, LateAnswer):
            return cls(CallOutcome.LATE, f"could not be asked: {error}")
        if isinstance(error, Unreachable):
            return cls(CallOutcome.SILENT, str(error))
        return cls(CallOutcome.FAILED, str(error), is_mistake=not isinstance(error, CloudError))


@dataclass(frozen=True, slots=True)
class Subscription:
    """One region of a tenancy: name (`eu-frankfurt-1`), key (`FRA`) and status, `READY` for a usable region."""

    region: str
    key: str
    status: str


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """The regions of a tenancy."""

    tried: Mapping[str, Tried] = field(default_factory=dict)  # result of the call by region
    listed: tuple[Subscription, ...] | None = None  # the regions; None if no call was answered

    def of(self, region: str) -> Subscription | None:
        """Return the subscription to a region, by name or key. None without a subscription."""
        name = region.lower()
        return next(
            (
                subscription
                for subscription in self.listed or ()
                if name in {subscription.region.lower(), subscription.key.lower()}
            ),
            None,
        )


@dataclass(frozen=True, slots=True)
class MetricFacts:
    """The name, streams and newest datapoint of one metric of the tenancy."""

    spelling: str  # name in ListMetrics
    documented: str  # documented name in the documented case. Empty for an undocumented metric
    listed: int  # streams on the first page of ListMetrics, which remembers them for 90 days
    dimensions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # values by dimension
    units: tuple[str, ...] = ()  # `metadata.unit` of its streams
    # streams with a point in the last minutes. The query merges the streams of all resources if one answer cannot hold
    # all streams. None for a failed query
    streams: int | None = None
    newest_age_seconds: float | None = None  # age of the newest point at the query. None without a point
    minutes: int = 0  # distinct minutes of the query that had a point
    error: str = ""  # reason of a failed query. Empty for an answer
    empty_streams: int = 0  # streams that were answered without a point
    # whether the metric has more streams than a page of ListMetrics, so that `listed` and `dimensions` cover one page
    is_large: bool = False

    @property
    def is_steady(self) -> bool:
        """Whether OCI sends a point for every minute, also without traffic."""
        return self.documented in METRICS and METRICS[self.documented].idle == "zero"

    @property
    def is_merged(self) -> bool:
        """Whether a stream of an answer can stand for several listed streams."""
        return self.is_large or (self.documented in METRICS and METRICS[self.documented].group_by is not None)


@dataclass(frozen=True, slots=True)
class Lag:
    """Seconds from the end of a minute to the first successful read of the minute's point."""

    metric: str  # name in ListMetrics
    at_least: float  # last query without the minute
    at_most: float | None  # first query with the minute. None if the minute did not come during the wait


@dataclass(frozen=True, slots=True)
class RegionFacts:
    """The answers of the OCI APIs in one region."""

    region: str  # its name
    operations: Mapping[str, Tried] = field(default_factory=dict)  # every API operation that was called
    # seconds that the clock of this host is ahead of OCI. None without an answer
    clock_ahead_seconds: float | None = None
    mount_targets: int | None = None  # number. None if the listing failed
    # `observedThroughput` of the mount targets and how often, `absent` for none
    observed_throughputs: Mapping[str, int] = field(default_factory=dict)
    availability_domains: Mapping[str, str] = field(default_factory=dict)  # of mount targets, by address
    metrics: tuple[MetricFacts, ...] = ()  # every metric of the namespace
    asked_minutes: int = 0  # how many minutes each metric was asked for
    ingestion_lags: tuple[Lag, ...] = ()  # measured, seconds; empty without a wait
    minutes_named_by: MinuteName | Literal[""] = ""  # how OCI names a minute. Empty if no wait told it
    # whether MQL takes a metric name in another case; None where that could not be tried
    metric_names_ignore_case: bool | None = None
    adding_two_metrics: str = ""  # result of a query that adds two metrics. Empty without a try
    # MountTargetReadThroughput over FileSystemReadThroughput of the same bytes. Empty without a try
    throughput_factor: ThroughputFactor | Literal[""] = ""
    # which of && and || binds tighter in MQL, a `JoinOrder` or a refusal. Empty without a try
    order_of_and_and_or: str = ""
    limit_names: tuple[str, ...] | None = None  # names of the service limits of File Storage. None for a refused call
    all_addresses: bool = True  # whether the address of each was looked up; of many mount targets only a few are

    @property
    def has_answered(self) -> bool:
        """Whether a call had an answer that is no error."""
        return any(tried.outcome is CallOutcome.OK for tried in self.operations.values())


def minutes_named_by(lags: Iterable[Lag]) -> Literal["end", ""]:
    """Return `end` if a point could be read within a minute of its time stamp. Empty if no wait told it.

    A point that comes later says nothing: OCI can be slow, or name the minute by its start.
    """
    return "end" if any(lag.at_most is not None and lag.at_most < _YOUNG_SECONDS for lag in lags) else ""


def holds_names(dimension: str, values: Iterable[str]) -> bool:
    """Return whether the values of a dimension are OCIDs or names that people chose."""
    return bool(NAMES.search(dimension)) or any(OCID.match(value) for value in values)
