# SPDX-License-Identifier: Apache-2.0
"""The terminal of a command: help, output, errors, signals and standard streams."""

import errno
import io
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final, NoReturn

import click

from fss_exporter.errors import FssError, UsageError
from fss_exporter.terminal_text import printable, printable_lines

# Errors of writing that no other command line prevents.
FULL_DISK: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

END_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)  # signals that end a command


@contextmanager
def writing(what: object) -> Iterator[None]:
    """Turn an OSError into a UsageError that names `what` is written, or for a full disk into an FssError."""
    try:
        yield
    except OSError as error:
        kind = FssError if error.errno in FULL_DISK else UsageError
        raise kind(f"{what}: cannot be written: {error.strerror}") from error


def echo(text: str = "", *, end: bool = True) -> None:
    """Print lines of the output."""
    click.echo(printable_lines(text), nl=end)


def complain(where: str, line: str) -> None:
    """Print a line on standard error, and ignore a closed standard error. On a terminal it breaks between words."""
    with suppress(OSError):
        click.echo(folded(f"{where}: {printable(line)}"), err=True)


def folded(text: str) -> str:
    """Return a message for standard error: lines of the width of a terminal that break between words, else one line."""
    if not sys.stderr.isatty():
        return text
    from shutil import get_terminal_size  # noqa: PLC0415  # an agent starts without it
    from textwrap import fill  # noqa: PLC0415  # ditto

    width = max(20, get_terminal_size().columns)
    return fill(text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


class CommandGroup(click.Group):
    """A group of commands whose help shows every summary whole. The help of click cuts summaries at the terminal's width."""

    def summaries(self, ctx: click.Context) -> list[tuple[str, str]]:
        """Return name and summary of each command, in the order of the help."""
        commands = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        return [(name, command.get_short_help_str(limit=1000)) for name, command in commands if command is not None]

    def sections(self, ctx: click.Context) -> list[tuple[str, list[tuple[str, str]]]]:
        """Return the sections of the list, each with its title and its summaries."""
        return [("Commands", self.summaries(ctx))]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands. All sections have one column of names."""
        sections = self.sections(ctx)
        longest = max((len(name) for _, summaries in sections for name, _ in summaries), default=0)
        for title, summaries in sections:
            with formatter.section(title):
                formatter.write_dl([(name.ljust(longest), summary) for name, summary in summaries])


# Beginning or beginnings of a flag's name, and the title of its section. The first that fits counts.
HelpGroups = tuple[tuple[str | tuple[str, ...], str], ...]

_HELP_GROUPS: Final[HelpGroups] = (
    ("--collector.", "What is collected"),
    ("--nfs.exact", "Counted by the kernel, exact mode"),
    ("--nfs.", "NFS client"),
    ("--oci.", "OCI"),
    ("--path.", "Places on this host"),
    ("--web.", "Web server"),
    ("--log.", "Log"),
    ("", "Further options"),
)


class GroupedHelp(click.Command):
    """A command with many flags, whose help has a section for each subject. The beginning of a flag's name is its subject."""

    groups: HelpGroups = _HELP_GROUPS

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections."""
        sections: dict[str, list[tuple[str, str]]] = {title: [] for _, title in self.groups}
        # --nfs.exact comes before --nfs.exact.rtt, which means nothing without it.
        for param in sorted(self.get_params(ctx), key=lambda param: param.opts[0].count(".")):
            record = param.get_help_record(ctx)
            if record is not None:
                title = next(title for prefix, title in self.groups if param.opts[0].startswith(prefix))
                sections[title].append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


class LogLines(logging.Formatter):
    """Log records of commands that keep no log: one printable line, then the printable lines of a traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the text of a record."""
        message = printable(record.getMessage())
        if not record.exc_info:
            return message
        return f"{message}\n{printable_lines(self.formatException(record.exc_info))}"


def clean_up_at_the_end(clean_up: Callable[[], None]) -> None:
    """Call a function however the command ends: with success, an error or a signal.

    Without this, the kernel would go on counting for a command that set triggers.
    """
    end_by_signals()
    click.get_current_context().call_on_close(clean_up)


def end_by_signals(exit_code: int | None = None) -> None:
    """Let a signal leave every `with` of the command, and end the command with an exit code. None: 128 and the signal's number.

    Under nohup SIGHUP stays ignored.
    """

    def end(number: int, _: FrameType | None) -> NoReturn:
        for further in END_SIGNALS:  # a second Ctrl-C must not interrupt the clean-up
            signal.signal(further, _go_on)
        raise SystemExit(128 + number if exit_code is None else exit_code)

    for number in END_SIGNALS:  # A background job inherits an ignored SIGINT, and its end must be as clean
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, end)


def _go_on(_: int, __: FrameType | None) -> None:
    """Ignore a signal. With SIG_IGN, Python would print a traceback for a signal that came together with the first."""


def prepare_streams() -> None:
    """Make the standard streams safe to write to.

    A closed stream is opened again on /dev/null, because the next file a command opens would take its number.
    Standard output is opened for reading only, so that a command which prints fails and says so. A character that the
    encoding of the terminal lacks is printed as its escape.
    """
    for number, mode in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        _open_if_closed(number, mode)
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  # open for good
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115  # ditto
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115  # ditto
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(LogLines())


def _open_if_closed(number: int, mode: int) -> None:
    try:
        os.fstat(number)
    except OSError:
        os.open(os.devnull, mode)  # takes the lowest free number, which is this one


def discard_output() -> None:
    """Send output that is not written yet to /dev/null, because Python writes it once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def end_process(exit_code: int) -> NoReturn:
    """End the process at once, whatever its daemon threads do.

    `sys.exit` would end each daemon thread at its next step in Python. A thread below bcrypt or cryptography aborts the process
    then ("FATAL: exception not rethrown", Python 3.11 to 3.13), and the exit code is that of a crash.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # `run` has said what cannot be written
            stream.flush()
    os._exit(exit_code)
