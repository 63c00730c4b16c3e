"""Tables on terminals wide and narrow, with and without colour."""

import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from queue import Queue

import pytest
from hypothesis import given, strategies as st
from rich.cells import cell_len
from rich.console import Console
from tests.prompt import ROOT

from fss_exporter.errors import SourceError
from fss_exporter.terminal_text import printable
from fss_toolbox import tables
from fss_toolbox.tables import Column, Progress, Row, as_json, console, say, shortened, show

COLUMNS = (Column("name", left=True), Column("first", 1), Column("second", 2))
ROWS = [Row(("a-name", "1,000", "2,000")), Row(("b", "1", "2"), "red")]


def printed(width: int) -> list[str]:
    stream = io.StringIO()
    show(Console(file=stream, width=width, highlight=False), COLUMNS, ROWS)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def test_a_table_that_fits_has_every_column() -> None:
    assert printed(40) == ["name    first  second", "a-name  1,000   2,000", "b           1       2"]


def test_the_least_important_column_goes_first() -> None:
    assert printed(18)[0].split() == ["name", "first"]
    assert " ".join(" ".join(printed(18)[3:]).split()) == "left out, the terminal is too narrow: second"


def test_a_narrow_column_comes_back_where_a_wide_one_had_to_go() -> None:
    stream = io.StringIO()
    columns = (Column("name", left=True), Column("a very wide column", 1), Column("x", 2))
    show(Console(file=stream, width=20, highlight=False), columns, [Row(("a-name", "1", "2"))])
    assert [line.rstrip() for line in stream.getvalue().splitlines()[:2]] == ["name    x", "a-name  2"]


def test_a_column_without_a_title_goes_without_a_word() -> None:
    stream = io.StringIO()
    columns = (Column("name"), Column("", 1), Column("more", 2))
    show(Console(file=stream, width=14, highlight=False), columns, [Row(("fourteen-signs", "remark", "1"))])
    assert " ".join(stream.getvalue().split()) == "name fourteen-signs left out, the terminal is too narrow: more"


def test_what_always_stays_is_shortened_before_it_goes() -> None:
    assert printed(4)[:2] == ["name", "a…me"]


def test_a_long_name_is_shortened_in_its_middle_before_a_column_is_left_out() -> None:
    stream = io.StringIO()
    rows = [Row(("  /export/b on /mnt/10-80-1-10-export-b", "1", "2")), Row(("0a1b2c.cn-hangzhou.nas", "1", "2"))]
    show(Console(file=stream, width=40, highlight=False), COLUMNS, rows)
    assert [line.rstrip() for line in stream.getvalue().splitlines()] == [
        "name                       first  second",
        "  /export/b…-10-export-b       1       2",
        "0a1b2c.cn-hangzhou.nas         1       2",
    ]


@given(st.text(max_size=60), st.integers(1, 60))
def test_a_shortened_name_is_no_wider_than_its_room(name: str, width: int) -> None:
    short = shortened(printable(name), width)
    assert cell_len(short) <= width
    assert short == printable(name) or "…" in short


@given(st.text())
def test_no_name_steers_the_terminal(text: str) -> None:
    assert printable(text).isprintable() or text == ""


def test_folded_lines_hang() -> None:
    stream = io.StringIO()
    say(Console(file=stream, width=20, highlight=False), "one two three four five six", hanging=4)
    assert stream.getvalue() == "one two three four\n    five six\n"


def test_a_list_of_alternatives_breaks_between_them() -> None:
    stream = io.StringIO()
    say(Console(file=stream, width=20, highlight=False), 'x =~ "*one*|*two*|*three*|*four*" > 3', hanging=4)
    assert stream.getvalue().splitlines() == ['x =~ "*one*|*two*|', '    *three*|*four*"', "    > 3"]


def test_a_figure_beyond_all_numbers_is_one_line() -> None:
    with pytest.raises(SourceError, match="too large for JSON"):
        as_json({"x": float("inf")})


def test_a_pipe_is_as_wide_as_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert console().width == 400
    monkeypatch.setenv("COLUMNS", "70")
    assert console().width == 70


def on_a_terminal(tmp_path: Path, **environment: str) -> str:
    """What a command with a red line prints where standard output is a terminal."""
    lead, follow = pty.openpty()
    given = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "COLUMNS"}}
    command = [
        "fss-exporter",
        "doctor",
        "--no-account",
        "--no-connect",
        "--metadata-url=",
        "--path.procfs",
        str(tmp_path),
    ]
    with subprocess.Popen(
        command,
        stdin=follow,
        stdout=follow,
        stderr=follow,
        cwd=ROOT,
        env={**given, "TERM": "xterm-256color", **environment},
    ) as running:
        os.close(follow)
        text = b""
        while True:
            try:
                part = os.read(lead, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            text += part
        running.wait(120)
    os.close(lead)
    return text.decode()


def test_a_terminal_gets_colour_unless_it_wants_none(tmp_path: Path) -> None:
    red = re.compile(r"\x1b\[[0-9;]*31m")
    assert red.search(on_a_terminal(tmp_path))
    assert not red.search(on_a_terminal(tmp_path, NO_COLOR="1"))
    assert "PROBLEM" in on_a_terminal(tmp_path, NO_COLOR="1")


def test_progress_shows_the_steps_of_a_phase_and_their_total() -> None:
    shown: list[str] = []
    progress = Progress(shown.append)
    progress.phase("listing \x1b[2J")
    progress.step()
    progress.phase("metrics", 2)
    for _ in range(3):
        progress.step()
    assert shown == [
        "listing \\x1b[2J",
        "listing \\x1b[2J: 1",
        "metrics",
        "metrics: 1 of 2",
        "metrics: 2 of 2",
        "metrics: 3 of 3",
    ]


def test_a_long_command_tells_its_step_in_a_pipe_too_also_within_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Queue[str]()
    monkeypatch.setattr(tables, "note", told.put)
    monkeypatch.setattr(tables, "_TOLD_EVERY_SECONDS", 0.001)
    with tables.progress() as progress:
        progress.phase("reading alarms", 3)
        progress.step()
        assert {told.get(timeout=60), told.get(timeout=60)} <= {"reading alarms", "reading alarms: 1 of 3"}


def test_a_short_command_tells_no_step_in_a_pipe(capfd: pytest.CaptureFixture[str]) -> None:
    with tables.progress() as progress:
        progress.phase("reading alarms")
    assert capfd.readouterr().err == ""


def test_a_long_name_is_folded_before_a_figure_goes() -> None:
    stream = io.StringIO()
    rows = [Row(("/export/of-a-team-with-a-name/that-is-longer/than-half-of-the-line", "1,000", "2,000")), ROWS[1]]
    show(Console(file=stream, width=60, highlight=False), COLUMNS, rows)
    lines = stream.getvalue().splitlines()
    assert lines[0].split() == ["name", "first", "second"]
    assert "1,000   2,000" in lines[1]
    assert max(map(len, lines)) <= 60
    assert "left out" not in stream.getvalue()


@pytest.mark.parametrize("width", range(8, 40))
def test_no_figure_is_cut_however_narrow_the_terminal_is(width: int) -> None:
    stream = io.StringIO()
    columns = (Column("mount target", left=True), Column("IOPS"), Column("share"))
    show(Console(file=stream, width=width), columns, [Row(("10.80.1.10", "1,261", "2.5 % of IOPS"))])
    shown = stream.getvalue()
    assert "1,261" in shown
    assert "2.5 % of IOPS" in shown
