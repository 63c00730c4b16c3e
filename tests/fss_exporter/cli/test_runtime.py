"""The life of parts where the system allows no further thread."""

import threading

import pytest

from fss_exporter.cli.runtime import Component, _stop


def refuse(_: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def test_parts_stop_without_a_further_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: list[str] = []
    components = [Component(name, None, stop=lambda name=name: stopped.append(name)) for name in ("nfs", "oci")]  # type: ignore[misc]

    monkeypatch.setattr(threading.Thread, "start", refuse)

    _stop(components)

    assert stopped == ["oci", "nfs"]


@pytest.mark.parametrize("has_threads", [True, False])
def test_a_part_whose_end_fails_is_named_and_costs_no_other_part_its_end(
    has_threads: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    stopped: list[str] = []

    def fail() -> None:
        raise ZeroDivisionError

    if not has_threads:
        monkeypatch.setattr(threading.Thread, "start", refuse)
    _stop([Component("nfs", None, stop=lambda: stopped.append("nfs")), Component("oci", None, stop=fail)])

    assert stopped == ["nfs"]
    assert [record.getMessage() for record in caplog.records] == ["oci has not ended as it should"]


def test_a_part_that_does_not_end_is_named_and_holds_up_no_end(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("fss_exporter.cli.runtime._STOP_SECONDS", 0.01)
    never = threading.Event()

    _stop([Component("nfs", None), Component("oci", None, stop=never.wait)])  # type: ignore[arg-type]  # the result is dropped

    assert [record.getMessage() for record in caplog.records] == ["oci has not ended within 0 s"]
    never.set()
