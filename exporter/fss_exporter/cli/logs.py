# SPDX-License-Identifier: Apache-2.0
"""Log lines to stderr, one line each, as logfmt or JSON. No message can start a new line."""

import json
import logging
import math
import os
import select
import sys
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, TextIO

LEVELS = ("debug", "info", "warn", "error")
FORMATS = ("logfmt", "json")

# Those whose loggers have the level that the user chose.
PACKAGES = ("fss_exporter", "fss_toolbox", "fss_kernel_counting")

_HOUR_S: Final = 3600.0
_MOST_MESSAGES: Final = 1000
_LEVEL_NAMES = {"WARNING": "warn", "CRITICAL": "error"}
_PRIORITIES = {logging.DEBUG: 7, logging.INFO: 6, logging.WARNING: 4}  # of sd-daemon(3). Anything else is an error, 3


class _LogLines(logging.Formatter):
    def __init__(self, *, as_json: bool, to_journal: bool) -> None:
        super().__init__()
        self._as_json = as_json
        self._to_journal = to_journal

    def format(self, record: logging.LogRecord) -> str:
        # The journal takes the number away, and `journalctl --priority err` then finds the errors.
        priority = f"<{_PRIORITIES.get(record.levelno, 3)}>" if self._to_journal else ""
        return priority + self._line(record)

    def _line(self, record: logging.LogRecord) -> str:
        fields = {
            "ts": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": _LEVEL_NAMES.get(record.levelname, record.levelname.lower()),
            "component": record.name.removeprefix("fss_exporter."),
            "msg": record.getMessage(),
        }
        if record.exc_info and record.exc_info[0] is not None:
            fields["trace"] = "".join(traceback.format_exception(*record.exc_info)).strip()
        if self._as_json:
            return json.dumps(fields)
        return " ".join(f"{name}={_quoted(value)}" for name, value in fields.items())


def _quoted(value: str) -> str:
    """Return a logfmt value: bare where that is unambiguous, else a JSON string, which escapes all control characters."""
    if value and value.isascii() and value.isprintable() and not set(value) & set(' ="\\'):
        return value
    return json.dumps(value)


class _OnceAnHour(logging.Filter):
    """Let a message of a library pass once an hour, because a server can provoke one with each answer."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._passed: dict[tuple[str, str], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.partition(".")[0] in PACKAGES:
            return True
        message, now = (record.name, str(record.msg)), self._clock()
        if now < self._passed.get(message, -math.inf) + _HOUR_S:
            return False
        if len(self._passed) >= _MOST_MESSAGES:
            self._passed.clear()
        self._passed[message] = now
        return True


class _NeverWaits(logging.StreamHandler[TextIO]):
    """Drop a log line if the pipe is full and the line would block the thread.

    The next line that fits comes after a line with the number of dropped lines.
    """

    _dropped = 0
    _end_of_cut = ""  # what ends a line that was cut

    def emit(self, record: logging.LogRecord) -> None:
        try:
            if self._dropped and _is_writable(self.stream):
                dropped, self._dropped = self._dropped, 0
                self._write(_about_dropped(dropped))
            self._write(record)
        except Exception:  # noqa: BLE001  # a line of log costs nothing else
            self.handleError(record)

    def _write(self, record: logging.LogRecord) -> None:
        line = self._end_of_cut + self.format(record) + self.terminator
        for start in range(0, len(line), select.PIPE_BUF):
            if not _is_writable(self.stream):
                self._dropped += 1
                return
            piece = line[start : start + select.PIPE_BUF]
            self.stream.write(piece)
            self.flush()
            self._end_of_cut = "" if piece.endswith(self.terminator) else self.terminator


def _about_dropped(lines: int) -> logging.LogRecord:
    message = "%d line(s) of log were dropped or cut, because no program read them"
    return logging.LogRecord(__name__, logging.WARNING, __file__, 0, message, (lines,), None)


def _is_writable(stream: TextIO) -> bool:
    """Whether `PIPE_BUF` characters can be written at once. Every line is ASCII."""
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):  # a stream in memory
        return True
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    return bool(poll.poll(0))


def _is_journal(stream: TextIO) -> bool:
    """Whether systemd has connected the stream to the journal, by JOURNAL_STREAM of systemd.exec(5)."""
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError):  # a stream in memory, or a closed one
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


def configure(level: str, form: str, stream: TextIO | None = None) -> None:
    """Send the log to stderr, or to `stream`, with one of `LEVELS` in one of `FORMATS`."""
    stream = stream or sys.stderr
    handler = _NeverWaits(stream)
    handler.addFilter(_OnceAnHour())
    handler.setFormatter(_LogLines(as_json=form == "json", to_journal=_is_journal(stream)))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    # Messages of libraries below a warning are about the libraries, and may hold secrets of the exporter.
    root.setLevel(logging.WARNING)
    for package in PACKAGES:
        logging.getLogger(package).setLevel(level.upper())
    # A full disk or a closed pipe behind stderr must not turn each line into a stack trace.
    logging.raiseExceptions = False
