"""What an account answered, before anybody judges it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Self

from fss_exporter.errors import NotAuthorized, Unreachable
from fss_exporter.oci.metric_table import METRICS


class CallOutcome(Enum):
    """How a call ended."""

    OK = "ok"
    REFUSED = "refused"
    SILENT = "no answer"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Tried:
    """One API operation; of several calls the first that did not end well.

    Attributes:
        outcome: how it ended.
        error: the whole message, with the missing policy statement where one is known; empty where it went well.
    """

    outcome: CallOutcome
    error: str = ""

    @classmethod
    def of(cls, error: Exception | None) -> Self:
        """How a call ended that raised this, or nothing."""
        if error is None:
            return cls(CallOutcome.OK)
        if isinstance(error, NotAuthorized):
            return cls(CallOutcome.REFUSED, str(error))
        return cls(CallOutcome.SILENT if isinstance(error, Unreachable) else CallOutcome.FAILED, str(error))


@dataclass(frozen=True, slots=True)
class Subscription:
    """One region of a tenancy: name (`eu-frankfurt-1`), key (`FRA`) and status, `READY` where it can be used."""

    region: str
    key: str
    status: str


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """The regions of a tenancy.

    Attributes:
        tried: how asking went, by the region that was asked.
        found: the regions; None if no call was answered.
    """

    tried: Mapping[str, Tried] = field(default_factory=dict)
    found: tuple[Subscription, ...] | None = None

    def of(self, region: str) -> Subscription | None:
        """That of a region, by name or key; None where it is not subscribed to or not known."""
        name = region.lower()
        return next((one for one in self.found or () if name in {one.region.lower(), one.key.lower()}), None)


@dataclass(frozen=True, slots=True)
class MetricFacts:
    """One metric as the tenancy has it.

    Attributes:
        spelling: as ListMetrics gave it.
        documented: the documented name it goes by; empty for one that is not documented.
        listed: streams on the first page of ListMetrics, which remembers them for 90 days.
        dimensions: values by dimension.
        units: `metadata.unit` of its streams.
        streams: streams with a point in the last minutes, those of all resources merged into one where there are too
            many for one answer; None where the query failed.
        newest_age_seconds: age of its newest point when it was asked for; None where there is none.
        minutes: distinct minutes of those asked for that had a point.
        error: why the query failed; empty where it did not.
        empty_streams: streams that were answered without a point.
        is_large: it has more streams than a page of ListMetrics, so `listed` and `dimensions` are those of the first page.
    """

    spelling: str
    documented: str
    listed: int
    dimensions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    units: tuple[str, ...] = ()
    streams: int | None = None
    newest_age_seconds: float | None = None
    minutes: int = 0
    error: str = ""
    empty_streams: int = 0
    is_large: bool = False

    @property
    def is_steady(self) -> bool:
        """Whether it has a point for every minute, traffic or not."""
        return self.documented in METRICS and METRICS[self.documented].idle == "zero"


@dataclass(frozen=True, slots=True)
class Lag:
    """How long after its end a minute of a metric could be read, seconds.

    Attributes:
        metric: as ListMetrics spells it.
        at_least: when it could not yet be read.
        at_most: when it could be read; None if it did not come while `doctor` waited.
    """

    metric: str
    at_least: float
    at_most: float | None


@dataclass(frozen=True, slots=True)
class RegionFacts:
    """One region.

    Attributes:
        region: its name.
        tried: every API operation that was called.
        clock_ahead_seconds: how far this host's clock is ahead of OCI's; None where there was no answer.
        mount_targets: how many there are; None where they could not be listed.
        all_addresses: whether the address of each was looked up; of many mount targets only a few are.
        observed_throughputs: `observedThroughput` of the mount targets and how often, `absent` for none.
        availability_domains: of mount targets, by address.
        metrics: every metric of the namespace.
        asked_minutes: how many minutes each metric was asked for.
        lags: measured ingestion lags; empty without a wait.
        names_ignore_case: whether MQL takes a metric name in another case; None where that could not be tried.
        arithmetic: what came of adding two metrics in one query; empty where that could not be tried.
    """

    region: str
    tried: Mapping[str, Tried] = field(default_factory=dict)
    clock_ahead_seconds: float | None = None
    mount_targets: int | None = None
    observed_throughputs: Mapping[str, int] = field(default_factory=dict)
    availability_domains: Mapping[str, str] = field(default_factory=dict)
    metrics: tuple[MetricFacts, ...] = ()
    asked_minutes: int = 0
    lags: tuple[Lag, ...] = ()
    names_ignore_case: bool | None = None
    arithmetic: str = ""
    all_addresses: bool = True
