"""Limit the calls to OCI: one budget for all regions and loops. A wait ends when the exporter stops."""

import threading
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field

from fss_exporter.background import EndLoop


@dataclass(eq=False, repr=False)
class CallBudget:
    """Space calls evenly: no second has more than `calls_per_second` calls plus 1.

    Calls leave in the order of their requests, so that polls and inventories share the budget.
    """

    calls_per_second: float  # the rate
    _: KW_ONLY
    clock: Callable[[], float]  # seconds that never go back
    # waits so many seconds; True if the poller is to stop (`threading.Event.wait`)
    wait: Callable[[float], bool | None]
    waited_seconds: float = field(default=0.0, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _next: float = field(default=float("-inf"), init=False)

    def spend(self) -> None:
        """Wait until a further call may leave.

        Raises:
            EndLoop: the poller stops.
        """
        with self._lock:
            now = self.clock()
            turn = max(now, self._next)
            self._next = turn + 1 / self.calls_per_second
            self.waited_seconds += turn - now
        self.pause(turn - now)

    def pause(self, seconds: float) -> None:
        """Wait.

        Raises:
            EndLoop: the poller is to stop.
        """
        if self.wait(max(0.0, seconds)):
            raise EndLoop
