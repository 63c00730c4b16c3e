"""Ingestion lag, measured by repeated queries until a minute appears."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from fss_exporter.errors import BrokenAnswer
from fss_exporter.oci.inventory.selection import InventorySelection
from fss_toolbox.doctor.account_facts import Lag
from fss_toolbox.doctor.account_probe import EVERY_SECONDS, Probe, measure_lag
from fss_toolbox.tables import Progress

BEGAN = 1_795_000_020.0


class Monitoring:
    """Minutes that can be read some seconds after their end, on a clock that only waiting turns."""

    def __init__(self, lags: Mapping[str, float], *, enough_after: float = float("inf")) -> None:
        self.lags = lags
        self.at = BEGAN
        self.enough_at = BEGAN + enough_after
        self.broken_looks = 0
        self.last_minutes: dict[str, float] = {}

    def now(self) -> float:
        return self.at

    def pause(self, seconds: float) -> None:
        self.at += seconds
        if self.at > self.enough_at:
            raise KeyboardInterrupt

    def minutes(self, name: str) -> list[float]:
        if self.broken_looks:
            self.broken_looks -= 1
            raise BrokenAnswer("HTTP 500", operation="SummarizeMetricsData")
        newest = min((self.at - self.lags[name]) // 60 * 60, self.last_minutes.get(name, float("inf")))
        return [newest - 60 * back for back in range(15)]

    def measure_lag(self, seconds: float) -> tuple[Lag, ...]:
        return measure_lag(self.lags, self.minutes, seconds, now=self.now, pause=self.pause)


@given(st.lists(st.integers(0, 600), min_size=1, max_size=4))
def test_a_minute_of_looking_is_enough_for_any_lag_that_stays(lags: list[int]) -> None:
    service = Monitoring({str(number): lag for number, lag in enumerate(lags)})
    for lag, measured in zip(lags, service.measure_lag(60 + EVERY_SECONDS), strict=True):
        assert measured.at_most is not None
        assert measured.at_least <= lag <= measured.at_most <= measured.at_least + EVERY_SECONDS


def test_it_waits_no_longer_than_until_each_metric_has_a_new_minute() -> None:
    service = Monitoring({"A": 12.0, "B": 47.0})
    service.measure_lag(600)
    assert service.at <= BEGAN + 60


def test_a_minute_that_does_not_come_in_time_has_a_lag_of_more_than_that() -> None:
    service = Monitoring({"A": 12.0, "B": 12.0})
    service.last_minutes["B"] = BEGAN - 60
    first, second = service.measure_lag(180)
    assert first.at_most == pytest.approx(12.0, abs=EVERY_SECONDS)
    assert second == Lag("B", 180.0, None)
    assert service.at == BEGAN + 180


def test_the_lag_measured_before_the_time_limit_is_kept() -> None:
    assert [bound.at_most for bound in Monitoring({"A": 230.0}, enough_after=20).measure_lag(600)] == [None]


def test_a_look_that_fails_costs_only_itself() -> None:
    service = Monitoring({"A": 30.0})
    service.broken_looks = 2
    (only,) = service.measure_lag(180)
    assert only.at_most == pytest.approx(30.0, abs=EVERY_SECONDS)


def test_a_metric_that_can_never_be_read_is_left_out() -> None:
    service = Monitoring({"A": 30.0})
    service.broken_looks = 1000
    assert service.measure_lag(60) == ()


@dataclass
class OnePoint:
    """A session of a host whose clock is ahead of OCI. Each metric has one stream, with one point."""

    stamp: float
    clock_skew_seconds: float
    region: str = "eu-frankfurt-1"
    tenancy_id: str = "ocid1.tenancy.oc1..t"
    tenancy: str = "production"
    zone: tzinfo | None = UTC

    def call(self, service: str, operation: str, *_: object, **__: object) -> SimpleNamespace:
        (rows,) = self.pages(service, operation)
        return SimpleNamespace(data=rows, headers={})

    def pages(self, _: str, operation: str, *__: object, **___: object) -> Iterator[list[dict[str, object]]]:
        point = {
            "timestamp": datetime.fromtimestamp(self.stamp, UTC).replace(tzinfo=self.zone).isoformat(),
            "value": 1.0,
        }
        rows: dict[str, dict[str, object]] = {
            "list_metrics": {"name": "MountTargetReadThroughput"},
            "summarize_metrics_data": {"aggregatedDatapoints": [point]},
        }
        yield [rows[operation]] if operation in rows else []


@pytest.mark.parametrize("skew", [250.0, 0.0, -250.0])
def test_a_wrong_clock_of_the_host_does_not_change_the_age_of_a_point(skew: float) -> None:
    session: Any = OnePoint(1_800_000_000.0, skew)
    now = session.stamp + 70.0 + skew
    assert ages(session, now) == [70.0]


def test_a_point_without_a_time_zone_has_no_age() -> None:
    session: Any = OnePoint(1_800_000_000.0, 0.0, zone=None)
    assert ages(session, session.stamp + 70.0) == [None]


def ages(session: Any, now: float) -> list[float | None]:
    """Age of the newest point of each metric."""
    probe = Probe(session, InventorySelection(), lambda: now, Progress(), lambda _: None, 0.0)
    return [metric.newest_age_seconds for metric in probe.ask({}).metrics]
