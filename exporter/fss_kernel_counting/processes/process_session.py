# SPDX-License-Identifier: Apache-2.0
"""One set-up of the triggers that count by thread, and looks at their tables. Each part fails for itself."""

import logging
from collections.abc import Mapping
from functools import partial
from typing import Final, NamedTuple

from fss_exporter.model.operations import READ, WRITE
from fss_kernel_counting import clients
from fss_kernel_counting.clients import ClientAddresses
from fss_kernel_counting.hist_tables import TRIGGERS, Grown, Lost
from fss_kernel_counting.instance_tables import InstanceTables
from fss_kernel_counting.processes import thread_tables
from fss_kernel_counting.processes.attribution import Counted, Place, Places
from fss_kernel_counting.processes.births import BUFFER_KIB, EVENTS
from fss_kernel_counting.processes.thread_tables import work
from fss_kernel_counting.sizes.size_triggers import size_tables
from fss_kernel_counting.trace_records import Record, RecordedEvents
from fss_kernel_counting.tracefs import Instance, ProcessNames, Tracefs, Unavailable, advice, advised

_LOG = logging.getLogger(__name__)

READS, WRITES, CALLS, CLIENTS, DIRTIERS, WRITERS = "reads", "writes", "calls", "clients", "dirtiers", "writers"
BIRTHS: Final = "births"


class Tables(NamedTuple):
    """The tables of one event, for one part."""

    event: str
    keys: Mapping[str, str]  # keys of the rows by condition of the table
    fraction: int  # the tables have the rows of the largest table divided by this number
    fields: frozenset[str]  # fields of the event that the part needs


_THREAD: Final = "dev,common_pid.execname"
_SIZES: Final = size_tables(_THREAD, "count", "count")
_CALLS: Final = dict.fromkeys(thread_tables.VERSIONS.values(), "client_id,common_pid.execname,procname")
# A thread has more procedures than classes of sizes. Few threads rename or open, and new RPC clients are few.
_TABLES: Final[Mapping[str, Tables]] = {
    READS: Tables(thread_tables.READS, _SIZES, 2, frozenset(("dev", "count"))),
    WRITES: Tables(thread_tables.WRITES, _SIZES, 2, frozenset(("dev", "count", "fileid"))),
    CALLS: Tables(clients.CALLS, _CALLS, 1, frozenset(("client_id", "version", "progname", "procname"))),
    **{
        procedure: Tables(event, {"": _THREAD}, 4, frozenset(("dev",)))
        for procedure, event in thread_tables.CLAIMED_BY.items()
    },
    CLIENTS: Tables(
        clients.BIRTHS, {thread_tables.BORN: "client_id,addr"}, 8, frozenset(("client_id", "addr", "program"))
    ),
}
PARTS_WITHOUT_JOIN: Final = (*_TABLES, BIRTHS)

# Parts that fail separately. A part with the name of a call gives the call back to the process.
PARTS: Final = (*PARTS_WITHOUT_JOIN, DIRTIERS, WRITERS)

REFUSED, GONE, UNREADABLE, FULL, OFF = "refused", "gone", "unreadable", "full", "off"  # Reasons of a failure

_LOOKS_AT_FILES = 6


class ProcessSession:
    """Triggers in place, whose largest table has `size` rows. With `writers`, delayed writes count for the process that wrote.

    Attributes:
        refused: parts that the kernel refused, with the reason.
        troubles: parts without counts at the last look, with the reason.

    Raises:
        NotYet: the NFS client is not loaded.
        Unavailable: this kernel cannot, or this process may not.
    """

    def __init__(
        self,
        tracefs: Tracefs,
        names: ProcessNames,
        size: int,
        addresses: ClientAddresses,
        *,
        writers: bool,
    ) -> None:
        tracefs.check_client()
        self.refused: dict[str, str] = {}
        self.troubles: dict[str, str] = {}
        self._addresses = addresses
        self._join: thread_tables.WriteBackJoin | None = None
        self._looks = 0
        self._tables: dict[str, InstanceTables] = {}
        self._births: RecordedEvents | None = None
        self._instance = Instance(tracefs, names.looks)
        try:
            self._set_up(size)
            self._record_births(tracefs, names)
            if writers:
                self._set_up_join(tracefs, names, size // 2)
            addresses.learn_all()
        except BaseException:
            self.end()
            raise

    def _set_up(self, size: int) -> None:
        for part, tables in _TABLES.items():
            self._add(part, tables.event, size // tables.fraction, tables.keys)
        if not self._tables.keys() & {READS, WRITES, CALLS}:
            raise Unavailable(f"the kernel refuses every trigger: {self.refused[READS]}")

    def _add(self, part: str, event: str, rows: int, keys: Mapping[str, str]) -> None:
        tables = InstanceTables(self._instance)
        try:
            tables.add(event, rows, keys)
        except OSError as error:
            self.refused[part] = str(advice(error, self._instance.path))
            self._instance.clear(event)
        else:
            self._tables[part] = tables

    def _record_births(self, tracefs: Tracefs, names: ProcessNames) -> None:
        try:
            self._births = RecordedEvents(tracefs, names.births, EVENTS, BUFFER_KIB)
        except Unavailable as reason:
            self.refused[BIRTHS] = str(reason)

    def _set_up_join(self, tracefs: Tracefs, names: ProcessNames, rows: int) -> None:
        try:
            with advised(tracefs.root):
                self._join = thread_tables.WriteBackJoin(tracefs, names, rows)
        except Unavailable as reason:
            self.refused[WRITERS] = str(reason)
            return
        self._add(DIRTIERS, self._join.dirtied, rows, {thread_tables.NOT_A_DISK: "name,common_pid.execname"})
        if DIRTIERS in self._tables:
            self._tables[WRITERS] = self._join.tables
        else:
            self.refused[WRITERS] = self.refused[DIRTIERS]
            self._join.end()
            self._join = None

    def read(self, places: Places) -> Counted:
        """Return the counts since the last look. Claims are read before the work, so that no work lacks a claim.

        Raises:
            Lost: a key has another layout.
        """
        self.troubles = {}
        self._looks += 1
        counted = Counted()
        if joined := self._added(WRITERS):
            self._added(DIRTIERS)
            (names,) = self._tables[DIRTIERS].names
            dirtiers = thread_tables.dirtiers(self._tables[DIRTIERS].rows(names))
            counted.joined = work(thread_tables.joined(joined, dirtiers, places.of_device))
        for procedure in thread_tables.CLAIMED_BY:
            counted.claims.update(work(thread_tables.claims(self._added(procedure), procedure, places.of_device)))
        for part, procedure in ((READS, READ), (WRITES, WRITE)):
            counted.sent.update(work(thread_tables.sent(self._added(part), procedure, places.of_device)))
        self._addresses.learn(self._added(CLIENTS).get(thread_tables.BORN, ()))
        calls = self._added(CALLS)
        for version, condition in thread_tables.VERSIONS.items():
            place_of = partial(self._place, places, version)
            counted.sent.update(work(thread_tables.calls(calls.get(condition, ()), place_of)))
        return counted

    def records(self) -> list[Record]:
        """Return the births since the last call. Call after `look`, so that each thread of the look is born before."""
        if self._births is None:
            return []
        try:
            records = self._births.read()
        except Lost as error:
            self.troubles[BIRTHS] = UNREADABLE
            _LOG.debug("load by process: births: %s", error)
            return []
        if self._births.lost:
            self.troubles[BIRTHS] = FULL
        if self._births.was_off:
            self.troubles[BIRTHS] = OFF
        return records

    def _added(self, part: str) -> Mapping[str, Grown]:
        """Return the growth of a part's tables by condition. After a failure return nothing and add to `troubles`."""
        tables = self._tables.get(part)
        if tables is None:
            return {}
        try:
            added = tables.added()
        except Lost as error:
            self.troubles[part] = GONE if error.check == TRIGGERS else UNREADABLE
            _LOG.debug("load by process: %s: %s", part, error)  # the caller warns once
            return {}
        if tables.dropped:
            self.troubles[part] = FULL
        return {condition: grown for (_, condition), grown in added.items()}

    def _place(self, places: Places, version: int, client: int) -> Place | None:
        return places.of(self._addresses.of(str(client)), version)

    @property
    def is_worn(self) -> bool:
        """Whether the triggers have to be set again: a table is nearly full, or another program has removed a trigger.

        The check of the large tables of the join is expensive, so only every sixth look runs it.
        """
        if GONE in self.troubles.values() or any(
            table.dropped or table.is_nearly_full for table in self._tables.values()
        ):
            return True
        if self._join is None or self._looks % _LOOKS_AT_FILES:
            return False
        try:
            return self._join.is_nearly_full()
        except Lost:
            return True

    @property
    def active(self) -> frozenset[str]:
        """Parts that count."""
        counting = self._tables.keys() | ({BIRTHS} if self._births is not None else set())
        return frozenset(counting - self.troubles.keys())

    def end(self) -> None:
        """Take everything down."""
        if self._join is not None:
            self._join.end()
        if self._births is not None:
            self._births.end()
        self._instance.remove()


_NO_EVENT: Final = "the kernel has no event {}"


def missing(tracefs: Tracefs) -> dict[str, str]:
    """Return the parts that this kernel cannot count, each with the reason, without setting a trigger."""
    reasons: dict[str, str] = {}
    needed_of_parts = [(part, event, needed) for part, (event, _, _, needed) in _TABLES.items()]
    for part, event, needed in (*needed_of_parts, *((BIRTHS, event, wanted) for event, wanted in EVENTS.items())):
        try:
            fields = tracefs.event(event).fields
        except Unavailable as reason:
            reasons[part] = str(reason)
            continue
        if not fields:
            reasons[part] = _NO_EVENT.format(event)
        elif lacking := needed - fields.keys():
            reasons[part] = f"{event} has no field {', '.join(sorted(lacking))}"
    try:
        if not any(tracefs.has(f"events/{event}") for event in thread_tables.DIRTIED):
            reasons[WRITERS] = _NO_EVENT.format(thread_tables.DIRTIED[0])
        elif not tracefs.has("dynamic_events"):
            reasons[WRITERS] = "the kernel is built without CONFIG_SYNTH_EVENTS"
    except Unavailable as reason:
        reasons[WRITERS] = str(reason)
    return reasons
