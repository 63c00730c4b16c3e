# SPDX-License-Identifier: Apache-2.0
"""The tables that count by thread, from triggers to rows, and the join that names the writer behind delayed write-back.

Every form was tried on Linux 6.1 and 6.12. docs/exact-mode.md lists the cost of each. A trigger counts READs and WRITEs by
device, thread and size class, in two tables as in `size_triggers.py` of exact mode. Other triggers count calls by RPC client,
thread and procedure, and calls that a worker of the kernel carries out for a thread.

In the join, one trigger remembers the last thread that dirtied each file. A second trigger sees a worker of the kernel send
a WRITE of the file and passes both to a synthetic event. The tables of files are large, so the tables have a separate
instance. Synthetic events exist once in the whole machine, so each program uses another name.

`place_of` knows the place of a device or of an RPC client. Rows of unknown places are left out: the mount is gone, or no
visible mount names the superblock. Each function that takes rows raises `Lost` for a key of another layout.
"""

import errno
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Final

from fss_exporter.model.operations import READ, WRITE
from fss_kernel_counting.hist_tables import Grown, HistRow, Key, fields_of, number
from fss_kernel_counting.instance_tables import InstanceTables
from fss_kernel_counting.processes.attribution import BYTES, Kind, Place, Thread, Work
from fss_kernel_counting.sizes.size_counts import device_of
from fss_kernel_counting.sizes.size_triggers import blocks_started, size_tables
from fss_kernel_counting.tracefs import Instance, ProcessNames, Tracefs

READS: Final = "nfs/nfs_initiate_read"
WRITES: Final = "nfs/nfs_initiate_write"
CLAIMED_BY: Final[Mapping[str, str]] = {"RENAME": "nfs/nfs_rename_enter", "OPEN": "nfs/nfs_atomic_open_enter"}
DIRTIED: Final = ("writeback/writeback_dirty_folio", "writeback/writeback_dirty_page")  # Since 5.18, and before

# Condition of the table of calls by NFS version.
VERSIONS: Final[Mapping[int, str]] = {version: f'progname == "nfs" && version == {version}' for version in (3, 4)}

BORN: Final = 'program == "nfs"'

# NFS superblocks have major 0. A pattern that begins with a digit would be an index.
NOT_A_DISK: Final = 'name ~ "[0]:*"'

_BY_SIZE: Final = frozenset((READ, "READ_PLUS", WRITE))
_BY_WORKERS: Final = 'comm ~ "kworker*"'
_JOIN_FIELDS: Final = "u64 ino; pid_t pid; u32 cnt; u32 dv"
_MOST_FILES: Final = 16384


_PAYLOAD: Final = {procedure: Kind(procedure, BYTES) for procedure in (READ, WRITE)}

PlaceOf = Callable[[int], Place | None]
Row = tuple[Place | None, Thread, Kind, HistRow]


def sent(tables: Mapping[str, Grown], procedure: str, place_of: PlaceOf) -> Iterator[Row]:
    """Yield READs or WRITEs by the thread that sent the call. Keys: device, name, thread, lower edge of the size."""
    for condition, grown in tables.items():
        for key, row in grown:
            device, name, thread, lower = fields_of(key, 4)
            kind = Kind(procedure, blocks_started(number(lower), condition))
            yield place_of(number(device)), Thread(number(thread), name), kind, row


def joined(tables: Mapping[str, Grown], dirtiers: Mapping[tuple[int, int], str], place_of: PlaceOf) -> Iterator[Row]:
    """Yield WRITEs of workers by the thread that dirtied the file. Keys: device, thread, lower edge of the size.

    The join knows the number of a file, not the device. Two files with the same number on two mounts collide. So a row counts
    only if `dirtiers` has the name of the thread by this device and the number of the thread.
    """
    for condition, grown in tables.items():
        for key, row in grown:
            device, thread, lower = map(number, fields_of(key, 3))
            name = dirtiers.get((device, thread))
            if name is not None:
                yield place_of(device), Thread(thread, name), Kind(WRITE, blocks_started(lower, condition)), row


def calls(grown: Iterable[tuple[Key, HistRow]], place_of: PlaceOf) -> Iterator[Row]:
    """Yield calls by the thread that waited for the answer. Keys: RPC client, name, thread, procedure.

    Calls that the tables of sizes have are left out.
    """
    for key, row in grown:
        client, name, thread, procedure = fields_of(key, 4)
        if procedure not in _BY_SIZE:
            yield place_of(number(client)), Thread(number(thread), name), Kind(procedure), row


def claims(tables: Mapping[str, Grown], procedure: str, place_of: PlaceOf) -> Iterator[Row]:
    """Yield calls of one procedure by the thread that began the call. Keys: device, name, thread."""
    for key, row in tables.get("", ()):
        device, name, thread = fields_of(key, 3)
        yield place_of(number(device)), Thread(number(thread), name), Kind(procedure), row


def work(rows: Iterable[Row]) -> Work:
    """Add up rows."""
    counts: Work = Counter()
    for place, thread, kind, row in rows:
        if place is not None:
            counts[place, thread, kind] += row.hits
            if kind.blocks:  # a READ or WRITE
                counts[place, thread, _PAYLOAD[kind.procedure]] += row.value
    return counts


def dirtiers(keys: Iterable[Key]) -> dict[tuple[int, int], str]:
    """Return names of threads that dirtied pages, by device and thread number. Keys: `major:minor`, name, thread."""
    names = {}
    for key in keys:
        device, name, thread = fields_of(key, 3)
        names[device_of(device), number(thread)] = name
    return names


def _in_order(joint: str, *dirtied: str) -> tuple[str, ...]:
    """The kernel keeps a trigger while another trigger needs its variable. So the trigger that needs the variable goes first."""
    return (f"synthetic/{joint}", WRITES, *dirtied)


def clear_join(tracefs: Tracefs, names: ProcessNames) -> None:
    """Clear the triggers of a join that a killed program has left, because the kernel removes no instance with them."""
    for event in _in_order(names.joint, *DIRTIED):
        with suppress(OSError):
            tracefs.files.clear(tracefs.root / "instances" / names.writers / "events" / event / "trigger")


class WriteBackJoin:
    """The triggers of the join. The caller holds another instance of the same program, so no other program uses this one.

    `rows` are the rows of the table of joined WRITEs.

    Attributes:
        dirtied: the event of this kernel for a dirtied page.
        tables: joined WRITEs by device, thread and size.

    Raises:
        Unavailable: the instance cannot be made.
        OSError: the kernel refuses the event or a trigger.
    """

    def __init__(self, tracefs: Tracefs, names: ProcessNames, rows: int) -> None:
        joint = self._joint = names.joint
        self._events = tracefs.root / "dynamic_events"
        self._files = tracefs.files
        existing = (event for event in DIRTIED if tracefs.has(f"events/{event}"))
        dirtied = self.dirtied = next(existing, DIRTIED[0])
        self._in_order = _in_order(joint, dirtied)
        clear_join(tracefs, names)
        self._instance = Instance(tracefs, names.writers)
        self._files_of_writers, self.tables = InstanceTables(self._instance), InstanceTables(self._instance)
        try:
            try:
                self._files.append(self._events, f"s:{joint} {_JOIN_FIELDS}")
            except OSError as error:
                if error.errno != errno.EEXIST:  # a program that was killed has left the event behind
                    raise
            action = f"onmatch({dirtied.replace('/', '.')}).trace({joint},fileid,$wpid,$c,$d)"
            self._files_of_writers.add(dirtied, _MOST_FILES, {NOT_A_DISK: "ino:wpid=common_pid"})
            self._files_of_writers.add(WRITES, _MOST_FILES, {_BY_WORKERS: f"fileid:c=count,d=dev:{action}"})
            self.tables.add(f"synthetic/{joint}", rows, size_tables("dv,pid", "cnt", "cnt"))
        except BaseException:
            self.end()
            raise

    def is_nearly_full(self) -> bool:
        """Whether the tables of files are nearly full, so that new files soon lose their writer. The check reads large tables.

        Raises:
            Lost: a table is unreadable.
        """
        self._files_of_writers.added()
        return bool(self._files_of_writers.dropped) or self._files_of_writers.is_nearly_full

    def end(self) -> None:
        """Remove the triggers, the instance and the event."""
        for event in self._in_order:
            self._instance.clear(event)
        self._instance.remove()
        with suppress(OSError):
            self._files.append(self._events, f"-:{self._joint}")
