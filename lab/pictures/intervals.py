"""Steps and rate windows, as Grafana computes them for its Prometheus data source.

Source: Grafana's documentation of `$__interval`, `$__rate_interval`, minimum step and maximum data points.
"""

import re

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_ROUND = (1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400)


def seconds(text: str) -> int:
    """Seconds of a duration such as `1m`."""
    amount, unit = re.fullmatch(r"(\d+)([smhd])", text).groups()  # type: ignore[union-attr]  # a bad one fails well
    return int(amount) * _SECONDS[unit]


def step_s(range_s: float, points: int, scrape_s: int, target_interval: str | None) -> int:
    """Seconds between two points: the range over the points a panel has room for, but no less than the minimum step."""
    wanted = range_s / max(points, 1)
    rounded = next((interval for interval in _ROUND if interval >= wanted), _ROUND[-1])
    return max(rounded, seconds(target_interval) if target_interval else scrape_s)


def rate_window_s(step: int, scrape_s: int, target_interval: str | None) -> int:
    """Seconds of `$__rate_interval`: four scrapes, or a step and a scrape where this is longer."""
    scrape = seconds(target_interval) if target_interval else scrape_s
    return max(step + scrape, 4 * scrape)
