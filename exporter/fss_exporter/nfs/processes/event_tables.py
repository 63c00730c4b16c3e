"""The tables of one event: growth since the last look, and fullness."""

from collections.abc import Mapping
from typing import Final

from fss_exporter.errors import RecordError
from fss_exporter.nfs.exact.hist_tables import HistRow, Key, TableWasReplaced, grown
from fss_exporter.nfs.exact.tracefs import Instance, advice
from fss_exporter.nfs.processes.thread_tables import ThreadTable, parse_thread_tables

GONE: Final = "gone"
UNREADABLE: Final = "unreadable"
FULL: Final = "full"

Added = list[tuple[Key, HistRow]]


class Trouble(Exception):
    """The tables of an event tell nothing at this look.

    Args:
        reason: `gone` or `unreadable`.
        detail: for the log.
    """

    def __init__(self, reason: str, detail: str) -> None:
        self.reason = reason
        super().__init__(detail)


class EventTables:
    """Tables of one event.

    Args:
        instance: that holds the triggers.
        event: `system/event`.
        triggers: by condition, the text behind `if`. The condition tells the tables of an event apart.

    Attributes:
        dropped: events that found no room between the last two looks.
        fullness: rows of the fullest table, as a share of the size.

    Raises:
        OSError: the kernel refuses a trigger.
    """

    def __init__(self, instance: Instance, event: str, triggers: Mapping[str, str]) -> None:
        self.dropped = 0
        self.fullness = 0.0
        self._instance = instance
        self._event = event
        self._conditions = tuple(triggers)
        for trigger in triggers.values():
            instance.add_trigger(event, trigger)
        self._last: Mapping[str, ThreadTable] = {}

    def added(self) -> dict[str, Added]:
        """Return rows with growth since the last look, by condition. The first look returns everything since the start.

        Raises:
            Trouble: the tables are unreadable, or were replaced since the last look.
        """
        now = self._look()
        try:
            result = {
                condition: list(grown(self._last[condition].rows if self._last else {}, table.rows))
                for condition, table in now.items()
            }
        except TableWasReplaced:
            self._last = now
            raise Trouble(GONE, f"{self._event}: another program has replaced the triggers") from None
        before = sum(table.dropped for table in self._last.values())
        self.dropped = max(0, sum(table.dropped for table in now.values()) - before)
        self.fullness = max(len(table.rows) / table.size for table in now.values())
        self._last = now
        return result

    def rows(self, condition: str) -> Mapping[Key, HistRow]:
        """Every row of a table at the last look."""
        return self._last[condition].rows if self._last else {}

    def _look(self) -> dict[str, ThreadTable]:
        try:
            tables = self._parsed()
        except RecordError:
            try:
                tables = self._parsed()  # never seen; a second look costs less than an interval without counts
            except RecordError as error:
                raise Trouble(UNREADABLE, f"{self._event}: {error}") from error
        for condition in self._conditions:
            if condition not in tables or not tables[condition].running:
                raise Trouble(GONE, f"{self._event}: a trigger is gone")
        return {condition: tables[condition] for condition in self._conditions}

    def _parsed(self) -> dict[str, ThreadTable]:
        try:
            raw = self._instance.raw(self._event)
        except OSError as error:
            raise Trouble(GONE, str(advice(error, self._instance.path))) from error
        return {table.condition: table for table in parse_thread_tables(raw)}
