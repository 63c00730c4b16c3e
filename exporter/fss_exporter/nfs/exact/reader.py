"""One look at the client with the kernel's own counts beside it, or a word why there are none."""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from fss_exporter.errors import RecordError
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.nfs.counted import Counts, Transfers
from fss_exporter.nfs.exact import calls
from fss_exporter.nfs.exact.addresses import Addresses
from fss_exporter.nfs.exact.checks import Agreement
from fss_exporter.nfs.exact.files import FILES, Files
from fss_exporter.nfs.exact.session import DROPPED, UNREADABLE, Look, Lost, Session
from fss_exporter.nfs.exact.sizes import Grown
from fss_exporter.nfs.exact.tracefs import NotYet, Unavailable, find
from fss_exporter.nfs.superblocks import NO_ADDRESSES, Reading, Superblock

log = logging.getLogger(__name__)

_RETRY_SECONDS = 60.0
_FEWEST_ROWS, _MOST_ROWS = 2048, 131072
# 2048 serve 60 superblocks; 131072 is the most the kernel allows.

_CLASSES = 34
# Rows one superblock can have in a table: a class for each 32 KiB up to 1 MiB, and a spare.


class ExactReader:
    """Reads as mountstats does, and adds what was counted since the last reading.

    Args:
        read: one look at mountstats; raises SourceError.
        places: where tracefs may be mounted.
        sysfs: where sysfs is mounted.
        address_map: mount-target address by TLS forwarder address.
        clock: a monotonic clock, seconds.
        files: how the kernel's files are reached.
    """

    def __init__(
        self,
        read: Callable[[], Reading],
        places: tuple[Path, ...],
        sysfs: Path,
        address_map: Mapping[str, str] = NO_ADDRESSES,
        clock: Callable[[], float] = time.monotonic,
        files: Files = FILES,
    ) -> None:
        self._read = read
        self._places = places
        self._addresses = Addresses(sysfs, address_map)
        self._clock = clock
        self._files = files
        self._session: Session | None = None
        self._look: Look | None = None
        self._agreement = Agreement()
        self._carried: dict[str, dict[str, Transfers]] = {READ: {}, WRITE: {}}
        self._rows = _FEWEST_ROWS
        self._next_try = 0.0
        self._reason = ""
        self._closed = False

    def open(self) -> None:
        """Set up what can be set up now.

        Raises:
            Unavailable: it cannot be done here; a client that has not mounted anything yet is no reason.
        """
        try:
            self._begin()
        except NotYet as reason:
            self._reason = str(reason)
            log.info("exact mode waits: %s", reason)
        except Unavailable as reason:
            self._reason = str(reason)
            self._next_try = self._clock() + _RETRY_SECONDS
            raise

    def close(self) -> None:
        """Take everything down, for good: a look that is under way sets nothing up again."""
        self._closed = True
        self._end()

    def _end(self) -> None:
        if self._session is not None:
            self._session.end()
            self._session = None

    def read(self) -> Reading:
        """One look.

        Raises:
            SourceError: mountstats cannot be read.
        """
        reading = self._read()
        failed: tuple[str, ...] = ()
        if self._session is not None and self._look is not None:
            try:
                return replace(reading, counted=self._counted(self._session, self._look, reading))
            except Lost as lost:
                failed = (lost.check,)
                self._lose(lost)
        if self._ready(reading):
            # What the triggers have not seen yet is estimated: begin after them, with both.
            reading = self._read()
            self._base(reading)
        active = self._session is not None and self._look is not None
        return replace(reading, counted=Counts(failed=failed, active=active))

    def _lose(self, lost: Lost) -> None:
        log.warning("this interval is estimated, not counted: %s", lost)
        self._look = None
        if lost.check == DROPPED:
            self._rows = min(2 * self._rows, _MOST_ROWS)
        if lost.check != UNREADABLE:
            self._end()
            self._next_try = 0.0

    def _ready(self, reading: Reading) -> bool:
        """Whether the triggers are in place, set now if need be."""
        if self._session is not None:
            return True
        mounts = len(_priced(reading))
        if not mounts or self._closed or self._clock() < self._next_try:
            return False
        while self._rows < min(mounts * _CLASSES, _MOST_ROWS):
            self._rows *= 2
        try:
            self._begin()
        except Unavailable as reason:
            self._next_try = self._clock() + _RETRY_SECONDS
            if str(reason) != self._reason:
                self._reason = str(reason)
                log.warning("READ and WRITE are estimated, not counted: %s", reason)
            return False
        return True

    def _begin(self) -> None:
        self._session = Session(find(self._places, self._files), self._rows, self._files)
        self._addresses.learn_all()
        self._reason = ""
        log.info("READ and WRITE are counted by size, in tables of %d rows", self._rows)

    def _base(self, reading: Reading) -> None:
        """Take the look that the next one is compared with."""
        if self._session is None:
            return
        self._agreement = Agreement()
        self._carried = {READ: {}, WRITE: {}}
        try:
            self._look = self._session.look()
        except Lost as lost:
            self._lose(lost)
            return
        self._agreement.check(_priced(reading), self._carried)

    def _counted(self, session: Session, before: Look, reading: Reading) -> Counts:
        look = session.look()
        numbers = {_device(number): number for number in reading.present}
        superblocks = _priced(reading)
        unread = reading.present - {superblock.number for superblock in reading.superblocks}
        invisible: dict[str, Transfers] = {}
        transfers, self._carried = self._carried, {READ: {}, WRITE: {}}
        for operation, event in session.source.events.items():
            tables = {condition: look.since(before, (event, condition)) for condition in session.form.conditions}
            for device, added in _transfers(session, tables).items():
                number = numbers.get(device, _number(device))
                if number in unread:
                    _add(self._carried[operation], number, added)
                elif number in superblocks or self._agreement.known(number):
                    _add(transfers[operation], number, added)
                elif number not in reading.present:
                    _add(invisible, operation, added)
        locks = acls = None
        if session.counts_calls:
            if session.sees_births:
                self._addresses.learn(look.tables[calls.BIRTHS, calls.BORN])
            locks, acls = (
                calls.by_address(look.since(before, (calls.CALLS, condition)), self._addresses)
                for condition in (calls.LOCKS, calls.ACLS)
            )
        gone = {number for operation in transfers.values() for number in operation} - superblocks.keys()
        failed = self._agreement.check(superblocks, transfers) if session.source.answered else {}
        for number, check in failed.items():
            log.warning("superblock %s: this interval is estimated, tables and mountstats disagree: %s", number, check)
        self._look = look
        return Counts(
            superblocks=frozenset(superblocks.keys() - failed.keys() | gone),
            transfers=transfers,
            invisible=invisible,
            addresses=frozenset(superblock.key.address for superblock in superblocks.values()),
            locks=locks,
            acls=acls,
            sizes_told=session.form.tells_sizes,
            failed=tuple(failed.values()),
            active=True,
        )


def _transfers(session: Session, tables: Mapping[str, Grown]) -> Mapping[int, Transfers]:
    try:
        return session.form.transfers(tables)
    except RecordError as error:
        raise Lost(UNREADABLE, str(error)) from error


def _priced(reading: Reading) -> dict[str, Superblock]:
    """The superblocks whose READs and WRITEs cost by their size, by `major:minor`."""
    return {one.number: one for one in reading.superblocks if one.known.cost == "weighted"}


def _add(sums: dict[str, Transfers], key: str, added: Transfers) -> None:
    sums[key] = sums[key].plus(added) if key in sums else added


def _device(number: str) -> int:
    """`major:minor` as the kernel encodes it in trace events (include/linux/kdev_t.h)."""
    major, _, minor = number.partition(":")
    return int(major) << 20 | int(minor) if major.isdecimal() and minor.isdecimal() else -1


def _number(device: int) -> str:
    return f"{device >> 20}:{device & 0xFFFFF}"
