"""What the kernel lab calls a miss."""

from typing import Any

from tests.for_each import for_each
from tools.kernels.report import Result

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


@for_each(
    "change, miss",
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


def test_only_a_workload_that_ends_with_an_umount_is_excused() -> None:
    lost = GOOD._replace(estimate=(50, 50, 50), exact=99)

    assert list(lost._replace(name="umount").misses()) == []
    assert len(list(lost._replace(name="hidden").misses())) == 2
