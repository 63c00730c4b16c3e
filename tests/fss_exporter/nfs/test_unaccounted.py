"""Calls that no mount accounts for: found beside calls in flight, hanging calls and counters that lose a few or wrap."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.fss_exporter.nfs.fed_accounts import accounts, reading
from tests.fss_exporter.nfs.records import mountinfo, mountstats, write_procfs

from fss_exporter.nfs.procfs import Procfs
from fss_exporter.nfs.unaccounted import WINDOW_SECONDS, UnaccountedCalls

WRAP = 2**32
LATEST_SECONDS = round(2 * WINDOW_SECONDS)  # a call just after the begin of a window waits for the end of the next

Host = Callable[
    [int], tuple[int, int, int]
]  # calls started, calls ended on a mount and their milliseconds, in a second


def after(
    seconds: int, host: Host, *, first: int = 0, waits: Callable[[int], bool] = lambda _: False
) -> UnaccountedCalls:
    """The calls of a host, a tick a second. `first` is the kernel's counter at the first tick."""
    calls, started = UnaccountedCalls(), first
    for second in range(seconds):
        begun, ended, execute_ms = host(second)
        started = (started + begun) % WRAP
        calls.ended(ended)
        calls.took(execute_ms)
        calls.end_tick((started,), float(second), search_slowed_s=0.0, has_waits=waits(second))
    return calls


@pytest.mark.parametrize("first", [0, WRAP - 1000], ids=["", "the counter wraps"])
def test_calls_of_short_mounts_are_counted_beside_those_of_other_mounts(first: int) -> None:
    """Each ten seconds a job mounts for less than a tick and sends 54 calls. Another mount has 100 calls a second."""
    calls = after(600, lambda second: (100 + 54 * (second % 10 == 0 and second > 0), 100, 200), first=first)

    assert calls.total is not None
    assert 54 * (59 - LATEST_SECONDS // 10) <= calls.total <= 54 * 59
    assert calls.coverage() is not None


def test_calls_in_flight_are_not_counted() -> None:
    """From the second minute on 128 requests at a time are in flight, and each takes 100 ms."""

    def host(second: int) -> tuple[int, int, int]:
        started = 0 if second < 60 else 1280
        ended = 0 if second < 60 else 1280 - 128 * (second == 60)
        return started, ended, ended * 100

    assert after(1200, host).total == 0


def test_a_new_mount_of_a_container_that_a_search_finds_a_minute_later_is_not_counted() -> None:
    assert after(600, lambda second: (20, 20 * 60 * (second % 60 == 59), 0)).total == 0


def test_calls_that_hang_for_an_hour_are_not_counted() -> None:
    """At first all is well. Then 500 calls wait for an hour, and end together."""

    def host(second: int) -> tuple[int, int, int]:
        return 500 * (second == 100), 500 * (second == 3700), 3_600_000 * (second == 3700)

    assert after(4000, host, waits=lambda second: 100 <= second < 3700).total == 0


def test_calls_are_counted_although_the_kernel_has_lost_some_before() -> None:
    """The kernel lost one of 2,000 calls for an hour. Then a short mount sends 20 calls a second."""
    calls = after(4800, lambda second: (1999 + 21 * (second >= 3600), 2000, 2000))

    assert calls.total is not None
    assert 20 * (1200 - LATEST_SECONDS) <= calls.total <= 21 * 1200


def test_a_client_that_is_loaded_anew_starts_a_new_comparison() -> None:
    calls = UnaccountedCalls()
    totals = []
    for second, started in enumerate([(5000,), (5000,), (7,), (7,)]):
        calls.end_tick(started, float(second), search_slowed_s=0.0, has_waits=False)
        totals.append(calls.total)

    assert totals == [None, 0, None, 0]


@pytest.mark.parametrize(("unaccounted", "is_told"), [(1, False), (20, True)], ids=["1 % of the calls", "a sixth"])
def test_a_lasting_share_of_the_calls_is_told(unaccounted: int, is_told: bool) -> None:
    coverage = after(1000, lambda _: (100 + unaccounted, 100, 100)).coverage()

    assert coverage is not None
    assert (coverage[1] < coverage[0]) is is_told


def test_a_host_with_hardly_a_call_is_not_told() -> None:
    coverage = after(1000, lambda second: (second % 10 == 0, 0, 0)).coverage()

    assert coverage is not None
    assert coverage[0] == coverage[1] > 0


def test_the_host_has_the_calls_of_nfsv3_without_null_and_a_process_has_none(tmp_path: Path) -> None:
    for pid in ("1", "7"):
        write_procfs(tmp_path, mountstats({"READ": 1}), mountinfo(), pid=pid)
        (tmp_path / pid / "net/rpc").mkdir(parents=True)
        (tmp_path / pid / "net/rpc/nfs").write_text("net 0 0 0 0\nrpc 9 0 9\nproc3 4 2 10 0 5\nproc4 3 1 2 3\n")

    assert Procfs(tmp_path).read().calls_of_its_mounts == (10, 0, 5)
    assert Procfs(tmp_path, "7").read().calls_of_its_mounts is None


@pytest.mark.parametrize(
    "left_out", [{"filtered": 1}, {"left_out": 1}, {"is_of_host": False}, {"started_calls": None}], ids=str
)
def test_nothing_is_said_where_the_agent_does_not_look_for_every_mount(left_out: dict[str, object]) -> None:
    complete = reading(mountstats({}))._replace(is_of_host=True, started_calls=(1,))

    assert accounts(complete, complete).unaccounted.total == 0
    partly = complete._replace(**left_out)  # type: ignore[arg-type]  # by name
    assert accounts(partly, partly).unaccounted.total is None


def test_calls_of_a_mount_are_accounted_for_without_null_and_those_of_nfsv4_are_not() -> None:
    """The mount has 60 calls a second. Twice as many are of no mount."""
    result = accounts()
    for second in range(LATEST_SECONDS + 2):
        records = (
            mountstats({"READ": 60 * second, "NULL": second}),
            mountstats({"READ": 9 * second}, device="10.0.0.4:/b", fstype="nfs4", options="rw,vers=4.1"),
        )
        info = mountinfo() + mountinfo(superblock="0:41", device="10.0.0.4:/b", fstype="nfs4", mount_id=47)
        seen = reading(*records, info=info)._replace(is_of_host=True, started_calls=(180 * second,))
        result.apply(seen, float(second))

    assert 120 * (WINDOW_SECONDS - 2) <= (result.unaccounted.total or 0) <= 120 * (WINDOW_SECONDS + 1)


def test_calls_of_a_mount_whose_counters_cannot_be_read_are_told_as_missing() -> None:
    result = accounts()
    for second in range(2 * LATEST_SECONDS):
        records = (mountstats({"READ": 60 * second}),) if second < 2 else ()
        seen = reading(*records)._replace(is_of_host=True, started_calls=(60 * second,))
        result.apply(seen, float(second))

    assert result.unaccounted.total
    called, accounted = result.unaccounted.coverage() or (0, 0)
    assert accounted < called
