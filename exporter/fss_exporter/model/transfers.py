"""Cost of a READ or WRITE of a known size.

Source: white paper "OCI File Storage Performance Characteristics", version 2.0, August 2023, Table 2. A mount target
counts blocks of 32 KiB, at least one. A READ costs 1 and 1 for each started block. A WRITE costs twice as much.
"""

BLOCK_BYTES = 32 * 1024  # Size of the block a transfer is counted in, bytes

WRITE_FACTOR = 2  # A WRITE costs this many times a READ of the same size


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
