"""The triggers that count durations of calls, from set-up to removal."""

import errno
from pathlib import Path
from typing import Final

from fss_exporter.nfs.exact import request_durations
from fss_exporter.nfs.exact.calls import BIRTHS, CALLS
from fss_exporter.nfs.exact.files import FILES, Files
from fss_exporter.nfs.exact.instance_tables import InstanceTables, TablesLook
from fss_exporter.nfs.exact.tracefs import OF_LATENCY, Instance, Unavailable, advice, check_client, fields

# The tables, by event and condition. All but the first are optional.
FINISHED: Final = (CALLS, request_durations.FINISHED)
ANSWERED: Final = (CALLS, request_durations.ANSWERED)
UNANSWERED: Final = (CALLS, request_durations.UNANSWERED)
BORN: Final = (BIRTHS, request_durations.BORN)

_NEEDED: Final = {"client_id", "progname", "procname", "execute", "rtt"}
_FULL_SHARE: Final = 0.8
_FEWER: Final = 8
# Of calls without a reply and of clients there are few: their tables have an eighth of the rows.


class LatencySession:
    """Triggers in place.

    Args:
        root: where tracefs is mounted.
        rows: of each table of durations.
        rtt: whether round-trip times are counted too.
        files: how the kernel's files are reached.

    Raises:
        NotYet: the RPC client is not loaded.
        Unavailable: this kernel cannot, or this process may not.
    """

    def __init__(self, root: Path, rows: int, *, rtt: bool = False, files: Files = FILES) -> None:
        check_latency(root, files)
        few = max(rows // _FEWER, 128)
        self._sizes = {FINISHED: rows, ANSWERED: rows, UNANSWERED: few, BORN: few}
        instance = Instance(root, OF_LATENCY, files)
        self._tables = InstanceTables(instance)
        try:
            self._tables.add(*FINISHED, request_durations.finished_trigger(rows))
        except OSError as error:
            instance.remove()
            if error.errno == errno.EINVAL:
                raise Unavailable(
                    f"{root}: the kernel refuses to count calls by powers of two of their time"
                ) from error
            raise advice(error, instance.path) from error
        optional = [
            (UNANSWERED, request_durations.unanswered_trigger(few), "calls without a reply are not counted apart")
        ]
        if rtt:
            optional.append((ANSWERED, request_durations.answered_trigger(rows), "round-trip times are not counted"))
        optional.append((BORN, request_durations.birth_trigger(few), "mounts that come and go may lack their address"))
        self.tables = frozenset(
            {FINISHED}
            | {
                (event, condition)
                for (event, condition), trigger, otherwise in optional
                if self._tables.try_to_add(event, {condition: trigger}, otherwise)
            }
        )

    def look(self) -> TablesLook:
        """Return every table with the present counts.

        Raises:
            Lost: a trigger is gone, or a table is unreadable.
        """
        return self._tables.look()

    def is_nearly_full(self, look: TablesLook) -> bool:
        """Whether a table has so many rows that a new set-up is due. The kernel never removes a row."""
        return any(len(look.tables[place].rows) >= _FULL_SHARE * self._sizes[place] for place in self.tables)

    def end(self) -> None:
        """Take everything down."""
        self._tables.end()


def check_latency(root: Path, files: Files = FILES) -> None:
    """Find out, by looking only, whether this kernel can count how long calls take.

    Args:
        root: where tracefs is mounted.
        files: how the kernel's files are reached.

    Raises:
        NotYet: the RPC client is not loaded.
        Unavailable: this kernel cannot, or this process may not.
    """
    check_client(root, "sunrpc", "RPC client", files)
    if missing := _NEEDED - fields(root, CALLS, files).keys():
        raise Unavailable(f"{root}/events/{CALLS}: no field {min(missing)}; this kernel is too old or too new")
