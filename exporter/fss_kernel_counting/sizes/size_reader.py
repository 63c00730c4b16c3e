# SPDX-License-Identifier: Apache-2.0
"""Read mountstats in exact mode, together with the counts of the kernel's tables."""

import logging
import time
from collections.abc import Callable

from fss_exporter.addresses import NO_ADDRESSES, AddressMap
from fss_exporter.background import Worker
from fss_exporter.errors import SourceError, UsageError
from fss_exporter.nfs.superblocks import NO_READING, Reading
from fss_kernel_counting.clients import ClientAddresses
from fss_kernel_counting.hist_tables import Lost
from fss_kernel_counting.instance_tables import MOST_ROWS, REFUSED_TABLE, TriggerSetUp
from fss_kernel_counting.sizes.size_counts import Agreement, Counts, by_superblock, weighted
from fss_kernel_counting.sizes.size_triggers import ACLS, BORN, LOCKS, SizeSession, calls_by_address
from fss_kernel_counting.tracefs import NotYet, Sources, Unavailable

log = logging.getLogger(__name__)

# Serve 15 superblocks. Every tick the kernel goes through all rows, used or not. A client with more mounts begins with more rows.
_FEWEST_ROWS = 512

_CLASSES = 34  # rows one superblock can have in a table: a class for each 32 KiB up to 1 MiB, and a spare


class ExactReader:
    """Read mountstats, and add the counts since the last reading.

    If the tables are unreadable, were replaced or were full, the interval has no counts, and the next begins with a new look.

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
        required: bool = False,
        tick_s: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Count beside a reader of mountstats.

        Args:
            mountstats: reads mountstats once. Raises SourceError.
            sources: places of the kernel's files.
            address_map: mount targets behind TLS forwarders.
            required: whether exact mode must be possible.
            tick_s: shortest time between two readings, seconds.
            clock: seconds that never go back.
        """
        self.counts = Counts()
        self.reading: Reading | None = None
        self._mountstats = mountstats
        self._required = required
        self._tick_s = self._interval_s = tick_s
        self._clock = clock
        self._last_at: float | None = None
        self._is_counting = False  # whether the last look can be compared with the next
        self._agreement = Agreement()
        self._mounts: frozenset[str] = frozenset()  # `major:minor` of the weighted superblocks of the last look
        self._reading = NO_READING
        self._addresses = ClientAddresses(sources.sysfs, address_map)
        self._triggers = TriggerSetUp(
            SizeSession,
            sources,
            _FEWEST_ROWS,
            MOST_ROWS,
            clock,
            counted="READ and WRITE are counted by size",
            otherwise="READ and WRITE are estimated, not counted",
        )
        # The looks run in the loop that reads mountstats. The worker is their guard and heartbeat.
        self.loop = Worker("nfs_exact", self._round, interval=lambda: self._interval_s)

    def open(self) -> None:
        """Set up as much as possible now. Before the first mount the agent waits.

        Raises:
            UsageError: exact mode is required and impossible here.
        """
        try:
            self._triggers.begin()
        except NotYet as reason:
            log.info("exact mode waits: %s", reason)
        except Unavailable as reason:
            if self._required:
                raise UsageError(f"--nfs.exact=on: {reason}") from reason
            log.warning("READ and WRITE are estimated, not counted: %s", reason)

    def close(self) -> None:
        """Remove everything for good. A look in progress sets nothing up again."""
        self._triggers.close()

    def read(self) -> Reading:
        """Read mountstats and the tables once. `counts` has the counts since the last call.

        Raises:
            SourceError: mountstats is unreadable.
        """
        now = self._clock()
        self._interval_s = self._tick_s if self._last_at is None else max(self._tick_s, now - self._last_at)
        self._last_at = now
        try:
            self._reading = self._mountstats()
        except SourceError:
            self.reading = None
            raise
        self.counts = Counts()  # if the round breaks off: this interval is estimated
        self.loop.run_once()
        self.reading = self._reading
        return self._reading

    def _round(self) -> None:
        """Look at the tables. After a failure the next look is a first look, so that no call counts twice."""
        is_counting, self._is_counting = self._is_counting, False
        failed: tuple[str, ...] = ()
        session = self._triggers.session
        if session is not None and is_counting:
            try:
                self.counts = self._counted(session, self._reading)
            except Lost as lost:
                self._triggers.lose(lost)
                failed = (lost.check,)
            else:
                self._is_counting = True
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
            else:
                failed += (REFUSED_TABLE,) * session.tables.refused
        self.counts = Counts(failed=failed, active=self._is_counting)

    def _begin_anew(self, session: SizeSession, reading: Reading) -> None:
        """Take the first look for the next comparison.

        Raises:
            Lost: the look fails.
        """
        self._addresses.learn_all()
        self._addresses.learn(session.tables.added().get(BORN, ()))
        superblocks = weighted(reading)
        self._agreement = Agreement()
        self._agreement.check(superblocks, {})
        self._mounts = frozenset(superblocks)
        self._is_counting = True

    def _counted(self, session: SizeSession, reading: Reading) -> Counts:
        grown = session.tables.all_added()
        self._addresses.learn(grown.get(BORN, ()))
        locks, acls = (calls_by_address(grown.get(calls), self._addresses.of) for calls in (LOCKS, ACLS))
        superblocks = weighted(reading)
        # With those that are just unmounted, or whose record mountstats does not show this time.
        numbers = self._mounts | superblocks.keys()
        transfers, invisible = by_superblock(session.transfers(grown), numbers, reading.present)
        failed = self._agreement.check(superblocks, transfers) if session.source.answered else {}
        for number, check in failed.items():
            log.warning("superblock %s: this interval is estimated, tables and mountstats disagree: %s", number, check)
        unread = reading.present - {superblock.number for superblock in reading.superblocks}
        self._mounts = self._mounts & unread | superblocks.keys()
        return Counts(
            superblocks=numbers - failed.keys(),
            transfers=transfers,
            invisible=invisible,
            locks=locks,
            acls=acls,
            has_sizes=session.form.has_sizes,
            failed=tuple(failed.values()),
            active=True,
        )
