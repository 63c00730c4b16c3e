"""The life of parts where the system allows no further thread."""

import threading

import pytest

from fss_exporter.cli.runtime import Part, _Running
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
