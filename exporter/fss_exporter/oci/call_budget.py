"""How often OCI is called: one budget for all regions and loops, and waits that end when the exporter stops."""

import threading
from collections.abc import Callable

from fss_exporter.background import EndLoop


class CallBudget:
    """Spaces calls evenly: no second has more than `calls_per_second` calls and one.

    Turns are given in the order they are asked for, so that polls and inventories share the budget.

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
            EndLoop: the poller is to stop.
        """
        with self._lock:
            now = self._clock()
            turn = max(now, self._next)
            self._next = turn + 1 / self.calls_per_second
            self.waited_seconds += turn - now
        self.pause(turn - now)

    def pause(self, seconds: float) -> None:
        """Wait so many seconds.

        Raises:
            EndLoop: the poller is to stop.
        """
        if self._wait(max(0.0, seconds)):
            raise EndLoop
