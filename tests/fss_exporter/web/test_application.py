import base64
import hashlib
import re
import threading
import time
from collections.abc import Callable
from itertools import pairwise

import pytest
from tests.processes import PATIENCE_S, wait_for

from fss_exporter.errors import ConfigError
from fss_exporter.web.application import Reloading, Router, build
from fss_exporter.web.messages import Request, Response, text
from fss_exporter.web.one_at_a_time import MOST_WAITING


def scrapes(_: Request) -> Response:
    return text(200, "metrics")


def application(
    *,
    page: Callable[[Request], Response] = lambda _: text(200, "<!doctype html>"),
    waiting_for: Callable[[], tuple[str, ...]] = tuple,
    stalled: Callable[[], tuple[str, ...]] = tuple,
    reload: Callable[[], Callable[[], None]] = lambda: lambda: None,
) -> Router:
    return build(
        telemetry_path="/metrics",
        scrapes=scrapes,
        page=page,
        waiting_for=waiting_for,
        stalled=stalled,
        reload=Reloading([reload]),
    )


def ask(asked: Router, path: str, method: str = "GET") -> Response:
    return asked(Request(method, path, "", {}, "::1"))


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 200),
        ("HEAD", "/", 200),
        ("GET", "/runbook", 200),
        ("GET", "/metrics", 200),
        ("HEAD", "/metrics", 200),
        ("POST", "/metrics", 405),
        ("DELETE", "/", 405),
        ("GET", "/-/healthy", 200),
        ("HEAD", "/-/ready", 200),
        ("POST", "/-/healthy", 405),
        ("POST", "/-/reload", 200),
        ("PUT", "/-/reload", 200),
        ("GET", "/-/reload", 405),
        ("GET", "/metrics/", 404),
        ("GET", "//", 404),
        ("GET", "/../etc/passwd", 404),
        ("POST", "/nowhere", 404),
    ],
)
def test_each_path_has_its_methods(method: str, path: str, status: int) -> None:
    assert ask(application(), path, method).status == status


def test_the_runbook_has_the_style_that_its_header_allows() -> None:
    answer = ask(application(), "/runbook")
    (style,) = re.findall(rb"<style>(.+?)</style>", answer.body, re.DOTALL)
    assert base64.b64encode(hashlib.sha256(style).digest()).decode() in dict(answer.headers)["Content-Security-Policy"]


def test_the_answer_to_a_wrong_method_names_the_right_methods() -> None:
    assert dict(ask(application(), "/-/reload").headers)["Allow"] == "POST, PUT"


def test_readiness_names_what_is_missing() -> None:
    answer = ask(application(waiting_for=lambda: ("the first reading of nfs",)), "/-/ready")

    assert (answer.status, answer.body) == (503, b"fss-exporter waits for the first reading of nfs.\n")


@pytest.mark.parametrize(("path", "word"), [("/-/healthy", "healthy"), ("/-/ready", "ready")])
def test_a_stalled_loop_fails_health_and_readiness_by_its_name(path: str, word: str) -> None:
    stalled = ("loop nfs is stalled: no round ended for 42 s", "loop oci is stalled: no round ended for 700 s")

    answer = ask(application(stalled=lambda: stalled), path)

    assert answer.status == 503
    assert answer.body.decode() == f"fss-exporter is not {word}: {'; '.join(stalled)}.\n"


def test_a_wrong_configuration_is_reported_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    def reload() -> Callable[[], None]:
        raise ConfigError("web.yml", ("line 3: nonsense: unknown key",))

    answer = ask(application(reload=reload), "/-/reload", "POST")

    assert (answer.status, answer.body) == (
        500,
        b"kept the old configuration: web.yml: line 3: nonsense: unknown key\n",
    )
    assert "line 3: nonsense: unknown key" in caplog.text


def test_many_who_look_at_the_page_take_turns_and_hold_up_no_scrape() -> None:
    go = threading.Event()
    at_work: list[int] = []
    answers: list[int] = []

    def page(_: Request) -> Response:
        at_work.append(1)
        assert go.wait(PATIENCE_S)
        assert len(at_work) == 1
        at_work.pop()
        return text(200, "")

    asked = application(page=page)
    looking = [threading.Thread(target=lambda: answers.append(ask(asked, "/").status)) for _ in range(50)]
    for thread in looking:
        thread.start()
    wait_for(lambda: answers.count(503) == 49 - MOST_WAITING, "those beyond the bound to be refused")

    assert ask(asked, "/metrics").status == 200

    go.set()
    for thread in looking:
        thread.join()
    assert answers.count(200) == 1 + MOST_WAITING


def test_reloads_that_anyone_may_ask_for_cannot_fill_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fss_exporter.web.application._RELOAD_REST_SECONDS", 0.05)
    read: list[float] = []

    def reload() -> Callable[[], None]:
        read.append(time.monotonic())
        return lambda: None

    asked = application(reload=reload)
    assert [ask(asked, "/-/reload", "POST").status for _ in range(3)] == [200] * 3

    assert all(later - earlier > 0.045 for earlier, later in pairwise(read))


def test_a_reload_that_hangs_is_answered_and_the_next_one_does_not_hang() -> None:
    go, began = threading.Event(), []

    def reload() -> Callable[[], None]:
        began.append(1)
        assert go.wait(PATIENCE_S)
        return lambda: None

    reloading = Reloading([reload], seconds=0.01)
    hanging = [reloading(), reloading()]
    assert len(began) == 1
    go.set()

    assert all("a reload hangs while it reads a file" in each for each in hanging)
    assert not reloading.is_successful
    wait_for(lambda: reloading() == "", "a reload that does not hang")


def test_nothing_is_put_in_force_unless_the_settings_of_all_parts_are_right(caplog: pytest.LogCaptureFixture) -> None:
    put: list[str] = []
    mistakes: list[str] = ["oci: nonsense"]

    def web() -> Callable[[], None]:
        return lambda: put.append("web")

    def oci() -> Callable[[], None]:
        if mistakes:
            raise ConfigError("fss-exporter.yml", (mistakes.pop(),))
        return lambda: put.append("oci")

    reloading = Reloading([web, oci])

    states = [reloading.is_successful]
    assert reloading() == "kept the old configuration: fss-exporter.yml: oci: nonsense"
    states.append(reloading.is_successful)
    assert put == []
    assert "configuration read again" not in caplog.text
    assert reloading() == ""
    states.append(reloading.is_successful)
    assert put == ["web", "oci"]
    assert states == [True, False, True]


def test_an_unexpected_error_costs_that_reload_only(caplog: pytest.LogCaptureFixture) -> None:
    errors: list[Exception] = [MemoryError("no memory")]

    def reload() -> Callable[[], None]:
        if errors:
            raise errors.pop()
        return lambda: None

    reloading = Reloading([reload])

    assert reloading() == "kept the old configuration: MemoryError('no memory')"
    assert caplog.records[0].exc_info
    assert reloading() == ""


def test_a_mistake_that_a_hanging_reload_finds_at_last_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    go = threading.Event()

    def reload() -> Callable[[], None]:
        assert go.wait(PATIENCE_S)
        raise ConfigError("web.yml", ("line 3: nonsense: unknown key",))

    assert "hangs" in Reloading([reload], seconds=0.01)()
    go.set()
    wait_for(lambda: "kept the old configuration: web.yml: line 3: nonsense" in caplog.text, "the line of the log")
