# SPDX-License-Identifier: Apache-2.0
"""The errors that fio prints around its reports, such as the line of a server that did not run its job."""

import re
from collections.abc import Iterable
from typing import Final

from fss_exporter.errors import UsageError
from fss_toolbox.sizing.benchmark import Job

_LISTED: Final = 3  # lines
_LONGEST: Final = 200  # characters

# `<node-a> error: failed to setup shm segment` or `fio: pid=7, err=28/file:io_u.c:1747`. A job can have the name fio or error.
_ERROR: Final = re.compile(
    r"^[^\S\n]*((?:<[^>\n]+>[^\S\n]*)?(?:fio|error|client|server): (?!\((?:g=|groupid=))\S[^\n]*)", re.MULTILINE
)


def printed_errors(text: str) -> tuple[str, ...]:
    """Return the first lines in which fio says what went wrong, and how many more there are."""
    lines = tuple(dict.fromkeys(match[1].strip()[:_LONGEST] for match in _ERROR.finditer(text)))
    more = len(lines) - _LISTED
    return (*lines[:_LISTED], *([f"and {more} more such lines of fio"] if more > 0 else []))


def refuse_nothing_done(source: str, jobs: Iterable[Job], why: Iterable[str]) -> None:
    """Refuse jobs that did nothing, with the errors of a report.

    Raises:
        UsageError: no job has read or written anything.
    """
    if not any(job.reads.count or job.writes.count for job in jobs):
        raise UsageError(": ".join(filter(None, (f"{source}: no job has read or written anything", ", ".join(why)))))
