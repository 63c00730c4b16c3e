"""The tables of one tracefs instance: set triggers, and read the counts."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from fss_exporter.errors import RecordError
from fss_exporter.nfs.exact.hist_tables import HistParser, HistRow, Key, Table, TableWasReplaced, grown
from fss_exporter.nfs.exact.tracefs import Instance, advice

log = logging.getLogger(__name__)

MOST_ROWS: Final = 131072  # most rows of a table, a limit of the kernel
RETRY_SECONDS: Final = 60.0  # time between two tries to set triggers

TRIGGERS = "triggers"
DROPPED = "dropped"
UNREADABLE = "unreadable"


class Lost(Exception):
    """The tables are not reliable since the last look.

    Args:
        check: the failed check: `triggers`, `dropped` or `unreadable`.
        detail: text for the log.
    """

    def __init__(self, check: str, detail: str) -> None:
        self.check = check
        super().__init__(detail)


TableName = tuple[str, str]  # A table: event and condition


@dataclass(frozen=True, slots=True)
class TablesLook:
    """Every table at one look."""

    tables: Mapping[TableName, Table]

    def since(self, before: "TablesLook", place: TableName) -> list[tuple[Key, HistRow]]:
        """Return the growth of a table since another look.

        Raises:
            Lost: the table was replaced, or events found no room in the table.
        """
        old, new = before.tables[place], self.tables[place]
        if new.dropped != old.dropped:
            raise Lost(DROPPED, f"{place[0]}: {new.dropped - old.dropped} events found no room in the table")
        try:
            return list(grown(old.rows, new.rows))
        except TableWasReplaced:
            raise Lost(TRIGGERS, f"{place[0]}: another program has replaced its triggers") from None


class InstanceTables:
    """Set triggers, with their tables.

    Args:
        instance: an instance without triggers.
    """

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._parsers: dict[str, HistParser] = {}
        self._expected: list[TableName] = []

    def add(self, event: str, condition: str, trigger: str) -> None:
        """Set a trigger.

        Args:
            event: `system/event`.
            condition: text behind `if` of the trigger. The condition identifies a table of the event.
            trigger: text for the file `trigger`.

        Raises:
            OSError: the kernel refuses the trigger (EINVAL: unknown form).
        """
        self._instance.add_trigger(event, trigger)
        self._parsers.setdefault(event, HistParser())
        self._expected.append((event, condition))

    def try_to_add(self, event: str, triggers: Mapping[str, str], otherwise: str) -> bool:
        """Set optional triggers of an event by condition. `otherwise` goes to the log after a refusal."""
        try:
            for condition, trigger in triggers.items():
                self.add(event, condition, trigger)
        except OSError as error:
            log.warning("%s: %s", otherwise, advice(error, self._instance.path))
            return False
        return True

    def look(self) -> TablesLook:
        """Return every table with the present counts.

        Raises:
            Lost: a trigger is gone, or a table is unreadable.
        """
        try:
            tables = dict(self._tables())
        except RecordError:
            # Never seen; a second look costs less than an interval without counts.
            try:
                tables = dict(self._tables())
            except RecordError as error:
                raise Lost(UNREADABLE, str(error)) from error
        for place in self._expected:
            if place not in tables or not tables[place].running:
                raise Lost(TRIGGERS, f"{place[0]}: its trigger is gone")
        return TablesLook(tables)

    def _tables(self) -> Iterator[tuple[TableName, Table]]:
        for event, parser in self._parsers.items():
            try:
                text = self._instance.read(event)
            except OSError as error:
                raise Lost(TRIGGERS, str(advice(error, self._instance.path))) from error
            for table in parser.parse(text):
                yield (event, table.condition), table

    def end(self) -> None:
        """Remove the instance with its triggers."""
        self._instance.remove()
