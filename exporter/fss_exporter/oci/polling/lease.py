# SPDX-License-Identifier: Apache-2.0
"""Let one of several equal pollers lead, by a file in a directory that they share.

The file has the name of the leader, a number that grows, and what the leader polls once that is known. The leader writes the
file again every few seconds. A poller that stands by takes the lease if the file is gone, or has not changed for half a minute of
its own clock. No two clocks are compared, and no lock of a file system is needed: an NFSv3 server keeps the locks of a host that
died.

Two pollers can lead at once: for some seconds after a leader was stopped and goes on, and for as long as a leader cannot read the
file. A leader goes on then, because two pollers cost calls, and no poller costs the view of the mount targets.
"""

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from fss_exporter.background import OneWithin
from fss_exporter.errors import SourceError
from fss_exporter.log_once import LogOnce
from fss_exporter.regular_files import read_regular

RENEW_SECONDS: Final = 5.0  # from one renewal to the next

SILENT_SECONDS: Final = 30.0  # a file that has not changed for so long has no leader

_ANSWER_SECONDS: Final = 10.0  # a file system without an answer must not stop the loop

log = logging.getLogger(__name__)


class Lease:
    """The lease of one poller. One thread at a time may use it, `holds_now` excepted.

    Attributes:
        is_held: whether this poller leads, as far as it knows.
        leader: the leader's name in the file at the last renewal. Empty if there was none.
        was_read: whether a renewal has ended well.

    Args:
        path: path of the file, whose directory exists.
        name: name of this poller. No other poller, and no earlier process, has the same name. No spaces.
        extent: returns what this poller polls, in words, which are the same for another one that may take its place. Empty while unknown.
        clock: seconds that never go back.
        on_change: called in a renewal after which this poller begins to lead or to stand by.
    """

    def __init__(
        self,
        path: Path,
        name: str,
        *,
        extent: Callable[[], str] = lambda: "",
        clock: Callable[[], float] = time.monotonic,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self.path = path
        self.is_held = False
        self.leader = ""
        self.was_read = False
        self._name = name
        self._extent = extent
        self._clock = clock
        self._on_change = on_change
        self._was_held = False
        self._logged_leader = ""
        self._content: bytes | None = None
        self._changed_at = clock()
        self._number = 0
        self._access = OneWithin(_ANSWER_SECONDS, "the access to its file system")
        self._log_once = LogOnce(log)

    def renew(self) -> None:
        """Read the file, and write it if this poller leads or nobody does. A poller leads when it reads its own name.

        Raises:
            SourceError: the file cannot be read or written, its file system does not answer, or the leader polls something else.
                The poller stays what it is.
        """
        try:
            self._access.run(self._read_and_write)
        except (OSError, SourceError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            stays = "leads on" if self.is_held else "stands by"
            message = f"{self.path}: the lease cannot be kept, and this poller {stays}: {reason}"
            self._log_once.failed("renew", message, level=logging.ERROR)
            raise SourceError(message) from error
        finally:
            self._tell_change()
        self._log_once.works("renew", f"{self.path}: the lease can be kept again")

    def _tell_change(self) -> None:
        """Tell of a change, and log each new leader. No leader is only a moment between two."""
        if self._was_held != self.is_held:
            self._was_held = self.is_held
            self._on_change()
        if self.leader not in ("", self._logged_leader):
            self._logged_leader = self.leader
            log.info("this poller %s", "leads" if self.is_held else f"stands by: {self.leader} leads")

    def holds_now(self) -> bool:
        """Return whether the file has the name of this poller at this moment. An unreadable file changes nothing."""
        try:
            return self._leader_in(self._read()) == self._name
        except OSError:
            return self.is_held

    def release(self) -> None:
        """Remove the file with the name of this poller, which ends, so that another poller leads within seconds.

        If the file cannot be removed, or not in time, another poller leads after `SILENT_SECONDS`.
        """
        with suppress(OSError, SourceError):
            self._access.run(self._remove_own)
        self.is_held = False

    def _remove_own(self) -> None:
        if self._leader_in(self._read()) == self._name:
            self.path.unlink(missing_ok=True)

    def _read_and_write(self) -> None:
        content = self._read()
        now = self._clock()
        if content != self._content:
            self._content, self._changed_at = content, now
        self.leader, self.was_read = self._leader_in(content), True
        if content is not None:
            self.is_held = self.leader == self._name
        if self.is_held or content is None or now - self._changed_at >= SILENT_SECONDS:
            self._write()
        else:
            self._check_leader(content)

    def _check_leader(self, content: bytes) -> None:
        """Raise SourceError if the leader polls something else, because then nobody polls the part of this poller."""
        led = " ".join(content.decode(errors="replace").split()[2:])
        own = " ".join(self._extent().split())
        if led and own and led != own:
            raise SourceError(
                f"{self.leader} leads for {led}, and this poller is of {own}."
                " Give both the same settings, or each account a name of its own (oci.name)"
            )

    def _read(self) -> bytes | None:
        try:
            return read_regular(self.path)
        except FileNotFoundError:
            return None

    def _leader_in(self, content: bytes | None) -> str:
        words = (content or b"").decode(errors="replace").split()
        return words[0] if words else ""

    def _write(self) -> None:
        self._number += 1
        fresh = self.path.with_name(f".{self.path.name}.{self._name}")
        try:
            fresh.write_text(f"{self._name} {self._number} {self._extent()}\n")
            fresh.replace(self.path)
        except OSError:
            fresh.unlink(missing_ok=True)
            raise
