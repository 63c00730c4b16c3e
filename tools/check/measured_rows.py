"""`make measured`: what the white paper measured with fio against what the model says.

Oracle measured one size at a time, with eight clients and one to eight standard mount targets. The model takes the costs of
Table 2 and the ceilings of Table 1 of the paper, and nothing from the measurements.
"""

from collections.abc import Iterator
from typing import NamedTuple

from fss_exporter.model.limits import STANDARD
from fss_toolbox.sizing.capacity import ClientHosts, capacity_answer
from fss_toolbox.sizing.workload import Transfers, workload

KIB = 1024


class Measured(NamedTuple):
    """One measured row: IOPS of fio and MB/s of all mount targets together."""

    size: int
    direction: str
    mount_targets: int
    iops: int
    megabytes: int


# White paper "OCI File Storage Performance Characteristics", version 2.0, August 2023, Test Results. One printed total contradicts its own row.
_IOPS_AND_MEGABYTES = {
    (32 * KIB, "read"): ((25_018, 819), (50_115, 1_640), (100_226, 3_279), (195_554, 6_402)),
    (1024 * KIB, "read"): ((937, 983), (1_929, 2_016), (3_820, 3_960), (7_594, 7_918)),
    (32 * KIB, "write"): ((12_580, 412), (25_151, 824), (50_321, 1_648), (100_599, 3_295)),
    (1024 * KIB, "write"): ((761, 799), (1_523, 1_598), (3_046, 3_196), (6_093, 6_392)),
}
MEASURED = tuple(
    Measured(size, direction, 2**power, iops, megabytes)
    for (size, direction), rows in _IOPS_AND_MEGABYTES.items()
    for power, (iops, megabytes) in enumerate(rows)
)


class Modelled(NamedTuple):
    """The model's figures for a row, and the ceiling that binds."""

    iops: float
    megabytes: float
    binds: str


def modelled(row: Measured) -> Modelled:
    """The most of a load of one size and direction that so many mount targets carry."""
    transfers = Transfers(1.0, row.size)
    reads, writes = (transfers, None) if row.direction == "read" else (None, transfers)
    load = workload(reads, writes, {})
    answer = capacity_answer(load, STANDARD.limits, ClientHosts(), 1.0, row.mount_targets)
    if answer.attainable is None or answer.binds is None:
        raise ValueError(f"no ceiling binds {row}")
    operations = load.all_operations.operations * answer.attainable
    return Modelled(operations, load.payload * answer.attainable / 1e6, answer.binds.resource)


def worst() -> float:
    """The largest relative error of the model, of IOPS or MB/s."""
    pairs = [(modelled(row), row) for row in MEASURED]
    errors = [own.iops / row.iops - 1 for own, row in pairs] + [own.megabytes / row.megabytes - 1 for own, row in pairs]
    return max(map(abs, errors))


def table() -> Iterator[str]:
    """The lines of the table."""
    yield "| size | direction | mount targets | IOPS of fio, measured | model | off by | MB/s, measured | model | off by | binds |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for row in MEASURED:
        own = modelled(row)
        cells = (
            f"{row.size // KIB:,} KiB",
            row.direction,
            str(row.mount_targets),
            f"{row.iops:,}",
            f"{own.iops:,.0f}",
            f"{own.iops / row.iops - 1:+.1%}",
            f"{row.megabytes:,}",
            f"{own.megabytes:,.0f}",
            f"{own.megabytes / row.megabytes - 1:+.1%}",
            own.binds,
        )
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield "For reads of 1,024 KiB through four mount targets the paper prints 3,923 IOPS in total, and 955 for each, which is 3,820."


if __name__ == "__main__":
    print(*table(), sep="\n")
