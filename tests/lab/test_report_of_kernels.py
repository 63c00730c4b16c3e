"""What the kernel lab calls a miss, and its line for each kernel."""

from typing import Any

import pytest
from lab.kernels.report import Growth, Result, Trial, summary, unaccounted_trial

GOOD = Result(
    "tar",
    packets=100,
    locks=8,
    estimate=(90, 92, 95),
    exact=100,
    calls=40,
    durations=40,
    processes=92,
    right=0.95,
)


def test_a_result_in_which_everything_holds_has_no_miss() -> None:
    assert list(GOOD.misses()) == []


def test_what_a_kernel_does_not_count_is_no_miss() -> None:
    assert list(GOOD._replace(exact=None, durations=None, processes=None, right=None).misses()) == []


@pytest.mark.parametrize(
    ("change", "miss"),
    [
        ({"estimate": (93, 94, 95)}, "the packets lie outside the bounds"),
        ({"exact": 99}, "exact mode is -1 off"),
        ({"durations": 41}, "durations are +1 calls off"),
        ({"processes": 100}, "processes are +8 off"),
        ({"right": 0.949}, "only 94.9% have the right unit or job"),
    ],
)
def test_each_difference_is_a_miss(change: dict[str, Any], miss: str) -> None:
    assert list(GOOD._replace(**change).misses()) == [miss]


def test_processes_lack_what_came_before_the_agent_found_the_mount() -> None:
    assert list(GOOD._replace(invisible=12, processes=80).misses()) == []
    assert list(GOOD._replace(invisible=12).misses()) == ["processes are +12 off"]


def test_durations_pause_for_an_unseen_mount_where_the_kernel_links_no_clients() -> None:
    paused = GOOD._replace(name="hidden", durations=30)

    assert list(paused._replace(links_clients=False).misses()) == []
    assert list(paused.misses()) == ["durations are -10 calls off"]


def test_only_a_workload_that_ends_with_an_umount_is_excused() -> None:
    lost = GOOD._replace(estimate=(50, 50, 50), exact=99)

    assert list(lost._replace(name="umount").misses()) == []
    assert len(list(lost._replace(name="hidden").misses())) == 2


def test_a_line_for_each_kernel_counts_every_workload_but_an_umount() -> None:
    lost = GOOD._replace(name="hidden", estimate=(40, 46, 50), exact=99, right=0.97)
    plain = GOOD._replace(exact=None, durations=None, processes=None, right=None)
    calibrated = Trial("calibrate", "29 of 29 rows are inside their stated error", holds=True)
    lines = summary(
        {"6.12": ([GOOD, lost, GOOD._replace(name="umount")], [calibrated]), "5.10": ([plain], [])}
    ).splitlines()

    assert lines[2:] == [
        "| 6.12 | 2 | 25.0% | -50.0% (hidden) | 1 of 2 | 1 of 2 | 95.0% | 29 of 29 |",
        "| 5.10 | 1 | 0.0% | +0.0% (tar) | 1 of 1 |  |  |  |",
    ]


@pytest.mark.parametrize(
    ("told", "holds"),
    [(101.0, False), (100.0, True), (51.0, True), (50.0, False), (None, False)],
    ids=["more than the truth", "the truth", "more than half", "half", "no figure"],
)
def test_calls_without_a_mount_are_at_most_the_packets_and_more_than_half(told: float | None, holds: bool) -> None:
    """Of 140 calls 40 are on a mount. Its NULL is no call."""
    growth: Growth = {
        ("fss_client_operations_total", frozenset({("operation", name)})): count
        for name, count in (("WRITE", 30.0), ("LOOKUP", 10.0), ("NULL", 3.0))
    }
    if told is not None:
        growth = {**growth, ("fss_nfs_unaccounted_calls_total", frozenset()): told}

    assert unaccounted_trial("default", 140, growth).holds is holds
