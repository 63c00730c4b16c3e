import json
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from io import StringIO
from pathlib import Path

import pytest
from tests.processes import PATIENCE_S
from tests.prompt import logging_put_back

from fss_exporter.cli import logs

HOSTILE = 'mount "x"\nts=2026 level=info msg=forged \x1b[31m\u2028'


@pytest.fixture
def stream() -> Iterator[StringIO]:
    """Where the log goes."""
    with logging_put_back():
        yield StringIO()


def test_logfmt_has_a_field_for_each_fact(stream: StringIO) -> None:
    logs.configure("info", "logfmt", stream)

    logging.getLogger("fss_exporter.web.http_server").warning("too %s", "many")

    ts, *fields = stream.getvalue().split(" ", 3)
    assert ts.startswith("ts=20")
    assert ts.endswith("Z")
    assert fields == ["level=warn", "component=web.http_server", 'msg="too many"\n']


def test_json_has_the_same_fields(stream: StringIO) -> None:
    logs.configure("info", "json", stream)

    logging.getLogger("fss_exporter.web.http_server").error("broke")

    read = json.loads(stream.getvalue())
    assert list(read) == ["ts", "level", "component", "msg"]
    assert (read["level"], read["component"], read["msg"]) == ("error", "web.http_server", "broke")


@pytest.mark.parametrize("form", logs.FORMATS)
def test_a_name_from_outside_cannot_start_a_line_of_its_own(stream: StringIO, form: str) -> None:
    logs.configure("info", form, stream)

    logging.getLogger("fss_exporter.nfs").warning("%s", HOSTILE)

    (line,) = stream.getvalue().splitlines()
    assert line.isprintable()
    assert (json.loads(line)["msg"] if form == "json" else json.loads(line.partition("msg=")[2])) == HOSTILE


def test_a_full_pipe_behind_the_log_holds_up_no_thread_and_the_log_counts_what_it_lost() -> None:
    reading, writing = os.pipe()
    with logging_put_back(), os.fdopen(writing, "w") as stream, os.fdopen(reading, "rb") as reader:
        os.set_blocking(writing, False)
        with suppress(BlockingIOError):
            while True:
                os.write(writing, b"." * 4096)
        os.set_blocking(writing, True)
        logs.configure("info", "logfmt", stream)

        lost = threading.Thread(target=logging.getLogger("fss_exporter.nfs").error, args=("x" * 100_000,), daemon=True)
        lost.start()
        lost.join(PATIENCE_S)
        assert not lost.is_alive()

        full = len(reader.read1(1 << 20))
        logging.getLogger("fss_exporter.nfs").error("y" * 10_000)
        assert full % 4096 == 0
        said, line = reader.read1(1 << 20).splitlines()
        assert b"1 line(s) of log were dropped or cut" in said
        assert line.endswith(b"msg=" + b"y" * 10_000)


def test_a_line_that_was_cut_ends_before_the_next_begins() -> None:
    reading, writing = os.pipe()
    with logging_put_back(), os.fdopen(writing, "w") as stream, os.fdopen(reading, "rb") as reader:
        logs.configure("info", "json", stream)
        logging.getLogger("fss_exporter.nfs").error("x" * (1 << 20))
        cut = reader.read1(1 << 21)
        logging.getLogger("fss_exporter.nfs").error("y")

        _, said, line = (cut + reader.read1(1 << 20)).splitlines()
        assert "1 line(s) of log were dropped or cut" in json.loads(said)["msg"]
        assert json.loads(line)["msg"] == "y"


@pytest.mark.parametrize("form", logs.FORMATS)
def test_a_stack_trace_is_one_line_too(stream: StringIO, form: str) -> None:
    logs.configure("info", form, stream)

    try:
        int("of all things")
    except ValueError:
        logging.getLogger("fss_exporter.nfs").exception("broke")

    (line,) = stream.getvalue().splitlines()
    assert "ValueError: invalid literal" in line
    assert "trace" in line


@pytest.mark.parametrize(("level", "expected"), [("debug", 4), ("info", 3), ("warn", 2), ("error", 1)])
def test_lines_below_the_level_are_left_out(stream: StringIO, level: str, expected: int) -> None:
    logs.configure(level, "logfmt", stream)

    for number in (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR):
        logging.getLogger("fss_exporter.oci").log(number, "line")

    assert len(stream.getvalue().splitlines()) == expected


def test_what_a_library_says_about_itself_is_left_out_even_when_debugging(stream: StringIO) -> None:
    logs.configure("debug", "logfmt", stream)

    logging.getLogger("oci.base_client").info("Authorization: secret")
    logging.getLogger("concurrent").warning("worth knowing")

    (line,) = stream.getvalue().splitlines()
    assert "worth knowing" in line


@pytest.mark.parametrize("form", logs.FORMATS)
def test_the_journal_gets_the_priority_of_each_line(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    with logging_put_back(), log.open("w") as stream:
        status = log.stat()
        monkeypatch.setenv("JOURNAL_STREAM", f"{status.st_dev}:{status.st_ino}")
        logs.configure("debug", form, stream)
        for level in (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL):
            logging.getLogger("fss_exporter.nfs").log(level, "a line")
    assert [line[:3] for line in log.read_text().splitlines()] == ["<7>", "<6>", "<4>", "<3>", "<3>"]


@pytest.mark.parametrize("journal", ["", "rubbish", "1:1"])
def test_a_log_that_is_redirected_away_from_the_journal_has_no_priorities(
    journal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOURNAL_STREAM", journal)
    log = tmp_path / "log"
    with logging_put_back(), log.open("w") as stream:
        logs.configure("info", "logfmt", stream)
        logging.getLogger("fss_exporter.nfs").error("a line")
    assert log.read_text().startswith("ts=")


def test_a_library_that_warns_of_each_answer_has_one_line_an_hour(stream: StringIO) -> None:
    """As urllib3 does of an answer with Content-Length and Transfer-Encoding."""
    logs.configure("info", "logfmt", stream)
    for number in range(81):
        logging.getLogger("urllib3.response").warning("both headers in %s", number)
        logging.getLogger("fss_exporter.oci").warning("own line")

    lines = stream.getvalue().splitlines()
    assert [sum(text in line for line in lines) for text in ("both headers", "own line")] == [1, 81]
