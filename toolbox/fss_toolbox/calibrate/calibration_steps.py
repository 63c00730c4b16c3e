# SPDX-License-Identifier: Apache-2.0
"""The steps of a calibration: one kind of NFS request at a time, and the load, duration and money of all. Pure.

A kind of request has a name such as `LOOKUP` or `READ 32 KiB`. The white paper's cost of a kind comes from the model. A
kind outside the table (NFSACL) has the cost 0.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from fss_exporter.errors import UsageError
from fss_exporter.model.cost_overrides import NLM
from fss_exporter.model.operations import (
    BLOCK_BYTES,
    FIXED_COSTS,
    NLM_IO_OPERATIONS,
    READ,
    WRITE,
    read_io_operations,
    write_io_operations,
)

WORK_SECONDS: Final = 52  # Seconds of each minute with requests. The rest keeps minutes apart.

# Most rounds of one minute: 100 a second are enough to tell one I/O operation from two, and leave few files behind.
MOST_ROUNDS: Final = 6000

NFSACL: Final = "NFSACL"  # Calls of the ACL protocol, which the white paper's table does not have

_KIB: Final = 1024
_MIB: Final = 1024 * _KIB
_SIZES: Final = (4 * _KIB, 32 * _KIB, 64 * _KIB, 256 * _KIB, _MIB)
_GB: Final = 1e9
STORED_BYTES: Final = 64 * _MIB  # Most bytes that the test files hold at a time

# List price of File Storage. The service bills stored bytes, not requests. A month has 730 hours.
_USD_PER_GB_MONTH: Final = 0.30


@dataclass(frozen=True, slots=True)
class CalibrationStep:
    """Requests of one kind, sent for some whole minutes."""

    name: str  # kind of request, e.g. `RENAME` or `WRITE 1 MiB`
    operation: str  # NFSv3 procedure; `NLM` or `NFSACL` for calls that mountstats does not count
    size: int = 0  # bytes of one READ or WRITE; 0 for other operations
    calls: int = 1  # requests of the kind in one round
    extra_io_operations: float = 0.0  # cost by the table of the other requests of one round
    buffered: bool = False  # whether READs and WRITEs go through the page cache

    @property
    def io_operations(self) -> float:
        """I/O operations of one request by the table."""
        return table_cost(self.operation, self.size)

    @property
    def round_cost(self) -> float:
        """I/O operations of one round by the table, at least 1, so that a free kind is limited as well."""
        return max(1.0, self.calls * self.io_operations + self.extra_io_operations)

    def rounds(self, max_iops: float) -> int:
        """Return the rounds in one minute below a rate of I/O operations per second. An idle step has no rounds."""
        if not self.operation:
            return 0
        return min(MOST_ROUNDS, max(1, int(max_iops * WORK_SECONDS / self.round_cost)))


def table_cost(operation: str, size: int = 0) -> float:
    """I/O operations of one request by the white paper's table."""
    if operation == READ:
        return float(read_io_operations(size))
    if operation == WRITE:
        return float(write_io_operations(size))
    if operation == NLM:
        return float(NLM_IO_OPERATIONS)
    return float(FIXED_COSTS.get(operation, 0))


def costs_by_kind(steps: Iterable["CalibrationStep"] = ()) -> dict[str, float]:
    """Return the table's cost of every kind that mountstats, exact mode, or a step counts."""
    fixed = {name: float(cost) for name, cost in FIXED_COSTS.items()}
    sizes = {
        kind_of(operation, count * BLOCK_BYTES): table_cost(operation, count * BLOCK_BYTES)
        for operation in (READ, WRITE)
        for count in range(1, _MIB // BLOCK_BYTES + 1)
    }
    return fixed | sizes | {step.name: step.io_operations for step in (*STEPS, *steps) if step.operation}


def kind_of(operation: str, size: int = 0) -> str:
    """The name of a kind of request."""
    if not size:
        return operation
    return f"{operation} {size // _MIB} MiB" if size >= _MIB else f"{operation} {size // _KIB} KiB"


def _step(operation: str, size: int = 0, *, calls: int = 1, extra: float = 0.0) -> CalibrationStep:
    return CalibrationStep(kind_of(operation, size), operation, size, calls, extra)


# Minutes without requests: the share of other clients and of the client's own background.
IDLE: Final = CalibrationStep("idle", "")

PAST_THE_END: Final = "READ past the end"  # Reads a file of 4 KiB with the size of the largest READ, O_DIRECT


def _transfer_steps(operation: str, largest: int) -> tuple[CalibrationStep, ...]:
    """O_DIRECT of several sizes, and two sizes through the page cache."""
    direct = sorted({min(size, largest) for size in _SIZES})
    buffered = sorted({min(64 * _KIB, largest), largest})
    cached = (
        replace(_step(operation, size), name=f"{kind_of(operation, size)} buffered", buffered=True) for size in buffered
    )
    return (*(_step(operation, size) for size in direct), *cached)


def steps_of(rsize: int = _MIB, wsize: int = _MIB) -> tuple[CalibrationStep, ...]:
    """Every step in order, for a mount whose largest READ and WRITE have these bytes.

    A REMOVE needs the files of CREATE, an RMDIR the directories of MKDIR, a READ the file of WRITE.
    """
    return (
        *_METADATA_STEPS,
        *_transfer_steps(WRITE, min(wsize, _MIB)),
        *_transfer_steps(READ, min(rsize, _MIB)),
        _step("COMMIT", extra=table_cost(WRITE, 4 * _KIB)),
        replace(_step(READ, min(rsize, _MIB)), name=PAST_THE_END),
        _step(NLM, calls=2),
        _step(NFSACL, calls=2),
    )


_METADATA_STEPS: Final = (
    IDLE,
    *(_step(name) for name in ("GETATTR", "LOOKUP", "FSSTAT", "SETATTR")),
    *(_step(name, extra=2) for name in ("CREATE", "REMOVE", "RENAME", "LINK", "SYMLINK", "MKDIR", "RMDIR")),
)

STEPS: Final = steps_of()  # Every step of a mount with the largest transfers, 1 MiB

# Steps that make the files of a step, or that tell the cost of the requests that come with it.
_NEEDS: Final = {
    "CREATE": ("SETATTR",),
    "REMOVE": ("CREATE", "SETATTR"),
    "RMDIR": ("MKDIR",),
    "COMMIT": (f"{WRITE} 4 KiB",),
}


def chosen_steps(names: Sequence[str], every: Sequence[CalibrationStep] = STEPS) -> tuple[CalibrationStep, ...]:
    """Return the steps with these names, in order, with required steps. Without names, return all steps.

    Raises:
        UsageError: a step is unknown.
    """
    if not names:
        return tuple(every)
    by_lower_case = {step.name.lower(): step.name for step in every}
    unknown = [name for name in names if name.lower() not in by_lower_case]
    if unknown:
        raise UsageError(f"--step={unknown[0]}: no such step. There are {', '.join(step.name for step in every)}")
    wanted = {by_lower_case[name.lower()] for name in names} | {IDLE.name}
    wanted |= {needed for name in wanted for needed in _NEEDS.get(name, ())}
    return tuple(step for step in every if step.name in wanted)


@dataclass(frozen=True, slots=True)
class CalibrationPlan:
    """The load of a calibration."""

    steps: tuple[CalibrationStep, ...]  # in order
    minutes: int  # whole minutes of each step
    max_iops: float  # most I/O operations per second by the table

    @property
    def total_minutes(self) -> int:
        """Minutes of all steps with a minute of preparation before each, and a minute of clean-up."""
        return len(self.steps) * (self.minutes + 1) + 1

    @property
    def usd(self) -> float:
        """Price of the stored bytes for the duration. Requests and the reading of OCI metrics are not billed here."""
        return STORED_BYTES / _GB * _USD_PER_GB_MONTH * self.total_minutes / 60 / 730


def default_max_iops(ceiling: float | None) -> float:
    """A tenth of the ceiling of the mount target.

    Raises:
        UsageError: the ceiling is not published.
    """
    if ceiling is None:
        raise UsageError("--max-iops: no IOPS ceiling is published for this shape. Give the most IOPS to cause")
    return ceiling / 10
