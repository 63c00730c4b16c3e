"""The life of a running exporter: parts start, the listener serves, a signal ends it all within a second."""

import asyncio
import logging
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from fss_exporter.web.application import read_again
from fss_exporter.web.collecting import Source
from fss_exporter.web.listener import Listener
from fss_exporter.web.sparingly import Sparingly

_LOG = logging.getLogger(__name__)
_STOP_SECONDS = 0.9


def _always() -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Something that reads a source in a thread of its own.

    Attributes:
        name: value of the `collector` label.
        source: what it knows.
        start: begin reading.
        stop: end reading, within a second.
        is_ready: whether it has anything to tell yet.
    """

    name: str
    source: Source
    start: Callable[[], None]
    stop: Callable[[], None]
    is_ready: Callable[[], bool] = _always


@contextmanager
def running(parts: Sequence[Part]) -> Iterator[None]:
    """Start the parts; stop them all at once at the end, also those before one that did not start."""
    started: list[Part] = []
    try:
        for part in parts:
            started.append(part)
            part.start()
        yield
    finally:
        threads = [threading.Thread(target=part.stop, name=f"stop-{part.name}", daemon=True) for part in started]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(_STOP_SECONDS)


def run(listener: Listener, reload: Callable[[], None]) -> None:
    """Serve until SIGTERM or SIGINT; SIGHUP reads the configuration again."""
    asyncio.run(_run(listener, reload))


async def _run(listener: Listener, reload: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    fault = Sparingly(_LOG)
    reloads: set[asyncio.Task[str]] = set()

    def on_hangup() -> None:
        task = loop.create_task(read_again(reload))
        reloads.add(task)
        task.add_done_callback(reloads.discard)

    def on_fault(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        what = f"{context['message']}: {context.get('exception')!r}"
        fault(context["message"], what, level=logging.ERROR)

    loop.set_exception_handler(on_fault)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGHUP, on_hangup)
    await listener.run(stop)
    _LOG.info("stopped")
