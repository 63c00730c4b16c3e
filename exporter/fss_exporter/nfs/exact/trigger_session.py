"""One set-up of the triggers, from the first that was set to the removal of the instance, and looks at its tables."""

import errno
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fss_exporter.errors import RecordError
from fss_exporter.nfs.exact import calls
from fss_exporter.nfs.exact.files import FILES, Files
from fss_exporter.nfs.exact.hist_tables import HistParser, HistRow, Key, Table, TableWasReplaced, grown
from fss_exporter.nfs.exact.sizes import SIZE_EVENTS, Buckets, Form, Ladder, SizeEvents
from fss_exporter.nfs.exact.tracefs import OF_SIZES, Instance, NotYet, Unavailable, advice, check_hist, fields

log = logging.getLogger(__name__)

_DEVICE_BYTES = 4

TRIGGERS = "triggers"
DROPPED = "dropped"
UNREADABLE = "unreadable"


class Lost(Exception):
    """The tables cannot be trusted since the last look.

    Args:
        check: what did not hold: `triggers`, `dropped` or `unreadable`.
        detail: for the log.
    """

    def __init__(self, check: str, detail: str) -> None:
        self.check = check
        super().__init__(detail)


Place = tuple[str, str]
"""A table: event and condition."""


@dataclass(frozen=True, slots=True)
class TablesLook:
    """Every table at one look."""

    tables: Mapping[Place, Table]

    def since(self, before: "TablesLook", place: Place) -> list[tuple[Key, HistRow]]:
        """What was added to a table since another look.

        Raises:
            Lost: the table was replaced, or events found no room in it.
        """
        old, new = before.tables[place], self.tables[place]
        if new.dropped != old.dropped:
            raise Lost(DROPPED, f"{place[0]}: {new.dropped - old.dropped} events found no room in the table")
        try:
            return list(grown(old.rows, new.rows))
        except TableWasReplaced:
            raise Lost(TRIGGERS, f"{place[0]}: another program has replaced its triggers") from None


class TriggerSession:
    """Triggers in place.

    Args:
        root: where tracefs is mounted.
        rows: of each table.
        files: how the kernel's files are reached.

    Raises:
        NotYet: the NFS client is not loaded.
        Unavailable: this kernel cannot, or this process may not.
    """

    def __init__(self, root: Path, rows: int, files: Files = FILES) -> None:
        self.rows = rows
        self.source = source_of(root, files)
        self.form: Form = Buckets(self.source)
        try:
            self._instance = _set_up(root, self.source, self.form, rows, files)
        except _NotUnderstood:
            self.form = Ladder(self.source)
            try:
                self._instance = _set_up(root, self.source, self.form, rows, files)
            except _NotUnderstood as refused:
                raise Unavailable(
                    f"{root}: the kernel refuses {refused}: it counts in other ways than we know"
                ) from None
        events = self.source.events.values()
        self._expected = [(event, condition) for event in events for condition in self.form.conditions]
        self.counts_calls = self._try(calls.CALLS, calls.call_triggers(rows), "lock calls are estimated")
        self.sees_births = self.counts_calls and self._try(
            calls.BIRTHS, calls.birth_triggers(rows), "lock calls of short-lived mounts may lack their address"
        )
        self._parsers = {event: HistParser() for event, _ in self._expected}

    def _try(self, event: str, triggers: Mapping[str, str], otherwise: str) -> bool:
        """Set triggers of an event by condition; without them the sizes are still worth having."""
        try:
            for trigger in triggers.values():
                self._instance.add_trigger(event, trigger)
        except OSError as error:
            log.warning("%s: %s", otherwise, advice(error, self._instance.path))
            return False
        self._expected += [(event, condition) for condition in triggers]
        return True

    def look(self) -> TablesLook:
        """Every table as it is now.

        Raises:
            Lost: a trigger is gone or its table cannot be read.
        """
        try:
            tables = dict(self._tables())
        except RecordError:
            # Never seen; a second look costs less than an interval of estimates.
            try:
                tables = dict(self._tables())
            except RecordError as error:
                raise Lost(UNREADABLE, str(error)) from error
        for place in self._expected:
            if place not in tables or not tables[place].running:
                raise Lost(TRIGGERS, f"{place[0]}: its trigger is gone")
        return TablesLook(tables)

    def _tables(self) -> Iterator[tuple[Place, Table]]:
        for event, parser in self._parsers.items():
            try:
                text = self._instance.read(event)
            except OSError as error:
                raise Lost(TRIGGERS, str(advice(error, self._instance.path))) from error
            for table in parser.parse(text):
                yield (event, table.condition), table

    def end(self) -> None:
        """Take everything down."""
        self._instance.remove()


class _NotUnderstood(Exception):
    """The kernel does not know this form of trigger."""


def source_of(root: Path, files: Files = FILES) -> SizeEvents:
    """The events of this kernel that tell sizes, found by looking only.

    Args:
        root: where tracefs is mounted.
        files: how the kernel's files are reached.

    Raises:
        NotYet: the NFS client is not loaded.
        Unavailable: this kernel cannot, or this process may not.
    """
    check_hist(root, files)
    try:
        loaded = files.is_there(root / "events" / "nfs")
    except OSError as error:
        raise advice(error, root) from error
    if not loaded:
        raise NotYet(f"{root}: the NFS client is not loaded. Counting begins with the first NFS mount")
    for source in SIZE_EVENTS:
        known = [fields(root, event, files) for event in source.events.values()]
        if all(one.get("dev") == _DEVICE_BYTES and {source.size, source.payload} <= one.keys() for one in known):
            return source
    raise Unavailable(f"{root}/events/nfs: no event has the sizes of READ and WRITE. This kernel is too old or too new")


def _set_up(root: Path, source: SizeEvents, form: Form, rows: int, files: Files) -> Instance:
    instance = Instance(root, OF_SIZES, files)
    try:
        for event in source.events.values():
            for trigger in form.triggers(rows):
                _add(instance, event, trigger)
    except BaseException:
        instance.remove()
        raise
    return instance


def _add(instance: Instance, event: str, trigger: str) -> None:
    try:
        instance.add_trigger(event, trigger)
    except OSError as error:
        if error.errno == errno.EINVAL:
            raise _NotUnderstood(f"{event}: {trigger}") from error
        raise advice(error, instance.path) from error
