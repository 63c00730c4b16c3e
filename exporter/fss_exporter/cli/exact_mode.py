"""Exact mode with the flags of `serve`."""

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
    """A source of readings with set-up and end, and the costs for the readings."""

    reader: ExactReader
    costs: CountedCosts
    required: bool

    def open(self) -> None:
        """Set up exact mode. After a failure, log once, or fail if exact mode is required.

        Raises:
            UsageError: exact mode is required and impossible.
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
    """Return the counting source around the source of mountstats.

    Args:
        mode: `auto` or `on`.
        read: reads mountstats once.
        tracefs: mount point of tracefs. None for the usual places.
        sysfs: mount point of sysfs.
        address_map: mount-target address by TLS forwarder address.
        overrides: measured costs in place of the white paper's table.
    """
    reader = ExactReader(read, places(tracefs), sysfs, address_map)
    return Exact(reader, CountedCosts(lambda: reader.counts, overrides), required=mode == "on")


def places(tracefs: Path | None) -> tuple[Path, ...]:
    """Where tracefs may be: the flag's place, else the usual places."""
    return PLACES if tracefs is None else (tracefs,)
