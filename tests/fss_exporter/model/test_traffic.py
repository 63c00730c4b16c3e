"""Traffic: rates that add up and scale."""

import pytest
from hypothesis import given, strategies as st

from fss_exporter.model.estimate import Bounds
from fss_exporter.model.traffic import OperationTraffic, Traffic, added, together
from fss_toolbox.sizing.workload import scaled

figures = st.floats(0, 1e9)
costs = st.one_of(st.none(), st.tuples(figures, figures, figures).map(lambda three: Bounds(*sorted(three))))
rates = st.builds(
    OperationTraffic, figures, costs, figures, figures, st.one_of(st.none(), figures), figures, figures, figures
)
traffics = st.builds(
    Traffic,
    st.dictionaries(st.sampled_from(["READ", "WRITE", "GETATTR"]), rates),
    figures,
    figures,
    st.none() | figures,
)


def test_nothing_has_no_means() -> None:
    idle = OperationTraffic(0.0)
    assert idle.mean_rtt_seconds is None
    assert idle.mean_queue_seconds is None
    assert idle.mean_execute_seconds is None
    assert Traffic().mean_read_bytes is None
    assert Traffic({"READ": idle}, 5.0).mean_read_bytes is None


def test_an_unknown_cost_is_not_zero() -> None:
    assert Traffic({"READ": OperationTraffic(5.0)}).iops is None
    known = OperationTraffic(1.0, Bounds(1.0, 2.0, 3.0))
    assert added([OperationTraffic(5.0), known]).iops == Bounds(1.0, 2.0, 3.0)


def test_uncounted_errors_and_locks_stay_uncounted() -> None:
    assert added([OperationTraffic(1.0), OperationTraffic(1.0)]).errors is None
    assert together([Traffic(), Traffic()]).lock_iops is None
    assert together([Traffic(), Traffic(lock_iops=4.0)]).lock_iops == 4.0


@given(st.lists(traffics, max_size=4))
def test_several_mounts_have_the_sum_of_their_operations(parts: list[Traffic]) -> None:
    whole = together(parts)
    assert whole.all_operations.operations == pytest.approx(sum(part.all_operations.operations for part in parts))
    assert whole.read_bytes == pytest.approx(sum(part.read_bytes for part in parts))
    priced = [part.iops for part in parts if part.iops is not None]
    assert (whole.iops is None) == (not priced)
    if whole.iops is not None:
        assert whole.iops.point == pytest.approx(sum(iops.point for iops in priced))


@given(traffics, st.floats(0.01, 100))
def test_scaling_keeps_every_mean(traffic: Traffic, factor: float) -> None:
    more = scaled(traffic, factor)
    assert more.all_operations.operations == pytest.approx(traffic.all_operations.operations * factor)
    for name, rate in traffic.operations.items():
        if rate.operations > 1e-3:
            assert more.operations[name].mean_rtt_seconds == pytest.approx(rate.mean_rtt_seconds)
