"""Work that takes longer than a moment, off the event loop."""

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

T = TypeVar("T")


async def in_thread(name: str, work: Callable[[], T]) -> T:
    """Run `work` in a thread of its own and await its result.

    The thread is a daemon: work that hangs (a kernel file, a dead network) cannot keep the process from stopping, which
    an executor's threads would. Callers bound how many run at once.
    """
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        try:
            result = work()
        except BaseException as failure:  # noqa: BLE001  # handed to whoever awaits
            _hand_over(loop, outcome, partial(outcome.set_exception, failure))
        else:
            _hand_over(loop, outcome, partial(outcome.set_result, result))

    threading.Thread(target=run, name=name, daemon=True).start()
    return await outcome


def _hand_over(loop: asyncio.AbstractEventLoop, outcome: "asyncio.Future[T]", deliver: Callable[[], object]) -> None:
    def deliver_if_wanted() -> None:
        if not outcome.done():
            deliver()

    try:
        loop.call_soon_threadsafe(deliver_if_wanted)
    except RuntimeError:
        return  # the loop is closed: nobody waits any more
