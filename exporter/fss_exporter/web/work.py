"""Work that takes longer than a moment, off the event loop."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import TypeVar

T = TypeVar("T")

_KEPT = 2
_idle: "deque[_Worker]" = deque()


async def in_thread(work: Callable[[], T]) -> T:
    """Run `work` in another thread and await its result.

    The threads are daemons: work that hangs (a kernel file, a dead network) cannot keep the process from stopping, which
    an executor's threads would, nor other work from starting. Callers bound how many run at once.
    """
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[T] = loop.create_future()

    def settle(how: Callable[[], None]) -> None:
        if not outcome.done():
            how()

    def job() -> None:
        try:
            how = partial(outcome.set_result, work())
        except BaseException as failure:  # noqa: BLE001  # handed to whoever awaits
            how = partial(outcome.set_exception, failure)
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, how)

    _idle_worker().jobs.put(job)
    return await outcome


def _idle_worker() -> "_Worker":
    try:
        return _idle.pop()
    except IndexError:
        worker = _Worker()
        worker.start()
        return worker


class _Worker(threading.Thread):
    """Does one job after the other, and leaves when enough others wait for work."""

    def __init__(self) -> None:
        super().__init__(name="work", daemon=True)
        self.jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def run(self) -> None:
        """Work."""
        while True:
            self.jobs.get()()
            if len(_idle) >= _KEPT:
                return
            _idle.append(self)
