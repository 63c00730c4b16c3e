# SPDX-License-Identifier: Apache-2.0
"""NFS and lock operations: what each costs a mount target, and the class each belongs to.

Source of every cost: white paper "OCI File Storage Performance Characteristics", version 2.0, August 2023, Table 2.
NULL is not in the table and costs nothing here. READ and WRITE depend on their size: a mount target counts blocks of
32 KiB, at least one. A READ costs 1 and 1 for each started block. A WRITE costs twice as much.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

READ: Final = "READ"
WRITE: Final = "WRITE"

READ_CLASS: Final = "read"
WRITE_CLASS: Final = "write"
METADATA_READ: Final = "metadata_read"
METADATA_WRITE: Final = "metadata_write"

# Every class of operations with its definition.
OPERATION_CLASSES: Mapping[str, str] = MappingProxyType(
    {
        READ_CLASS: "READ: payload from the server; compares with the read latency that OCI publishes.",
        WRITE_CLASS: "WRITE: payload to the server; compares with OCI's write latency.",
        METADATA_READ: "Operations that change nothing, such as LOOKUP, ACCESS and READDIRPLUS; compares with OCI's GETATTR latency.",
        METADATA_WRITE: "Operations that change a file or directory, such as CREATE, REMOVE and COMMIT; compares with OCI's "
        "SETATTR, CREATE and REMOVE latencies.",
    }
)

_METADATA_WRITES: Final = frozenset(
    "COMMIT CREATE LINK MKDIR MKNOD REMOVE RENAME RMDIR SETATTR SYMLINK "
    # NFSv4: OPEN creates files; the others change a file, its attributes or its layout.
    "OPEN SETACL SETXATTR REMOVEXATTR ALLOCATE DEALLOCATE CLONE COPY LAYOUTCOMMIT".split()
)
_TRANSFERS: Final = MappingProxyType({READ: READ_CLASS, "READ_PLUS": READ_CLASS, WRITE: WRITE_CLASS})


def class_of(operation: str) -> str:
    """Class of an NFSv3 or NFSv4 procedure. An unknown procedure is a `metadata_read`."""
    if operation in _TRANSFERS:
        return _TRANSFERS[operation]
    return METADATA_WRITE if operation in _METADATA_WRITES else METADATA_READ


# Operations that carry data, by the class whose failures they belong to. A WRITE is safe only after the COMMIT that follows.
CARRY_DATA: Final[Mapping[str, str]] = MappingProxyType({**_TRANSFERS, "COMMIT": WRITE_CLASS})

# Operations whose errors say nothing: a name that is not there or is there already, or an owner that only root may set. All others
# work on an open file handle.
FAIL_IN_ORDINARY_WORK: Final = frozenset(
    "LOOKUP CREATE MKDIR MKNOD SYMLINK LINK REMOVE RMDIR RENAME SETATTR "
    # NFSv4: names that are not there, locks that are held, attributes that are not set.
    "OPEN OPEN_NOATTR LOOKUPP LOCK LOCKT GETACL GETXATTR REMOVEXATTR LISTXATTRS SECINFO TEST_STATEID LAYOUTGET".split()
)


_COSTS: Final[Mapping[int, str]] = {
    0: "NULL",
    1: "ACCESS COMMIT FSINFO FSSTAT GETATTR READLINK PATHCONF",
    2: "LOOKUP READDIR SETATTR",
    4: "CREATE LINK MKDIR MKNOD READDIRPLUS RMDIR SYMLINK",
    8: "REMOVE RENAME",
}

# Mount-target I/O operations of one call of each NFSv3 procedure with a fixed cost.
FIXED_COSTS: Final[Mapping[str, int]] = MappingProxyType(
    {name: cost for cost, names in _COSTS.items() for name in names.split()}
)

NFS3_OPERATIONS: Final = frozenset((*FIXED_COSTS, READ, WRITE))  # Every procedure of NFS version 3

NLM_IO_OPERATIONS = 4  # I/O operations of one Network Lock Manager call; FREE_ALL is the exception


def nlm_io_operations(procedure: str) -> int:
    """I/O operations of one Network Lock Manager call of the named procedure."""
    return 8 if procedure == "FREE_ALL" else NLM_IO_OPERATIONS


BLOCK_BYTES = 32 * 1024  # Size of the block a transfer is counted in, bytes
WRITE_FACTOR = 2  # A WRITE costs this many times a READ of the same size
LARGEST_TRANSFER_BYTES = 1024 * 1024  # The kernel's own cap of rsize and wsize, NFS_MAX_FILE_IO_SIZE, and their default


def blocks(size_bytes: int) -> int:
    """Return the blocks that a transfer of `size_bytes` starts, at least one.

    Raises:
        ValueError: the size is negative.
    """
    if size_bytes < 0:
        raise ValueError(f"a transfer cannot have {size_bytes} bytes")
    return max(1, -(-size_bytes // BLOCK_BYTES))


def read_io_operations(size_bytes: int) -> int:
    """Mount-target I/O operations of one READ of `size_bytes`: 2 up to 32 KiB, 33 at 1 MiB."""
    return 1 + blocks(size_bytes)


def write_io_operations(size_bytes: int) -> int:
    """Mount-target I/O operations of one WRITE of `size_bytes`: 4 up to 32 KiB, 66 at 1 MiB."""
    return WRITE_FACTOR * read_io_operations(size_bytes)
