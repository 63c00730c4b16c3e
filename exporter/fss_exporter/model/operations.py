"""What one NFS or lock operation costs a mount target.

Source of every row: white paper "OCI File Storage Performance Characteristics", version 2.0, August 2023, Table 2.
READ and WRITE depend on their size: `transfers.py`. NULL is not in the table and costs nothing here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

READ = "READ"
WRITE = "WRITE"


@dataclass(frozen=True, slots=True)
class Operation:
    """One row of the cost table.

    Attributes:
        name: the procedure as the kernel prints it, e.g. `LOOKUP`.
        io_operations: mount-target I/O operations of one call; None where they depend on the size of the transfer.
    """

    name: str
    io_operations: int | None


def _table(*rows: tuple[int | None, str]) -> Mapping[str, Operation]:
    return MappingProxyType({name: Operation(name, cost) for cost, names in rows for name in names.split()})


NFS3_OPERATIONS = _table(
    (0, "NULL"),
    (1, "ACCESS COMMIT FSINFO FSSTAT GETATTR READLINK PATHCONF"),
    (2, "LOOKUP READDIR SETATTR"),
    (4, "CREATE LINK MKDIR MKNOD READDIRPLUS RMDIR SYMLINK"),
    (8, "REMOVE RENAME"),
    (None, "READ WRITE"),
)
"""Every procedure of NFS version 3, by name."""

NLM_IO_OPERATIONS = 4
"""I/O operations of one Network Lock Manager call; FREE_ALL is the exception."""

NLM_FREE_ALL_IO_OPERATIONS = 8
"""I/O operations of one NLM FREE_ALL call."""


def nlm_io_operations(procedure: str) -> int:
    """I/O operations of one Network Lock Manager call of the named procedure."""
    return NLM_FREE_ALL_IO_OPERATIONS if procedure == "FREE_ALL" else NLM_IO_OPERATIONS
