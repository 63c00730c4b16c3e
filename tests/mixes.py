"""Mixes of READ sizes without a recording: the estimate of sizes that counters do not show."""

import random
from collections.abc import Callable, Iterator

from fss_exporter.model.estimate import estimate_transfers, wire_of
from fss_exporter.model.operations import READ, read_io_operations

KIB, MIB = 1024, 1024 * 1024
READS_PER_TICK = 300
TICKS = 40
READ_HEADER_BYTES = 128


def _of(*weighted: tuple[int, int]) -> Callable[[random.Random], int]:
    sizes, weights = zip(*weighted, strict=True)
    return lambda chance: int(chance.choices(sizes, weights)[0])


def _files(median: int, sigma: float) -> Callable[[random.Random], int]:
    return lambda chance: min(MIB, max(1, round(chance.lognormvariate(0, sigma) * median)))


MIXES: dict[str, Callable[[random.Random], int]] = {
    "small whole files, median 5 KB": _files(5_000, 1.5),
    "whole files, median 100 KB": _files(100_000, 1.0),
    "any size to 64 KiB": lambda chance: chance.randint(1, 64 * KIB),
    "any size to 1 MiB": lambda chance: chance.randint(1, MIB),
    "whole pages to 256 KiB": lambda chance: 4 * KIB * chance.randint(1, 64),
    "8 and 128 KiB, half each": _of((8 * KIB, 1), (128 * KIB, 1)),
    "16 and 32 KiB, half each": _of((16 * KIB, 1), (32 * KIB, 1)),
    "97 % 32 KiB, 3 % 4 KiB": _of((32 * KIB, 97), (4 * KIB, 3)),
    "97 % 4 KiB, 3 % 1 MiB": _of((4 * KIB, 97), (MIB, 3)),
    "1 MiB with an odd tail each eleventh": _of((MIB, 10), (123, 1)),
    "1 MiB and an empty READ at the end of each file": _of((MIB, 1), (0, 1)),
}


def errors() -> Iterator[tuple[str, float]]:
    """Each mix with the signed relative error of the point; the truth is within the bounds or this raises."""
    for name, size_of in MIXES.items():
        chance = random.Random(name)
        exact = point = 0.0
        for _ in range(TICKS):
            sizes = [size_of(chance) for _ in range(READS_PER_TICK)]
            cost = sum(map(read_io_operations, sizes))
            wire = wire_of(READ, sum(READ_HEADER_BYTES + -(-size // 4) * 4 for size in sizes))
            bounds = estimate_transfers(READ, len(sizes), sum(sizes), MIB, wire)
            assert bounds.lower <= cost <= bounds.upper, name
            exact, point = exact + cost, point + bounds.point
        yield name, point / exact - 1
