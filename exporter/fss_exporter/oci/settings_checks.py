# SPDX-License-Identifier: Apache-2.0
"""What a poller refuses in a file whose form is correct. `config check` and `serve` have the same list."""

import logging
import os
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from fss_exporter.background import within
from fss_exporter.errors import SourceError, UsageError
from fss_exporter.oci.metric_table import METRICS, SERVICE_METRICS
from fss_exporter.oci.minute_metrics import BY_MINUTE
from fss_exporter.settings import Settings

_LONGEST_OF_JUDGED: Final = 300.0  # seconds between two queries; FssOciDataLate fires at seven minutes
_LOOK_SECONDS: Final = 5.0  # at a directory. A reload may take ten seconds

log = logging.getLogger(__name__)


def check(settings: Settings, *, on_this_host: bool = True) -> Settings:
    """Return the settings.

    Raises:
        UsageError: the poller cannot run with them, or not on this host. Each mistake has a line.
    """
    mistakes = [*_mistakes(settings), *(_mistakes_of_this_host(settings) if on_this_host else ())]
    if mistakes:
        raise UsageError(mistakes[0], tuple(mistakes[1:]))
    if regions := sorted({region for account in settings.oci.each_account for region in account.regions}):
        _warn_of_unknown(regions)
    return settings


def _warn_of_unknown(regions: Sequence[str]) -> None:
    """Warn of regions that the SDK does not know, because a mistyped one is polled in vain."""
    try:
        from fss_exporter.oci.client.known_regions import known_regions  # noqa: PLC0415  # the SDK takes a second
    except ImportError:  # a host that only checks the file
        return
    known = known_regions()
    for region in regions:
        if region not in known:
            meant = get_close_matches(region, known, n=1)
            hint = f". Did you mean {meant[0]}?" if meant else ""
            log.warning("oci.regions: the SDK of OCI does not know the region %s%s", region, hint)


def _mistakes(settings: Settings) -> Iterator[str]:
    metrics = METRICS.keys() | SERVICE_METRICS.keys()
    for name, seconds in settings.oci.intervals.items():
        if name not in metrics:
            yield f"oci.intervals: {name} is no metric of the poller. docs/metrics.md has the names"
        elif name in BY_MINUTE and seconds > _LONGEST_OF_JUDGED:
            yield f"oci.intervals: {name} judges each minute. Give at most {_LONGEST_OF_JUDGED / 60:.0f}m"


def _mistakes_of_this_host(settings: Settings) -> Iterator[str]:
    directory = settings.oci.ledger_directory
    if directory is not None and not _takes_files(directory):
        yield f"oci.ledger_directory: {directory} is not a directory in which this user may write"


def _takes_files(directory: Path) -> bool:
    """Return whether this user may write in a directory. One whose file system does not answer now may do so later."""

    def takes_files() -> bool:
        return directory.is_dir() and os.access(directory, os.W_OK | os.X_OK)

    try:
        return within(_LOOK_SECONDS, takes_files, f"a look at {directory}")
    except SourceError as hangs:
        log.error("oci.ledger_directory: %s. The poller goes on, and each poll tries the directory again", hangs)  # noqa: TRY400  # no mistake of the exporter
        return True
