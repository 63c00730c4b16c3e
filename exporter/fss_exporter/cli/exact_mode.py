"""Exact mode as the flags of `serve` want it."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fss_exporter.errors import UsageError
from fss_exporter.model.cost_overrides import NO_OVERRIDES, CostOverrides
from fss_exporter.nfs.exact.counted_costs import CountedCosts
from fss_exporter.nfs.exact.size_reader import ExactReader
from fss_exporter.nfs.exact.tracefs import PLACES, Unavailable
from fss_exporter.nfs.superblocks import Reading

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Exact:
    """A source of readings that has to be opened and closed, and the costs that go with its readings."""

    reader: ExactReader
    costs: CountedCosts
    required: bool

    def open(self) -> None:
        """Set up; where it cannot be done, say so once or, if it is required, fail.

        Raises:
            UsageError: it is required and cannot be done.
        """
        try:
            self.reader.open()
        except Unavailable as reason:
            if self.required:
                raise UsageError(f"--nfs.exact=on: {reason}") from reason
            _LOG.warning("READ and WRITE are estimated, not counted: %s", reason)


def exact(
    mode: str,
    read: Callable[[], Reading],
    tracefs: Path | None,
    sysfs: Path,
    address_map: Mapping[str, str],
    overrides: CostOverrides = NO_OVERRIDES,
) -> Exact:
    """Return the source that counts, around the one that reads mountstats.

    Args:
        mode: `auto` or `on`.
        read: one look at mountstats.
        tracefs: where it is mounted; None for the usual places.
        sysfs: where it is mounted.
        address_map: mount-target address by TLS forwarder address.
        overrides: measured costs in place of the white paper's table.
    """
    reader = ExactReader(read, places(tracefs), sysfs, address_map)
    return Exact(reader, CountedCosts(lambda: reader.counts, overrides), required=mode == "on")


def places(tracefs: Path | None) -> tuple[Path, ...]:
    """Where tracefs may be: the flag's place, else the usual places."""
    return PLACES if tracefs is None else (tracefs,)
