import asyncio
import logging
import threading
from collections.abc import Callable
from itertools import pairwise

import pytest
from tests.processes import PATIENCE_S

from fss_exporter.errors import ConfigError
from fss_exporter.log_once import LogOnce
from fss_exporter.web.application import Reloading, Router, build
from fss_exporter.web.costly import MOST_WAITING, ClientGone, Costly
from fss_exporter.web.messages import Request, Response, text


async def scrapes(_: Request) -> Response:
    return text(200, "metrics")


def application(
    *,
    page: Callable[[str], str] = lambda _: "<!doctype html>",
    waiting_for: Callable[[], tuple[str, ...]] = tuple,
    stalled: Callable[[], tuple[str, ...]] = tuple,
    reload: Callable[[], None] = lambda: None,
) -> Router:
    return build(
        telemetry_path="/metrics",
        scrapes=scrapes,
        page=page,
        waiting_for=waiting_for,
        stalled=stalled,
        reload=Reloading(reload),
    )


def ask(asked: Router, path: str, method: str = "GET") -> Response:
    async def run() -> Response:
        return await asked(Request(method, path, "", {}, "::1"))

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 200),
        ("HEAD", "/", 200),
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


def test_the_answer_to_a_wrong_method_names_the_right_methods() -> None:
    assert dict(ask(application(), "/-/reload").headers)["Allow"] == "POST, PUT"


def test_the_page_may_load_nothing_from_anywhere() -> None:
    page = ask(application(), "/")

    assert page.content_type == "text/html; charset=utf-8"
    assert "default-src 'none'" in dict(page.headers)["Content-Security-Policy"]


def test_readiness_names_what_is_missing() -> None:
    answer = ask(application(waiting_for=lambda: ("the first reading of oci",)), "/-/ready")

    assert (answer.status, answer.body) == (503, b"fss-exporter waits for the first reading of oci.\n")


@pytest.mark.parametrize(("path", "word"), [("/-/healthy", "healthy"), ("/-/ready", "ready")])
def test_a_stalled_loop_fails_health_and_readiness_by_its_name(path: str, word: str) -> None:
    stalled = ("loop nfs is stalled: no round ended for 42 s", "loop oci is stalled: no round ended for 700 s")

    answer = ask(application(stalled=lambda: stalled), path)

    assert answer.status == 503
    assert answer.body.decode() == f"fss-exporter is not {word}: {'; '.join(stalled)}.\n"


def test_a_wrong_configuration_is_reported_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    def reload() -> None:
        raise ConfigError("web.yml", ("line 3: nonsense: unknown key",))

    answer = ask(application(reload=reload), "/-/reload", "POST")

    assert (answer.status, answer.body) == (
        500,
        b"kept the old configuration: web.yml: line 3: nonsense: unknown key\n",
    )
    assert "line 3: nonsense: unknown key" in caplog.text


def test_a_bug_in_a_page_is_a_500_that_tells_no_more_than_the_log(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def page(_: str) -> str:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("fss_exporter.web.application._log_once", LogOnce(logging.getLogger("a_bug")))
    asked = application(page=page)

    async def run() -> list[Response]:
        return [await asked(Request("GET", "/", "", {}, "::1")) for _ in range(3)]

    for answer in asyncio.run(run()):
        assert (answer.status, answer.body) == (500, b"internal error. The exporter's log says more\n")
    (record,) = caplog.records
    assert record.exc_info
    assert "a bug" in caplog.text


def test_many_who_look_at_the_page_take_turns_and_hold_up_no_scrape() -> None:
    go = threading.Event()
    at_work = most = 0

    def page(_: str) -> str:
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        assert go.wait(120)
        at_work -= 1
        return ""

    async def run() -> tuple[Response, list[Response]]:
        asked = application(page=page)
        looking = [asyncio.create_task(asked(Request("GET", "/", "", {}, "::1"))) for _ in range(50)]
        await asyncio.sleep(0)
        scraped = await asked(Request("GET", "/metrics", "", {}, "::1"))
        go.set()
        return scraped, await asyncio.gather(*looking)

    scraped, looked = asyncio.run(run())

    assert scraped.status == 200
    assert most == 1
    assert [answer.status for answer in looked] == [200] * (1 + MOST_WAITING) + [503] * (49 - MOST_WAITING)


def test_reloads_that_anyone_may_ask_for_cannot_fill_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fss_exporter.web.application._RELOAD_REST_SECONDS", 0.05)
    read: list[float] = []

    async def run() -> list[int]:
        loop = asyncio.get_running_loop()
        asked = application(reload=lambda: read.append(loop.time()))
        answers = (asked(Request("POST", "/-/reload", "", {}, "::1")) for _ in range(3))
        return [answer.status for answer in await asyncio.gather(*answers)]

    assert asyncio.run(run()) == [200] * 3
    assert all(later - earlier > 0.045 for earlier, later in pairwise(read))


def test_a_reload_that_hangs_is_answered_and_the_next_one_does_not_hang() -> None:
    go, read = threading.Event(), []

    def reload() -> None:
        read.append("began")
        assert go.wait(120)

    async def run() -> tuple[list[str], str]:
        reloading = Reloading(reload, seconds=0.01)
        hanging = [await reloading(), await reloading()]
        assert read == ["began"]
        go.set()
        while mistake := await reloading():
            assert "hangs" in mistake
            await asyncio.sleep(0.001)
        return hanging, mistake

    hanging, mistake = asyncio.run(run())

    assert all("a reload hangs while it reads a file" in each for each in hanging)
    assert mistake == ""


def test_a_mistake_that_a_hanging_reload_finds_at_last_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    go = threading.Event()

    def reload() -> None:
        assert go.wait(PATIENCE_S)
        raise ConfigError("web.yml", ("line 3: nonsense: unknown key",))

    async def run() -> None:
        reloading = Reloading(reload, seconds=0.01)
        assert "hangs" in await reloading()
        go.set()
        async with asyncio.timeout(PATIENCE_S):
            while "kept the old configuration: web.yml: line 3: nonsense" not in caplog.text:
                await asyncio.sleep(0.001)

    asyncio.run(run())


def test_a_page_is_not_made_for_a_client_that_has_left() -> None:
    made: list[str] = []

    def page(query: str) -> str:
        made.append(query)
        return ""

    async def run() -> list[Response | BaseException]:
        asked = application(page=page)
        looking = [
            asked(Request("GET", "/", query, {}, "::1", is_gone=lambda query=query: query == "gone"))  # type: ignore[misc]
            for query in ("first", "gone", "there")
        ]
        return await asyncio.gather(*looking, return_exceptions=True)

    _, gone, _ = asyncio.run(run())

    assert isinstance(gone, ClientGone)
    assert made == ["first", "there"]


def test_pages_rest_for_as_long_as_they_took() -> None:
    clock, begun = [0.0], []

    async def work() -> None:
        begun.append(clock[0])
        clock[0] += 3.0

    async def run() -> None:
        loop = asyncio.get_running_loop()
        loop.time = lambda: clock[0]  # type: ignore[method-assign]
        costly = Costly()
        await costly.work(work, lambda: False)
        second = asyncio.create_task(costly.work(work, lambda: False))
        await asyncio.sleep(0)
        assert begun == [0.0]
        clock[0] += 3.0
        await second

    asyncio.run(run())

    assert begun == [0.0, 6.0]
