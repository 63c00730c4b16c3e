# SPDX-License-Identifier: Apache-2.0
"""Keep the ledger of a region in a file, so that a restart loses no minute and counts none twice.

The file is replaced as a whole after each poll and before the result of the poll is published. Counters in the file are
therefore never behind what Prometheus saw. A file that cannot be read, or not in time, is reported, and counting begins at 0.
A file that cannot be written stays for as long as a restart can catch up on what it lacks. Then counters would go back, so it is
removed.
"""

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

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
from fss_exporter.whole_files import replace_whole

_VERSION: Final = 1
_LARGEST: Final = 1e300  # far beyond every counter, and small enough to add up
_ANSWER_SECONDS: Final = 10.0  # a file system answers within milliseconds

log = logging.getLogger(__name__)


class _Tally(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """The tally of one series. `taken` is hexadecimal, because it has up to 180 bits."""

    key: tuple[str, ...]
    floor: int
    taken: str
    totals: dict[str, float]
    held_back: float


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    version: int
    place: str
    start: int
    answered: dict[str, int]
    tallies: dict[str, list[_Tally]]
    observed: dict[str, ObservedLoads] = {}


def dump(ledger: Ledger, place: str) -> bytes:
    """Return a ledger as JSON. `place` names region and tenancy."""
    tallies = {
        name: [
            _Tally(key, tally.minutes.floor, f"{tally.minutes.taken:x}", tally.totals, tally.held_back)
            for key, tally in of_metric.items()
        ]
        for name, of_metric in ledger.by_metric()
    }
    return msgspec.json.encode(_Document(_VERSION, place, ledger.start, ledger.answered, tallies, ledger.observed))


def load(content: bytes, place: str) -> Ledger:
    """Return the ledger of a region and tenancy from JSON.

    Raises:
        ValueError: this is no ledger of the place, a number is impossible, or a tally names no resource or other kinds of minutes.
    """
    document = msgspec.json.decode(content, type=_Document)  # its errors are ValueErrors
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
    return ledger


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
        place: region and tenancy of the ledger, for example `eu-frankfurt-1 of ocid1.tenancy.oc1..a`.
        may_write: whether the file is that of this poller at this moment.
        clock: seconds that never go back.

    Attributes:
        failure: why the last write failed. Empty after a write.
    """

    def __init__(
        self,
        path: Path,
        place: str,
        may_write: Callable[[], bool] = lambda: True,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.failure = ""
        self._path = path
        self._place = place
        self._may_write = may_write
        self._access = OneWithin(_ANSWER_SECONDS, "the access to its file system")
        self._log_once = LogOnce(log)
        self._clock = clock
        self._written_at = clock()

    def read(self, new: Callable[[], Ledger]) -> Ledger:
        """Return the kept ledger, or a new one."""
        try:
            return load(self._access.run(self._content), self._place)
        except FileNotFoundError:
            return new()
        except (OSError, SourceError, ValueError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            message = f"{self._path}: cannot be read, so the counters of {self._place} begin at 0: {reason}"
            self._log_once.failed("read", message, level=logging.ERROR)
            return new()

    def _content(self) -> bytes:
        with self._path.open("rb") as file:
            return read_bounded(file)

    def write(self, ledger: Ledger) -> None:
        """Replace the file. After an error the old file stays for 15 minutes, because the next start catches up on so many."""
        content = dump(ledger, self._place)  # before the thread, because the next poll changes the ledger
        try:
            self._access.run(lambda: self._replace(content))
        except (OSError, RuntimeError, SourceError) as error:  # a RuntimeError: the system allows no further thread
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            self.failure = f"{self._path}: cannot be written: {reason}"
            told = f"{self.failure}. A restart catches up on {GIVE_UP_MINUTES} minutes, and begins at 0 after that"
            self._log_once.failed("write", told, level=logging.ERROR)
            if self._clock() - self._written_at >= GIVE_UP_MINUTES * MINUTE:
                self._remove()
        else:
            self.failure, self._written_at = "", self._clock()
            self._log_once.works("write", f"{self._path}: is written again")

    def _replace(self, content: bytes) -> None:
        if self._may_write():
            replace_whole(self._path, content)

    def _remove(self) -> None:
        """Remove a file whose counters a restart could not bring up to date."""
        try:
            self._access.run(lambda: self._path.unlink(missing_ok=True) if self._may_write() else None)
        except (OSError, RuntimeError, SourceError):
            message = f"{self._path}: cannot be removed either. Remove the file before the next start"
            self._log_once.failed("remove", message, level=logging.ERROR)
        else:
            message = f"{self._path}: was removed after {GIVE_UP_MINUTES} minutes without a write"
            self._log_once.failed("removed", message, level=logging.ERROR)
