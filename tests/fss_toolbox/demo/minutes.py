"""The minutes that are asked for, and the values an answer gives for them."""

from datetime import UTC, datetime
from typing import Any


def points(stream: Any) -> dict[int, float]:
    return {int(point.timestamp.timestamp() // 60): point.value for point in stream.aggregated_datapoints}


def at(minute: int) -> datetime:
    return datetime.fromtimestamp(minute * 60, UTC)


def between(first: int, last: int) -> dict[str, Any]:
    """A request window whose points are the minutes first to last, both included."""
    return {"start_time": at(first), "end_time": at(last + 1), "resolution": "1m"}
