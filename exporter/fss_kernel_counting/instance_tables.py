# SPDX-License-Identifier: Apache-2.0
"""The tables of one tracefs instance: set triggers, set them again after a failure, and read the counts."""

import logging
from collections.abc import Callable, KeysView, Mapping
from threading import Event
from typing import Final, Generic, Protocol, TypeVar

from fss_exporter.log_once import LogOnce
from fss_kernel_counting.hist_tables import (
    DROPPED,
    TRIGGERS,
    UNREADABLE,
    Grown,
    HistParser,
    HistRow,
    Key,
    Lost,
    Table,
    grown,
)
from fss_kernel_counting.tracefs import Instance, NotYet, Sources, Tracefs, Unavailable, advice, find, signals_held

log = logging.getLogger(__name__)

MOST_ROWS: Final = 131072  # most rows of a table, a limit of the kernel
REFUSED_TABLE: Final = "refused_table"  # name of the check that no optional trigger is refused
RETRY_SECONDS: Final = 60.0  # time between two tries to set triggers

TableName = tuple[str, str]  # A table: event and condition


class InstanceTables:
    """Triggers of an instance, with tables that remember the last look.

    Attributes:
        dropped: events that found no room between the last two looks.
        refused: how many optional triggers the kernel has refused.
    """

    def __init__(self, instance: Instance) -> None:
        self.dropped = self.refused = 0
        self._instance = instance
        self._parsers: dict[str, HistParser] = {}
        self._last: dict[TableName, Table | None] = {}  # None before the first look

    @property
    def names(self) -> KeysView[TableName]:
        """The tables whose triggers are set."""
        return self._last.keys()

    def add(self, event: str, rows: int, keys: Mapping[str, str]) -> None:
        """Set a trigger for each table of an event. `keys` of the rows are by the condition, which identifies the table.

        Raises:
            OSError: the kernel refuses a trigger (EINVAL: unknown form).
        """
        for condition, of_row in keys.items():
            wanted = f" if {condition}" if condition else ""
            self._instance.add_trigger(event, f"hist:keys={of_row}:size={rows}{wanted}")
            self._parsers.setdefault(event, HistParser())
            self._last[event, condition] = None

    def try_to_add(self, rows: int, keys: Mapping[TableName, str], otherwise: str) -> None:
        """Set the triggers of optional tables. `otherwise` goes to the log after a refusal."""
        try:
            for (event, condition), of_row in keys.items():
                self.add(event, rows, {condition: of_row})
        except OSError as error:
            self.refused += 1
            log.warning("%s: %s", otherwise, advice(error, self._instance.path))

    def added(self) -> dict[TableName, Grown]:
        """Return the rows of each table that have grown since the last look. The first look returns every row.

        Raises:
            Lost: a trigger is gone, or a table is unreadable or was replaced since the last look.
        """
        tables = self._tables()
        for event, condition in self._last:
            if (event, condition) not in tables or not tables[event, condition].running:
                raise Lost(TRIGGERS, f"{event}: its trigger is gone")
        before, self._last = self._last, {name: tables[name] for name in self._last}
        self.dropped = sum(tables[name].dropped - (old.dropped if old else 0) for name, old in before.items())
        return {name: _growth(name[0], old, tables[name]) for name, old in before.items()}

    def all_added(self) -> dict[TableName, Grown]:
        """Return the same, if all events found room.

        Raises:
            Lost: likewise, or events found no room in a table.
        """
        growth = self.added()
        if self.dropped:
            raise Lost(DROPPED, f"{self.dropped} events found no room in the tables")
        return growth

    def rows(self, name: TableName) -> Mapping[Key, HistRow]:
        """Return every row of a table at the last look."""
        table = self._last[name]
        return table.rows if table else {}

    @property
    def is_nearly_full(self) -> bool:
        """Whether a table was nearly full at the last look."""
        return any(table is not None and table.is_nearly_full for table in self._last.values())

    def _tables(self) -> dict[TableName, Table]:
        tables = {}
        for event, parser in self._parsers.items():
            try:
                raw = self._instance.read(event)
            except OSError as error:
                raise Lost(TRIGGERS, str(advice(error, self._instance.path))) from error
            tables.update({(event, table.condition): table for table in parser.parse(raw)})
        return tables

    def end(self) -> None:
        """Remove the triggers with the instance."""
        self._instance.remove()


def _growth(event: str, before: Table | None, now: Table) -> Grown:
    """Return the growth of a table. The parser returns the identical table for an unchanged file."""
    if now is before:
        return []
    return list(grown(before.rows if before else {}, now.rows, event))


class HasEnd(Protocol):
    """Triggers in place."""

    def end(self) -> None:
        """Remove the triggers."""


Session = TypeVar("Session", bound=HasEnd)


class TriggerSetUp(Generic[Session]):
    """The triggers of one reader: set with the first mount, set again after a failure, removed at the end.

    Attributes:
        session: the triggers in place.
        refusal: reason of a failure in the last call of `ready`.
    """

    def __init__(
        self,
        make: Callable[[Tracefs, int], Session],
        sources: Sources,
        rows: int,
        most_rows: int,
        clock: Callable[[], float],
        *,
        counted: str,
        otherwise: str,
    ) -> None:
        """Set no trigger yet.

        Args:
            make: sets the triggers in a tracefs, in tables of so many rows. Raises Unavailable.
            sources: places of the kernel's files.
            rows: fewest rows of a table. After dropped events the next tables have more.
            most_rows: most rows of a table.
            clock: monotonic seconds.
            counted: text for the log after a success.
            otherwise: text for the log after a failure.
        """
        self.session: Session | None = None
        self.refusal: Unavailable | None = None
        self._make = make
        self._sources = sources
        self._rows = rows
        self._most_rows = most_rows
        self._clock = clock
        self._counted = counted
        self._otherwise = otherwise
        self._next_try = 0.0
        self._last_refusal = ""
        self._log_once = LogOnce(log)
        self._closed = Event()

    def begin(self) -> None:
        """Set the triggers.

        Raises:
            NotYet: the client of the kernel is not loaded.
            Unavailable: this kernel cannot, or this process may not.
        """
        try:
            with signals_held():
                self.session = self._make(find(self._sources), self._rows)
        except Unavailable as reason:
            self._last_refusal = str(reason)
            raise
        self._last_refusal = ""
        log.info("%s, in tables of %d rows", self._counted, self._rows)
        if self._closed.is_set():  # by another thread in the meantime
            self.end()

    def ready(self, rows: int) -> Session | None:
        """Return the triggers. Without triggers set them, a minute after the last try, with tables of at least `rows` rows.

        0 rows set no trigger. The log has each reason of a failure once.
        """
        self.refusal = None
        if rows and self.session is None and not self._closed.is_set() and self._clock() >= self._next_try:
            self._make_room(rows)
            before = self._last_refusal
            try:
                self.begin()
            except Unavailable as reason:
                self.refusal = reason
                self._next_try = self._clock() + RETRY_SECONDS
                if str(reason) != before:
                    level = logging.INFO if isinstance(reason, NotYet) else logging.WARNING
                    log.log(level, "%s: %s", self._otherwise, reason)
        return self.session

    def lose(self, lost: Lost) -> None:
        """Log a failed look and remove the triggers. After dropped events the next tables have more rows.

        Tables that may not grow are set again after a minute, because equal ones may be full as soon. The triggers of an
        unreadable table stay, because new ones would be as unreadable.
        """
        self._log_once.failed(lost.check, f"{self._otherwise} in this interval: {lost}")
        if lost.check == DROPPED:
            if self._rows >= self._most_rows:
                self._next_try = self._clock() + RETRY_SECONDS
            self.double()
        if lost.check != UNREADABLE:
            self.end()

    def double(self) -> None:
        """Let the next tables have twice the rows, as far as tables may grow."""
        self._make_room(2 * self._rows)

    def _make_room(self, rows: int) -> None:
        while self._rows < min(rows, self._most_rows):
            self._rows *= 2

    def end(self) -> None:
        """Remove the triggers."""
        with signals_held():
            session, self.session = self.session, None
            if session is not None:
                session.end()

    def close(self) -> None:
        """Remove the triggers for good. A set-up in progress leaves no trigger behind."""
        self._closed.set()
        self.end()
