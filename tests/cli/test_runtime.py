"""The life of parts where the system allows no further thread."""

import asyncio
import threading

import pytest

from fss_exporter.cli.runtime import Part, _fault_handler, _Running
from fss_exporter.nfs.instance_network import InstanceNetwork


def refuse(_: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def test_parts_stop_without_a_further_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: list[str] = []
    parts = [Part(name, None, stop=lambda name=name: stopped.append(name)) for name in ("nfs", "oci")]  # type: ignore[misc]

    with _Running() as running:
        running.start(parts)
        monkeypatch.setattr(threading.Thread, "start", refuse)

    assert stopped == ["oci", "nfs"]


def test_the_agent_starts_without_a_thread_for_the_bandwidth_of_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading.Thread, "start", refuse)
    network = InstanceNetwork("http://127.0.0.1:1/")

    network.start()

    assert list(network.families()) == []


def test_an_error_of_the_event_loop_is_logged_once_whatever_its_arguments_are(caplog: pytest.LogCaptureFixture) -> None:
    log, loop = _fault_handler(), asyncio.new_event_loop()
    for number in range(100):
        log(loop, {"message": f"Exception in callback lost({number})", "exception": OSError(number)})
    log(loop, {"message": "Task exception was never retrieved", "exception": OSError()})
    loop.close()

    assert caplog.messages == ["Exception in callback lost(0)", "Task exception was never retrieved"]
