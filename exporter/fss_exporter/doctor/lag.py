"""Measure ingestion lag: query until a new minute of a metric can be read, and compare with the end of the minute."""

from collections.abc import Callable, Collection, Iterable
from typing import Final

from fss_exporter.doctor.account_facts import Lag
from fss_exporter.errors import CloudError

EVERY_SECONDS: Final = 5.0
"""Time between two queries of a metric, which is the accuracy of the lag. Five metrics cost a call a second."""


def measure(
    names: Iterable[str],
    minutes_of: Callable[[str], Collection[float]],
    wait_seconds: float,
    *,
    now: Callable[[], float],
    pause: Callable[[float], None],
) -> tuple[Lag, ...]:
    """Query metrics until each has a new minute, for `wait_seconds` at most or until Ctrl-C.

    Args:
        names: metrics that are sent every minute.
        minutes_of: timestamps of the points of a metric that can be read now, epoch seconds.
        wait_seconds: how long to look.
        now: epoch seconds.
        pause: waits so many seconds.

    Returns:
        What is known of each metric, in the order of the names; a metric that could never be read is left out.
    """
    watches = {name: _Watch() for name in names}
    until = now() + wait_seconds
    try:
        while True:
            for name, watch in watches.items():
                if watch.lag is None:
                    _look(watch, name, minutes_of, now)
            left = until - now()
            if left <= 0 or all(watch.lag for watch in watches.values()):
                break
            pause(min(EVERY_SECONDS, left))
    except KeyboardInterrupt:
        pass  # Ctrl-C ends the wait and keeps the measured lags
    return tuple(
        watch.lag or Lag(name, max(0.0, watch.looked_at - watch.newest - 60.0), None)
        for name, watch in watches.items()
        if watch.newest
    )


class _Watch:
    """One metric: its newest minute in the first query, the time of the last query, and the measured lag."""

    def __init__(self) -> None:
        self.newest = 0.0
        self.looked_at = 0.0
        self.lag: Lag | None = None


def _look(watch: _Watch, name: str, minutes_of: Callable[[str], Collection[float]], now: Callable[[], float]) -> None:
    at = now()
    try:
        minutes = minutes_of(name)
    except CloudError:
        return  # the next query may succeed
    fresh = [minute for minute in minutes if minute > watch.newest]
    if not watch.newest:
        watch.newest = max(minutes, default=0.0)
    elif fresh:
        # Minutes may come two at a time; the earliest has waited longest.
        watch.lag = Lag(name, max(0.0, watch.looked_at - min(fresh)), max(0.0, now() - min(fresh)))
    watch.looked_at = at
