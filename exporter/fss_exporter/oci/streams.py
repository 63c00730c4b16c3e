"""The streams of an answer of SummarizeMetricsData, decoded into the two fields that the poller uses.

A large tenancy's poll brings 60 MB of JSON, and most of it repeats what was asked. Decoding into records of two fields takes a
quarter of the time of decoding everything into dicts, and less memory.
"""

import json
from typing import Any, Final

from msgspec import DecodeError, Struct, ValidationError, convert, field
from msgspec.json import Decoder


class Point(Struct, frozen=True, gc=False):
    """One aggregated data point: an RFC 3339 time stamp, and a value in the metric's unit."""

    timestamp: str
    value: float


class Stream(Struct, frozen=True):
    """One metric stream: dimension values by name, and its points."""

    dimensions: dict[str, Any]
    points: list[Point] = field(name="aggregatedDatapoints")
    broken_points: int = 0


_ALL_GOOD: Final = Decoder(list[Stream])


def decode_streams(content: bytes) -> list[Stream | None]:
    """Return the streams of an answer.

    Args:
        content: JSON.

    Returns:
        The streams in the answer's order; None for one that is not as documented.

    Raises:
        ValueError: it is not JSON, or not a list.
    """
    try:
        return [*_ALL_GOOD.decode(content)]
    except DecodeError:  # one bad stream is no reason to lose the others
        rows = json.loads(content)
    if not isinstance(rows, list):
        raise ValueError("not a list")  # noqa: TRY004  # as of anything else that is no answer
    return [_converted(row) for row in rows]


def _converted(row: object) -> Stream | None:
    """Return the stream without its broken points; None where anything else is not as documented."""
    try:
        return convert(row, Stream)
    except ValidationError:
        pass
    if not isinstance(row, dict) or not isinstance(row.get("aggregatedDatapoints"), list):
        return None
    points = list(filter(None, map(_point, row["aggregatedDatapoints"])))
    broken = len(row["aggregatedDatapoints"]) - len(points)
    try:
        dimensions = convert(row.get("dimensions"), dict[str, Any])
    except ValidationError:
        return None
    return Stream(dimensions, points, broken)


def _point(row: object) -> Point | None:
    try:
        return convert(row, Point)
    except ValidationError:
        return None
