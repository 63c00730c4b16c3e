"""Measure ingestion lag: query until a new minute of a metric can be read, and compare with the end of the minute."""

from collections.abc import Callable, Collection, Iterable
from typing import Final

from fss_exporter.doctor.account_facts import Lag
from fss_exporter.errors import CloudError

EVERY_SECONDS: Final = 5.0
"""Seconds between two queries of a metric, and so the accuracy of the lag. Five metrics cost one call per second."""


def measure(
    names: Iterable[str],
    minutes_of: Callable[[str], Collection[float]],
    wait_seconds: float,
    *,
    now: Callable[[], float],
    pause: Callable[[float], None],
) -> tuple[Lag, ...]:
    """Query metrics until each has a new minute, at most for `wait_seconds` or until Ctrl-C.

    Args:
        names: metrics with a point every minute.
        minutes_of: returns timestamps of the readable points of a metric, epoch seconds.
        wait_seconds: time limit.
        now: returns epoch seconds.
        pause: waits this number of seconds.

    Returns:
        The lag of each metric, in the order of the names. A metric that was never readable is left out.
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
    """One metric: the newest minute in the first query, the time of the last query, and the measured lag."""

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
