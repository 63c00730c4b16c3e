# SPDX-License-Identifier: Apache-2.0
"""Log a line when a failure begins and a line when the failure ends, with any number of failures in between."""

import logging
import threading
import time
from collections.abc import Callable


class LogOnce:
    """Log the first failure of each kind, then at most one line a period (seconds), then the recovery.

    Any number of threads may use one object. Kinds must be few constants of the program, because each kind keeps memory.
    """

    def __init__(
        self, log: logging.Logger, *, period_seconds: float = 3600.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._log = log
        self._period = period_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._logged_at: dict[str, float] = {}
        self._suppressed: dict[str, int] = {}

    def failed(
        self, kind: str, message: str, *, level: int = logging.WARNING, error: BaseException | None = None
    ) -> None:
        """Log `message`, unless a line of this kind was logged less than a period ago.

        The traceback of the error follows the line.
        """
        with self._lock:
            now = self._clock()
            logged_at = self._logged_at.get(kind)
            if logged_at is not None and now - logged_at < self._period:
                self._suppressed[kind] = self._suppressed.get(kind, 0) + 1
                return
            self._logged_at[kind] = now
            suppressed = self._suppressed.pop(kind, 0)
        more = f" (and {suppressed} more since the last such line)" if suppressed else ""
        self._log.log(level, "%s%s", message, more, exc_info=error)

    def works(self, kind: str, message: str) -> None:
        """Log `message` if the last call of this kind was a failure. An empty message only ends the kind."""
        with self._lock:
            if self._logged_at.pop(kind, None) is None:
                return
            self._suppressed.pop(kind, None)
        if message:
            self._log.info("%s", message)
