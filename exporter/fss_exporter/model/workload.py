"""Compute the exact traffic on the wire of a workload with known rates and sizes."""

from collections.abc import Mapping
from dataclasses import dataclass

from fss_exporter.model.estimate import Bounds
from fss_exporter.model.operations import NFS3_OPERATIONS, READ, WRITE, nlm_io_operations
from fss_exporter.model.traffic import OperationTraffic, Traffic
from fss_exporter.model.transfers import read_io_operations, write_io_operations

LARGEST_TRANSFER_BYTES = 1024 * 1024  # Payload of one READ or WRITE with default rsize and wsize: the kernel's own cap

NLM_PREFIX = "NLM_"
NLM_PROCEDURES = ("TEST", "LOCK", "CANCEL", "UNLOCK", "GRANTED", "SHARE", "UNSHARE", "NM_LOCK", "FREE_ALL")
"""Procedures of the Network Lock Manager. `NLM_LOCK` stands for its LOCK (X/Open XNFS, chapter 10)."""


@dataclass(frozen=True, slots=True)
class Transfers:
    """Reads or writes of one size."""

    per_second: float  # transfers that the program requests
    size_bytes: int  # size of a transfer


def read_cost(size_bytes: int, cap_bytes: int = LARGEST_TRANSFER_BYTES) -> tuple[int, int]:
    """Return READs on the wire and mount-target I/O operations of reading `size_bytes` at a time. The client splits at
    the cap.
    """
    whole, rest = divmod(size_bytes, cap_bytes)
    last = read_io_operations(rest) if rest or not whole else 0
    return whole + bool(last), whole * read_io_operations(cap_bytes) + last


def write_cost(size_bytes: int, cap_bytes: int = LARGEST_TRANSFER_BYTES) -> tuple[int, int]:
    """Return WRITEs on the wire and mount-target I/O operations of writing `size_bytes` at a time. The client splits at
    the cap.
    """
    whole, rest = divmod(size_bytes, cap_bytes)
    last = write_io_operations(rest) if rest or not whole else 0
    return whole + bool(last), whole * write_io_operations(cap_bytes) + last


def workload(
    reads: Transfers | None,
    writes: Transfers | None,
    operations: Mapping[str, float],
    cap_bytes: int = LARGEST_TRANSFER_BYTES,
) -> Traffic:
    """Return the traffic of a stated workload.

    Args:
        reads: None without reads.
        writes: None without writes.
        operations: operations per second by name: NFSv3 procedures except READ and WRITE, or `NLM_` and a lock procedure.
        cap_bytes: rsize and wsize.

    Raises:
        ValueError: an operation has no known cost. The message names the operation.
    """
    rates = {name: _fixed(name, per_second) for name, per_second in operations.items()}
    if reads is not None:
        rates[READ] = _rate(reads.per_second, *read_cost(reads.size_bytes, cap_bytes))
    if writes is not None:
        rates[WRITE] = _rate(writes.per_second, *write_cost(writes.size_bytes, cap_bytes))
    return Traffic(
        operations=rates,
        read_bytes=reads.per_second * reads.size_bytes if reads else 0.0,
        written_bytes=writes.per_second * writes.size_bytes if writes else 0.0,
    )


def _fixed(name: str, per_second: float) -> OperationTraffic:
    procedure = name.removeprefix(NLM_PREFIX)
    if name.startswith(NLM_PREFIX) and procedure in NLM_PROCEDURES:
        return _rate(per_second, 1, nlm_io_operations(procedure))
    operation = NFS3_OPERATIONS.get(name)
    if operation is None:
        raise ValueError(f"{name} is no operation of NFSv3 and no lock call such as NLM_LOCK")
    if operation.io_operations is None:
        raise ValueError(f"{name} costs by its size: give it as reads or writes")
    return _rate(per_second, 1, operation.io_operations)


def _rate(per_second: float, calls: int, io_operations: float) -> OperationTraffic:
    exact = per_second * io_operations
    return OperationTraffic(operations=per_second * calls, iops=Bounds(exact, exact, exact))
