"""What the difference between two readings of one operation cost the mount target."""

from collections.abc import Mapping
from typing import Final

from fss_exporter.model.estimate import Bounds, Wire, estimate_reads, estimate_writes, read_wire, write_wire
from fss_exporter.model.operations import NFS3_OPERATIONS, READ, WRITE
from fss_exporter.nfs.records import OperationCounters

WEIGHTS: Final = {
    name: operation.io_operations for name, operation in NFS3_OPERATIONS.items() if operation.io_operations is not None
}
"""I/O operations of each operation whose cost does not depend on its size."""

_LARGEST_TRANSFER_BYTES = 1024 * 1024
# The kernel's own cap of rsize and wsize, NFS_MAX_FILE_IO_SIZE, for a record that states none.


def cost(
    name: str, old: OperationCounters, new: OperationCounters, payload_bytes: int, options: Mapping[str, str]
) -> Bounds | None:
    """Mount-target I/O operations between two readings of READ or WRITE; None for any other operation.

    Args:
        name: the NFSv3 procedure.
        old: its counters at the first reading.
        new: its counters at the second.
        payload_bytes: of READ or WRITE, counted between the same readings.
        options: of the mount; rsize and wsize cap a transfer, the rest tells whether header sizes are known.
    """
    count = max(0, new.operations - old.operations)
    if name == READ:
        return estimate_reads(count, payload_bytes, _size_cap(options, "rsize"), _read_wire(old, new, options))
    if name == WRITE:
        return estimate_writes(count, payload_bytes, _size_cap(options, "wsize"), _write_wire(old, new, options))
    return None


def plain_cost(name: str, old: OperationCounters, new: OperationCounters) -> Bounds | None:
    """I/O operations of a service that counts READs and WRITEs, of whatever size; None for what it does not count."""
    if name not in (READ, WRITE):
        return None
    exact = float(max(0, new.operations - old.operations))
    return Bounds(exact, exact, exact)


def resent(old: OperationCounters, new: OperationCounters) -> int:
    """Transmissions between two readings beyond one for each operation."""
    return max(0, new.transmissions - old.transmissions - max(0, new.operations - old.operations))


def cost_each(
    name: str, old: OperationCounters, new: OperationCounters, payload_bytes: int, options: Mapping[str, str]
) -> float:
    """Estimated I/O operations of one READ or WRITE between two readings; arguments as of `cost`."""
    operations = max(0, new.operations - old.operations)
    estimated = cost(name, old, new, payload_bytes, options)
    return estimated.point / operations if estimated is not None and operations else 0.0


def _read_wire(old: OperationCounters, new: OperationCounters, options: Mapping[str, str]) -> Wire | None:
    if not _headers_known(options):
        return None
    return read_wire(max(0, new.received_bytes - old.received_bytes), grown_errors(old, new))


def _write_wire(old: OperationCounters, new: OperationCounters, options: Mapping[str, str]) -> Wire | None:
    sent_again = new.transmissions - old.transmissions > new.operations - old.operations
    if sent_again or not _headers_known(options):
        return None
    return write_wire(max(0, new.sent_bytes - old.sent_bytes), grown_errors(old, new))


def _headers_known(options: Mapping[str, str]) -> bool:
    return options.get("sec") == "sys" and not options.get("proto", "").startswith("rdma")


def grown_errors(old: OperationCounters, new: OperationCounters) -> int:
    """Operations that ended with an error between two readings."""
    return max(0, (new.errors or 0) - (old.errors or 0))


def _size_cap(options: Mapping[str, str], name: str) -> int:
    stated = options.get(name, "")
    return int(stated) if stated.isdecimal() and int(stated) > 0 else _LARGEST_TRANSFER_BYTES
