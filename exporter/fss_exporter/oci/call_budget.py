"""How often OCI is asked: one budget for all regions, and short waits that a stop cuts off."""

import threading
from collections.abc import Callable


class Stopped(Exception):  # not an error: the exporter is going down
    """The wait was cut off because the poller is to stop."""


class Budget:
    """Spaces calls evenly, so that no second ever sees more than `calls_per_second` and one.

    Args:
        calls_per_second: the rate.
        clock: seconds that never go back.
        wait: waits so many seconds; True if the poller is to stop (`threading.Event.wait`).
    """

    def __init__(
        self, calls_per_second: float, *, clock: Callable[[], float], wait: Callable[[float], bool | None]
    ) -> None:
        self.calls_per_second = calls_per_second
        self.waited_seconds = 0.0
        self._clock = clock
        self._wait = wait
        self._lock = threading.Lock()
        self._next = float("-inf")

    def spend(self) -> None:
        """Wait until one more call may leave.

        Raises:
            Stopped: the poller is to stop.
        """
        with self._lock:
            now = self._clock()
            turn = max(now, self._next)
            self._next = turn + 1 / self.calls_per_second
            self.waited_seconds += turn - now
        self.pause(turn - now)

    def pause(self, seconds: float) -> None:
        """Wait before a call is tried again.

        Raises:
            Stopped: the poller is to stop.
        """
        if self._wait(max(0.0, seconds)):
            raise Stopped
