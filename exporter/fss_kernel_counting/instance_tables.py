"""The tables of one tracefs instance: set triggers, set them again after a failure, and read the counts."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Final, Generic, Protocol, TypeVar

from fss_kernel_counting import hist_tables
from fss_kernel_counting.hist_tables import DROPPED, TRIGGERS, UNREADABLE, Grown, Lost, grown
from fss_kernel_counting.tracefs import Instance, NotYet, Sources, Unavailable, advice, find, signals_held

log = logging.getLogger(__name__)

MOST_ROWS: Final = 131072  # most rows of a table, a limit of the kernel
RETRY_SECONDS: Final = 60.0  # time between two tries to set triggers

TableName = tuple[str, str]  # A table: event and condition


@dataclass(frozen=True, slots=True)
class TablesLook:
    """Every table at one look."""

    tables: Mapping[TableName, hist_tables.Table]

    def is_same(self, before: "TablesLook") -> bool:
        """Whether no table has changed since another look. The parser keeps the tables of an unchanged file."""
        return all(table is before.tables.get(place) for place, table in self.tables.items())

    def grown(self, before: "TablesLook | None", place: TableName) -> Grown:
        """Return the growth of a table since another look, or since the trigger was set.

        Raises:
            Lost: the table was replaced.
        """
        now, old = self.tables[place], before.tables[place] if before else None
        if now is old:
            return []
        return list(grown(old.rows if old else {}, now.rows, place[0]))

    def since(self, before: "TablesLook", place: TableName) -> Grown:
        """Return the growth of a table since another look, if all events found room.

        Raises:
            Lost: the table was replaced, or events found no room in the table.
        """
        if more := self.tables[place].dropped - before.tables[place].dropped:
            raise Lost(DROPPED, f"{place[0]}: {more} events found no room in the table")
        return self.grown(before, place)


class InstanceTables:
    """Triggers of an instance, with their tables."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self._parsers: dict[str, hist_tables.HistParser] = {}
        self._expected: list[TableName] = []

    def add(self, event: str, rows: int, keys: Mapping[str, str]) -> None:
        """Set a trigger for each table of an event. `keys` of the rows are by the condition, which identifies the table.

        Raises:
            OSError: the kernel refuses a trigger (EINVAL: unknown form).
        """
        for condition, of_row in keys.items():
            wanted = f" if {condition}" if condition else ""
            self.instance.add_trigger(event, f"hist:keys={of_row}:size={rows}{wanted}")
            self._parsers.setdefault(event, hist_tables.HistParser())
            self._expected.append((event, condition))

    def try_to_add(self, event: str, rows: int, keys: Mapping[str, str], otherwise: str) -> bool:
        """Set optional triggers of an event. `otherwise` goes to the log after a refusal."""
        try:
            self.add(event, rows, keys)
        except OSError as error:
            log.warning("%s: %s", otherwise, advice(error, self.instance.path))
            return False
        return True

    def look(self) -> TablesLook:
        """Return every table with the present counts.

        Raises:
            Lost: a trigger is gone, or a table is unreadable.
        """
        try:
            tables = self._tables()
        except Lost as lost:
            if lost.check != UNREADABLE:
                raise
            # No kernel has shown such a table so far. A second look costs less than an interval without counts.
            tables = self._tables()
        for place in self._expected:
            if place not in tables or not tables[place].running:
                raise Lost(TRIGGERS, f"{place[0]}: its trigger is gone")
        return TablesLook(tables)

    def _tables(self) -> dict[TableName, hist_tables.Table]:
        tables = {}
        for event, parser in self._parsers.items():
            try:
                raw = self.instance.read(event)
            except OSError as error:
                raise Lost(TRIGGERS, str(advice(error, self.instance.path))) from error
            tables.update({(event, table.condition): table for table in parser.parse(raw)})
        return tables


class EventTables:
    """Tables of one event that remember the last look. Arguments are as of `InstanceTables.add`.

    Attributes:
        dropped: events that found no room between the last two looks.
        is_nearly_full: whether a table was nearly full at the last look.

    Raises:
        OSError: the kernel refuses a trigger.
    """

    def __init__(self, instance: Instance, event: str, rows: int, keys: Mapping[str, str]) -> None:
        self.dropped = 0
        self.is_nearly_full = False
        self._places = {condition: (event, condition) for condition in keys}
        self._tables = InstanceTables(instance)
        self._tables.add(event, rows, keys)
        self._last: TablesLook | None = None

    def added(self) -> dict[str, Grown]:
        """Return rows with growth since the last look, by condition. The first look returns everything since the start.

        Raises:
            Lost: the tables are unreadable, or were replaced since the last look.
        """
        now, before = self._tables.look(), self._last
        self._last = now
        grown = {condition: now.grown(before, place) for condition, place in self._places.items()}
        pairs = [(now.tables[place], before and before.tables[place]) for place in self._places.values()]
        self.dropped = max(0, sum(new.dropped - (old.dropped if old else 0) for new, old in pairs))
        self.is_nearly_full = any(new.is_nearly_full for new, _ in pairs)
        return grown

    def rows(self, condition: str) -> Mapping[hist_tables.Key, hist_tables.HistRow]:
        """Return every row of a table at the last look."""
        return self._last.tables[self._places[condition]].rows if self._last else {}


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
        unreadable: unreadable looks in a row. A good look sets the number to 0.
    """

    def __init__(
        self,
        make: Callable[[Path, int], Session],
        sources: Sources,
        rows: int,
        most_rows: int,
        clock: Callable[[], float],
        *,
        counted: str,
        otherwise: str,
        most_unreadable: int = 0,
    ) -> None:
        """Set no trigger yet.

        Args:
            make: sets the triggers, by mount point of tracefs and rows. Raises Unavailable.
            sources: places of the kernel's files.
            rows: fewest rows of a table. After dropped events the next tables have more.
            most_rows: most rows of a table.
            clock: monotonic seconds.
            counted: text for the log after a success.
            otherwise: text for the log after a failure.
            most_unreadable: most unreadable looks in a row whose counts a later look may bring.
        """
        self.session: Session | None = None
        self.refusal: Unavailable | None = None
        self.unreadable = 0
        self._make = make
        self._sources = sources
        self._rows = rows
        self._most_rows = most_rows
        self._clock = clock
        self._counted = counted
        self._otherwise = otherwise
        self._most_unreadable = most_unreadable
        self._next_try = 0.0
        self._last_refusal = ""
        self._closed = Event()

    def begin(self) -> None:
        """Set the triggers.

        Raises:
            NotYet: the client of the kernel is not loaded.
            Unavailable: this kernel cannot, or this process may not.
        """
        try:
            with signals_held():
                self.session = self._make(self._root(), self._rows)
        except Unavailable as reason:
            self._last_refusal = str(reason)
            raise
        self._last_refusal = ""
        log.info("%s, in tables of %d rows", self._counted, self._rows)
        if self._closed.is_set():  # by another thread in the meantime
            self.end()

    def _root(self) -> Path:
        return find(self._sources.tracefs, self._sources.files, self._sources.sysfs)

    def ready(self, rows: int) -> Session | None:
        """Return the triggers. Without triggers set them, a minute after the last try, with tables of at least `rows` rows.

        0 rows set no trigger. The log has each reason of a failure once.
        """
        self.refusal = None
        if rows and self.session is None and not self._closed.is_set() and self._clock() >= self._next_try:
            self._make_room(rows)
            known = self._last_refusal
            try:
                self.begin()
            except Unavailable as reason:
                self.refusal = reason
                self._next_try = self._clock() + RETRY_SECONDS
                if str(reason) != known:
                    level = logging.INFO if isinstance(reason, NotYet) else logging.WARNING
                    log.log(level, "%s: %s", self._otherwise, reason)
        return self.session

    def lose(self, lost: Lost) -> bool:
        """Note a failed look. Return whether a later look may bring the counts of this look.

        Unreadable tables stay, and the log has the first of several such looks. All other tables are removed. After dropped events
        the next tables have more rows.
        """
        self.unreadable = self.unreadable + 1 if lost.check == UNREADABLE else 0
        if self.unreadable <= 1:
            log.warning("%s in this interval: %s", self._otherwise, lost)
        if lost.check == DROPPED:
            self.double()
        if not self.unreadable:
            self.end()
        return 0 < self.unreadable <= self._most_unreadable

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
