"""One HTTP GET of a URL that an operator gives."""

import gzip
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from tests.local_server import Quiet, serving
from tests.processes import PROMPT_S

from fss_exporter.errors import SourceError
from fss_exporter.instance_metadata import read_instance_metadata
from fss_toolbox import fetch
from fss_toolbox.fetch import get


def test_an_error_status_whose_text_never_ends_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "_TIMEOUT_S", 0.2)
    is_over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(b"HTTP/1.1 500 Broken\r\nContent-Length: 100\r\n\r\nhalf")
                is_over.wait(PROMPT_S)

        thread = threading.Thread(target=answer)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        with pytest.raises(SourceError, match=f"{url}: HTTP 500 Broken"):
            get(url)
        is_over.set()
        thread.join()


def test_a_page_that_does_not_exist_asks_whether_the_url_is_right() -> None:
    class Missing(Quiet):
        def get(self) -> None:
            self.answer("not here", status=404)

    with (
        serving(Missing) as host,
        pytest.raises(SourceError, match=r"HTTP 404 Not Found: not here. Is this the right URL\?$"),
    ):
        get(f"http://{host}/api/v1/query")


@contextmanager
def dripping() -> Iterator[str]:
    """A server that sends a byte of its answer each few milliseconds, without end."""
    is_over = threading.Event()

    def answer() -> None:
        connection, _ = listening.accept()
        with connection, suppress(ConnectionError):
            connection.recv(1 << 16)
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            while not is_over.wait(0.01):
                connection.sendall(b" ")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=answer)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
        is_over.set()
        thread.join()


def test_a_closed_port_and_an_unknown_host_are_told_in_words_without_numbers_of_errors() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        closed = f"http://127.0.0.1:{listening.getsockname()[1]}/"
    with pytest.raises(SourceError) as refused:
        get(closed)
    with pytest.raises(SourceError) as unknown:
        get("http://no-such-host.invalid/")
    assert str(refused.value) == f"{closed}: no answer: Connection refused"
    assert str(unknown.value).startswith("http://no-such-host.invalid/: no answer: ")
    assert "Errno" not in str(unknown.value)


def test_an_answer_that_drips_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "_TIMEOUT_S", 0.2)
    with dripping() as url, pytest.raises(SourceError, match="no answer: the answer takes longer"):
        get(url)


def test_metadata_that_drip_without_end_are_none() -> None:
    with dripping() as url:
        assert read_instance_metadata(url, 0.2) is None


def test_an_answer_that_breaks_off_at_the_end_of_a_line_is_no_answer() -> None:
    class Dying(Quiet):
        def get(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "500")
            self.end_headers()
            self.wfile.write(b"fss_coverage_seen 1\n")

    with (
        serving(Dying) as host,
        pytest.raises(SourceError, match="no answer: the answer broke off after 20 of 500 bytes"),
    ):
        get(f"http://{host}/metrics")


@pytest.mark.parametrize("names_its_length", [True, False])
def test_a_page_that_is_too_long_says_what_to_do(monkeypatch: pytest.MonkeyPatch, *, names_its_length: bool) -> None:
    """A page that says how long it is is not read at all."""
    monkeypatch.setattr(fetch, "_LARGEST_ANSWER", 1 << 20)

    class Long(Quiet):
        def get(self) -> None:
            if not names_its_length:
                self.answer("x" * (2 << 20))
                return
            self.send_response(200)
            self.send_header("Content-Length", str(400 << 20))
            self.end_headers()

    with serving(Long) as host, pytest.raises(SourceError, match=r"more than 1 MiB\. .*--prometheus"):
        get(f"http://{host}/metrics")


def test_the_page_of_the_largest_supported_fleet_is_read() -> None:
    page = b"x" * (250 << 20)  # 5,000 mount targets with 4 file systems each

    class Fleet(Quiet):
        def get(self) -> None:
            self.answer(page)

    with serving(Fleet) as host:
        assert len(get(f"http://{host}/metrics")) == len(page)


@contextmanager
def packed(body: bytes) -> Iterator[str]:
    """A server that answers whoever takes gzip with these bytes."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                asked = connection.recv(1 << 16)
                assert b"Accept-Encoding: gzip" in asked
                head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n"
                connection.sendall(head.encode() + body)

        thread = threading.Thread(target=answer)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
        thread.join()


def test_a_page_comes_compressed() -> None:
    text = "fss_client_requests_total 1\n" * 1000
    with packed(gzip.compress(text.encode())) as url:
        assert get(url) == text


def test_a_page_that_was_compressed_in_pieces_is_read_to_its_end() -> None:
    with packed(gzip.compress(b"a 1\n") + gzip.compress(b"b 2\n")) as url:
        assert get(url) == "a 1\nb 2\n"


@pytest.mark.parametrize(
    "body",
    [b"", b"not gzip", gzip.compress(b"x" * 100)[:-9], gzip.compress(b"a 1\n") + b"rest"],
    ids=["empty", "foreign", "cut off", "more than gzip"],
)
def test_a_compressed_page_that_is_damaged_is_an_error(body: bytes) -> None:
    with packed(body) as url, pytest.raises(SourceError, match="no answer"):
        get(url)


def test_a_small_body_that_unpacks_without_end_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "_LARGEST_ANSWER", 1 << 20)
    with packed(gzip.compress(b"x" * (1 << 24))) as url, pytest.raises(SourceError, match="more than 1 MiB"):
        get(url)
