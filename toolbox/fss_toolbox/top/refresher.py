# SPDX-License-Identifier: Apache-2.0
"""The thread of `top` that asks its source, so that keys answer while a host or a server does not."""

import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from fss_exporter.errors import FssError
from fss_exporter.web.status.rows import MountTargetRow
from fss_toolbox.top.picture import Parts, Picture, PictureSource


class Latest(NamedTuple):
    """What the thread knows after a reading."""

    picture: Picture | None = None  # the last picture. None before the first
    at: float = 0.0  # time of the last picture, seconds of a clock that never goes back
    parts: Parts | None = None  # of the mount target that is open. None before the first answer
    failure: str = ""  # why the last reading or question failed. Empty if it did not


class Refresher:
    """Reads a source, once each period, until the program ends.

    `show` gets what is known after each reading, in the thread.
    """

    def __init__(self, source: PictureSource, show: Callable[[Latest], None]) -> None:
        self._source = source
        self._show = show
        self._shown = Latest()
        self._wanted: tuple[MountTargetRow, str] | None = None
        self._is_paused = False
        self._is_ended = False
        self._ending = threading.Lock()  # taken for ever by the first call of `end`
        self._closed = threading.Event()
        self._woken = threading.Event()
        self._thread = threading.Thread(target=self._run, name="top", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def open(self, target: MountTargetRow | None, kind: str) -> None:
        """Ask for the parts of a mount target at once, and after each reading. None: ask for none."""
        self._wanted = None if target is None else (target, kind)
        self._shown = self._shown._replace(parts=None)
        self._woken.set()

    def pause(self, *, is_paused: bool) -> None:
        """Stop or go on reading."""
        self._is_paused = is_paused

    def end(self, wait_seconds: float) -> None:
        """End the thread and close the source. A reading that hangs ends with the program.

        A second call waits for the first: so long for its thread, and as long again for its source, which may hang as it closes.
        """
        if not self._ending.acquire(blocking=False):
            self._closed.wait(2 * wait_seconds)
            return
        self._is_ended = True
        self._woken.set()
        if self._thread.is_alive():  # a signal may come before the first reading
            self._thread.join(wait_seconds)
        try:
            self._source.close()
        finally:
            self._closed.set()

    def _run(self) -> None:
        due = time.monotonic()
        while not self._is_ended:
            is_due = time.monotonic() >= due
            if is_due:
                due = time.monotonic() + self._source.period_seconds
            self.once(reads=is_due and not self._is_paused)
            if self._woken.wait(max(0.0, due - time.monotonic())):
                self._woken.clear()

    def once(self, *, reads: bool = True) -> None:
        """Read once, ask for the parts that are wanted, and show what is known."""
        try:
            picture = self._source.read() if reads else None
            if picture is not None:
                self._shown = self._shown._replace(picture=picture, at=time.monotonic())
            wanted = self._wanted
            parts = None if wanted is None else self._source.parts(*wanted)
            if wanted is self._wanted:
                self._shown = self._shown._replace(parts=parts, failure="")
        except Exception as error:  # noqa: BLE001  # any error costs this reading, and the next one may succeed
            reason = str(error) if isinstance(error, FssError | OSError) else repr(error)
            self._shown = self._shown._replace(failure=" ".join(reason.split()))
        self._show(self._shown)
