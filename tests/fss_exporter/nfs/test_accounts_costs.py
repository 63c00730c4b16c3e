"""What the operations of a mount cost, its locks, and the peak of its server."""

import re

import pytest
from hypothesis import given, settings, strategies as st
from tests.fss_exporter.nfs.fed_accounts import KEY, accounts, reading, total
from tests.fss_exporter.nfs.records import OPTIONS, Names, mountinfo, mountstats

from fss_exporter.nfs.accounts import Accounts

KIB = 1024
KEY_V4 = KEY._replace(service="none")


def test_nfs3_and_nfs4_of_one_export_are_kept_apart_and_only_nfs3_is_estimated() -> None:
    v4: Names = {"mount_point": "/mnt/v4", "fstype": "nfs4"}
    info = mountinfo(superblock="0:41", **v4) + mountinfo()
    result = accounts(
        reading(mountstats({"READ": 1}, **v4), mountstats({"READ": 1}), info=info),
        reading(mountstats({"READ": 5}, age=1001, **v4), mountstats({"READ": 3}, age=1001), info=info),
    )

    assert total(result, "READ") == 2
    assert total(result, "READ", KEY_V4) == 4
    assert result.mounts[KEY].operations["READ"].cost == (4, 4, 4)
    assert result.mounts[KEY_V4].operations["READ"].cost is None


def test_an_operation_without_a_known_cost_is_counted_and_not_estimated() -> None:
    result = accounts(reading(mountstats({"FROBNICATE": 1})), reading(mountstats({"FROBNICATE": 3}, age=1001)))

    assert total(result, "FROBNICATE") == 2
    assert result.mounts[KEY].operations["FROBNICATE"].cost is None


def test_exact_operations_cost_their_weight_and_their_bounds_are_the_same() -> None:
    result = accounts(reading(mountstats({})), reading(mountstats({"RENAME": 3}, age=1001)))

    assert result.mounts[KEY].operations["RENAME"].cost == (24, 24, 24)


def test_reads_are_estimated_from_their_payload() -> None:
    result = accounts(reading(mountstats({})), reading(mountstats({"READ": 10}, read_bytes=10 * 1024 * KIB, age=1001)))

    cost = result.mounts[KEY].operations["READ"].cost
    assert cost is not None
    assert cost.point == 330


def test_rsize_caps_the_estimate() -> None:
    small = OPTIONS.replace("rsize=1048576", "rsize=32768")
    result = accounts(
        reading(mountstats({}, options=small)),
        reading(mountstats({"READ": 10}, read_bytes=10 * 20 * KIB + 7, age=1001, options=small)),
    )

    assert result.mounts[KEY].operations["READ"].cost == (20, 20, 20)


@pytest.mark.parametrize(("local_lock", "expected"), [("none", 28), ("flock", 28), ("all", None), ("posix", None)])
def test_locks_cost_four_where_they_go_to_the_server(local_lock: str, expected: int | None) -> None:
    options = OPTIONS.replace("local_lock=none", f"local_lock={local_lock}")
    result = accounts(
        reading(mountstats({}, vfs_locks=5, options=options)),
        reading(mountstats({}, vfs_locks=12, options=options, age=1001)),
    )

    assert result.mounts[KEY].lock_io_operations == expected


def test_replies_that_ask_to_try_later_are_counted_where_the_kernel_counts_them() -> None:
    before, now = mountstats({}, delays=5), mountstats({}, delays=12, age=1001)
    result = accounts(reading(before), reading(now))
    unknown = accounts(*(reading(re.sub(r"(?m)^(\tevents:(\t|\s\d+){24}).*", r"\1 ", text)) for text in (before, now)))

    assert result.mounts[KEY].delays == 7
    assert result.mounts[KEY].at_zero.delays == 0
    assert unknown.mounts[KEY].delays is None


def test_the_peak_is_the_highest_tick_of_the_last_minute_over_all_mounts_of_the_address() -> None:
    result = Accounts()
    counts = {0: 0, 1: 100, 2: 700, 3: 710, 61: 900, 62: 950}
    for second, count in counts.items():
        result.apply(reading(mountstats({"GETATTR": count}, age=1000 + second)), float(second))
        if second == 3:
            assert result.peaks.highest() == {"10.0.0.3": 600}

    assert result.peaks.highest() == {"10.0.0.3": 50}


def test_a_long_interval_is_a_rate_and_not_a_burst() -> None:
    result = Accounts()
    result.apply(reading(mountstats({"GETATTR": 0})), 0.0)
    result.apply(reading(mountstats({"GETATTR": 500}, age=1010)), 10.0)

    assert result.peaks.highest() == {"10.0.0.3": 50}


def test_a_reader_that_was_held_up_does_not_see_a_burst() -> None:
    result = Accounts()
    result.apply(reading(mountstats({"GETATTR": 0})), 0.0, until=0.0)
    result.apply(reading(mountstats({"GETATTR": 500}, age=1010)), 1.0, until=5.0)

    assert result.peaks.highest() == {"10.0.0.3": 100}


@settings(max_examples=settings().max_examples // 2)
@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=8))
def test_splitting_an_interval_costs_the_same_for_exact_operations(steps: list[tuple[int, int]]) -> None:
    lookups = [sum(step[0] for step in steps[:end]) for end in range(len(steps) + 1)]
    renames = [sum(step[1] for step in steps[:end]) for end in range(len(steps) + 1)]
    looks = [
        reading(mountstats({"LOOKUP": one, "RENAME": other}, age=1000 + at))
        for at, (one, other) in enumerate(zip(lookups, renames, strict=True))
    ]
    many, ends = accounts(*looks), accounts(looks[0], looks[-1])
    for name in ("LOOKUP", "RENAME"):
        assert many.mounts[KEY].operations[name].cost == ends.mounts[KEY].operations[name].cost
