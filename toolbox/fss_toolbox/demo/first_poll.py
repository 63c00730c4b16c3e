# SPDX-License-Identifier: Apache-2.0
"""What the demo says when its first poll of OCI has ended: load and ceiling of its first mount targets, as a scrape has them."""

import re
from collections.abc import Callable

from fss_exporter.background import EndLoop, Worker
from fss_exporter.ocid import BEGINNING

_LOOKS_SECONDS = 0.5


def first_series(page: str, mount_target: str) -> list[str]:
    """Return IOPS and ceilings of the mount targets whose names begin so, with short OCIDs. Empty before the first poll has ended."""
    named = rf'\{{mount_target="{re.escape(mount_target)}'
    loads, ceilings = (
        re.findall(rf"^fss_mount_target_iops{suffix}{named}.*$", page, re.MULTILINE) for suffix in ("", "_limit")
    )
    return [_short(line) for line in loads + ceilings] if loads and ceilings else []


def _short(line: str) -> str:
    return re.sub(rf'"({BEGINNING})[^"]*(\w{{4}})"', r'"\1..\2"', line)


class FirstPoll:
    """A thread that waits for the first poll of a demo, and ends then."""

    def __init__(self, scrape: Callable[[], str], mount_target: str, say: Callable[[list[str]], None]) -> None:
        self._scrape, self._mount_target, self._say = scrape, mount_target, say
        self._worker = Worker("demo_first_poll", self._check, interval=lambda: _LOOKS_SECONDS)

    def start(self) -> None:
        """Begin to look."""
        self._worker.start()

    def stop(self) -> None:
        """Look no more."""
        self._worker.stop()

    def _check(self) -> None:
        """Say the series if they are there."""
        if shown := first_series(self._scrape(), self._mount_target):
            self._say(shown)
            raise EndLoop
