# SPDX-License-Identifier: Apache-2.0
"""The screen of `top`, drawn by Textual. What it shows is `top_table`, and what it knows comes from `refresher`."""

import asyncio
import os
import select
import signal
import termios
import threading
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.events import Resize
from textual.message import Message
from textual.widgets import Footer, Input, Static

from fss_exporter import RUNBOOK
from fss_exporter.cli.terminal import END_SIGNALS
from fss_toolbox.top.line_table import LineTable, coloured
from fss_toolbox.top.meanings import help_text
from fss_toolbox.top.picture import KINDS, PictureSource, ShownTarget, is_silent, shown_target
from fss_toolbox.top.refresher import Latest, Refresher
from fss_toolbox.top.top_table import (
    GREY,
    Cell,
    TopTable,
    ceiling_of_parts,
    headline,
    parts_table,
    subtitle,
    targets_table,
)
from fss_toolbox.top.top_view import View

_END_SECONDS = 2.0  # the kernel's triggers go in this time. A source that hangs for longer ends with the program

_STUCK_SECONDS = 3.0  # Textual gives the terminal back in this time. It waits for ever for one that takes no byte


def wait_for_the_end_of_the_terminal() -> None:
    """Return when the window of standard input is closed. Nothing else tells a program that ignores SIGHUP, as under nohup."""
    standard_input = select.poll()
    standard_input.register(0, 0)
    standard_input.poll()


class TopScreen(App[None]):
    """The mount targets of a source, and the parts of one of them."""

    CSS = """
    Screen { background: $background; }
    #help { display: none; height: 1fr; padding: 0 1; }
    #head { height: auto; max-height: 50%; padding: 0 1; }
    LineTable { height: 1fr; scrollbar-size-vertical: 1; }
    #search { display: none; height: 1; border: none; padding: 0 1; }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "Quit"),
        Binding("ctrl+c", "interrupt", show=False, priority=True),  # Textual has the terminal send no signal for it
        Binding("enter", "open", "Open"),
        Binding("escape", "leave", "Back"),
        Binding("s", "sort", "Sort"),
        Binding("slash", "search", "Filter"),
        Binding("p", "pause", "Pause"),
        Binding("u", "unit", "Units"),
        Binding("question_mark", "help", "Help"),
        Binding("ctrl+z", "suspend_process", "Stop until fg", show=False, priority=True),
        *(Binding(str(at), f"kind('{kind}')", kind, show=False) for at, kind in enumerate(KINDS, 1)),
    ]

    class Refreshed(Message):
        """The thread knows something new."""

        def __init__(self, shown: Latest) -> None:
            super().__init__()
            self.shown = shown

        def can_replace(self, message: Message) -> bool:
            """Return whether a later message makes this one old. A machine slower than the readings then draws the last one alone."""
            return isinstance(message, TopScreen.Refreshed)

    def __init__(self, source: PictureSource, runbook: str = RUNBOOK) -> None:
        super().__init__(ansi_color=True)  # the colours and the background of the terminal
        self._source = source
        self._runbook = runbook  # base of the links in the lines above the table
        self._view = View(kind=source.opens)
        self._shown = Latest()
        self._targets: tuple[ShownTarget, ...] = ()
        self._refresher = Refresher(source, self._post)
        self._terminal_before = termios.tcgetattr(0) if os.isatty(0) else None  # settings before Textual

    def _post(self, shown: Latest) -> None:
        """Hand what the thread knows to the screen."""
        self.post_message(self.Refreshed(shown))

    def compose(self) -> ComposeResult:
        """Return the widgets from top to bottom."""
        yield Static(id="head")
        yield LineTable()
        yield VerticalScroll(Static(Text(help_text())), id="help")
        yield Input(placeholder="part of a name, Enter keeps it, Escape clears it", id="search")
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Begin to read, and draw once a second, because figures age without a reading."""
        self.theme = "ansi-dark"
        self._table.focus()
        self._draw()
        self.set_interval(1.0, self._draw)
        if not self.is_headless:
            self._end_by_signals(asyncio.get_running_loop())
            threading.Thread(target=self._end_without_terminal, name="terminal", daemon=True).start()
        self._refresher.start()

    def on_unmount(self) -> None:
        """Leave nothing behind in the kernel."""
        self._refresher.end(_END_SECONDS)

    def _end_without_terminal(self) -> None:
        """End the program at once, because Textual waits for ever for a terminal that takes its last bytes."""
        wait_for_the_end_of_the_terminal()
        self._refresher.end(_END_SECONDS)
        os._exit(128 + signal.SIGHUP)

    def _end_by_signals(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let a signal end the program as a key does.

        An exception of a handler could come at any line of Textual, also where Python only prints it. A handler of the loop
        would wait for ever for a loop that writes to a terminal which takes no byte.
        """

        def end(number: int, _: object) -> None:
            self._end_at_last(128 + number)
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(partial(self.exit, return_code=128 + number))

        for number in END_SIGNALS:
            if signal.getsignal(number) != signal.SIG_IGN:  # under nohup SIGHUP stays ignored
                signal.signal(number, end)

    def _leave(self, exit_code: int) -> None:
        if not self.is_headless:
            self._end_at_last(exit_code)
        self.exit(return_code=exit_code)

    def _end_at_last(self, exit_code: int) -> None:
        """End the program after a time, if Textual does not."""

        def end() -> None:
            self._refresher.end(_END_SECONDS)
            time.sleep(_STUCK_SECONDS)
            if self._terminal_before is not None:
                termios.tcsetattr(0, termios.TCSANOW, self._terminal_before)
            os._exit(exit_code)

        threading.Thread(target=end, name="end", daemon=True).start()

    async def action_quit(self) -> None:
        """End the program."""
        self._leave(0)

    def action_interrupt(self) -> None:
        """End the program as SIGINT does."""
        self._leave(128 + signal.SIGINT)

    @property
    def _table(self) -> LineTable:
        return self.query_one(LineTable)

    @on(Refreshed)
    def _take(self, message: Refreshed) -> None:
        if not self._view.is_paused or message.shown.parts is not self._shown.parts:
            self._shown = message.shown
        self._draw()

    def on_resize(self, _: Resize) -> None:
        """Draw for the new width."""
        self._draw()

    def _draw(self) -> None:
        if not (self.query(LineTable) and self.query("#head")):
            return  # the screen is being taken down, a widget at a time
        shown, view, source = self._shown, self._view, self._source
        seconds = time.monotonic() - shown.at if shown.picture is not None and not view.is_paused else 0.0
        silent = is_silent(seconds, source.interval)
        self._targets = tuple(shown_target(row, seconds) for row in shown.picture.targets) if shown.picture else ()
        lines = headline(source.title, shown, self._targets, view, seconds, is_silent=silent)
        if shown.picture is None:
            self._show_lines(lines)
            return
        width = self.size.width - 3  # the scroll bar, and a blank at both sides
        if view.target:
            target = self._target()
            lines += subtitle(target, view, shown.parts, is_silent=silent)
            ceiling = ceiling_of_parts(target) if target else None
            content = parts_table(shown.parts, view, width, ceiling) if shown.parts else TopTable()
        else:
            content = targets_table(self._targets, view, width, is_silent=silent)
        self._table.show(content)
        opens = "" if view.target else "Enter opens a mount target, "
        order = f"{opens}sorted by {view.sort}" + (f", filter: {view.search}" if view.search else "")
        self._show_lines([*lines, Cell(order, "italic")])

    def _show_lines(self, lines: list[Cell]) -> None:
        if self._runbook == RUNBOOK and any(f"{RUNBOOK}#" in line.text for line in lines):
            lines = [*lines, Cell(f"fss-exporter assets DIR writes {RUNBOOK}", GREY)]
        linked = [line._replace(text=line.text.replace(f"{RUNBOOK}#", f"{self._runbook}#")) for line in lines]
        self.query_one("#head", Static).update(Text("\n").join(coloured(line) for line in linked))

    def _target(self) -> ShownTarget | None:
        """Return the mount target that is open. None if it is gone, or none is open."""
        return next((target for target in self._targets if target.key == self._view.target), None)

    def _set(self, view: View) -> None:
        self._view = view
        self._draw()

    def _go(self, view: View) -> None:
        """Change the view. The thread asks for the parts of the mount target that is open now."""
        self._shown = self._shown._replace(parts=None)
        self._set(view)
        target = self._target()
        self._refresher.open(target.row if target else None, view.kind)

    def action_open(self) -> None:
        """Open the mount target under the cursor."""
        if self._table.key and not self._view.target:
            self._go(replace(self._view, target=self._table.key, search=""))

    def action_leave(self) -> None:
        """Close the filter, or go back to all mount targets."""
        search = self.query_one("#search", Input)
        if self.query_one("#help").display:
            self.action_help()
        elif search.display:
            self._close_search(keep="")
        elif self._view.search:
            self._set(replace(self._view, search=""))
        elif self._view.target:
            left = self._view.target
            self._go(replace(self._view, target=""))
            self._table.go_to(left)

    def action_kind(self, kind: str) -> None:
        """Show another kind of parts."""
        if self._view.target:
            self._go(replace(self._view, kind=kind))

    def action_sort(self) -> None:
        """Take the next order."""
        self._set(self._view.next_sort())

    def action_unit(self) -> None:
        """Take the next unit of bytes."""
        self._set(self._view.next_unit())

    def action_pause(self) -> None:
        """Hold the picture, or go on."""
        self._set(replace(self._view, is_paused=not self._view.is_paused))
        self._refresher.pause(is_paused=self._view.is_paused)

    def action_help(self) -> None:
        """Show what the columns and the keys mean in place of the table, or the table again."""
        told = self.query_one("#help")
        told.display, self._table.display = not told.display, told.display
        (told if told.display else self._table).focus()

    def action_search(self) -> None:
        """Ask for a part of a name."""
        search = self.query_one("#search", Input)
        search.display = True
        search.value = self._view.search
        search.focus()

    @on(Input.Changed)
    def _search(self, event: Input.Changed) -> None:
        self._set(replace(self._view, search=event.value.strip()))

    @on(Input.Submitted)
    def _keep_search(self, event: Input.Submitted) -> None:
        self._close_search(keep=event.value.strip())

    def _close_search(self, keep: str) -> None:
        self.query_one("#search", Input).display = False
        self._table.focus()
        self._set(replace(self._view, search=keep))
