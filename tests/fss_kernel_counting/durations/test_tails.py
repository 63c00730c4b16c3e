"""Requests judged by a p99 objective: the state of the address, the counters for a burn rate, and what cannot be judged."""

from pathlib import Path

import pytest
from tests.fss_kernel_counting.durations.latency_host import HERE, Call, LatencyHost, ready
from tests.fss_kernel_counting.host import Mount

from fss_exporter.model.client_state import JudgedRequests
from fss_exporter.model.state import State
from fss_exporter.nfs.accounts import Accounts
from fss_exporter.nfs.address_states import AddressStates
from fss_exporter.nfs.ticker import Ticker
from fss_kernel_counting.durations.request_durations import Durations

P99 = {"read": 0.05}
JUDGED = "fss_client_judged_requests_total"


@pytest.mark.parametrize(
    ("objective_s", "microseconds", "is_late"),
    [
        (0.05, 50_000, False),
        (0.05, 65_536, False),
        (0.05, 65_537, True),
        (0.065536, 65_536, False),
        (0.0655361, 131_072, False),
        (1e-6, 2, True),
        (1e-9, 1, False),
        (100.0, 2**27, False),
        (100.0, 2**27 + 1, True),
    ],
)
def test_a_request_is_late_above_the_edge_that_contains_the_objective(
    objective_s: float, microseconds: int, is_late: bool
) -> None:
    took = Durations({(microseconds - 1).bit_length(): 1}, microseconds)
    assert took.judged(objective_s) == JudgedRequests(1, int(is_late))


def tail_of(host: LatencyHost, mount: Mount, *, requests: int = 1000) -> None:
    """READs of a millisecond, of which twenty take 200 ms longer: the mean moves by 4 ms."""
    for number in range(requests):
        host.call(Call(mount.number, mount, microseconds=201_000 if number < 20 else 1_000))


def test_two_of_a_hundred_late_reads_are_counted_and_make_the_address_slow_while_the_mean_is_fine(
    tmp_path: Path,
) -> None:
    mount = Mount(40)
    host = ready(tmp_path, mount, p99=P99)
    ticker = Ticker(host._read, 10.0, lambda: host.now, accounts=Accounts(states=AddressStates(tails=host.reader)))
    ticker.tick()
    tail_of(host, mount)
    mount.age += 10
    host.tick()
    ticker.tick()

    assert host.series(JUDGED, verdict="bad") == [20]
    assert host.series(JUDGED, verdict="good") == [980]
    now = ticker.accounts.states.shown()[HERE]
    assert now.state is State.SLOW
    assert [reason.text for reason in now.reasons] == ["2.0 % of requests of read take longer than the p99 objective"]


def test_without_an_objective_no_request_is_judged(tmp_path: Path) -> None:
    mount = Mount(40)
    host = ready(tmp_path, mount)
    tail_of(host, mount)
    host.tick()

    assert host.series(JUDGED) == []
    assert host.reader.judged() == {HERE: {}}


def test_a_changed_objective_judges_from_the_next_look_on(tmp_path: Path) -> None:
    mount = Mount(40)
    host = ready(tmp_path, mount, p99=P99)
    tail_of(host, mount)
    host.tick()
    host.reader.objectives = {"read": 0.5}
    tail_of(host, mount)
    host.tick()

    assert host.series(JUDGED, verdict="bad") == [20]
    assert host.series(JUDGED, verdict="good") == [1980]


def test_an_interval_says_nothing_once_it_is_long_past(tmp_path: Path) -> None:
    mount = Mount(40)
    host = ready(tmp_path, mount, p99=P99)
    tail_of(host, mount)
    host.tick()
    assert host.reader.judged() == {HERE: {"read": JudgedRequests(1000, 20)}}
    host.now += 31.0

    assert host.reader.judged() == {}


def test_an_address_whose_durations_are_paused_is_not_judged(tmp_path: Path) -> None:
    mount = Mount(40)
    host = ready(tmp_path, mount, p99=P99)
    tail_of(host, mount)
    mount.operations["READ"] += 5  # calls that no table has
    host.tick()

    assert host.reader.judged() == {}
    assert host.series(JUDGED) == []
