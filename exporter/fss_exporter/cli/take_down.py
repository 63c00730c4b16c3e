"""How a command that has set triggers ends: whatever ends the command, the triggers go first."""

import signal
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

import click


def take_down_at_the_end(take_down: Callable[[], None]) -> None:
    """Remove the triggers however the command ends."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        # A background job inherits an ignored SIGINT, and its end must be as clean. Under nohup SIGHUP stays ignored.
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _end)
    click.get_current_context().call_on_close(take_down)


def _end(number: int, _: FrameType | None) -> NoReturn:
    """End the command as the signal asks, with the triggers removed first: otherwise the kernel would go on counting."""
    raise SystemExit(128 + number)
