"""Exact mode over everything a host's mounts go through, on a kernel in memory."""

import pytest
from hypothesis import given, settings, strategies as st
from tests.fss_kernel_counting.host import COST, KIB, SIZES, Host, Mount, assert_true_to_the_unit, exact, ready, work
from tests.fss_kernel_counting.kernel import Kernel

from fss_exporter.errors import SourceError
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.nfs.superblocks import Reading


def test_the_cost_is_that_of_each_size() -> None:
    host = ready(Host())
    work(host)

    assert exact(host.tick()) == {"0:40"}
    assert_true_to_the_unit(host)


def test_what_happened_before_the_triggers_is_not_counted() -> None:
    host = Host()
    work(host)
    host.truth.clear()
    ready(host)

    host.tick()
    assert_true_to_the_unit(host)


def test_an_idle_mount_is_counted_and_costs_nothing() -> None:
    host = ready(Host())

    assert exact(host.tick()) == {"0:40"}
    assert host.cost(READ) == (0, 0, 0)


class Watching(Host):
    """Keep the reading that other loops see while mountstats is read."""

    def _read(self) -> Reading:
        self.seen = self.reader.reading
        return super()._read()


def test_other_loops_see_the_last_reading_while_the_next_is_taken() -> None:
    """On a client with thousands of mounts a reading takes long, and the look at the processes must not fall out meanwhile."""
    host = Watching(Mount(40))
    host.tick()
    host.tick()
    last = host.reader.reading
    host.tick()

    assert host.seen is last is not None


def test_other_loops_see_no_reading_while_mountstats_is_unreadable() -> None:
    host = ready(Host())

    def fail() -> Reading:
        raise SourceError("gone")

    host.reader._mountstats = fail
    with pytest.raises(SourceError):
        host.tick()
    assert host.reader.reading is None


operations = st.sampled_from((READ, WRITE))
sizes = st.one_of(st.sampled_from(SIZES), st.integers(0, 1024 * KIB))
calls = st.tuples(st.integers(40, 42), operations, sizes, st.booleans())


@given(st.lists(st.lists(calls, max_size=12), max_size=6), st.booleans())
@settings(deadline=None)
def test_whatever_is_done_and_however_looks_fall_the_cost_is_true_to_the_unit(
    ticks: list[list[tuple[int, str, int, bool]]], buckets: bool
) -> None:
    host = ready(Host(Mount(40), Mount(41), Mount(42, "10.0.0.4"), kernel=Kernel(buckets=buckets)))
    for tick in ticks:
        for number, operation, size, is_late in tick:
            (host.late if is_late else host.call)(number, operation, size)
        host.tick()
    host.tick()

    assert_true_to_the_unit(host)
    assert host.failed == {}


def test_calls_between_two_looks_are_no_failed_check_and_not_lost() -> None:
    host = ready(Host())
    for _ in range(5):
        host.late(40, READ, 64 * KIB)
        work(host)
        host.tick()
    host.tick()
    host.tick()

    assert_true_to_the_unit(host)
    assert host.failed == {}


def test_calls_in_the_very_first_look_are_no_failed_check_either() -> None:
    host = Host()
    host.late(40, READ, 64 * KIB)
    host.tick()
    host.tick()
    host.tick()

    assert host.failed == {}


def test_two_mounts_of_one_address_are_kept_apart() -> None:
    host = ready(Host(Mount(40), Mount(41)))
    host.call(40, READ, 1024 * KIB)
    host.call(41, READ, 4 * KIB)
    host.tick()

    costs = {key.export: mount.operations[READ].cost for key, mount in host.accounts.mounts.items()}
    assert {export: cost and cost.point for export, cost in costs.items()} == {"/export-40": 33, "/export-41": 2}


def test_a_direct_read_of_a_short_file_costs_what_was_asked_for() -> None:
    host = ready(Host())
    host.call(40, READ, 1024 * KIB, carried=100)
    host.tick()

    assert host.cost(READ) == (33, 33, 33)


def test_a_retransmission_costs_as_much_as_the_mean_of_its_tick() -> None:
    host = ready(Host())
    host.call(40, READ, 4 * KIB)
    host.call(40, READ, 1024 * KIB)
    host.mounts[40].resent = 2
    host.tick()

    assert host.cost(READ) == (70, 70, 70)


# -- superblocks that come and go


def test_traffic_of_superblocks_no_visible_mount_names_is_counted_apart() -> None:
    host = ready(Host(Mount(40), Mount(77, visible=False)))
    work(host, 77)
    host.tick()

    assert host.cost(READ) == (0, 0, 0)
    assert host.totals.invisible[READ].operations == len(SIZES)
    assert host.totals.invisible[WRITE].blocks == sum(COST[READ](size) - 1 for size in SIZES)


def test_traffic_of_nfs_version_4_gets_no_cost_and_is_not_invisible() -> None:
    host = ready(Host(Mount(40), Mount(44, fstype="nfs4")))
    work(host, 44)
    host.tick()

    assert host.cost(READ) == (0, 0, 0)
    assert host.totals.invisible[READ].operations == 0


def test_what_a_mount_does_before_it_is_unmounted_within_the_tick_is_counted() -> None:
    host = ready(Host(Mount(40), Mount(41)))
    work(host, 41)
    host.mounts[41].visible = False
    host.tick()

    assert_true_to_the_unit(host)


def test_a_mount_that_comes_within_the_tick_is_counted_from_its_birth() -> None:
    host = ready(Host(Mount(40)))
    host.mounts[41] = Mount(41, age=-1)
    work(host, 41)

    assert exact(host.tick()) == {"0:40", "0:41"}
    assert_true_to_the_unit(host)


def test_a_mount_whose_record_cannot_be_read_once_loses_nothing() -> None:
    host = ready(Host(Mount(40), Mount(41)))
    work(host, 41)
    host.mounts[41].readable = False
    host.tick()
    host.mounts[41].readable = True
    work(host, 41)
    host.tick()
    host.tick()

    assert_true_to_the_unit(host)
    assert host.failed == {}


def test_a_number_used_again_for_another_server_is_estimated_for_that_tick() -> None:
    host = ready(Host(Mount(40)))
    work(host)
    host.tick()
    work(host)
    host.mounts[40] = Mount(40, "10.0.0.9", age=-1)
    host.call(40, READ, 4 * KIB)

    assert exact(host.tick()) == frozenset()
    assert host.failed == {"device_reused": 1}
    (fresh,) = (mount for key, mount in host.accounts.mounts.items() if key.address == "10.0.0.9")
    assert fresh.operations[READ].cost == (2, 2, 2)


def test_the_same_export_mounted_again_within_the_tick_loses_nothing() -> None:
    host = ready(Host(Mount(40)))
    work(host)
    host.mounts[40] = Mount(40, age=-1)
    work(host)

    assert exact(host.tick()) == {"0:40"}
    assert_true_to_the_unit(host)
