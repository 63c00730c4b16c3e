"""Calls a second, by family of operations. Documented: each operation of the Monitoring API."""

from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st
from tests.clock import Clock
from tests.fss_toolbox.demo.sdk import Clients, clients, refused
from tests.region import Region
from tests.region.throttle import CALLS_PER_SECOND, Throttle

from fss_toolbox.demo.region.refusal import Refusal


def accepted(throttle: Throttle, family: str) -> bool:
    try:
        throttle(family)
    except Refusal:
        return False
    return True


@given(st.lists(st.floats(0, 0.3), min_size=1, max_size=80))
def test_no_second_ever_has_more_than_ten_accepted_calls(pauses: list[float]) -> None:
    clock = Clock(0.0)
    throttle = Throttle({"ListMetrics": 10}, clock)
    taken = []
    for pause in pauses:
        clock.now += pause
        if accepted(throttle, "ListMetrics"):
            taken.append(clock.now)
    assert all(later - earlier >= 1 for earlier, later in zip(taken, taken[10:], strict=False))


def test_the_eleventh_call_within_a_second_is_refused_and_a_second_later_accepted() -> None:
    clock = Clock(0.0)
    throttle = Throttle(CALLS_PER_SECOND, clock)
    assert [accepted(throttle, "alarms") for _ in range(11)] == [True] * 10 + [False]
    clock.now += 1
    assert accepted(throttle, "alarms")


def test_families_do_not_count_against_each_other() -> None:
    throttle = Throttle(CALLS_PER_SECOND, Clock(0.0))
    for family in CALLS_PER_SECOND:
        assert all(accepted(throttle, family) for _ in range(10))


def test_operations_without_a_documented_limit_are_never_refused() -> None:
    throttle = Throttle(CALLS_PER_SECOND, Clock(0.0))
    assert all(accepted(throttle, "ListMountTargets") for _ in range(1000))


def test_over_http_it_is_429_too_many_requests(regions: Callable[..., Region]) -> None:
    sdk: Clients = clients(regions(calls_per_second={"ListMetrics": 0}))
    with refused(429, "TooManyRequests"):
        sdk.monitoring.list_metrics(sdk.region.tenancy.id, {})
    assert len(sdk.summarize("MountTargetIOPS[1m].mean()")) == 5


@pytest.mark.parametrize("family", sorted(CALLS_PER_SECOND))
def test_every_limited_family_is_one_of_the_operations(family: str, region: Region) -> None:
    assert family in {operation.family for operation in region.operations}
