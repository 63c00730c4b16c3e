"""The join that names the writer behind delayed write-back, with its own instance and a synthetic event.

One trigger remembers the last thread that dirtied each file. A second trigger sees a worker of the kernel send a WRITE of the
file and passes both to the synthetic event. The tables of files are large, so the tables have a separate instance.
Synthetic events exist once in the whole machine, so each program uses another name.
"""

import errno
from contextlib import suppress
from pathlib import Path
from typing import Final

from fss_exporter.nfs.exact.files import Files
from fss_exporter.nfs.exact.tracefs import Instance
from fss_exporter.nfs.processes import triggers
from fss_exporter.nfs.processes.event_tables import EventTables

_MOST_FILES: Final = 16384


class WriteBackJoin:
    """The join in place. The caller holds another instance of the same program, so no other program uses this one.

    Args:
        root: where tracefs is mounted.
        name: of the instance.
        joint: name of the synthetic event.
        rows: of the table of joined WRITEs.
        files: how the kernel's files are reached.

    Attributes:
        dirtied: the event of this kernel for a dirtied page.
        tables: joined WRITEs by device, thread and size.

    Raises:
        Unavailable: the instance cannot be made.
        OSError: the kernel refuses the event or a trigger.
    """

    def __init__(self, root: Path, name: str, joint: str, rows: int, files: Files) -> None:
        self._events = root / "dynamic_events"
        self._joint = joint
        self._files = files
        dirtied = self.dirtied = _dirtied_event(root, files)
        # A trigger whose variable another trigger needs cannot be removed, so the one that needs it goes first.
        self._in_order = (f"synthetic/{joint}", triggers.WRITES, dirtied)
        for event in self._in_order:
            with suppress(OSError):
                files.clear(root / "instances" / name / "events" / event / "trigger")
        self._instance = Instance(root, name, files)
        try:
            self._define()
            self._by_file = (
                EventTables(self._instance, dirtied, triggers.remembered(_MOST_FILES)),
                EventTables(self._instance, triggers.WRITES, triggers.handed_over(_MOST_FILES, dirtied, joint)),
            )
            self.tables = EventTables(self._instance, f"synthetic/{joint}", triggers.joined(rows))
        except BaseException:
            self.end()
            raise

    def _define(self) -> None:
        try:
            self._files.append(self._events, f"s:{self._joint} {triggers.JOIN_FIELDS}")
        except OSError as error:
            # A program that was killed has left the event behind.
            if error.errno != errno.EEXIST:
                raise

    def is_full(self, share: float) -> bool:
        """Whether the tables of files are fuller than a share, so that new files lose their writer. The check reads large tables.

        Raises:
            Trouble: a table is unreadable.
        """
        for one in self._by_file:
            one.added()
        return any(one.dropped or one.fullness >= share for one in self._by_file)

    def end(self) -> None:
        """Remove the triggers, the instance and the event."""
        for event in self._in_order:
            self._instance.clear(event)
        self._instance.remove()
        with suppress(OSError):
            self._files.append(self._events, f"-:{self._joint}")


def _dirtied_event(root: Path, files: Files) -> str:
    """The event of this kernel for a dirtied page, or the present name where the kernel has neither."""
    return next((one for one in triggers.DIRTIED if files.is_there(root / "events" / one)), triggers.DIRTIED[0])
