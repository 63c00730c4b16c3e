"""Which sentences an answer of `plan` has, and which it leaves out."""

from dataclasses import replace

import pytest

from fss_exporter.model.estimate import Bounds
from fss_exporter.model.limits import SHAPES, Limits
from fss_exporter.model.traffic import OperationTraffic, Traffic
from fss_toolbox.plan.answer_sentences import differences, sentences
from fss_toolbox.plan.load import Load
from fss_toolbox.plan.scenario import Scenario
from fss_toolbox.sizing.capacity import ClientHosts


def scenario(
    operations: float = 1_000,
    iops: Bounds | None = None,
    *,
    read_bytes: float = 0.0,
    lock_iops: float | None = None,
    execute_seconds: float | None = None,
    shape: str = "standard",
    clients: ClientHosts | None = None,
    mount_targets: int | None = None,
    observed: Limits | None = None,
) -> Scenario:
    """A rate of GETATTR, each of one I/O operation, with at most 80 % of a ceiling."""
    cost = Bounds.exact(operations) if iops is None else iops
    rate = OperationTraffic(operations, cost, execute_seconds=execute_seconds)
    traffic = Traffic({"GETATTR": rate}, read_bytes=read_bytes, lock_iops=lock_iops)
    load = Load("x", traffic, observed=observed)
    return Scenario(load, shape, SHAPES[shape].limits, clients or ClientHosts(), 0.8, mount_targets)


def said(of: Scenario, beginning: str) -> list[str]:
    return [line for line in sentences(of) if line.startswith(beginning)]


@pytest.mark.parametrize(("locks", "lines"), [(None, 0), (0.0, 0), (5.0, 1)])
def test_locks_are_named_where_there_are_any(locks: float | None, lines: int) -> None:
    assert len(said(scenario(lock_iops=locks), "not included: about")) == lines


def test_clients_that_reach_the_load_are_not_called_its_bound() -> None:
    slow = ClientHosts(concurrency=1, latency_seconds=0.01)
    fast = ClientHosts(concurrency=100, latency_seconds=0.01)
    assert said(scenario(clients=slow), "more mount targets do not help the clients. The clients get 100 operations/s")
    assert said(scenario(clients=fast), "more mount targets do not help") == []


@pytest.mark.parametrize(("seconds", "lines"), [(None, []), (0.0, []), (2.5, ["2.5 requests"])])
def test_requests_in_flight_are_told_where_their_durations_were_seen(seconds: float | None, lines: list[str]) -> None:
    told = said(scenario(execute_seconds=seconds), "in flight on average (Little's law): ")
    assert [line.partition(": ")[2] for line in told] == lines


def test_an_observed_ceiling_stands_beside_the_one_of_the_answer_or_beside_none() -> None:
    observed = Limits(iops=43_000.0)
    assert said(scenario(observed=observed), "observed ceiling") == [
        "observed ceiling of IOPS: 43,000 IOPS, where the load stood still. Computed with 50,000 IOPS"
    ]
    assert said(scenario(observed=observed, shape="hpmt-20"), "observed ceiling") == [
        "observed ceiling of IOPS: 43,000 IOPS, where the load stood still. Computed with no ceiling"
    ]


def test_the_number_for_the_upper_bound_is_told_where_it_is_larger() -> None:
    assert said(scenario(39_000, Bounds(39_000, 39_000, 41_000)), "mount targets for at most")[0].endswith(
        ": 1 (2 if the upper bound is right)"
    )
    assert said(scenario(39_000), "mount targets for at most")[0].endswith(": 1")


@pytest.mark.parametrize(
    ("given", "shape", "line"),
    [
        (1, "standard", "1 given: 1 too few"),
        (2, "standard", "2 given: enough"),
        (3, "standard", "3 given: enough"),
        (3, "hpmt-80", "3 given: enough for the known ceilings"),
    ],
)
def test_the_given_mount_targets_are_enough_or_too_few(given: int, shape: str, line: str) -> None:
    assert line in sentences(scenario(60_000, read_bytes=1e6, shape=shape, mount_targets=given))


def test_scaling_out_costs_where_more_than_one_are_needed_or_given() -> None:
    assert said(scenario(60_000), "scaling out costs")
    assert said(scenario(mount_targets=2), "scaling out costs")
    assert said(scenario(mount_targets=1), "scaling out costs") == []


@pytest.mark.parametrize(
    ("shape", "read_bytes", "limit"),
    [("standard", 1.5e9, None), ("standard", 2e9, 2), ("hpmt-40", 9e9, 1), ("hpmt-80", 1, 0)],
)
def test_the_service_limit_of_a_shape_is_named_above_it(shape: str, read_bytes: float, limit: int | None) -> None:
    lines = [line for line in sentences(scenario(shape=shape, read_bytes=read_bytes)) if "service limit" in line]
    assert bool(lines) is (limit is not None)
    assert all(f"the service limit of shape {shape} is {limit} in each" in line for line in lines)


@pytest.mark.parametrize(
    ("clients", "lines"),
    [
        (ClientHosts(), 0),
        (ClientHosts(nconnect=3), 0),
        (ClientHosts(count=79_999), 0),
        (ClientHosts(count=80_000), 1),
        (ClientHosts(count=10, nconnect=3), 1),
    ],
)
def test_connections_are_told_from_the_target_on_or_where_a_client_has_several(
    clients: ClientHosts, lines: int
) -> None:
    assert len(said(scenario(clients=clients), "connections: ")) == lines


@pytest.mark.parametrize(
    ("clients", "begin"),
    [
        # 100,000 / 7 is 14,285.7
        (
            ClientHosts(count=10, nconnect=7),
            "connections: 10 clients x nconnect 7 = 70. One mount target takes 100,000, so 14,285 such clients (",
        ),
        # A recorded load has the connections that OCI counted. How many clients hold them is not known.
        (
            ClientHosts(counted_connections=90_000),
            "connections: 90,000. One mount target takes 100,000 (the white paper",
        ),
        (
            ClientHosts(count=70, encrypted=True),
            "encrypted connections: 70. One mount target takes 4,096 (the white paper states 64 clients with TLS",
        ),
        (
            ClientHosts(count=70, stunnel=True),
            "encrypted connections: 70. One mount target takes 64 (the documentation states 64 for Windows with stunnel)",
        ),
    ],
)
def test_connections_are_told_as_what_is_known_of_them(clients: ClientHosts, begin: str) -> None:
    (line,) = said(scenario(clients=clients), begin)
    assert ("Windows with stunnel: 64 connections" in line) is clients.encrypted


@pytest.mark.parametrize(
    ("milliseconds", "begin"),
    [
        (80, "is another region: one request at a time completes at most 12.5 a second. White paper: do not mount"),
        (10, "is another availability domain: one request at a time completes at most 100 a second. White paper: keep"),
        (2, ""),
    ],
)
def test_a_long_round_trip_is_called_what_it_is(milliseconds: int, begin: str) -> None:
    far = scenario(clients=ClientHosts(count=1, network_rtt_seconds=milliseconds / 1000))
    assert (
        len(said(far, "a round trip of"))
        == len(said(far, f"a round trip of {milliseconds}.00 ms {begin}"))
        == bool(begin)
    )


def test_both_directions_count_on_all_mount_targets_together() -> None:
    load = Load("x", Traffic({}, read_bytes=1.5e9, written_bytes=1e9))
    (line,) = said(replace(scenario(), load=load, mount_targets=2), "bandwidth, reads and writes together")
    assert "1,250.00 MB/s are 125.0 % of 1,000.00 MB/s. The white paper prints one bandwidth" in line
    assert line.endswith("If both directions share the bandwidth, 4 mount targets are needed")


@pytest.mark.parametrize(
    ("read", "written", "shape", "mount_targets", "lines"),
    [
        (9.9e8, 0.0, "standard", 1, 0),  # one direction
        (5e6, 5e6, "hpmt-20", 1, 0),  # unlike ceilings
        (7e8, 4e8, "standard", 4, 0),  # each mount target has room
        (7e8, 4e8, "standard", 1, 1),
    ],
)
def test_directions_that_share_a_bandwidth_are_told_where_both_are_used(
    read: float, written: float, shape: str, mount_targets: int, lines: int
) -> None:
    load = Load("x", Traffic({}, read_bytes=read, written_bytes=written))
    of = replace(scenario(shape=shape, mount_targets=mount_targets), load=load)
    assert len(said(of, "bandwidth, reads and writes together")) == lines


def test_a_ceiling_is_not_called_unpublished_where_only_the_cost_is_not_known() -> None:
    load = Load("x", Traffic({"OPEN": OperationTraffic(5.0)}, read_bytes=5e8))
    of = replace(scenario(), load=load)
    assert said(of, "not judged") == ["not judged, because the cost of the load is not known: IOPS"]
    assert said(scenario(shape="hpmt-40", read_bytes=1e9), "not judged") == [
        "not judged, because no document states a ceiling: IOPS, write bandwidth"
    ]
    assert said(scenario(shape="hpmt-40", read_bytes=1e9), "mount targets for")[0].endswith(
        "every ceiling that is known: 1"
    )
    assert said(scenario(), "not judged") == []


def test_what_one_mount_target_serves_scales_all_figures_of_the_mix() -> None:
    (line,) = said(scenario(10_000, read_bytes=1e8), "at this mix")
    assert line == (
        "at this mix, one mount target serves at most 50,000 operations/s, 50,000 IOPS, 500.00 MB/s read, 0.00 MB/s written"
    )


class TestDifferences:
    def test_a_changed_ceiling_and_a_changed_load_are_both_told(self) -> None:
        before = scenario(10_000)
        larger = replace(before, limits=replace(before.limits, iops=100_000.0))
        assert differences(before, larger) == ["IOPS: 20.0 % to 10.0 % (10,000 IOPS of 100,000 IOPS)"]
        assert differences(before, scenario(20_000)) == ["IOPS: 20.0 % to 40.0 % (20,000 IOPS of 50,000 IOPS)"]

    def test_another_number_of_mount_targets_is_told_and_the_same_is_not(self) -> None:
        assert "mount targets: 2 in place of 1" in differences(scenario(10_000), scenario(60_000))
        assert not any(line.startswith("mount targets") for line in differences(scenario(10_000), scenario(20_000)))

    def test_a_number_that_is_not_known_is_told_as_unknown(self) -> None:
        before = scenario(10_000)
        without = replace(before, limits=Limits())
        assert "mount targets: 1 in place of unknown" in differences(without, before)
        assert "mount targets: unknown in place of 1" in differences(before, without)

    def test_a_change_of_clients_without_any_effect_says_what_would_let_it_matter(self) -> None:
        before = scenario()
        hint = ". Give --clients with --network-rtt or --latency to let it matter"
        assert differences(before, replace(before, clients=ClientHosts(nconnect=4))) == [f"nothing changes{hint}"]
        assert differences(before, replace(before, target=0.81)) == ["nothing changes"]
        served = replace(before, clients=ClientHosts(concurrency=8, latency_seconds=0.001))
        faster = replace(served, clients=replace(served.clients, nconnect=4))
        assert differences(served, faster) == ["nothing changes"]

    def test_a_time_of_equal_length_with_another_bound_is_a_difference(self) -> None:
        load = replace(scenario(100_000).load, is_job=True)
        by_ceiling = replace(scenario(), load=load)
        by_clients = replace(by_ceiling, limits=Limits(), clients=ClientHosts(concurrency=50, latency_seconds=0.001))
        assert differences(by_ceiling, by_clients) == ["time: 2.00 s to 2.00 s, set by latency x concurrency"]
