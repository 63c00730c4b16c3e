"""The rate limit of the web configuration, separate for each client, so that a busy client does not block others."""

from collections import OrderedDict
from collections.abc import Callable

from fss_exporter.web.turns import client_of

_REMEMBERED = 1000  # Clients. One that has been forgotten may send a whole burst again.


class RateLimiter:
    """A bucket of tokens for each client.

    Args:
        interval: seconds until a client may send a further request. 0 is no limit.
        burst: requests that a client may send at a time.
        clock: seconds that never go back.
    """

    def __init__(self, interval: float, burst: int, clock: Callable[[], float]) -> None:
        self._interval = interval
        self._burst = burst
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, address: str) -> bool:
        """Whether a further request of this address fits."""
        if not self._interval:
            return True
        client, now = client_of(address), self._clock()
        tokens, at = self._buckets.pop(client, (float(self._burst), now))
        tokens = min(self._burst, tokens + (now - at) / self._interval)
        self._buckets[client] = (tokens - 1 if tokens >= 1 else tokens, now)
        if len(self._buckets) > _REMEMBERED:
            self._buckets.popitem(last=False)
        return tokens >= 1
