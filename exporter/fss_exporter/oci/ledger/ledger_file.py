# SPDX-License-Identifier: Apache-2.0
"""Keep the ledger of a region in a file, so that a restart loses no minute and counts none twice.

The file is replaced as a whole after each poll and before the result of the poll is published. Counters in the file are
therefore never behind what Prometheus saw. A file that cannot be read, or not in time, is reported, and counting begins at 0.
A file that cannot be written stays for as long as a restart can catch up on what it lacks. Then counters would go back, so it is
removed.

The file names its writer, a process. A poller goes on from the file of any writer, and replaces it. A writer that finds another
name has company: it tells so and leaves the file alone, until nobody has written for as long as a restart can catch up. No lock
is needed, which some file systems lack.
"""

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from fss_exporter.background import OneWithin
from fss_exporter.errors import SourceError
from fss_exporter.log_once import LogOnce
from fss_exporter.model.observed_ceiling import LoadRecord
from fss_exporter.oci.ledger import (
    FURTHEST_MINUTES,
    GIVE_UP_MINUTES,
    KINDS,
    MINUTE,
    PLAIN,
    Ledger,
    Minutes,
    ObservedLoads,
    Tally,
)
from fss_exporter.regular_files import read_bounded
from fss_exporter.sealed_json import seal, unseal
from fss_exporter.whole_files import replace_whole

_VERSION: Final = 2  # raise it with each change of what a file says. A test compares
_LARGEST: Final = 1e300  # far beyond every counter, and small enough to add up
_ANSWER_SECONDS: Final = 10.0  # a file system answers within milliseconds
_TOLD_SECONDS: Final = (
    86_400.0  # for so long after the start a refused ledger is told, which nobody may miss over a night
)

log = logging.getLogger(__name__)


class _Tally(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """The tally of one series. `taken` is hexadecimal, because it has up to 180 bits."""

    key: tuple[str, ...]
    floor: int
    taken: str
    totals: dict[str, float]
    held_back: float


class LedgerOwner(msgspec.Struct, frozen=True):
    """Whose a file is."""

    place: str  # region and tenancy, for example `eu-frankfurt-1 of ocid1.tenancy.oc1..a`
    writer: str  # name of a process, which no other process has
    extent: str = ""  # what the settings select in the place. Empty for all


class _Head(LedgerOwner, frozen=True):
    """What a poller reads of the file before it replaces it."""

    crc32: str = ""


class _Document(LedgerOwner, frozen=True, kw_only=True, forbid_unknown_fields=True):
    version: int
    start: int
    answered: dict[str, int]
    tallies: dict[str, list[_Tally]]
    observed: dict[str, ObservedLoads]


def dump(ledger: Ledger, owner: LedgerOwner) -> bytes:
    """Return a ledger as JSON."""
    tallies = {
        name: [
            _Tally(key, tally.minutes.floor, f"{tally.minutes.taken:x}", tally.totals, tally.held_back or 0.0)
            for key, tally in of_metric.items()
        ]
        for name, of_metric in ledger.by_metric()
    }
    document = _Document(
        **msgspec.structs.asdict(owner),
        version=_VERSION,
        start=ledger.start,
        answered=ledger.answered,
        tallies=tallies,
        observed=ledger.observed,
    )
    return seal(msgspec.json.encode(document))


def load(content: bytes, place: str) -> tuple[Ledger, LedgerOwner]:
    """Return the ledger of a region and tenancy from JSON, and whose it was.

    Raises:
        ValueError: this is no ledger of the place, a bit has changed, a number is impossible, or a tally names no resource or other
            kinds of minutes.
    """
    document = msgspec.json.decode(unseal(content), type=_Document)  # its errors are ValueErrors
    if (document.version, document.place) != (_VERSION, place):
        raise ValueError(f"a ledger of version {document.version} and {document.place}")
    if any(minute % MINUTE for minute in (document.start, *document.answered.values())):
        raise ValueError("a time that is no whole minute")
    ledger = Ledger(document.start)
    ledger.answered = document.answered
    for name, kept in document.tallies.items():
        ledger.tallies(name).update((tally.key, _checked(tally, name)) for tally in kept)
    for target, loads in document.observed.items():
        if not all(_is_possible(record) for record in loads.resources.values()):
            raise ValueError(f"an impossible load of {target}")
    ledger.observed = document.observed
    return ledger, document


def _checked(kept: _Tally, metric: str) -> Tally:
    taken = int(kept.taken, 16)
    are_minutes = kept.floor >= 0 and kept.floor % MINUTE == 0 and 0 <= taken < 1 << FURTHEST_MINUTES
    are_sums = all(0 <= total < _LARGEST for total in (*kept.totals.values(), kept.held_back))
    if not (are_minutes and are_sums):
        raise ValueError(f"an impossible number in {metric}")
    if kept.totals.keys() != set(KINDS.get(metric, PLAIN)):
        raise ValueError(f"other kinds of minutes in {metric}")
    if not kept.key:
        raise ValueError(f"a tally of no resource in {metric}")
    return Tally(Minutes(kept.floor, taken), kept.totals, kept.held_back)


def _is_possible(record: LoadRecord) -> bool:
    loads = (*record.served.values(), *(plateau.height for plateau in record.plateaus))
    return all(0 <= load < _LARGEST for load in loads) and all(
        0 <= plateau.began < plateau.ended for plateau in record.plateaus
    )


class LedgerFile:
    """The file of one region. Neither an error of the disk nor a file system without an answer stops a poll.

    Args:
        path: path of the file, whose directory exists.
        owner: this poller.
        may_write: whether the file is that of this poller at this moment.
        clock: seconds that never go back.

    Attributes:
        failure: why the last write failed. Empty after a write.
    """

    def __init__(
        self,
        path: Path,
        owner: LedgerOwner,
        may_write: Callable[[], bool] = lambda: True,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.failure = ""
        self._path = path
        self._owner = owner
        self._may_write = may_write
        self._access = OneWithin(_ANSWER_SECONDS, "the access to its file system")
        self._log_once = LogOnce(log)
        self._clock = clock
        self._written_at = clock()
        self._other = _Other("", 0.0)

    def goes_on(self, ledger: Ledger) -> bool:
        """Return whether a ledger went on from the file at the start. A refusal counts for a day."""
        return ledger.refused_at is None or self._clock() - ledger.refused_at > _TOLD_SECONDS

    def read(self, start: int) -> Ledger:
        """Return the kept ledger, or a new one that counts from `start` on. After a change of the extent, so do new resources."""
        try:
            ledger, last = load(self._access.run(self._content), self._owner.place)
        except FileNotFoundError:
            return Ledger(start)
        except (OSError, SourceError, ValueError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            message = f"{self._path}: cannot be read, so the counters of {self._owner.place} begin at 0: {reason}"
            self._log_once.failed("read", message, level=logging.ERROR)
            ledger = Ledger(start)
            ledger.refused_at = self._clock()
            return ledger
        ledger.writer = last.writer
        if last.extent != self._owner.extent:
            log.warning(
                "%s: was written for %s, and this poller is of %s. What both poll counts on",
                self._path,
                last.extent or "all resources",
                self._owner.extent or "all resources",
            )
            ledger.go_on_elsewhere(start)
        return ledger

    def _content(self) -> bytes:
        with self._path.open("rb") as file:
            return read_bounded(file)

    def write(self, ledger: Ledger) -> None:
        """Replace the file. After an error the old file stays for 15 minutes, because the next start catches up on so many."""
        content = dump(ledger, self._owner)  # before the thread, because the next poll changes the ledger
        try:
            self._access.run(lambda: self._replace(content, ledger.writer))
        except _OtherPollerError as error:
            self.failure = str(error)
            self._log_once.failed("company", self.failure, level=logging.ERROR)
        except (OSError, RuntimeError, SourceError) as error:  # a RuntimeError: the system allows no further thread
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            self.failure = f"{self._path}: cannot be written: {reason}"
            told = f"{self.failure}. A restart catches up on {GIVE_UP_MINUTES} minutes, and begins at 0 after that"
            self._log_once.failed("write", told, level=logging.ERROR)
            if self._clock() - self._written_at >= GIVE_UP_MINUTES * MINUTE:
                self._remove(ledger.writer)
        else:
            self.failure, self._written_at = "", self._clock()
            ledger.writer = self._owner.writer
            self._log_once.works("write", f"{self._path}: is written again")
            self._log_once.works("company", f"{self._path}: no other poller writes it now")

    def _replace(self, content: bytes, writer: str) -> None:
        if self._may_write():
            self._check_owner(writer)
            replace_whole(self._path, content)

    def _check_owner(self, writer: str) -> None:
        """Raise `_OtherPollerError` if the file is that of another poller, which has written it lately or is of another place."""
        try:
            owner = msgspec.json.decode(self._content(), type=_Head)
        except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError):  # nobody's
            return
        if owner.place != self._owner.place:
            raise _OtherPollerError(f"{self._path}: is the ledger of {owner.place}. {_APART}")
        if owner.writer in {writer, self._owner.writer}:
            return
        if owner.crc32 != self._other.crc32:
            self._other = _Other(owner.crc32, self._clock())
        if self._clock() - self._other.seen_at < GIVE_UP_MINUTES * MINUTE:
            who = f"{owner.writer} for {owner.extent or 'all resources'}"
            raise _OtherPollerError(f"{self._path}: another poller writes it too, {who}. {_APART}")

    def _remove(self, writer: str) -> None:
        """Remove a file whose counters a restart could not bring up to date."""
        try:
            self._access.run(lambda: self._unlink(writer))
        except _OtherPollerError as error:
            self._log_once.failed("company", str(error), level=logging.ERROR)
        except (OSError, RuntimeError, SourceError):
            message = f"{self._path}: cannot be removed either. Remove the file before the next start"
            self._log_once.failed("remove", message, level=logging.ERROR)
        else:
            message = f"{self._path}: was removed after {GIVE_UP_MINUTES} minutes without a write"
            self._log_once.failed("removed", message, level=logging.ERROR)

    def _unlink(self, writer: str) -> None:
        if self._may_write():
            self._check_owner(writer)
            self._path.unlink(missing_ok=True)


class _Other(NamedTuple):
    """The file of another poller: its checksum, and since when it has this content."""

    crc32: str
    seen_at: float


class _OtherPollerError(Exception):
    """Another poller has the file."""


_APART: Final = "Give each poller a ledger_directory or an oci.name of its own, or oci.standby to both"
