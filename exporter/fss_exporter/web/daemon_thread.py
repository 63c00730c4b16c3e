"""Run slow work outside of the event loop.

`ThreadPoolExecutor` does not fit, because Python waits for the executor's threads at exit. A password with a costly hash,
or a read that hangs, would delay SIGTERM. Daemon threads do not delay the exit.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

T = TypeVar("T")


async def in_thread(work: Callable[[], T]) -> T:
    """Run `work` in a daemon thread and return the result. The caller limits the number of threads.

    Where the system allows no further thread, the event loop itself does the work: a scrape matters then more than ever.
    """
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

    try:
        threading.Thread(target=run, name="fss-work", daemon=True).start()
    except RuntimeError:
        run()
    return await outcome
