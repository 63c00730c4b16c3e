"""Counters that never go down, over everything a client's mounts go through."""

import pytest
from hypothesis import given, settings, strategies as st
from tests.nfs.records import OPTIONS, Names, mountinfo, mountstats

from fss_exporter.nfs.accounts import Accounts
from fss_exporter.nfs.mountinfo import parse_mountinfo
from fss_exporter.nfs.mountstats import parse_mountstats
from fss_exporter.nfs.superblocks import Reading, SeriesKey, join
from fss_exporter.nfs.totals import MountTotals

KIB = 1024
KEY = SeriesKey("10.0.0.3", "10.0.0.3", "/a")
KEY_V4 = KEY._replace(service="none")


def reading(*records: str, info: str | None = None) -> Reading:
    return join(parse_mountstats("".join(records)), parse_mountinfo(mountinfo() if info is None else info))


def accounts(*readings: Reading) -> Accounts:
    """Fed with one reading a second; operations that begin to happen count as themselves at once."""
    result = Accounts(announce_s=0)
    for second, one in enumerate(readings):
        result.apply(one, float(second))
    return result


def total(result: Accounts, operation: str, key: SeriesKey = KEY) -> int:
    return result.mounts[key].operations[operation].operations


def test_the_past_of_a_record_already_old_when_first_seen_never_enters() -> None:
    result = accounts(reading(mountstats({"READ": 10**9}, read_bytes=10**13)))

    assert total(result, "READ") == 0
    assert result.mounts[KEY].read_bytes == 0


def test_a_mount_that_appears_old_later_brings_none_of_its_past_either() -> None:
    result = accounts(reading(info=""), reading(mountstats({"READ": 786}, age=12)))

    assert total(result, "READ") == 0


def test_a_record_born_since_the_last_tick_counts_from_zero() -> None:
    result = accounts(reading(info=""), reading(mountstats({"READ": 786}, age=0)))

    assert total(result, "READ") == 786


def test_differences_add_up() -> None:
    result = accounts(*(reading(mountstats({"GETATTR": count}, age=1000 + count)) for count in (5, 7, 7, 12)))

    assert total(result, "GETATTR") == 7


def test_a_remount_keeps_counting() -> None:
    result = accounts(
        reading(mountstats({"GETATTR": 5})), reading(mountstats({"GETATTR": 9}, options=f"{OPTIONS},noatime", age=1001))
    )

    assert total(result, "GETATTR") == 4


def test_after_umount_and_mount_within_a_tick_the_new_life_counts_from_zero_on_top() -> None:
    result = accounts(
        reading(mountstats({"GETATTR": 5})),
        reading(mountstats({"GETATTR": 9}, age=1001)),
        reading(mountstats({"GETATTR": 3}, age=0)),
    )

    assert total(result, "GETATTR") == 4 + 3


def test_a_new_life_with_more_operations_than_the_old_one_is_told_by_its_age() -> None:
    result = accounts(reading(mountstats({"GETATTR": 5})), reading(mountstats({"GETATTR": 8}, age=0)))

    assert total(result, "GETATTR") == 8


def test_a_counter_that_goes_back_without_a_younger_age_starts_anew_without_its_past() -> None:
    result = accounts(reading(mountstats({"GETATTR": 50})), reading(mountstats({"GETATTR": 8}, age=1001)))

    assert total(result, "GETATTR") == 0


def test_a_device_number_used_again_for_another_server_is_another_life() -> None:
    other: Names = {"device": "10.0.0.4:/b", "mount_point": "/mnt/b"}
    result = accounts(
        reading(mountstats({"GETATTR": 5})),
        reading(mountstats({"GETATTR": 7}, age=1001)),
        reading(mountstats({"GETATTR": 900}, age=1002, **other), info=mountinfo(address="10.0.0.4", **other)),
    )

    assert total(result, "GETATTR") == 2
    assert total(result, "GETATTR", SeriesKey("10.0.0.4", "10.0.0.4", "/b")) == 0


def test_a_vanished_mount_stops_adding_and_keeps_its_total() -> None:
    result = accounts(
        reading(mountstats({"GETATTR": 5})), reading(mountstats({"GETATTR": 9}, age=1001)), reading(info="")
    )

    assert total(result, "GETATTR") == 4


def test_a_lazily_unmounted_superblock_that_comes_back_brings_nothing_of_its_absence() -> None:
    result = accounts(
        reading(mountstats({"GETATTR": 5})), reading(info=""), reading(mountstats({"GETATTR": 500}, age=1002))
    )

    assert total(result, "GETATTR") == 0


def test_a_record_that_cannot_be_read_once_loses_nothing() -> None:
    broken = mountstats({"GETATTR": 7}, age=1001).replace("age:\t1001", "age:\t?")
    result = accounts(
        reading(mountstats({"GETATTR": 5})), reading(broken), reading(mountstats({"GETATTR": 9}, age=1002))
    )

    assert total(result, "GETATTR") == 4


def test_operations_cut_off_the_end_of_a_record_once_are_not_lost() -> None:
    cut = mountstats({"COMMIT": 7}, age=1001).partition("\t      COMMIT")[0]
    result = accounts(reading(mountstats({"COMMIT": 5})), reading(cut), reading(mountstats({"COMMIT": 9}, age=1002)))

    assert total(result, "COMMIT") == 4


def test_a_bind_mount_that_appears_midway_adds_nothing() -> None:
    second: Names = {"mount_point": "/mnt/b"}
    result = accounts(
        reading(mountstats({"READ": 2500})),
        reading(
            mountstats({"READ": 2500}, age=1001),
            mountstats({"READ": 2500}, age=1001, **second),
            info=mountinfo() + mountinfo(**second),
        ),
    )

    assert total(result, "READ") == 0


def test_two_superblocks_of_one_export_are_added_up() -> None:
    second: Names = {"mount_point": "/mnt/b"}
    info = mountinfo() + mountinfo(superblock="0:41", **second)
    result = accounts(
        reading(mountstats({"READ": 5}), mountstats({"READ": 50}, **second), info=info),
        reading(mountstats({"READ": 6}, age=1001), mountstats({"READ": 52}, age=1001, **second), info=info),
    )

    assert total(result, "READ") == 3


def test_the_series_keep_their_name_when_the_mount_that_named_them_goes() -> None:
    bind: Names = {"mount_point": "/mnt/sub", "device": "10.0.0.3:/a/sub"}
    result = accounts(
        reading(mountstats({"READ": 5}), mountstats({"READ": 5}, **bind), info=mountinfo() + mountinfo(**bind)),
        reading(mountstats({"READ": 9}, age=1001, **bind), info=mountinfo(**bind)),
    )

    assert list(result.mounts) == [KEY]
    assert total(result, "READ") == 4


def test_an_operation_that_never_happened_has_no_totals() -> None:
    result = accounts(reading(mountstats({"GETATTR": 5})), reading(mountstats({"GETATTR": 9}, age=1001)))

    assert sorted(result.mounts[KEY].operations) == ["GETATTR", "OTHER", "READ", "WRITE"]


def test_an_operation_that_begins_to_happen_counts_as_other_until_everybody_has_seen_its_zero() -> None:
    result = Accounts(announce_s=60)
    for second, renames in ((0, 0), (1, 5), (30, 6), (61, 8), (62, 9)):
        result.apply(reading(mountstats({"RENAME": renames}, age=1000 + second)), float(second))

    operations = result.mounts[KEY].operations
    assert (operations["OTHER"].operations, operations["RENAME"].operations) == (6, 3)
    assert (operations["OTHER"].cost, operations["RENAME"].cost) == ((48, 48, 48), (24, 24, 24))
    assert (operations["OTHER"].queue_ms, operations["RENAME"].queue_ms) == (6, 3)


def failed(look: str, operation: str, errors: int) -> str:
    """A record's text with so many errors of an operation."""
    before, name, after = look.partition(f"{operation}: ")
    numbers, _, rest = after.partition("\n")
    return f"{before}{name}{numbers.rpartition(' ')[0]} {errors}\n{rest}"


def test_an_operation_that_never_failed_has_no_errors_and_one_that_begins_to_counts_as_other_at_first() -> None:
    result = Accounts(announce_s=60)
    for second, errors in ((0, 0), (1, 0), (2, 4), (30, 5), (62, 7)):
        look = mountstats({"LOOKUP": 10 + second}, age=1000 + second)
        result.apply(reading(failed(look, "LOOKUP", errors)), float(second))
        if second == 1:
            assert result.mounts[KEY].operations["LOOKUP"].errors is None

    operations = result.mounts[KEY].operations
    assert (operations["OTHER"].errors, operations["LOOKUP"].errors) == (5, 2)


@pytest.mark.parametrize("operation", ["READ", "WRITE"])
def test_the_first_failure_of_reading_and_writing_is_told_at_once(operation: str) -> None:
    result = Accounts()
    for second, errors in ((0, 0), (1, 4)):
        result.apply(
            reading(failed(mountstats({operation: 10 + second}, age=1000 + second), operation, errors)), second
        )

    assert result.mounts[KEY].operations[operation].errors == 4


def test_what_happened_before_the_exporter_saw_the_mount_is_itself_from_the_first_growth_on() -> None:
    result = Accounts()
    result.apply(reading(mountstats({"RENAME": 4})), 0.0)
    result.apply(reading(mountstats({"RENAME": 6}, age=1001)), 1.0)

    assert total(result, "RENAME") == 2


def test_reads_and_writes_are_themselves_from_their_first_on() -> None:
    result = Accounts()
    result.apply(reading(mountstats({})), 0.0)
    result.apply(reading(mountstats({"READ": 6, "WRITE": 1}, age=1001)), 1.0)

    assert (total(result, "READ"), total(result, "WRITE")) == (6, 1)


def test_nfs3_and_nfs4_of_one_export_are_told_apart_and_only_nfs3_is_estimated() -> None:
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


def test_nfs4_is_counted_and_not_estimated() -> None:
    v4: Names = {"fstype": "nfs4"}
    info = mountinfo(**v4)
    result = accounts(
        reading(mountstats({"READ": 5}, **v4), info=info), reading(mountstats({"READ": 9}, age=1001, **v4), info=info)
    )

    assert total(result, "READ", KEY_V4) == 4
    assert all(totals.cost is None for totals in result.mounts[KEY_V4].operations.values())


def test_an_operation_nobody_has_priced_is_counted_and_not_estimated() -> None:
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


def test_retransmissions_of_an_old_kernel_that_counts_fewer_than_operations_do_not_go_below_zero() -> None:
    odd = mountstats({"GETATTR": 9}, age=1001).replace("GETATTR: 9 9", "GETATTR: 9 2")
    result = accounts(reading(mountstats({"GETATTR": 1})), reading(odd))

    assert result.mounts[KEY].operations["GETATTR"].retransmissions == 0


def test_time_that_runs_backwards_adds_nothing() -> None:
    odd = (
        mountstats({"GETATTR": 9}, age=1001)
        .replace("112 9 18 36", f"112 {2**64 - 1} 18 36")
        .replace(" 1008 9 18", f" 1008 {2**64 - 9} 18")
    )
    result = accounts(reading(mountstats({"GETATTR": 1})), reading(odd))

    assert result.mounts[KEY].operations["GETATTR"].queue_ms == 0
    assert result.mounts[KEY].operations["GETATTR"].rtt_ms == 16


@pytest.mark.parametrize(("local_lock", "expected"), [("none", 28), ("flock", 28), ("all", None), ("posix", None)])
def test_locks_cost_four_where_they_go_to_the_server(local_lock: str, expected: int | None) -> None:
    options = OPTIONS.replace("local_lock=none", f"local_lock={local_lock}")
    result = accounts(
        reading(mountstats({}, vfs_locks=5, options=options)),
        reading(mountstats({}, vfs_locks=12, options=options, age=1001)),
    )

    assert result.mounts[KEY].lock_io_operations == expected


def test_connections_of_a_server_are_counted_once_however_many_mounts_it_has() -> None:
    second: Names = {"mount_point": "/mnt/b", "device": "10.0.0.3:/b"}
    info = mountinfo() + mountinfo(superblock="0:41", **second)
    result = accounts(
        reading(mountstats({}, sends=100), mountstats({}, sends=100, **second), info=info),
        reading(mountstats({}, sends=130, age=1001), mountstats({}, sends=130, age=1001, **second), info=info),
    )

    assert (result.connections.sends, result.connections.receives) == ({"10.0.0.3": 30}, {"10.0.0.3": 30})


def test_connections_of_an_unknown_kind_have_no_counts_which_is_not_zero() -> None:
    result = accounts(reading(mountstats({}, xprt=("quic 1 2 3",))))

    assert (result.connections.sends, result.connections.receives) == ({}, {})


def test_the_peak_is_the_highest_tick_of_the_last_minute_over_all_mounts_of_the_address() -> None:
    result = Accounts()
    counts = {0: 0, 1: 100, 2: 700, 3: 710, 61: 900, 62: 950, 63: 960}
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


lives = st.lists(
    st.tuples(st.sampled_from(["tick", "gone", "reborn", "broken"]), st.integers(0, 50), st.integers(0, 10**6)),
    max_size=15,
)


def every_number(mounts: dict[SeriesKey, MountTotals]) -> dict[str, float]:
    numbers: dict[str, float] = {}
    for mount in mounts.values():
        numbers |= {"read": mount.read_bytes, "sent": mount.sent_bytes}
        for name, totals in mount.operations.items():
            numbers |= {f"{name} operations": totals.operations, f"{name} queue": totals.queue_ms}
            numbers |= {f"{name} cost {place}": cost for place, cost in enumerate(totals.cost or ())}
    return numbers


@settings(max_examples=50)
@given(lives)
def test_no_counter_ever_goes_down(steps: list[tuple[str, int, int]]) -> None:
    result, age, reads, payload = Accounts(), 1000, 10, 40960
    result.apply(reading(mountstats({"READ": reads}, read_bytes=payload)), 0.0)
    before = every_number(result.mounts)
    for second, (what, more, more_bytes) in enumerate(steps, start=1):
        age, reads, payload = (
            (0, more, more_bytes) if what == "reborn" else (age + 1, reads + more, payload + more_bytes)
        )
        text = mountstats({"READ": reads}, read_bytes=payload, age=age)
        one = (
            reading(info="") if what == "gone" else reading(text.replace("age:", "age!") if what == "broken" else text)
        )
        result.apply(one, float(second))
        after = every_number(result.mounts)
        assert all(value <= after[name] for name, value in before.items())
        before = after


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=8))
def test_splitting_an_interval_costs_the_same_for_exact_operations(steps: list[tuple[int, int]]) -> None:
    lookups = [sum(step[0] for step in steps[:end]) for end in range(len(steps) + 1)]
    renames = [sum(step[1] for step in steps[:end]) for end in range(len(steps) + 1)]
    looks = [
        reading(mountstats({"LOOKUP": one, "RENAME": other}, age=1000 + at))
        for at, (one, other) in enumerate(zip(lookups, renames, strict=True))
    ]
    many, one = accounts(*looks), accounts(looks[0], looks[-1])
    for name in ("LOOKUP", "RENAME"):
        assert many.mounts[KEY].operations[name].cost == one.mounts[KEY].operations[name].cost
