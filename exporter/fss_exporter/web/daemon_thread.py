"""Work that takes longer than a moment, off the event loop.

A `ThreadPoolExecutor` does not fit: Python waits for its threads at exit, and a password hashed at a high cost, or a read
that hangs, would hold up SIGTERM. Daemon threads hold up nothing.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

T = TypeVar("T")


async def in_thread(work: Callable[[], T]) -> T:
    """Run `work` in a daemon thread and return its result. Callers bound how many run at once."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[T] = loop.create_future()

    def settle(set_outcome: Callable[[], None]) -> None:
        if not outcome.done():  # the caller may have been cancelled
            set_outcome()

    def run() -> None:
        try:
            set_outcome = partial(outcome.set_result, work())
        except BaseException as failure:  # noqa: BLE001  # the caller gets it
            set_outcome = partial(outcome.set_exception, failure)
        with suppress(RuntimeError):  # the event loop is closed
            loop.call_soon_threadsafe(settle, set_outcome)

    threading.Thread(target=run, name="fss-work", daemon=True).start()
    return await outcome
