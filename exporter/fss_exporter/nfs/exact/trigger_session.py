"""The triggers that count sizes and lock calls, from set-up to removal."""

import errno
from pathlib import Path

from fss_exporter.nfs.exact import calls
from fss_exporter.nfs.exact.files import FILES, Files
from fss_exporter.nfs.exact.instance_tables import InstanceTables, TablesLook
from fss_exporter.nfs.exact.sizes import SIZE_EVENTS, Buckets, Form, Ladder, SizeEvents
from fss_exporter.nfs.exact.tracefs import OF_SIZES, Instance, Unavailable, advice, check_client, fields

_DEVICE_BYTES = 4


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
            self._tables = _set_up(root, self.source, self.form, rows, files)
        except _NotUnderstood:
            self.form = Ladder(self.source)
            try:
                self._tables = _set_up(root, self.source, self.form, rows, files)
            except _NotUnderstood as refused:
                raise Unavailable(
                    f"{root}: the kernel refuses {refused}: it counts in other ways than we know"
                ) from None
        self.counts_calls = self._tables.try_to_add(calls.CALLS, calls.call_triggers(rows), "lock calls are estimated")
        self.sees_births = self.counts_calls and self._tables.try_to_add(
            calls.BIRTHS, calls.birth_triggers(rows), "lock calls of short-lived mounts may lack their address"
        )

    def look(self) -> TablesLook:
        """Return every table with the present counts.

        Raises:
            Lost: a trigger is gone, or a table is unreadable.
        """
        return self._tables.look()

    def end(self) -> None:
        """Take everything down."""
        self._tables.end()


class _NotUnderstood(Exception):
    """The kernel does not know this form of trigger."""


def source_of(root: Path, files: Files = FILES) -> SizeEvents:
    """Return this kernel's events with sizes, without setting a trigger.

    Args:
        root: mount point of tracefs.
        files: access to the kernel's files.

    Raises:
        NotYet: the NFS client is not loaded.
        Unavailable: the kernel cannot count sizes, or this process may not.
    """
    check_client(root, files=files)
    for source in SIZE_EVENTS:
        known = [fields(root, event, files) for event in source.events.values()]
        if all(one.get("dev") == _DEVICE_BYTES and {source.size, source.payload} <= one.keys() for one in known):
            return source
    raise Unavailable(f"{root}/events/nfs: no event has the sizes of READ and WRITE. This kernel is too old or too new")


def _set_up(root: Path, source: SizeEvents, form: Form, rows: int, files: Files) -> InstanceTables:
    instance = Instance(root, OF_SIZES, files)
    tables = InstanceTables(instance)
    try:
        for event in source.events.values():
            for condition, trigger in zip(form.conditions, form.triggers(rows), strict=True):
                try:
                    tables.add(event, condition, trigger)
                except OSError as error:
                    if error.errno == errno.EINVAL:
                        raise _NotUnderstood(f"{event}: {trigger}") from error
                    raise advice(error, instance.path) from error
    except BaseException:
        instance.remove()
        raise
    return tables
