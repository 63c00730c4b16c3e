"""Counters that never go down, over everything a client's mounts go through."""

import pytest
from hypothesis import given, settings, strategies as st
from tests.fss_exporter.nfs.fed_accounts import KEY, accounts, reading, total
from tests.fss_exporter.nfs.records import OPTIONS, Names, mountinfo, mountstats

from fss_exporter.model.service_table import SeriesKey
from fss_exporter.nfs.accounts import Accounts
from fss_exporter.nfs.totals import MountTotals


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


def test_a_new_life_with_more_operations_is_recognised_by_the_age() -> None:
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


lives = st.lists(
    st.tuples(st.sampled_from(["tick", "gone", "reborn", "broken"]), st.integers(0, 50), st.integers(0, 10**6)),
    max_size=15,
)


def every_number(mounts: dict[SeriesKey, MountTotals]) -> dict[str, float]:
    numbers: dict[str, float] = {}
    for mount in mounts.values():
        numbers |= {"read": mount.read_bytes}
        for name, totals in mount.operations.items():
            numbers |= {f"{name} operations": totals.operations, f"{name} queue": totals.queue_ms}
            numbers |= {f"{name} cost {place}": cost for place, cost in enumerate(totals.cost or ())}
    return numbers


@settings(max_examples=settings().max_examples // 2)
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
        seen = (
            reading(info="") if what == "gone" else reading(text.replace("age:", "age!") if what == "broken" else text)
        )
        result.apply(seen, float(second))
        after = every_number(result.mounts)
        assert all(value <= after[name] for name, value in before.items())
        before = after


OTHER_EXPORT: Names = {"device": "10.0.0.3:/b", "mount_point": "/mnt/b"}
KEY_B = SeriesKey("10.0.0.3", "10.0.0.3", "/b")


def test_a_device_number_used_again_within_a_second_is_another_life() -> None:
    """Ages are whole seconds: the new export looks as old as the one before."""
    result = accounts(
        reading(info=""),
        reading(mountstats({"READ": 5}, age=0)),
        reading(mountstats({"READ": 900}, age=0, **OTHER_EXPORT), info=mountinfo(**OTHER_EXPORT)),
        reading(mountstats({"READ": 901}, age=1, **OTHER_EXPORT), info=mountinfo(**OTHER_EXPORT)),
    )

    assert (total(result, "READ"), total(result, "READ", KEY_B)) == (5, 901)
    assert [superblock.key for superblock in result.superblocks] == [KEY_B]


def test_an_export_that_is_mounted_again_with_equal_work_is_another_life() -> None:
    """Mounts of one second each: age and counts are those of the mount before, and the times on the wire are shorter."""
    first = mountstats({"READ": 5, "GETATTR": 4}, age=0)
    again = first.replace(" 5 10 20 0", " 5 9 20 0")
    result = Accounts()
    result.apply(reading(info=""), 0.0)
    result.apply(reading(first), 1.0, until=1.1)
    result.apply(reading(again), 2.0, until=2.1)

    assert (total(result, "READ"), total(result, "GETATTR")) == (10, 8)


def test_an_export_that_is_younger_than_the_one_before_would_be_is_another_life() -> None:
    result = Accounts()
    result.apply(reading(info=""), 0.0)
    result.apply(reading(mountstats({"READ": 5}, age=0)), 1.0, until=1.01)
    result.apply(reading(mountstats({"READ": 5}, age=0)), 2.1, until=2.11)

    assert total(result, "READ") == 10


@pytest.mark.parametrize(("lives", "reads"), [((7, 9), 10), ((7, 7), 5)], ids=["two lives", "one life"])
def test_the_kernel_tells_apart_mounts_that_age_and_counts_do_not(lives: tuple[int, int], reads: int) -> None:
    result = Accounts()
    result.apply(reading(info=""), 0.0)
    for second, life in enumerate(lives, start=1):
        seen = reading(mountstats({"READ": 5}, age=0))
        superblocks = tuple(superblock._replace(life=life) for superblock in seen.superblocks)
        result.apply(seen._replace(superblocks=superblocks), float(second), until=second + 0.01)

    assert total(result, "READ") == reads


@pytest.mark.parametrize("until", [1.0, 1.05])
def test_a_young_mount_whose_age_is_cut_off_to_seconds_counts_once(until: float) -> None:
    result = Accounts()
    result.apply(reading(info=""), 0.0)
    result.apply(reading(mountstats({"READ": 5}, age=0)), 1.0, until=until)
    result.apply(reading(mountstats({"READ": 7}, age=0)), 2.0)

    assert total(result, "READ") == 7


def test_a_device_number_used_again_while_the_exporter_was_stopped_is_another_life() -> None:
    """The age is larger than at the last reading, but smaller than the time in between makes it."""
    result = Accounts()
    result.apply(reading(mountstats({"READ": 5}, age=100)), 0.0)
    result.apply(reading(mountstats({"READ": 900}, age=150)), 600.0)
    assert total(result, "READ") == 900

    result.apply(reading(mountstats({"READ": 907}, age=151)), 601.0)
    assert total(result, "READ") == 907


def test_an_exporter_that_was_stopped_keeps_counting_a_mount_that_lived_on() -> None:
    result = Accounts()
    result.apply(reading(mountstats({"READ": 5}, age=100)), 0.0)
    result.apply(reading(mountstats({"READ": 900}, age=699)), 600.0)

    assert total(result, "READ") == 895
