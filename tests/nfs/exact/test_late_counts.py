"""A look that cannot be read costs its tick the exactness, and that only until the next one tells of both."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.nfs.exact.host import EVENTS, KIB, Host, Mount, assert_true_to_the_unit, exact, ready, work

from fss_exporter.model.operations import READ, WRITE


@contextmanager
def unreadable(host: Host) -> Iterator[None]:
    host.kernel.printed = lambda text: text[: len(text) - 5]
    yield
    host.kernel.printed = str


def bad_tick(host: Host) -> None:
    with unreadable(host):
        assert exact(host.tick()) == frozenset()


def test_the_next_tick_is_counted_again_and_tells_the_truth_of_both() -> None:
    host = ready(Host())
    triggers = host.kernel.triggers(EVENTS[READ])
    work(host)
    bad_tick(host)
    assert host.failed == {"unreadable": 1}
    assert host.cost(READ)[0] <= host.truth[READ] <= host.cost(READ)[2]
    assert host.cost(READ)[1] != host.truth[READ]  # else what follows proves nothing

    work(host)
    work(host)
    assert exact(host.tick()) == {"0:40"}
    assert_true_to_the_unit(host)
    assert host.kernel.triggers(EVENTS[READ]) is triggers


def test_however_many_looks_fail_the_next_good_one_has_them_all_and_the_log_one_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    host = ready(Host(Mount(40), Mount(41)))
    for _ in range(5):
        work(host, 41)
        host.late(40, WRITE, 33 * KIB)
        bad_tick(host)
    assert len([line for line in caplog.records if line.levelno >= logging.WARNING]) == 1

    for _ in range(6):
        work(host, 41)
        work(host, 40)
    host.tick()
    host.tick()
    assert_true_to_the_unit(host)
    assert host.failed == {"unreadable": 5}


def test_what_was_estimated_too_high_is_not_taken_back_and_not_added_again() -> None:
    host = ready(Host())
    for size in (*[32 * KIB] * 97, *[4 * KIB] * 3):
        host.call(40, READ, size)
    bad_tick(host)
    estimated = host.cost(READ)
    assert estimated[1] > host.truth[READ]

    host.tick()
    assert host.cost(READ) == (host.truth[READ], *estimated[1:])

    before = host.truth[READ]
    work(host)
    host.tick()
    assert host.cost(READ)[1] == estimated[1] + host.truth[READ] - before


def test_calls_sizes_and_invisible_mounts_lose_nothing_at_an_unreadable_record() -> None:
    host = ready(Host(Mount(40), Mount(77, visible=False)))
    host.kernel.fire("sunrpc/rpc_stats_latency", client_id=5, progname="lockd", procname="LOCK")
    host.call(40, READ, 4 * KIB)
    host.call(77, READ, 4 * KIB)
    bad_tick(host)
    host.call(40, READ, 4 * KIB)
    host.tick()

    counted = host.totals
    assert counted.locks["", "LOCK"] == 1
    assert counted.invisible[READ].operations == 1
    assert counted.sizes["10.0.0.3", READ].operations == 2


def test_retransmissions_meanwhile_are_charged_too() -> None:
    host = ready(Host())
    host.call(40, READ, 4 * KIB)
    host.call(40, READ, 1024 * KIB)
    host.mounts[40].resent = 2
    bad_tick(host)
    host.tick()

    assert host.cost(READ)[0] == pytest.approx(70)


def test_a_mount_unmounted_meanwhile_loses_nothing() -> None:
    host = ready(Host(Mount(40), Mount(41)))
    work(host, 41)
    host.mounts[41].visible = False
    bad_tick(host)
    host.tick()

    assert_true_to_the_unit(host)


def test_a_mount_that_came_meanwhile_is_counted_from_its_birth() -> None:
    host = ready(Host(Mount(40)))
    host.mounts[41] = Mount(41, age=-1)
    work(host, 41)
    bad_tick(host)
    work(host, 41)
    work(host, 41)
    host.tick()

    assert_true_to_the_unit(host)


def test_a_record_that_cannot_be_read_meanwhile_loses_nothing() -> None:
    host = ready(Host(Mount(40), Mount(41)))
    work(host, 41)
    host.mounts[41].readable = False
    bad_tick(host)
    host.tick()
    host.mounts[41].readable = True
    work(host, 41)
    host.tick()

    assert_true_to_the_unit(host)


def test_tables_made_anew_meanwhile_leave_the_estimate_as_it_is() -> None:
    host = ready(Host())
    work(host)
    host.tick()
    for size in (4 * KIB, 40 * KIB, 100 * KIB):
        host.call(40, READ, size)
    bad_tick(host)
    estimated = host.cost(READ)
    for trigger in host.kernel.triggers(EVENTS[READ]):
        trigger.rows.clear()
    assert exact(host.tick()) == frozenset()

    before = host.truth[READ]
    work(host)
    assert exact(host.tick()) == {"0:40"}
    assert host.cost(READ)[1] == pytest.approx(estimated[1] + host.truth[READ] - before)


def test_a_mount_whose_tables_disagree_meanwhile_keeps_its_estimate() -> None:
    host = ready(Host(Mount(40), Mount(41)))
    work(host)
    host.tick()
    host.tick()
    for size in (4 * KIB, 40 * KIB):
        host.call(40, READ, size)
    bad_tick(host)
    for _ in range(10):
        host.mounts[40].operations[READ] += 1  # calls the tables do not see
    host.tick()
    host.tick()
    assert host.failed["operations"] == 1

    before, truth = host.cost(READ)[1], host.truth[READ]
    work(host)
    host.tick()
    assert host.cost(READ)[1] - before == pytest.approx(host.truth[READ] - truth)


def test_tables_that_never_can_be_read_are_waited_for_without_piling_anything_up(
    caplog: pytest.LogCaptureFixture,
) -> None:
    host = ready(Host(Mount(40), Mount(41)))
    host.mounts[41].visible = False
    with unreadable(host):
        looks = [host.tick() for _ in range(100)]
    waited = [counts.deferred for counts in looks]
    assert waited == [True] * 60 + [False] * 40
    assert host.accounts._baselines.keys() == {"0:40"}
    assert len([line for line in caplog.records if line.levelno >= logging.WARNING]) == 1

    host.tick()
    work(host)
    before = host.cost(READ)[1]
    assert exact(host.tick()) == {"0:40"}
    assert host.cost(READ)[1] - before == pytest.approx(host.truth[READ])
