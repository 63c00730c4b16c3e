"""`fss-exporter top` ends by keys and signals in a terminal: the exit code, and the terminal as it was."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from tests.processes import PROMPT_S, wait_for

PROGRAM = """
import signal
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may run under nohup
from fss_exporter.cli.main import main
main()
"""

# Makes `top` wait no three seconds for Textual, which never ends on a full terminal.
IMPATIENT = """
from fss_toolbox.top import top_screen
top_screen._STUCK_SECONDS = 0.1
"""

# What a program sends that uses the terminal: another screen, no cursor, and reports of the mouse.
IN_USE = (b"\x1b[?1049h", b"\x1b[?25l", b"\x1b[?1000h")


class Terminal:
    """The outer end of a terminal with `top` in it."""

    def __init__(self, outer: int, inner: int, process: "subprocess.Popen[bytes]") -> None:
        self._outer, self._inner = outer, inner
        self.process = process
        self.sent = b""

    def settings(self) -> list[object]:
        """Return the settings of the terminal's line."""
        return termios.tcgetattr(self._inner)

    def read(self) -> bytes:
        """Take what `top` has sent. Return all of it so far."""
        while select.select([self._outer], [], [], 0.02)[0]:
            self.sent += os.read(self._outer, 1 << 16)
        return self.sent

    def press(self, key: bytes) -> None:
        """Press a key."""
        os.write(self._outer, key)

    def resize(self, rows: int, columns: int) -> None:
        """Change the size, so that `top` draws all of its lines again."""
        fcntl.ioctl(self._inner, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process.send_signal(signal.SIGWINCH)

    def is_full(self) -> bool:
        """Return whether the terminal takes no further byte."""
        return not select.select([], [self._inner], [], 0)[1]

    def ended(self) -> int | None:
        """Return the exit code. None for a `top` that runs."""
        return self.process.poll()

    def exit_code(self) -> int | None:
        """Read until the end of `top`, and return the exit code."""
        wait_for(lambda: self.read() is not None and self.ended() is not None, "the end of top", PROMPT_S)
        self.read()
        return self.ended()


@contextmanager
def top_in_a_terminal(change: str = "") -> Iterator[Terminal]:
    """`top` of an exporter that does not answer, before it draws. `change` are lines of Python that change the program."""
    outer, inner = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
    command = [sys.executable, "-c", change + PROGRAM, "top", "--url", "http://127.0.0.1:9/metrics", "1"]
    with (
        closing(os.fdopen(outer, "rb", 0)),
        closing(os.fdopen(inner, "rb", 0)),
        subprocess.Popen(
            command, stdin=inner, stdout=inner, stderr=inner, env=environment, start_new_session=True
        ) as process,
    ):
        try:
            yield Terminal(outer, inner, process)
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (b"q", 0),
        (b"\x03", 130),  # Ctrl-C in a terminal that sends no signal for it
        (b"/\x03", 130),
        (signal.SIGINT, 130),
        (signal.SIGTERM, 143),
        (signal.SIGHUP, 129),
        (signal.SIGQUIT, 131),
    ],
)
def test_keys_and_signals_give_the_terminal_back(end: bytes | signal.Signals, code: int) -> None:
    with top_in_a_terminal() as terminal:
        before = terminal.settings()
        wait_for(lambda: b"no answer" in terminal.read(), "a picture", PROMPT_S)
        if isinstance(end, bytes):
            terminal.press(end)
        else:
            terminal.process.send_signal(end)
        assert terminal.exit_code() == code, terminal.sent
        assert terminal.settings() == before
    for use in IN_USE:
        give_back = use.translate(bytes.maketrans(b"hl", b"lh"))
        assert terminal.sent.rfind(give_back) > terminal.sent.rfind(use) >= 0, use
    assert b"Traceback" not in terminal.sent


def test_two_signals_at_once_end_it_without_a_word() -> None:
    with top_in_a_terminal() as terminal:
        wait_for(lambda: b"no answer" in terminal.read(), "a picture", PROMPT_S)
        terminal.process.send_signal(signal.SIGTERM)
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.exit_code() in (130, 143)
    assert b"Traceback" not in terminal.sent


@pytest.mark.parametrize("end", [b"q", b"\x03", signal.SIGTERM])
def test_it_ends_although_its_terminal_takes_no_byte(end: bytes | signal.Signals) -> None:
    """A connection that stands still: bytes wait for ever, and a hang-up may come hours later."""
    with top_in_a_terminal(IMPATIENT) as terminal:
        before = terminal.settings()
        wait_for(lambda: b"no answer" in terminal.read(), "a picture", PROMPT_S)
        columns = iter(range(400, 100, -1))

        def fills() -> bool:
            terminal.resize(200, next(columns))
            return terminal.is_full()

        wait_for(fills, "a full terminal", PROMPT_S)
        if isinstance(end, bytes):
            terminal.press(end)
        else:
            terminal.process.send_signal(end)
        wait_for(lambda: terminal.ended() is not None, "the end of top", PROMPT_S)
        assert terminal.settings() == before
