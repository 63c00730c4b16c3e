"""Tables that cannot be trusted, or not be read: what that costs, and what it does not."""

import logging
from collections.abc import Callable

import pytest
from tests.fss_kernel_counting.host import EVENTS, KIB, Host, Mount, assert_true_to_the_unit, exact, ready, work
from tests.fss_kernel_counting.kernel import ROOT

from fss_exporter.model.operations import READ, WRITE
from fss_kernel_counting.tracefs import OF_SIZES


def lose_events(host: Host) -> None:
    """Calls the tables do not see, as on a kernel whose event does not fire for them."""
    mount = host.mounts[40]
    for _ in range(10):
        mount.operations[READ] += 1
        mount.payload[READ] += 4 * KIB
        host.truth[READ] += 2


def test_tables_that_lag_behind_mountstats_for_good_cost_their_tick_its_exactness_and_no_other() -> None:
    host = ready(Host())
    work(host)
    host.tick()
    host.tick()
    for _ in range(3):
        lose_events(host)
        host.tick()
    host.tick()
    assert sum(host.failed.values()) >= 1

    before = host.cost(WRITE)
    host.truth.clear()
    work(host)
    assert exact(host.tick()) == {"0:40"}
    assert host.cost(WRITE)[1] - before[1] == host.truth[WRITE]


def test_payload_that_differs_for_good_is_noticed() -> None:
    host = ready(Host())
    host.call(40, READ, 64 * KIB)
    host.tick()
    host.tick()
    host.mounts[40].payload[READ] += 64 * KIB
    host.tick()
    assert host.failed == {}  # it may be of a call that is under way

    host.tick()
    assert host.failed == {"payload": 1}


def test_a_first_look_that_fails_is_counted_as_a_failed_check() -> None:
    host = Host()
    host.kernel.printed = lambda text: text[:-40]
    host.tick()
    host.tick()
    assert (host.failed, host.totals.active) == ({"unreadable": 2}, False)

    host.kernel.printed = str
    host.tick()
    assert (host.failed, host.totals.active) == ({"unreadable": 2}, True)


def clear(host: Host) -> None:
    host.kernel.write(ROOT / "instances" / OF_SIZES / "events" / EVENTS[READ] / "trigger", "")


def make_anew(host: Host) -> None:
    for trigger in host.kernel.triggers(EVENTS[READ]):
        trigger.rows.clear()


def pause(host: Host) -> None:
    host.kernel.triggers(EVENTS[WRITE])[0].paused = True


def take_away(host: Host) -> None:
    host.kernel.instances[OF_SIZES].clear()


def fill(host: Host) -> None:
    for trigger in host.kernel.triggers(EVENTS[READ]):
        trigger.dropped += 1


@pytest.mark.parametrize(
    ("fault", "check"),
    [(clear, "triggers"), (make_anew, "triggers"), (pause, "triggers"), (take_away, "triggers"), (fill, "dropped")],
)
def test_a_fault_costs_its_tick_the_exactness_and_nothing_else(
    fault: Callable[[Host], None], check: str, caplog: pytest.LogCaptureFixture
) -> None:
    host = ready(Host())
    host.call(40, READ, 64 * KIB)
    host.tick()
    host.call(40, READ, 64 * KIB)
    fault(host)

    assert exact(host.tick()) == frozenset()
    assert host.failed == {check: 1}
    assert len([line for line in caplog.records if line.levelno >= logging.WARNING]) == 1
    assert host.cost(READ)[1] == 6  # all of one size, so the estimate is right too

    work(host)
    assert exact(host.tick()) == {"0:40"}
    assert host.cost(READ)[1] == host.truth[READ]


def test_unreadable_tables_cost_their_ticks_the_exactness_and_one_line_and_the_triggers_stay(
    caplog: pytest.LogCaptureFixture,
) -> None:
    host = ready(Host())
    triggers = host.kernel.triggers(EVENTS[READ])
    host.kernel.printed = lambda text: text[:-5]
    for _ in range(100):
        host.call(40, READ, 64 * KIB)
        assert exact(host.tick()) == frozenset()
    assert host.failed == {"unreadable": 100}
    assert len([line for line in caplog.records if line.levelno >= logging.WARNING]) == 1

    host.kernel.printed = str
    host.tick()
    work(host)
    assert exact(host.tick()) == {"0:40"}
    assert host.cost(READ)[1] == host.truth[READ]
    assert host.kernel.triggers(EVENTS[READ]) is triggers


def test_a_full_table_is_replaced_by_a_larger_one() -> None:
    host = ready(Host())
    before = host.kernel.triggers(EVENTS[READ])[0].size
    fill(host)
    host.tick()

    assert host.kernel.triggers(EVENTS[READ])[0].size == 2 * before


def test_the_largest_tables_are_set_again_a_minute_after_they_were_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal tables would be full as soon, and to set them at each tick costs more than the estimate."""
    monkeypatch.setattr("fss_kernel_counting.sizes.size_reader.MOST_ROWS", 512)
    host = ready(Host())
    fill(host)
    host.tick()
    for _ in range(59):
        assert not host.tick().active
    assert host.kernel.instances == {}

    ready(host)
    work(host)
    assert exact(host.tick()) == {"0:40"}
    assert host.failed == {"dropped": 1}


def test_tables_are_large_enough_for_the_mounts_there_are() -> None:
    host = ready(Host(*(Mount(number) for number in range(40, 240))))

    assert host.kernel.triggers(EVENTS[READ])[0].size >= 200 * 33


def test_a_module_that_is_reloaded_is_counted_again() -> None:
    host = ready(Host())
    events = dict(host.kernel.events)
    host.kernel.unload_nfs()
    assert exact(host.tick()) == frozenset()
    host.kernel.events = events
    host.now += 60
    host.tick()
    work(host)
    host.truth = host.truth.copy()

    assert exact(host.tick()) == {"0:40"}
    assert_true_to_the_unit(host)
