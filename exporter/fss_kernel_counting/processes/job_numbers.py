# SPDX-License-Identifier: Apache-2.0
"""Numbers of Slurm jobs whose control group has the SLUID, from the environment of a process.

An environment holds secrets, and to read one of another user needs a capability that the agent does not have. So only a command
that root starts by hand looks, and keeps nothing but the number. A process can state any number, and a SLUID keeps the first.
"""

import re
from pathlib import Path
from typing import Final

from fss_kernel_counting.processes.control_groups import is_sluid

_NUMBER: Final = re.compile(rb"(?:^|\0)SLURM_JOB_ID=(\d{1,10})(?:\0|$)")
_MOST_BYTES: Final = 1 << 20
_MOST_KEPT: Final = 10_000  # the oldest go first, so that a long watch names the jobs of today


class JobNumbers:
    """The numbers that processes of `procfs` stated, by SLUID."""

    def __init__(self, procfs: Path) -> None:
        self._procfs = procfs
        self._numbers: dict[str, str] = {}

    def learn(self, process: str, job: str) -> None:
        """Look into the environment of a process of the job, if its number is not known."""
        if not is_sluid(job) or job in self._numbers:
            return
        try:
            with (self._procfs / process / "environ").open("rb") as file:
                match = _NUMBER.search(file.read(_MOST_BYTES))
        except OSError:
            return
        if match:
            self._numbers[job] = match[1].decode()
        if len(self._numbers) > _MOST_KEPT:
            del self._numbers[next(iter(self._numbers))]

    def named(self, job: str) -> str:
        """Return the job with its number in front, if the number is known."""
        return f"{self._numbers[job]} ({job})" if job in self._numbers else job
