"""Estimate the cost of READ and WRITE from mountstats. `CostSource` is the interface that exact mode implements as
well.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple, Protocol

from fss_exporter.catalogue import Family
from fss_exporter.model.estimate import Bounds, Wire, estimate_reads, estimate_writes, read_wire, write_wire
from fss_exporter.model.operations import READ
from fss_exporter.nfs.records import OperationCounters
from fss_exporter.nfs.superblocks import Reading, SeriesKey

_SIZE: Final = re.compile(r"[0-9]{1,9}")
_LARGEST_TRANSFER_BYTES = 1024 * 1024
# The kernel's own cap of rsize and wsize, NFS_MAX_FILE_IO_SIZE, for a record that states none.


class TransferChange(NamedTuple):
    """READs or WRITEs of one superblock between two readings of mountstats."""

    superblock: str  # `major:minor`
    operation: str  # READ or WRITE
    before: OperationCounters  # counters at the first reading
    now: OperationCounters  # counters at the second reading
    payload_bytes: int  # payload between the readings
    # mount options. rsize and wsize limit a transfer, and sec and proto show whether header sizes are known
    options: Mapping[str, str]

    @property
    def operations(self) -> int:
        """Operations completed."""
        return max(0, self.now.operations - self.before.operations)

    @property
    def retransmissions(self) -> int:
        """Transmissions beyond the first of each operation."""
        return max(0, self.now.transmissions - self.before.transmissions - self.operations)


class CostSource(Protocol):
    """A source of the cost of READs and WRITEs on mounts with a cost by size."""

    @property
    def is_deferred(self) -> bool:
        """Whether a later reading brings the cost of this reading. The accounts then keep their records of unmounted
        superblocks.
        """

    def begin(self, reading: Reading) -> None:
        """The accounts begin to add a reading."""

    def cost(self, change: TransferChange) -> Bounds:
        """Return the cost of a change in mountstats."""

    def end(self, mounts: Mapping[str, SeriesKey], seconds: float) -> Iterable[tuple[str, str, Bounds]]:
        """Costs known apart from mountstats: superblock, operation, cost.

        Args:
            mounts: key by `major:minor` of the superblocks whose cost depends on sizes, just unmounted ones included.
            seconds: since the last reading.
        """

    def forget(self, keys: Collection[SeriesKey]) -> None:
        """Drop the state of mounts whose series are dropped."""

    def families(self) -> Iterable[Family]:
        """Return the source's own metric families."""


class EstimatedCosts:
    """The cost source that uses mountstats alone."""

    is_deferred = False

    def begin(self, reading: Reading) -> None:
        """Nothing is kept between readings."""

    def cost(self, change: TransferChange) -> Bounds:
        """The estimate."""
        return estimated_cost(change)

    def end(self, mounts: Mapping[str, SeriesKey], seconds: float) -> Iterable[tuple[str, str, Bounds]]:  # noqa: ARG002
        """Nothing is known apart from mountstats."""
        return ()

    def forget(self, keys: Collection[SeriesKey]) -> None:
        """Nothing is kept of mounts."""

    def families(self) -> Iterable[Family]:
        """Return no families."""
        return ()


def estimated_cost(change: TransferChange) -> Bounds:
    """Mount-target I/O operations of READs or WRITEs, from their number, payload and bytes on the wire."""
    if change.operation == READ:
        cap = _size_cap(change.options, "rsize")
        return estimate_reads(change.operations, change.payload_bytes, cap, _read_wire(change))
    cap = _size_cap(change.options, "wsize")
    return estimate_writes(change.operations, change.payload_bytes, cap, _write_wire(change))


def _read_wire(change: TransferChange) -> Wire | None:
    if not _headers_known(change.options):
        return None
    return read_wire(max(0, change.now.received_bytes - change.before.received_bytes), _errors(change))


def _write_wire(change: TransferChange) -> Wire | None:
    before, now = change.before, change.now
    sent_again = now.transmissions - before.transmissions > now.operations - before.operations
    if sent_again or not _headers_known(change.options):
        return None
    return write_wire(max(0, now.sent_bytes - before.sent_bytes), _errors(change))


def _errors(change: TransferChange) -> int:
    return max(0, (change.now.errors or 0) - (change.before.errors or 0))


def _headers_known(options: Mapping[str, str]) -> bool:
    return options.get("sec") == "sys" and not options.get("proto", "").startswith("rdma")


def _size_cap(options: Mapping[str, str], name: str) -> int:
    stated = options.get(name, "")
    if not _SIZE.fullmatch(stated):
        return _LARGEST_TRANSFER_BYTES
    return int(stated) or _LARGEST_TRANSFER_BYTES
