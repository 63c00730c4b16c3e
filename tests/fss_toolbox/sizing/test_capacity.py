"""What binds a workload first, and how many mount targets it needs."""

import math

import pytest
from hypothesis import assume, given, strategies as st

from fss_exporter.model.estimate import Bounds
from fss_exporter.model.limits import SHAPES, STANDARD, Limits
from fss_exporter.model.operations import READ
from fss_exporter.model.traffic import OperationTraffic, Traffic
from fss_toolbox.sizing.capacity import CLIENT_NETWORK, LATENCY, TCP_WINDOW, ClientHosts, capacity_answer as plan
from fss_toolbox.sizing.uses import CONNECTIONS, IOPS, READ_BANDWIDTH, WRITE_BANDWIDTH, Use, fullest
from fss_toolbox.sizing.workload import Transfers, scaled, workload

KIB = 1024
MIB = 1024 * KIB
NO_CLIENTS = ClientHosts()

rates = st.floats(1.0, 1e6)
sizes = st.integers(1, MIB)
workloads = st.builds(
    lambda reads, read_size, writes, write_size, lookups: workload(
        Transfers(reads, read_size), Transfers(writes, write_size), {"LOOKUP": lookups}
    ),
    rates,
    sizes,
    rates,
    sizes,
    rates,
)
targets = st.floats(0.05, 1.0)


@given(workloads, targets)
def test_the_number_of_mount_targets_is_the_least_that_keeps_the_target(traffic: Traffic, target: float) -> None:
    answer = plan(traffic, STANDARD.limits, NO_CLIENTS, target)
    assert answer.mount_targets is not None
    ratio = max(use.ratio for use in answer.mount_target if use.ratio is not None)
    assert ratio / answer.mount_targets <= target * (1 + 1e-6)
    assert answer.mount_targets == 1 or ratio / (answer.mount_targets - 1) > target


@given(workloads)
def test_the_best_of_one_mount_target_fills_the_ceiling_that_binds(traffic: Traffic) -> None:
    answer = plan(traffic, STANDARD.limits, NO_CLIENTS, 0.8)
    assert answer.best is not None
    at_best = plan(scaled(traffic, answer.best), STANDARD.limits, NO_CLIENTS, 0.8)
    assert at_best.binds is not None
    assert at_best.binds.ratio == pytest.approx(1.0)
    assert all(use.ratio is None or use.ratio <= 1 + 1e-9 for use in at_best.mount_target)


@given(workloads, st.integers(1, 1000), st.floats(1e-5, 1.0))
def test_mount_targets_never_help_a_client_that_waits(traffic: Traffic, concurrency: int, latency: float) -> None:
    clients = ClientHosts(concurrency=concurrency, latency_seconds=latency)
    answer = plan(traffic, STANDARD.limits, clients, 0.8)
    assume(answer.client_bound)
    assert answer.attainable is not None
    assert answer.attainable * traffic.all_operations.operations <= concurrency / latency * (1 + 1e-9)


def test_clients_that_just_reach_a_workload_do_not_bind() -> None:
    """100 x 0.07 s is computed as a little more than 7 requests in flight."""
    clients = ClientHosts(concurrency=7, latency_seconds=0.07)
    assert not plan(workload(None, None, {"GETATTR": 100.0}), STANDARD.limits, clients, 0.8).client_bound


def test_a_serial_program_is_bound_by_latency() -> None:
    answer = plan(
        workload(None, None, {"GETATTR": 2000.0}),
        STANDARD.limits,
        ClientHosts(concurrency=1, latency_seconds=0.001),
        0.8,
    )
    assert answer.binds is not None
    assert answer.binds.resource == LATENCY
    assert answer.binds.ratio == pytest.approx(2.0)
    assert answer.client_bound
    assert answer.attainable is not None
    assert answer.attainable * 2000 == pytest.approx(1000)
    assert answer.mount_targets == 1


def test_one_connection_is_bound_by_its_window_and_nconnect_widens_it() -> None:
    load = workload(Transfers(800, MIB), None, {})
    single, sixteen = (
        plan(load, STANDARD.limits, ClientHosts(count=1, nconnect=count, network_rtt_seconds=0.004), 0.8)
        for count in (1, 16)
    )
    assert single.binds is not None
    assert single.binds.resource == TCP_WINDOW
    assert single.binds.limit == pytest.approx(3 * MIB / 0.004)
    assert sixteen.binds is not None
    assert sixteen.binds.resource == READ_BANDWIDTH


def test_a_network_carries_reads_and_writes_at_once() -> None:
    load = workload(Transfers(500, MIB), Transfers(400, MIB), {})
    answer = plan(load, Limits(), ClientHosts(count=2, bandwidth=1.25e9), 0.8)
    (network,) = [use for use in answer.clients if use.resource == CLIENT_NETWORK]
    assert network.demand == 500 * MIB
    assert network.limit == 2.5e9


def test_connections_are_those_of_all_hosts() -> None:
    answer = plan(workload(Transfers(1, MIB), None, {}), STANDARD.limits, ClientHosts(count=10_000, nconnect=16), 0.8)
    assert answer.binds is not None
    assert answer.binds.resource == CONNECTIONS
    assert answer.mount_targets == 2
    assert answer.best == pytest.approx(1e9 / MIB), "more connections do not lower the rate"


def test_without_a_ceiling_nothing_is_judged() -> None:
    answer = plan(workload(Transfers(1e6, MIB), None, {}), Limits(), NO_CLIENTS, 0.8)
    assert answer.binds is None
    assert answer.best is None
    assert answer.mount_targets is None


def test_an_unpublished_ceiling_binds_nothing() -> None:
    answer = plan(workload(None, Transfers(1e6, MIB), {}), SHAPES["hpmt-80"].limits, NO_CLIENTS, 0.8)
    assert {use.resource for use in answer.mount_target if use.ratio is None} >= {IOPS, WRITE_BANDWIDTH}
    assert answer.binds is None


def test_the_upper_bound_needs_the_same_number_however_many_mount_targets_are_given() -> None:
    reads = OperationTraffic(1_000, Bounds(30_000, 40_000, 100_000))
    load = Traffic({READ: reads})
    numbers = [plan(load, STANDARD.limits, NO_CLIENTS, 0.8, given).mount_targets_at_worst for given in (None, 1, 4)]

    assert numbers == [3, 3, 3]


def test_without_a_number_as_many_mount_targets_as_needed_carry_the_load() -> None:
    """50,000 READs of 32 KiB are 100,000 IOPS and need three mount targets, which carry 150,000."""
    load = workload(Transfers(50_000, 32 * KIB), None, {})

    assert plan(load, STANDARD.limits, NO_CLIENTS, 0.8).attainable == pytest.approx(1.5)
    assert plan(load, STANDARD.limits, NO_CLIENTS, 0.8, 1).attainable == pytest.approx(0.5)


def test_a_bound_of_an_unknown_number_of_clients_is_not_judged() -> None:
    clients = ClientHosts(bandwidth=1e9, network_rtt_seconds=0.001)
    uses = {
        use.resource: use for use in plan(workload(Transfers(10, MIB), None, {}), STANDARD.limits, clients, 0.8).clients
    }

    assert {resource: use.ratio for resource, use in uses.items()} == {CLIENT_NETWORK: None, TCP_WINDOW: None}
    assert uses[CLIENT_NETWORK].demand == 10 * MIB


def test_bytes_without_a_number_of_operations_do_not_say_how_many_requests_are_in_flight() -> None:
    """OCI publishes the bytes of a mount target, and not all of its operations."""
    clients = ClientHosts(concurrency=16, latency_seconds=0.002)
    load = Traffic({"all operations": OperationTraffic(0.0, Bounds.exact(1_000))}, read_bytes=1e6)
    (latency,) = plan(load, STANDARD.limits, clients, 0.8).clients

    assert (latency.resource, latency.demand, latency.ratio) == (LATENCY, None, None)


def test_idle_needs_no_second_mount_target() -> None:
    answer = plan(Traffic(), STANDARD.limits, NO_CLIENTS, 0.8)
    assert answer.binds is None
    assert answer.best is None


@given(st.lists(st.one_of(st.none(), st.floats(0, 1e9)), max_size=5), st.floats(1, 1e9))
def test_the_fullest_is_never_an_unknown_one(demands: list[float | None], limit: float) -> None:
    fullest_demand = fullest(Use("x", "", demand, limit) for demand in demands)
    busy = [demand for demand in demands if demand]
    assert (fullest_demand is None) == (not any(demand / limit for demand in busy))
    if fullest_demand is not None:
        assert fullest_demand.demand == max(busy)
        assert math.isfinite(fullest_demand.ratio or 0.0)
