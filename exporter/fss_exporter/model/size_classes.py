"""What READs or WRITEs cost whose sizes are known by class only: a histogram as a workload."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from fss_exporter.model.estimate import Bounds
from fss_exporter.model.operations import WRITE
from fss_exporter.model.transfers import BLOCK_BYTES, WRITE_FACTOR


class TransferClass(NamedTuple):
    """Transfers of more than `above_bytes` and at most `up_to_bytes`."""

    above_bytes: float
    up_to_bytes: float
    operations: float

    @property
    def fewest_blocks(self) -> float:
        """32 KiB blocks started by all of them if each is as small as the class allows; at least one each."""
        return self.operations * (math.floor(self.above_bytes / BLOCK_BYTES) + 1)

    @property
    def most_blocks(self) -> float:
        """The same if each is as large."""
        return self.operations * max(1, math.ceil(self.up_to_bytes / BLOCK_BYTES))


def classes_io_operations(operation: str, classes: Sequence[TransferClass], payload: float) -> Bounds:
    """Mount-target I/O operations. Exact where every class ends one block behind the one before it.

    Args:
        operation: READ or WRITE.
        classes: with an upper bound each.
        payload: bytes carried by all of them; a READ that ends behind its file carries less than it asks for, so they only
            say where in its classes the point lies.
    """
    wide = [one for one in classes if one.most_blocks > one.fewest_blocks]
    narrow = [one for one in classes if one.most_blocks <= one.fewest_blocks]
    least = sum(one.operations * one.above_bytes for one in wide)
    most = sum(one.operations * one.up_to_bytes for one in wide)
    low = max(least, payload - sum(one.operations * one.up_to_bytes for one in narrow))
    high = min(most, payload - sum(one.operations * one.above_bytes for one in narrow))
    fill = min(1.0, max(0.0, ((low + high) / 2 - least) / (most - least))) if wide else 0.0
    fewest = sum(one.fewest_blocks for one in classes)
    spread = sum(one.most_blocks - one.fewest_blocks for one in wide)
    operations = sum(one.operations for one in classes)
    factor = WRITE_FACTOR if operation == WRITE else 1
    lower, point, upper = (factor * (operations + fewest + share * spread) for share in (0.0, fill, 1.0))
    return Bounds(lower, point, upper)
