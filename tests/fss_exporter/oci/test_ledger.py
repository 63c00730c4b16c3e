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
from tests.fss_exporter.oci.ledger_runs import NAMES, OWNER, SITUATIONS, LedgerRun, Situation, kept
from tests.fss_exporter.oci.polled_region import PolledRegion
from tests.fss_exporter.oci.test_metric_poller import poller_of
from tests.fss_exporter.oci.world import START, World
from tests.processes import PROMPT_S
from tests.region import Region

from fss_exporter.background import OneWithin
from fss_exporter.errors import SourceError, UsageError
from fss_exporter.model.observed_ceiling import LoadRecord, Plateau
from fss_exporter.oci import settings_checks
from fss_exporter.oci.ledger import GIVE_UP_MINUTES, Ledger, Minutes, ObservedLoads, Tally
from fss_exporter.oci.ledger.ledger_file import LedgerFile, LedgerOwner, dump, load
from fss_exporter.sealed_json import seal, unseal
from fss_exporter.settings import LimitOverrides, LimitSettings


def test_while_it_is_missing_it_is_not_exported() -> None:
    run = LedgerRun()
    run.poll.minute(5)
    run.cloud.unlisted = ("a",)
    run.poll.minute()
    assert run.poll.counted().keys() == {"b"}


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
    ledger = kept(run.poll.ledger)
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
    ledger = kept(run.poll.ledger)
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
    ledger = kept(run.poll.ledger)
    run.start(PolledRegion(run.cloud, now=run.poll.now, ledger=ledger))
    for _ in range(20):
        run.poll.minute()
    assert run.poll.counted() == {"a": run.truth(), "b": run.truth()}


def test_a_metric_that_a_reload_adds_meanwhile_stops_no_look_at_the_ledger() -> None:
    ledger = Ledger(NOON)
    ledger.tallies("a")
    assert [ledger.tallies(f"{name} of a reload") for name, _ in ledger.by_metric()] == [{}]


EVENTS = st.sampled_from(["", "", "", "flap", "skip", "down", "restart", "restart twice"])


@pytest.mark.parametrize("name", SITUATIONS)
def test_each_minute_counts_once(name: str) -> None:
    """The connections are above every level in every minute."""
    run = SITUATIONS[name].played(LimitSettings(shapes={"standard": LimitOverrides(connections=7)}))
    assert run.poll.counted() == {"a": run.truth(), "b": run.truth()}
    assert run.judged() == {mount_target(name).id: run.minute - 1 for name in NAMES}
    counted = run.poll.board.regions[0].poll
    assert counted is not None
    for figures in counted.targets.values():
        minutes = {figures.near_ceiling_minutes["connections", level] for level in ("0.8", "0.95", "0.98")}
        assert minutes == {run.minute - 1}


@settings(max_examples=settings().max_examples // 16)  # each plays hours
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
    judged = ("fss_mount_target_verdicts_total", "mount_target", "objective", "verdict")
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
    assert "begin at 0: a ledger of version 2 and eu-frankfurt-1 of ocid1.tenancy.oc1.." in caplog.text


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


WRITTEN = {
    "place": "eu",
    "writer": "a:1",
    "extent": "all",
    "version": 2,
    "start": NOON,
    "answered": {"M": NOON + 60},
    "tallies": {"M": [[["ocid", "x"], NOON, "5", {"": 7.5}, 1.5]]},
    "observed": {
        "ocid": {
            "shape": "hpmt-20",
            "resources": {
                "iops": {"served": {"3": 4.0}, "plateaus": [{"height": 5.0, "began": 60, "ended": 120}]},
            },
        },
    },
}

# By metric, with a number, a key or a kind of minute that no ledger has.
BROKEN_TALLIES = [
    ("M", [["a"], 30, "0", {"": 1}, 0]),
    ("M", [["a"], 60, "x", {"": 1}, 0]),
    ("M", [["a"], 60, "0", {"": -1}, 0]),
    ("M", [["a"], -60, "0", {"": 1}, 0]),
    ("M", [["a"], 60, "0", {}, 0]),
    ("M", [[], 60, "0", {"": 1}, 0]),
    ("M", [["a"], 60, "f" * 46, {"": 1}, 0]),
    ("M", [["a"], 60, "0", {"x": 1}, 0]),
    ("verdicts", [["a"], 60, "0", {"latency/good": 1}, 0]),
    ("near ceiling minutes", [["a", "iops"], 60, "0", {"0.5": 1}, 0]),
]


class TestFile:
    """The ledger on disk."""

    def ledger(self) -> Ledger:
        run = LedgerRun()
        run.poll.minute(5)
        return run.poll.ledger

    def test_a_ledger_comes_back_as_it_was_written(self, tmp_path: Path) -> None:
        ledger, file = self.ledger(), LedgerFile(tmp_path / "eu.json", OWNER)
        file.write(ledger)
        ledger_read = file.read(0)
        assert dump(ledger_read, OWNER) == dump(ledger, OWNER)
        assert file.goes_on(ledger_read)
        assert (ledger_read.start, ledger_read.answered) == (ledger.start, ledger.answered)
        assert [path.name for path in tmp_path.iterdir()] == ["eu.json"]

    def test_a_version_names_what_a_file_says(self) -> None:
        """If this fails because the form changed, raise the version, so that another form is seen."""
        ledger = Ledger(NOON)
        ledger.answered = {"M": NOON + 60}
        ledger.tallies("M")["ocid", "x"] = Tally(Minutes(NOON, 5), {"": 7.5}, 1.5)
        ledger.observed["ocid"] = ObservedLoads("hpmt-20", {"iops": LoadRecord({3: 4.0}, [Plateau(5.0, 60, 120)])})
        assert json.loads(unseal(dump(ledger, LedgerOwner("eu", "a:1", "all")))) == WRITTEN

    @pytest.mark.parametrize(
        "change",
        [
            {"version": 1},
            {"place": "other"},
            {"start": 7},
            {"answered": {"M": 73}},
            {"observed": None},
            {"more": 1},
            *({"tallies": {name: [tally]}} for name, tally in BROKEN_TALLIES),
        ],
    )
    def test_an_impossible_ledger_is_refused(self, change: dict[str, object]) -> None:
        content = seal(json.dumps(WRITTEN | change).encode())
        with pytest.raises(ValueError, match=r"."):
            load(content, "eu")

    @pytest.mark.parametrize("height", [b"-1", b"1e999", b'"x"'])
    def test_an_impossible_plateau_is_refused(self, height: bytes) -> None:
        content = json.dumps(WRITTEN).encode().replace(b'"height": 5.0', b'"height": ' + height)
        with pytest.raises(ValueError, match=r"."):
            load(seal(content), "eu")

    @pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 1, "place": "eu", "start": 0}'])
    def test_a_damaged_file_is_reported_and_counting_begins_at_zero(
        self, text: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        (tmp_path / "eu.json").write_text(text)
        file = LedgerFile(tmp_path / "eu.json", OWNER)
        ledger = file.read(NOON)
        assert ledger.start == NOON
        assert not file.goes_on(ledger)
        assert "the counters of eu begin at 0: no checksum: the file is damaged or of another version" in caplog.text

    def test_no_byte_can_change_unseen(self) -> None:
        content = dump(self.ledger(), OWNER)
        for place in range(len(content)):
            changed = bytearray(content)
            changed[place] ^= 1 << place % 8
            with pytest.raises(ValueError, match=r"checksum"):
                load(bytes(changed), "eu")

    def test_a_refused_ledger_is_told_for_a_day(self, tmp_path: Path) -> None:
        now = [0.0]
        (tmp_path / "eu.json").touch()
        file = LedgerFile(tmp_path / "eu.json", OWNER, clock=lambda: now[0])
        ledger, told = file.read(NOON), []
        for now[0] in (0.0, 86_400.0, 86_401.0):
            told.append(not file.goes_on(ledger))
        assert told == [True, True, False]

    def test_a_file_too_large_for_a_ledger_is_reported_and_costs_no_memory(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        (tmp_path / "eu.json").touch()
        os.truncate(tmp_path / "eu.json", 100 << 30)  # more than the host has memory
        assert LedgerFile(tmp_path / "eu.json", OWNER).read(NOON).start == NOON
        assert "the counters of eu begin at 0: larger than 256 MiB" in caplog.text

    def test_without_a_file_counting_begins_at_zero_in_silence(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        file = LedgerFile(tmp_path / "eu.json", OWNER)
        ledger = file.read(NOON)
        assert ledger.start == NOON
        assert file.goes_on(ledger)
        assert caplog.text == ""

    def test_a_file_system_that_answers_no_read_lets_counting_begin_at_zero_and_costs_one_thread(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        path = tmp_path / "eu.json"
        os.mkfifo(path)  # to open it waits for a writer, as a file on a server that is down
        file, before = LedgerFile(path, OWNER), set(threading.enumerate())
        monkeypatch.setattr(file, "_access", OneWithin(0.01, "the access"))
        file.write(file.read(NOON))
        assert len(set(threading.enumerate()) - before) == 1  # threads of earlier tests may end meanwhile
        assert "so the counters of eu begin at 0: the access has not ended" in caplog.text
        assert "cannot be written: the access" in caplog.text
        os.close(os.open(path, os.O_WRONLY))

    def test_a_file_system_without_an_answer_stops_no_poll_and_costs_one_thread(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        ledger, go = self.ledger(), threading.Event()
        file = LedgerFile(tmp_path / "eu.json", OWNER, lambda: go.wait(PROMPT_S))
        monkeypatch.setattr(file, "_access", OneWithin(0.01, "the access"))
        before = threading.active_count()
        for _ in range(5):
            file.write(ledger)
        assert threading.active_count() == before + 1
        assert "cannot be written: the access has not ended" in caplog.text
        go.set()
        monkeypatch.setattr(file, "_access", OneWithin(PROMPT_S, "the access"))
        file.write(ledger)
        assert dump(file.read(0), OWNER) == dump(ledger, OWNER)

    def test_a_system_without_a_thread_for_the_write_stops_no_poll(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        def refuse(_: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        file = LedgerFile(tmp_path / "eu.json", OWNER)
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
        file = LedgerFile(tmp_path / "eu.json", OWNER, clock=lambda: now[0])
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


class Directory:
    """A directory with the ledger of one region, and the pollers that use it, on one clock."""

    def __init__(self, folder: Path) -> None:
        self.now = 0.0
        self.path = folder / "eu.json"

    def poller(self, writer: str, extent: str = "") -> LedgerFile:
        """Return the file as a poller has it that starts now, with the ledger that it found."""
        return LedgerFile(self.path, LedgerOwner("eu", writer, extent), clock=lambda: self.now)

    @property
    def writer(self) -> str:
        return str(json.loads(self.path.read_text())["writer"])


@pytest.fixture
def shared(tmp_path: Path) -> Directory:
    return Directory(tmp_path)


def test_a_poller_that_starts_has_the_file_and_the_earlier_one_tells_that_it_has_company(
    shared: Directory, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = shared.poller("a:1"), shared.poller("b:2", "some")
    counted = first.read(NOON)
    first.write(counted)
    second.write(second.read(NOON))
    assert "was written for all resources, and this poller is of some" in caplog.text
    first.write(counted)
    assert shared.writer == "b:2"
    assert second.failure == ""
    assert first.failure == (
        f"{shared.path}: another poller writes it too, b:2 for some."
        " Give each poller a ledger_directory or an oci.name of its own, or oci.standby to both"
    )


def test_a_poller_writes_again_once_the_other_has_written_nothing_for_15_minutes(shared: Directory) -> None:
    first, second = shared.poller("a:1"), shared.poller("b:2")
    counted = first.read(NOON)
    first.write(counted)
    second.write(second.read(NOON))
    told = []
    for shared.now in (60.0, 959.0, 960.0):
        first.write(counted)
        told.append(bool(first.failure))
    assert told == [True, True, False]
    assert shared.writer == "a:1"


def test_a_reload_before_the_first_write_goes_on_from_the_file_of_the_last_run(shared: Directory) -> None:
    last = shared.poller("a:1")
    last.write(last.read(NOON))
    ledger = shared.poller("b:2").read(NOON)
    reloaded = shared.poller("b:2", "some")  # with the ledger of before
    reloaded.write(ledger)
    assert (reloaded.failure, shared.writer) == ("", "b:2")


def test_a_ledger_of_another_tenancy_is_never_replaced(shared: Directory) -> None:
    other, own = shared.poller("a:1"), LedgerFile(shared.path, LedgerOwner("us", "b:2"), clock=lambda: shared.now)
    other.write(other.read(NOON))
    ledger = own.read(NOON)
    for shared.now in (60.0, 1000.0):
        own.write(ledger)
        assert own.failure.startswith(f"{shared.path}: is the ledger of eu. Give each")
    assert not own.goes_on(ledger)
    assert shared.writer == "a:1"


def test_after_a_change_of_what_is_polled_only_what_was_kept_up_counts_on(shared: Directory) -> None:
    """Two pollers of unlike settings wrote by turns. What only the other one polls would go back to an old count."""
    ledger, now = Ledger(NOON), NOON + 3600
    ledger.answered = {"M": now}
    for name, behind in (("kept up", 0), ("caught up on", 10), ("of the other poller", 16)):
        ledger.tallies("M")[name,] = Tally(Minutes(now - behind * 60), {"": 100.0})
    before = shared.poller("a:1", "some")
    before.write(ledger)

    counted = shared.poller("b:2", "others").read(now + 60)
    assert counted.tallies("M").keys() == {("kept up",), ("caught up on",)}
    assert counted.answered == {"M": now - 600}, "the first query catches up"
    assert counted.start == now + 60, "what is new counts from now on"
    same = shared.poller("c:3", "some").read(now + 60)
    assert len(same.tallies("M")) == 3
    assert same.start == NOON


def test_two_pollers_with_unlike_settings_count_no_minute_twice_however_often_they_restart(
    worlds: Callable[..., World], tmp_path: Path
) -> None:
    """What Prometheus adds up of one mount target, beside what OCI published."""
    settings = {"a": {}, "b": {"compartments": ("network",)}}
    one = worlds()
    clock, region, name = one.clock, one.region, "mt-home"

    def begun(which: str) -> World:
        return World(region, clock, tmp_path, ledger_directory=str(tmp_path), **settings[which])

    pollers = {which: begun(which) for which in settings}
    first, seen, added = 0, 0.0, 0.0
    for minute in range(40):
        if minute in {20, 25, 33}:
            pollers["a"] = begun("a")
        for poller in pollers.values():
            poller.poll()
        value = pollers["a"].value("fss_mount_target_read_bytes_total", mount_target=name)
        assert value is not None
        if minute == 0:
            first = one.minute
        else:
            added += value - seen if value >= seen else value
        seen = value
        one.pass_minutes()
    published = [
        region.truth("MountTargetReadThroughput", name, at, throughput="ReadThroughput")
        for at in range(first + 1, one.minute)
    ]
    truth = sum(value * 60 for value in published if value is not None)
    assert truth * 0.9 <= added <= truth
