"""The loops of the poller and of the web configuration: an unexpected error costs a round, a dead thread makes /-/healthy fail.

The ticker's are in tests/fss_exporter/nfs/test_guarded_ticks.py, those of each call of the poller in tests/fss_exporter/oci/test_region_loops.py.
"""

import logging
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from tests.exposition_text import collected
from tests.processes import wait_for

from fss_exporter.background import Worker, stalled_loops
from fss_exporter.oci.polling.poller import Poller
from fss_exporter.oci.snapshot import PollSnapshot
from fss_exporter.settings import load
from fss_exporter.web.application import Reloading, build
from fss_exporter.web.collecting import Collectors, Turns
from fss_exporter.web.messages import Request, Response
from fss_exporter.web.scrapes import Scrapes
from fss_exporter.web.web_config_reload import WebConfigReload

_LONG = 10 * 60 + 1  # seconds after which each of these loops has missed ten intervals


def explode(*_: object, **__: object) -> object:
    raise ZeroDivisionError("a mistake of ours")


def end_thread(*_: object, **__: object) -> object:
    raise SystemExit


def cloud() -> Poller:
    settings = load(None, {"oci.publish": True})
    return Poller(lambda: settings)


def loop_of(running: Poller, collector: str) -> Worker:
    return next(loop for loop in running.loops if loop.collector == collector)


def success_of(loop: Worker) -> float:
    """`fss_collector_success` of a loop, as a scrape shows it."""
    (success,) = (
        sample.value
        for family in collected(Collectors({}, (loop,)))
        for sample in family.samples
        if sample.name == "fss_collector_success"
    )
    return float(success)


def broken_rounds_then_a_good_one(
    loop: Worker, broken: Callable[[], None], mended: Callable[[], None], caplog: pytest.LogCaptureFixture
) -> None:
    """Two rounds break off in the thread of the loop, and the third works."""
    loop.start()
    try:
        for before in (0, 1):
            broken()
            _wake_until(loop, lambda before=before: loop.heartbeat.errors > before)  # type: ignore[misc]
            assert success_of(loop) == 0
        mended()
        _wake_until(loop, lambda: loop.heartbeat.success)
        assert success_of(loop) == 1
        assert len([record for record in caplog.records if record.exc_info]) == 1, "logged once, with its traceback"
        assert f"{loop.collector}: works again" in caplog.text
    finally:
        loop.stop()


def _wake_until(loop: Worker, condition: Callable[[], bool]) -> None:
    """Wake one round after the other, because a second round without news would be a success again."""
    for _ in range(3):
        before = loop.heartbeat
        loop.wake()
        wait_for(lambda before=before: loop.heartbeat is not before, "a round")  # type: ignore[misc]
        if condition():
            return
    pytest.fail("three rounds did not bring the result")


def test_an_unexpected_error_while_publishing_costs_that_round_only(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    running = cloud()
    polls = iter(range(1, 10))

    def poll() -> None:
        running.accounts()[0].board.publish("eu-frankfurt-1", poll=PollSnapshot(ended=float(next(polls))))

    def mended() -> None:
        monkeypatch.undo()
        poll()

    monkeypatch.setattr("fss_exporter.oci.publish.publisher.points_of", explode)
    broken_rounds_then_a_good_one(loop_of(running, "oci_publish"), poll, mended, caplog)


def test_an_unexpected_error_while_the_web_configuration_is_read_costs_that_round_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    path = tmp_path / "web.yml"
    path.write_text("{}")
    web_config = WebConfigReload(path)
    path.write_text("http_server_config: {headers: {X-Frame-Options: deny}}")
    monkeypatch.setattr("fss_exporter.web.web_config_reload.load", explode)

    broken_rounds_then_a_good_one(web_config.loop, lambda: None, monkeypatch.undo, caplog)

    assert web_config._in_force.configuration.http_server_config.headers == {"X-Frame-Options": "deny"}


def test_an_inventory_that_never_ends_is_starting_and_no_success_after_ten_of_its_intervals() -> None:
    # FssCollectorFailing fires after ten minutes of the latter, however long the polls and the inventory share the calls.
    loop = loop_of(cloud(), "oci_inventory")
    ends = loop.heartbeat.finished_at + 10 * loop.heartbeat.interval_seconds
    for now, names in ((ends - 1, {"fss_collector_starting": 1.0}), (ends + 1, {"fss_collector_success": 0.0})):
        families = Collectors({}, (loop,), partial(float, now)).collect()
        samples = (sample for family in families for sample in family.samples)
        told = {
            sample.name: sample.value
            for sample in samples
            if sample.name in {"fss_collector_starting", "fss_collector_success"}
        }
        assert told == names


@pytest.mark.parametrize("collector", ["oci", "oci_inventory", "oci_publish"])
def test_a_loop_of_the_poller_whose_thread_died_makes_healthy_fail(
    collector: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = loop_of(cloud(), collector)
    monkeypatch.setattr(loop, "_run_round", lambda: None)
    _dies_and_is_unhealthy(loop, monkeypatch)


def test_a_watcher_of_the_web_configuration_whose_thread_died_makes_healthy_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "web.yml").write_text("{}")
    _dies_and_is_unhealthy(WebConfigReload(tmp_path / "web.yml").loop, monkeypatch)


def _dies_and_is_unhealthy(loop: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    monkeypatch.setattr(loop, "_pause", end_thread)
    loop.start()
    wait_for(lambda: not loop._thread.is_alive(), "the end of the thread")
    assert _healthy(loop, 0.0) == (200, "")
    status, text = _healthy(loop, _LONG)
    assert status == 503
    assert f"loop {loop.collector} is stalled" in text


def _healthy(loop: Worker, later: float) -> tuple[int, str]:
    """Status of /-/healthy so many seconds from now, and its text unless all is well."""
    application = build(
        telemetry_path="/metrics",
        scrapes=Scrapes(CollectorRegistry(), Turns()),
        page=lambda _: Response(200, b""),
        waiting_for=tuple,
        stalled=lambda: stalled_loops((loop,), time.monotonic() + later),
        reload=Reloading(()),
    )

    response = application(Request("GET", "/-/healthy", "", {}))
    return response.status, "" if response.status == 200 else response.body.decode()
