"""Each minute counts once: whatever is missing in a listing, comes late or in pairs, and however often the exporter restarts."""

import json
import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from tests.clock import NOON
from tests.fss_exporter.oci.fake_cloud import mount_target
from tests.fss_exporter.oci.ledger_runs import NAMES, SITUATIONS, LedgerRun, Situation
from tests.fss_exporter.oci.polled_region import PolledRegion
from tests.fss_exporter.oci.test_metric_poller import poller_of
from tests.fss_exporter.oci.world import START, World
from tests.processes import PROMPT_S
from tests.region import Region

from fss_exporter.background import OneWithin
from fss_exporter.errors import SourceError, UsageError
from fss_exporter.oci import settings_checks
from fss_exporter.oci.ledger import GIVE_UP_MINUTES, Ledger
from fss_exporter.oci.ledger.ledger_file import LedgerFile, dump, load


def test_a_mount_target_that_is_missing_in_one_listing_counts_each_minute_once() -> None:
    run = LedgerRun()
    for at in range(50):
        run.cloud.unlisted = ("a",) if at == 20 else ()
        run.poll.minute()
    assert run.poll.counted() == {"a": run.truth(), "b": run.truth()}


def test_while_it_is_missing_it_is_not_exported() -> None:
    run = LedgerRun()
    run.poll.minute(5)
    run.cloud.unlisted = ("a",)
    run.poll.minute()
    assert run.poll.counted().keys() == {"b"}


def test_a_minute_that_comes_nine_minutes_late_counts() -> None:
    run = LedgerRun(held_back={20: 9})
    for _ in range(30):
        run.poll.minute()
    assert run.poll.counted() == {"a": run.truth(), "b": run.truth()}


@pytest.mark.parametrize("interval", [1, 2, 5])
def test_a_minute_is_asked_for_by_time_and_not_by_the_number_of_the_poll(interval: int) -> None:
    run = LedgerRun(held_back={20: 12})
    while run.minute < 50:
        run.poll.minute(interval)
    assert run.poll.counted() == {"a": run.truth(), "b": run.truth()}


def test_a_mount_target_that_is_gone_for_three_hours_begins_again_at_zero() -> None:
    run = LedgerRun()
    run.poll.minute(5)
    both, run.cloud.targets = run.cloud.targets, run.cloud.targets[:1]
    for _ in range(20):
        run.poll.minute(10)
    assert [key for _, tallies in run.poll.ledger.by_metric() for key in tallies if "b" in key[0].split("..")] == []
    run.cloud.targets = both
    run.poll.minute()
    assert run.poll.counted()["a"] == run.truth()
    assert run.poll.counted()["b"] < run.truth()


@pytest.mark.parametrize("ahead_s", [3600, 30 * 365 * 86_400])
def test_a_ledger_from_the_future_counts_on_from_now(ahead_s: int) -> None:
    run = LedgerRun()
    run.poll.minute(5)
    run.poll.minute()
    counted, judged, minutes = run.poll.counted(), run.judged(), run.minute
    ledger = load(dump(run.poll.ledger, "eu"), "eu")
    ledger.start += ahead_s
    ledger.answered = {name: minute + ahead_s for name, minute in ledger.answered.items()}
    for _, page in ledger.by_metric():
        for tally in page.values():
            tally.minutes.floor += ahead_s
    run.start(PolledRegion(run.cloud, now=run.poll.now, ledger=ledger))
    for _ in range(40):
        run.poll.minute()
    later = sum(minute * minute for minute in range(minutes + 2, run.minute + 1)) * 60.0
    assert run.poll.counted() == {name: count + later for name, count in counted.items()}
    assert run.judged() == {ocid: number + run.minute - minutes - 1 for ocid, number in judged.items()}


def test_a_ledger_with_minutes_that_have_not_come_counts_on_from_now() -> None:
    run = LedgerRun()
    run.poll.minute(5)
    ledger = load(dump(run.poll.ledger, "eu"), "eu")
    for _, page in ledger.by_metric():
        for tally in page.values():
            tally.minutes.taken = (1 << 60) - 1
    run.start(PolledRegion(run.cloud, now=run.poll.now, ledger=ledger))
    for _ in range(20):
        run.poll.minute()
    assert run.judged() == dict.fromkeys(run.judged(), 19.0)


@pytest.mark.parametrize("back", [1, 7, GIVE_UP_MINUTES])
def test_a_clock_that_goes_back_some_minutes_counts_no_minute_again(back: int) -> None:
    run = LedgerRun()
    for _ in range(30):
        run.poll.minute()
    run.poll.now -= back * 60.0
    for _ in range(30):
        run.poll.minute()
    assert run.poll.counted() == {"a": run.truth(), "b": run.truth()}


def test_a_row_of_the_ledger_with_too_short_a_key_costs_nothing() -> None:
    run = LedgerRun()
    run.poll.minute(5)
    for _, tallies in run.poll.ledger.by_metric():
        for tally in list(tallies.values()):
            tallies["short",] = tally
    ledger = load(dump(run.poll.ledger, "eu"), "eu")
    run.start(PolledRegion(run.cloud, now=run.poll.now, ledger=ledger))
    for _ in range(20):
        run.poll.minute()
    assert run.poll.counted() == {"a": run.truth(), "b": run.truth()}


EVENTS = st.sampled_from(["", "", "", "flap", "skip", "down", "restart", "restart twice"])


@pytest.mark.parametrize("name", SITUATIONS)
def test_each_minute_counts_once(name: str) -> None:
    run = SITUATIONS[name].played()
    assert run.poll.counted() == {"a": run.truth(), "b": run.truth()}
    assert run.judged() == {mount_target(name).id: run.minute - 1 for name in NAMES}


@settings(max_examples=settings().max_examples // 8)  # each plays hours
@given(st.lists(EVENTS, max_size=40), st.dictionaries(st.integers(1, 40), st.integers(1, 14), max_size=8))
def test_flaps_late_minutes_pairs_failures_and_restarts_in_any_order_count_every_minute_once(
    events: list[str], held_back: dict[int, int]
) -> None:
    run = Situation(tuple(events), held_back).played()
    assert run.poll.counted() == {"a": run.truth(), "b": run.truth()}
    assert run.judged() == {mount_target(name).id: run.minute - 1 for name in NAMES}


def restarted(worlds: Callable[..., World], directory: Path, **changes: str) -> tuple[World, World]:
    """An exporter after four polls, and the one that starts five minutes later with the same ledger directory, before its first poll."""
    world = worlds(ledger_directory=str(directory))
    for _ in range(4):
        world.poll()
        world.pass_minutes()
    world.pass_minutes(5)
    return world, World(world.region, world.clock, directory, ledger_directory=str(directory), **changes)


def test_an_exporter_with_a_ledger_directory_goes_on_after_a_restart(
    worlds: Callable[..., World], tmp_path: Path
) -> None:
    world, again = restarted(worlds, tmp_path)
    again.poll()
    before, after = (each.values("fss_mount_target_read_bytes_total", "mount_target") for each in (world, again))
    first, last = int(START // 60) + 1, world.minute
    for name, count in after.items():
        reads = [
            world.region.truth("MountTargetReadThroughput", str(name), at, throughput="ReadThroughput")
            for at in range(first, last + 1)
        ]
        assert count == sum(value * 60 for value in reads if value is not None)
    assert after["mt-home"] > before["mt-home"]


def test_the_first_poll_after_a_restart_judges_the_minutes_of_the_stop(
    worlds: Callable[..., World], tmp_path: Path
) -> None:
    judged = ("fss_mount_target_minutes_total", "mount_target", "objective", "verdict")
    world, again = restarted(worlds, tmp_path)
    before = world.values(*judged)
    again.poll()
    after = again.values(*judged)
    good = ("mt-home", "availability", "good")
    assert after[good] >= before[good] + 5


def test_a_ledger_of_another_tenancy_is_told_and_counting_begins_at_zero(
    worlds: Callable[..., World], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    _, other = restarted(worlds, tmp_path, tenancy="ocid1.tenancy.oc1..b")
    other.poll()
    assert "begin at 0: a ledger of version 1 and eu-frankfurt-1 of ocid1.tenancy.oc1.." in caplog.text


def test_new_oci_settings_leave_the_counters_as_they_are(
    regions: Callable[..., Region], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    running = poller_of(regions(now=time.time), tmp_path / "c.yml", "  compartments: [storage]\n")
    running.accounts()[0].ledgers["eu-frankfurt-1"] = kept = Ledger(NOON)
    (tmp_path / "c.yml").write_text((tmp_path / "c.yml").read_text().replace("second: 9", "second: 2"))
    with caplog.at_level(logging.INFO):
        running.reload()()
    assert "polling starts again" in caplog.text
    assert running.accounts()[0].ledgers["eu-frankfurt-1"] is kept


def test_a_ledger_directory_that_is_missing_is_a_mistake_of_the_settings(
    regions: Callable[..., Region], tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="not a directory in which this user may write"):
        poller_of(regions(now=time.time), tmp_path / "c.yml", f"  ledger_directory: {tmp_path / 'none'}\n")


def test_a_ledger_directory_without_an_answer_is_told_and_no_mistake(
    regions: Callable[..., Region], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    go = threading.Event()
    monkeypatch.setattr(settings_checks, "_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(os, "access", lambda *_: go.wait(PROMPT_S))
    poller_of(regions(now=time.time), tmp_path / "c.yml", f"  ledger_directory: {tmp_path}\n")
    go.set()
    assert f"oci.ledger_directory: a look at {tmp_path} has not ended" in caplog.text


class TestFile:
    """The ledger on disk."""

    def ledger(self) -> Ledger:
        run = LedgerRun()
        run.poll.minute(5)
        return run.poll.ledger

    def test_a_ledger_comes_back_as_it_was_written(self, tmp_path: Path) -> None:
        ledger, file = self.ledger(), LedgerFile(tmp_path / "eu.json", "eu")
        file.write(ledger)
        ledger_read = file.read(lambda: Ledger(0))
        assert dump(ledger_read, "eu") == dump(ledger, "eu")
        assert (ledger_read.start, ledger_read.answered) == (ledger.start, ledger.answered)
        assert [path.name for path in tmp_path.iterdir()] == ["eu.json"]

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "{",
            "[]",
            '{"version": 1}',
            '{"version": 0, "place": "eu", "start": 0, "answered": {}, "tallies": {}}',
            '{"version": 1, "place": "other", "start": 0, "answered": {}, "tallies": {}}',
            '{"version": 1, "place": "eu", "start": 0, "answered": {}, "tallies": {"M": [[["a"], 30, "0", {}, 0]]}}',
            '{"version": 1, "place": "eu", "start": 0, "answered": {}, "tallies": {"M": [[["a"], 60, "x", {}, 0]]}}',
            '{"version": 1, "place": "eu", "start": 0, "answered": {}, "tallies": {"M": [[["a"], 60, "0", {"": -1}, 0]]}}',
            '{"version": 1, "place": "eu", "start": 0, "answered": {}, "tallies": {"M": [[["a"], -60, "0", {"": 1}, 0]]}}',
            '{"version": 1, "place": "eu", "start": 0, "answered": {}, "tallies": {"M": [[["a"], 60, "0", {}, 0]]}}',
            '{"version": 1, "place": "eu", "start": 0, "answered": {}, "tallies": {"M": [[[], 60, "0", {"": 1}, 0]]}}',
            '{"version": 1, "place": "eu", "start": 0, "answered": {}, "tallies": {"M": [[["a"], 60, "%s", {"": 1}, 0]]}}'
            % ("f" * 46),
            '{"version": 1, "place": "eu", "start": 0, "answered": {}, "tallies": {"M": [[["a"], 60, "0", {"x": 1}, 0]]}}',
            '{"version": 1, "place": "eu", "start": 0, "answered": {}, "tallies": {"verdicts": [[["a"], 60, "0", {"latency/good": 1}, 0]]}}',
            '{"version": 1, "place": "eu", "start": 0, "answered": {}, "tallies": {"near ceiling minutes": [[["a", "iops"], 60, "0", {"0.5": 1}, 0]]}}',
            '{"version": 1, "place": "eu", "start": 7, "answered": {}, "tallies": {}}',
            '{"version": 1, "place": "eu", "start": 0, "answered": {"M": 73}, "tallies": {}}',
        ],
    )
    def test_a_damaged_file_is_reported_and_counting_begins_at_zero(
        self, text: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        (tmp_path / "eu.json").write_text(text)
        new = Ledger(NOON)
        assert LedgerFile(tmp_path / "eu.json", "eu").read(lambda: new) is new
        assert "the counters of eu begin at 0" in caplog.text

    def test_a_file_too_large_for_a_ledger_is_reported_and_costs_no_memory(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        (tmp_path / "eu.json").touch()
        os.truncate(tmp_path / "eu.json", 100 << 30)  # more than the host has memory
        new = Ledger(NOON)
        assert LedgerFile(tmp_path / "eu.json", "eu").read(lambda: new) is new
        assert "the counters of eu begin at 0: larger than 256 MiB" in caplog.text

    def test_without_a_file_counting_begins_at_zero_in_silence(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        new = Ledger(NOON)
        assert LedgerFile(tmp_path / "eu.json", "eu").read(lambda: new) is new
        assert caplog.text == ""

    def test_a_file_system_that_answers_no_read_lets_counting_begin_at_zero_and_costs_one_thread(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        path, new = tmp_path / "eu.json", Ledger(NOON)
        os.mkfifo(path)  # to open it waits for a writer, as a file on a server that is down
        file, before = LedgerFile(path, "eu"), set(threading.enumerate())
        monkeypatch.setattr(file, "_access", OneWithin(0.01, "the access"))
        assert file.read(lambda: new) is new
        file.write(new)
        assert len(set(threading.enumerate()) - before) == 1  # threads of earlier tests may end meanwhile
        assert "so the counters of eu begin at 0: the access has not ended" in caplog.text
        assert "cannot be written: the access" in caplog.text
        os.close(os.open(path, os.O_WRONLY))

    def test_a_file_system_without_an_answer_stops_no_poll_and_costs_one_thread(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        ledger, go = self.ledger(), threading.Event()
        file = LedgerFile(tmp_path / "eu.json", "eu", lambda: go.wait(PROMPT_S))
        monkeypatch.setattr(file, "_access", OneWithin(0.01, "the access"))
        before = threading.active_count()
        for _ in range(5):
            file.write(ledger)
        assert threading.active_count() == before + 1
        assert "cannot be written: the access has not ended" in caplog.text
        go.set()
        monkeypatch.setattr(file, "_access", OneWithin(PROMPT_S, "the access"))
        file.write(ledger)
        assert dump(file.read(lambda: Ledger(0)), "eu") == dump(ledger, "eu")

    def test_a_system_without_a_thread_for_the_write_stops_no_poll(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        def refuse(_: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        file = LedgerFile(tmp_path / "eu.json", "eu")
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", refuse)
            file.write(self.ledger())
        assert "cannot be written: can't start new thread" in caplog.text
        file.write(self.ledger())
        assert (tmp_path / "eu.json").exists()

    def test_a_file_that_cannot_be_replaced_stays_until_a_restart_could_not_catch_up(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        now = [0.0]
        file = LedgerFile(tmp_path / "eu.json", "eu", clock=lambda: now[0])
        file.write(self.ledger())
        good = (tmp_path / "eu.json").read_bytes()

        def full(_: int) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr("os.fsync", full)
            for now[0] in (60.0, 899.0):
                file.write(self.ledger())
                assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("eu.json", good)]
            assert file.failure == f"{tmp_path / 'eu.json'}: cannot be written: No space left on device"
            now[0] = 900.0
            file.write(self.ledger())
        assert list(tmp_path.iterdir()) == []
        assert "eu.json: was removed after 15 minutes without a write" in caplog.text
        file.write(self.ledger())
        assert file.failure == ""
        assert json.loads((tmp_path / "eu.json").read_text())["place"] == "eu"


def test_a_ledger_that_cannot_be_written_fails_a_loop_of_its_own(
    regions: Callable[..., Region], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "kept"
    directory.mkdir()
    running = poller_of(regions(now=time.time), tmp_path / "c.yml", f"  ledger_directory: {directory}\n")
    account = running.accounts()[0]
    account.inventories.run_round()
    account.polls.run_round()
    account.check_ledgers()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    account.polls.run_round()
    with pytest.raises(SourceError, match=r"ledger\.json: cannot be written: No space left on device"):
        account.check_ledgers()
    assert "oci_ledger" in {loop.collector for loop in (worker.heartbeat for worker in running.loops)}
