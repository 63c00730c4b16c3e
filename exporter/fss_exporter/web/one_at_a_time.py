# SPDX-License-Identifier: Apache-2.0
"""Let one request at a time work on an expensive answer."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

WAIT_SECONDS = 10.0  # longest wait for a turn: the scrape timeout of Prometheus

# Requests that wait for a page, a reload or a scrape with `name[]`. Each keeps a connection that no newcomer replaces.
MOST_WAITING = 16


class TooLong(Exception):
    """The work of the request before hangs, or too many requests wait."""


class OneAtATime:
    """A lock that no request waits for longer than its client. At most `most_waiting` requests wait, None for any number."""

    def __init__(self, most_waiting: int | None = MOST_WAITING) -> None:
        self._lock = threading.Lock()
        self._places = None if most_waiting is None else threading.Semaphore(most_waiting + 1)

    @contextmanager
    def turn(self, seconds: float = WAIT_SECONDS) -> Iterator[None]:
        """Work alone.

        Raises:
            TooLong: too many requests wait, or no turn came within `seconds`.
        """
        if self._places and not self._places.acquire(blocking=False):
            raise TooLong
        try:
            if not self._lock.acquire(timeout=seconds):
                raise TooLong
            try:
                yield
            finally:
                self._lock.release()
        finally:
            if self._places:
                self._places.release()
