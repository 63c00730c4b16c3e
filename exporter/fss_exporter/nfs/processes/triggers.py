"""The triggers that count by thread, and the join that names the writer behind delayed write-back.

Every form was tried on Linux 6.1 and 6.12. docs/cost-model.md lists the cost of each. A trigger counts READs and WRITEs by
device, thread and size class, in two tables as in `size_triggers.py` of exact mode. Other triggers count calls by RPC client,
thread and procedure, and calls that a worker of the kernel carries out for a thread.

In the join, one trigger remembers the last thread that dirtied each file. A second trigger sees a worker of the kernel send
a WRITE of the file and passes both to a synthetic event. The tables of files are large, so the tables have a separate
instance. Synthetic events exist once in the whole machine, so each program uses another name.
"""

import errno
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from fss_exporter.model.operations import BLOCK_BYTES
from fss_exporter.nfs.exact.instance_tables import EventTables
from fss_exporter.nfs.exact.size_triggers import size_conditions
from fss_exporter.nfs.exact.tracefs import Files, Instance

READS: Final = "nfs/nfs_initiate_read"
WRITES: Final = "nfs/nfs_initiate_write"
CLAIMED_BY: Final[Mapping[str, str]] = {"RENAME": "nfs/nfs_rename_enter", "OPEN": "nfs/nfs_atomic_open_enter"}
DIRTIED: Final = ("writeback/writeback_dirty_folio", "writeback/writeback_dirty_page")  # Since 5.18, and before

VERSIONS: Final[Mapping[int, str]] = {version: f'progname == "nfs" && version == {version}' for version in (3, 4)}
"""Condition of the table of calls by NFS version."""

BORN: Final = 'program == "nfs"'
NOT_A_DISK: Final = 'name ~ "[0]:*"'
# NFS superblocks have major 0. A pattern that begins with a digit would be an index.

_BY_WORKERS: Final = 'comm ~ "kworker*"'
_JOIN_FIELDS: Final = "u64 ino; pid_t pid; u32 cnt; u32 dv"
_MOST_FILES: Final = 16384

# Each function returns triggers by condition, for tables with a number of rows.


def by_size(rows: int) -> dict[str, str]:
    """READs or WRITEs by thread."""
    return _of_sizes("dev,common_pid.execname", "count", rows)


def calls(rows: int) -> dict[str, str]:
    """Calls by thread."""
    keys = "client_id,common_pid.execname,procname"
    return {one: f"hist:keys={keys}:size={rows} if {one}" for one in VERSIONS.values()}


def births(rows: int) -> dict[str, str]:
    """Addresses of new RPC clients."""
    return {BORN: f"hist:keys=client_id,addr:size={rows} if {BORN}"}


def claims(rows: int) -> dict[str, str]:
    """Threads whose call a worker will carry out."""
    return {"": f"hist:keys=dev,common_pid.execname:size={rows}"}


def dirtiers(rows: int) -> dict[str, str]:
    """Threads that dirtied pages, with names."""
    return {NOT_A_DISK: f"hist:keys=name,common_pid.execname:size={rows} if {NOT_A_DISK}"}


def _of_sizes(keys: str, size: str, rows: int) -> dict[str, str]:
    return {
        one: f"hist:keys={keys},{size}.buckets={BLOCK_BYTES}:vals={size}:size={rows} if {one}"
        for one in size_conditions(size).values()
    }


class WriteBackJoin:
    """The join in place. The caller holds another instance of the same program, so no other program uses this one.

    `joint` is the name of the synthetic event, and `rows` the rows of the table of joined WRITEs.

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
        found = (event for event in DIRTIED if files.is_there(root / "events" / event))
        dirtied = self.dirtied = next(found, DIRTIED[0])
        # The kernel keeps a trigger while another trigger needs its variable. So the trigger that needs the variable goes first.
        self._in_order = (f"synthetic/{joint}", WRITES, dirtied)
        for event in self._in_order:
            with suppress(OSError):
                files.clear(root / "instances" / name / "events" / event / "trigger")
        self._instance = Instance(root, name, files)
        try:
            self._define()
            remember = f"hist:keys=ino:wpid=common_pid:size={_MOST_FILES} if {NOT_A_DISK}"
            action = f"onmatch({dirtied.replace('/', '.')}).trace({joint},fileid,$wpid,$c,$d)"
            hand_over = f"hist:keys=fileid:c=count,d=dev:{action}:size={_MOST_FILES} if {_BY_WORKERS}"
            self._by_file = (
                EventTables(self._instance, dirtied, {NOT_A_DISK: remember}),
                EventTables(self._instance, WRITES, {_BY_WORKERS: hand_over}),
            )
            self.tables = EventTables(self._instance, f"synthetic/{joint}", _of_sizes("dv,pid", "cnt", rows))
        except BaseException:
            self.end()
            raise

    def _define(self) -> None:
        try:
            self._files.append(self._events, f"s:{self._joint} {_JOIN_FIELDS}")
        except OSError as error:
            # A program that was killed has left the event behind.
            if error.errno != errno.EEXIST:
                raise

    def is_full(self, share: float) -> bool:
        """Whether the tables of files are fuller than a share, so that new files lose their writer. The check reads large tables.

        Raises:
            Lost: a table is unreadable.
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
