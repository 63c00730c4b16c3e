# SPDX-License-Identifier: Apache-2.0
"""The cost of READs or WRITEs from a histogram of sizes."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from fss_exporter.model.estimate import Bounds
from fss_exporter.model.operations import BLOCK_BYTES, WRITE, WRITE_FACTOR


class TransferClass(NamedTuple):
    """Transfers of more than `above_bytes` and at most `up_to_bytes`."""

    above_bytes: float
    up_to_bytes: float
    operations: float

    @property
    def fewest_blocks(self) -> float:
        """Return the 32 KiB blocks if each request is as small as the class allows, at least 1 for each request."""
        return self.operations * (math.floor(self.above_bytes / BLOCK_BYTES) + 1)

    @property
    def most_blocks(self) -> float:
        """Return the 32 KiB blocks if each request is as large as the class allows."""
        return self.operations * max(1, math.ceil(self.up_to_bytes / BLOCK_BYTES))


def classes_io_operations(operation: str, classes: Sequence[TransferClass], payload: float) -> Bounds:
    """Return the mount-target I/O operations of READs or WRITEs in classes with an upper bound each.

    The result is exact if every class ends one block behind the previous class. The payload of all requests only places the point
    within the classes, because a READ beyond the end of a file carries less than asked.
    """
    wide = [sizes for sizes in classes if sizes.most_blocks > sizes.fewest_blocks]
    narrow = [sizes for sizes in classes if sizes.most_blocks <= sizes.fewest_blocks]
    least = sum(sizes.operations * sizes.above_bytes for sizes in wide)
    most = sum(sizes.operations * sizes.up_to_bytes for sizes in wide)
    low = max(least, payload - sum(sizes.operations * sizes.up_to_bytes for sizes in narrow))
    high = min(most, payload - sum(sizes.operations * sizes.above_bytes for sizes in narrow))
    fill = min(1.0, max(0.0, ((low + high) / 2 - least) / (most - least))) if wide else 0.0
    fewest = sum(sizes.fewest_blocks for sizes in classes)
    spread = sum(sizes.most_blocks - sizes.fewest_blocks for sizes in wide)
    operations = sum(sizes.operations for sizes in classes)
    factor = WRITE_FACTOR if operation == WRITE else 1
    lower, point, upper = (factor * (operations + fewest + share * spread) for share in (0.0, fill, 1.0))
    return Bounds(lower, point, upper)
