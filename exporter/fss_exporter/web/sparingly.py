"""A log line for a fault that can come a thousand times a second: the first at once, then one a minute with a count."""

import logging
import threading
import time
from collections.abc import Callable


class Sparingly:
    """Log each kind of fault at most once per period, and say how many were kept back.

    Args:
        log: where to.
        period_seconds: silence after a line of the same kind.
        clock: seconds that never go back.
    """

    def __init__(
        self, log: logging.Logger, *, period_seconds: float = 60.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._log = log
        self._period = period_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._last: dict[str, float] = {}
        self._held_back: dict[str, int] = {}

    def __call__(self, kind: str, message: str, *, level: int = logging.WARNING) -> None:
        """Log `message`, unless a line of this `kind` was logged less than a period ago. Kinds are few and ours."""
        now = self._clock()
        with self._lock:
            last = self._last.get(kind)
            if last is not None and now - last < self._period:
                self._held_back[kind] = self._held_back.get(kind, 0) + 1
                return
            self._last[kind] = now
            held_back = self._held_back.pop(kind, 0)
        more = f" (and {held_back} more like it since the last such line)" if held_back else ""
        self._log.log(level, "%s%s", message, more)
