"""Read mountstats in exact mode, together with the counts of the kernel's tables."""

import logging
import time
from collections.abc import Callable

from fss_exporter.addresses import NO_ADDRESSES, AddressMap
from fss_exporter.background import Worker
from fss_exporter.nfs.superblocks import NO_READING, Reading
from fss_kernel_counting.clients import ClientAddresses
from fss_kernel_counting.hist_tables import Lost
from fss_kernel_counting.instance_tables import MOST_ROWS, TablesLook, TriggerSetUp
from fss_kernel_counting.sizes.size_counts import Agreement, ByOperation, Counts, none_yet, sort, weighted
from fss_kernel_counting.sizes.size_triggers import SizeSession
from fss_kernel_counting.tracefs import NotYet, Sources

log = logging.getLogger(__name__)

_FEWEST_ROWS = 512
# Serve 15 superblocks. Every tick the kernel goes through all rows, used or not. A client with more mounts begins with more rows.

_MOST_UNREADABLE = 60
# Most unreadable looks in a row. A later look has the counts of all, and until then their records take memory.

_CLASSES = 34
# Rows one superblock can have in a table: a class for each 32 KiB up to 1 MiB, and a spare.


class ExactReader:
    """Read mountstats, and add the counts since the last reading.

    If the tables are unreadable, a later look is compared with the last good look. No count is lost, because the tables are
    cumulative. If the tables were replaced or full, the calls since the last look are lost, and the reader sets new triggers.

    Attributes:
        counts: counts of the tables between the last two readings.
        reading: the last reading. None while mountstats is unreadable.
    """

    def __init__(
        self,
        mountstats: Callable[[], Reading],
        sources: Sources,
        address_map: AddressMap = NO_ADDRESSES,
        *,
        tick_s: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Count beside a reader of mountstats.

        Args:
            mountstats: reads mountstats once. Raises SourceError.
            sources: places of the kernel's files.
            address_map: mount targets behind TLS forwarders.
            tick_s: shortest time between two readings, seconds.
            clock: seconds that never go back.
        """
        self.counts = Counts()
        self.reading: Reading | None = None
        self._mountstats = mountstats
        self._tick_s = self._interval_s = tick_s
        self._clock = clock
        self._last_at: float | None = None
        self._look: TablesLook | None = None
        self._agreement = Agreement()
        self._carried: ByOperation = none_yet()
        self._reading = NO_READING
        self._addresses = ClientAddresses(sources.sysfs, address_map)
        self._triggers = TriggerSetUp(
            lambda root, rows: SizeSession(root, rows, sources.files),
            sources,
            _FEWEST_ROWS,
            MOST_ROWS,
            clock,
            counted="READ and WRITE are counted by size",
            otherwise="READ and WRITE are estimated, not counted",
            most_unreadable=_MOST_UNREADABLE,
        )
        # The looks run in the loop that reads mountstats. The worker is their guard and heartbeat.
        self.loop = Worker("nfs_exact", self._round, interval=lambda: self._interval_s)

    def open(self) -> None:
        """Set up as much as possible now.

        Raises:
            Unavailable: exact mode is impossible here. A client without a first mount is no reason.
        """
        try:
            self._triggers.begin()
        except NotYet as reason:
            log.info("exact mode waits: %s", reason)

    def close(self) -> None:
        """Remove everything for good. A look in progress sets nothing up again."""
        self._triggers.close()

    def read(self) -> Reading:
        """Read mountstats and the tables once. `counts` has the counts since the last call.

        Raises:
            SourceError: mountstats is unreadable.
        """
        now, self.reading = self._clock(), None
        self._interval_s = self._tick_s if self._last_at is None else max(self._tick_s, now - self._last_at)
        self._last_at = now
        self._reading = self._mountstats()
        self.counts = Counts()  # if the round breaks off: this interval is estimated
        self.loop.run_once()
        self.reading = self._reading
        return self._reading

    def _round(self) -> None:
        """Look at the tables. After an unexpected error the next look is a first look, so that no call counts twice."""
        before, self._look = self._look, None
        failed: tuple[str, ...] = ()
        session = self._triggers.session
        if session is not None and before is not None:
            try:
                self.counts = self._counted(session, before, self._reading)
            except Lost as lost:
                failed = (lost.check,)
                if self._triggers.lose(lost):
                    self._look = before
                    self.counts = Counts(failed=failed, active=True, deferred=True)
                    return
            else:
                return
        session = self._triggers.ready(len(weighted(self._reading)) * _CLASSES)
        if session is not None:
            # Calls before the triggers are estimated. The next interval begins here, in mountstats and in the tables.
            self._reading = self._mountstats()
            try:
                self._begin_anew(session, self._reading)
            except Lost as lost:
                self._triggers.lose(lost)
                failed = failed or (lost.check,)
        self.counts = Counts(failed=failed, active=self._look is not None)

    def _begin_anew(self, session: SizeSession, reading: Reading) -> None:
        """Take the first look for the next comparison.

        Raises:
            Lost: the look fails.
        """
        self._addresses.learn_all()
        self._agreement = Agreement()
        self._carried = none_yet()
        self._look = session.tables.look()
        self._agreement.check(weighted(reading), self._carried)

    def _counted(self, session: SizeSession, before: TablesLook, reading: Reading) -> Counts:
        now = session.tables.look()
        transfers, (locks, acls) = session.transfers(before, now), session.calls(before, now, self._addresses)
        # Nothing can fail from here on, so that a failed look leaves everything as it was.
        superblocks = weighted(reading)
        sorted_counts = sort(transfers, reading, self._agreement.known, self._carried)
        failed = self._agreement.check(superblocks, sorted_counts.known) if session.source.answered else {}
        for number, check in failed.items():
            log.warning("superblock %s: this interval is estimated, tables and mountstats disagree: %s", number, check)
        gone = {number for operation in sorted_counts.known.values() for number in operation} - superblocks.keys()
        self._look, self._carried, self._triggers.unreadable = now, sorted_counts.unread, 0
        return Counts(
            superblocks=frozenset(superblocks.keys() - failed.keys() | gone),
            transfers=sorted_counts.known,
            invisible=sorted_counts.invisible,
            addresses=frozenset(superblock.key.address for superblock in superblocks.values()),
            locks=locks,
            acls=acls,
            has_sizes=session.form.has_sizes,
            failed=tuple(failed.values()),
            active=True,
        )
