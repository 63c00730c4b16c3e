"""The ticker goes on, whatever goes wrong in a tick: an error costs one tick and is counted, a read that hangs shows."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.exposition_text import collected
from tests.fss_exporter.nfs.fed_accounts import KEY, reading
from tests.fss_exporter.nfs.records import mountinfo, mountstats
from tests.fss_kernel_counting.host import Host, assert_true_to_the_unit, exact, ready, work
from tests.processes import NEVER_S, PROMPT_S, wait_for

from fss_exporter.nfs.accounts import Accounts
from fss_exporter.nfs.collector import NfsCollector
from fss_exporter.nfs.mountstats import MountstatsParser
from fss_exporter.nfs.procfs import Procfs
from fss_exporter.nfs.superblocks import Reading
from fss_exporter.nfs.ticker import Ticker
from fss_exporter.nfs.totals import MountTotals, Peaks
from fss_exporter.nfs.unanswered import Unanswered
from fss_exporter.web.collecting import Collectors
from fss_kernel_counting.sizes.counted_costs import CountedCosts


def procfs(tmp_path: Path, reads: int = 5, age: int = 1000) -> Procfs:
    """A procfs with one mount."""
    folder = tmp_path / "1"
    folder.mkdir(exist_ok=True)
    (folder / "mountinfo").write_text(mountinfo())
    (folder / "mountstats").write_text(mountstats({"READ": reads}, age=age))
    return Procfs(tmp_path)


STAGES: list[tuple[type, str]] = [
    (MountstatsParser, "parse"),
    (Procfs, "read"),
    (Accounts, "apply"),
    (MountTotals, "include"),
    (Peaks, "add"),
    (Unanswered, "add"),
]


@pytest.mark.parametrize(("where", "what"), STAGES, ids=lambda part: getattr(part, "__name__", part))
def test_an_unexpected_error_in_any_stage_of_a_tick_costs_that_tick_only(
    where: type, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    source = procfs(tmp_path)
    ticker = Ticker(lambda: source.read(), 1.0)  # noqa: PLW0108  # looked up at each tick
    with monkeypatch.context() as broken:
        broken.setattr(where, what, _boom)
        ticker.tick()
        ticker.tick()
        beat = ticker.loop.heartbeat
        assert (beat.success, beat.errors, beat.last_success_timestamp) == (False, 2, None)
        assert not NfsCollector(ticker).success
        assert len([line for line in caplog.records if line.exc_info]) == 1

    ticker.tick()
    procfs(tmp_path, reads=9, age=1001)
    ticker.tick()
    assert ticker.loop.heartbeat.success
    assert ticker.accounts.mounts[KEY].operations["READ"].operations == 4


def _boom(*_: object, **__: object) -> object:
    raise ZeroDivisionError("a mistake of ours")


def test_an_unexpected_error_while_families_are_made_costs_that_scrape_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticker = Ticker(procfs(tmp_path).read, 1.0)
    ticker.tick()
    collectors = Collectors({"nfs": NfsCollector(ticker)}, (ticker.loop,))

    def success() -> list[float]:
        return [
            sample.value
            for family in collected(collectors)
            if family.name == "fss_collector_success"
            for sample in family.samples
        ]

    with monkeypatch.context() as broken:
        broken.setattr(Peaks, "highest", _boom)
        assert success() == [0]
    assert success() == [1]


def test_an_unexpected_error_in_the_tables_costs_that_tick_its_exactness_only(monkeypatch: pytest.MonkeyPatch) -> None:
    host = ready(Host())
    work(host)
    with monkeypatch.context() as broken:
        broken.setattr("fss_kernel_counting.sizes.size_reader.by_superblock", _boom)
        assert exact(host.tick()) == frozenset()
    assert (host.reader.loop.heartbeat.success, host.reader.loop.heartbeat.errors) == (False, 1)
    estimated = host.cost("READ")[1]
    assert estimated > 0

    host.tick()
    before = host.truth["READ"]
    work(host)
    assert exact(host.tick()) == {"0:40"}
    assert host.reader.loop.heartbeat.success
    assert host.cost("READ")[1] == pytest.approx(estimated + host.truth["READ"] - before)


def test_an_unexpected_error_in_the_counted_costs_costs_one_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    host = ready(Host())
    ticker = Ticker(host.reader.read, 1.0, accounts=host.accounts)
    with monkeypatch.context() as broken:
        broken.setattr(CountedCosts, "tick_costs", _boom)
        ticker.tick()
    assert ticker.loop.heartbeat.errors == 1

    ticker.tick()
    work(host)
    ticker.tick()
    assert ticker.loop.heartbeat.success
    assert_true_to_the_unit(host)


def test_a_read_that_hangs_does_not_hang_the_start_and_its_loop_is_stalled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fss_exporter.nfs.ticker._FIRST_READING_SECONDS", 0.05)
    source = procfs(tmp_path)
    fifo = tmp_path / "1" / "mountstats"
    fifo.unlink()
    os.mkfifo(fifo)
    ticker = Ticker(source.read, NEVER_S)  # a second read would hang for ever
    stalled_s = 11 * NEVER_S
    collectors = Collectors({"nfs": NfsCollector(ticker)}, (ticker.loop,), clock=lambda: time.monotonic() + stalled_s)

    began = time.monotonic()
    ticker.start()
    try:
        assert time.monotonic() - began < PROMPT_S
        assert not ticker.is_ready
        assert ticker.loop.heartbeat.is_stalled(time.monotonic() + stalled_s)
        exported = {family.name: family.samples for family in collected(collectors)}
        assert [sample.value for sample in exported["fss_collector_success"]] == [0]
    finally:
        fifo.write_text(mountstats({"READ": 5}))
        wait_for(lambda: ticker.is_ready, "the reading that hung")
        ticker.stop()
    wait_for(lambda: not ticker.loop._thread.is_alive(), "the end of the thread")


@pytest.mark.parametrize("end", [SystemExit, KeyboardInterrupt])
def test_a_tick_that_would_end_the_thread_costs_that_tick(end: type[BaseException]) -> None:
    def killed() -> Reading:
        raise end

    ticker = Ticker(_after(reading(mountstats({})), killed), 0.01)
    try:
        ticker.start()
        wait_for(lambda: ticker.loop.heartbeat.errors, "the tick that breaks off")
        assert not ticker.loop.heartbeat.success
        assert ticker.loop._thread.is_alive()
    finally:
        ticker.stop()


def _after(first: Reading, then: Callable[[], Reading]) -> Callable[[], Reading]:
    left = [first]
    return lambda: left.pop() if left else then()
