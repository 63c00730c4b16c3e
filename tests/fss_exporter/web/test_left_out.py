"""Each limit of the web server in the table of what is left out bites here, and its metric and its word of doctor say so."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace

import pytest
from tests.exposition_text import collected
from tests.fss_exporter.web.serving import Served, say_ok, serving
from tests.processes import PATIENCE_S, wait_for

from fss_exporter.samples import Samples
from fss_exporter.web.application import build
from fss_exporter.web.http_server import ServerLimits
from fss_exporter.web.messages import Request, Response
from fss_exporter.web.one_at_a_time import MOST_WAITING
from fss_toolbox.doctor.left_out import check_left_out, rows

PATIENT = ServerLimits(request_seconds=PATIENCE_S)
LARGE = b"x" * (1 << 22)

Play = Callable[[ExitStack], Served]


def served(stack: ExitStack, made: AbstractContextManager[Served]) -> Served:
    return stack.enter_context(made)


def ask(stack: ExitStack, server: Served, path: str = "/", times: int = 1) -> None:
    """Ask on a new connection each time, and take no answer."""
    for _ in range(times):
        stack.enter_context(server.connect()).sendall(f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode())


def connections(stack: ExitStack) -> Served:
    server = served(stack, serving(limits=replace(PATIENT, connections=2)))
    ask(stack, server, times=3)
    return server


def bodies(stack: ExitStack) -> Served:
    def say_much(_: Request) -> Response:
        return Response(200, LARGE + b"\n")

    server = served(stack, serving(say_much, limits=replace(PATIENT, unsent_bytes=1)))
    ask(stack, server, times=5)
    return server


def waiting_pages(stack: ExitStack) -> Served:
    go = threading.Event()
    stack.callback(go.set)

    def wait(_: Request) -> Response:
        assert go.wait(PATIENCE_S)
        return say_ok(_)

    application = build(telemetry_path="/metrics", scrapes=say_ok, page=wait, waiting_for=tuple, reload=str)
    server = served(stack, serving(application, limits=PATIENT))
    ask(stack, server, times=MOST_WAITING + 2)
    return server


def test_the_row_is_that_of_agent_and_poller() -> None:
    assert [row.name for row in rows() if row.of == "both"] == ["refused-requests"]


@pytest.mark.parametrize("play", [connections, bodies, waiting_pages], ids=lambda play: play.__name__)
def test_a_client_that_is_refused_is_counted_and_doctor_says_so(play: Play) -> None:
    with ExitStack() as stack:
        server = play(stack)

        def count() -> float:
            return Samples(collected(server.server.refusals)).by("fss_exporter_refused_requests_total")[()]

        wait_for(lambda: count() > 0, "a refusal")
        (found,) = check_left_out(Samples(collected(server.server.refusals)))
    assert "were refused or closed, because too many clients waited" in found.message


def test_a_server_that_refuses_nobody_counts_zero() -> None:
    with serving() as server:
        assert server.get("/").status == 200
        samples = Samples(collected(server.server.refusals))

    assert samples.by("fss_exporter_refused_requests_total") == {(): 0.0}
    assert [*check_left_out(samples)] == []
