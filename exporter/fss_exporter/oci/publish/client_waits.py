# SPDX-License-Identifier: Apache-2.0
"""Turn the waiting time of this host's clients into points for OCI's alarms. Pure.

Waits are posted only for a minute in which requests waited, so a healthy fleet posts little.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from fss_exporter.addresses import NetworkAddress
from fss_exporter.oci.ledger import newest_complete
from fss_exporter.oci.publish.published_metrics import AGENT_POSTS, CLIENT_WAITING, PublishedPoint

# The agent posts each minute. After a longer pause nobody knows which minute had the waits, and a point is of one minute.
_LONGEST_PAUSE_SECONDS: Final = 120.0


class ClientWaits:
    """The waits of one host.

    Args:
        host: name of the host.
    """

    def __init__(self, host: str) -> None:
        self._host = host
        self._seen_at: float | None = None
        self._totals: Mapping[NetworkAddress, float] = {}

    def points(
        self, totals: Mapping[NetworkAddress, float], now: float, compartment_id: str
    ) -> Iterator[PublishedPoint]:
        """Yield a point for each address with a wait since the last call. After a pause yield none.

        `totals` are the seconds of waiting so far, `now` is epoch seconds, `compartment_id` an OCID for the metric.
        """
        before, began = self._totals, self._seen_at
        self._totals, self._seen_at = dict(totals), now
        if began is None or not 0 < now - began < _LONGEST_PAUSE_SECONDS:
            return
        for place, total in totals.items():
            waited = total - before.get(place, 0.0)
            if waited > 0:
                dimensions = (("address", place.address), ("host", self._host), ("network", place.network))
                share, minute = min(1.0, waited / (now - began)), newest_complete(now)
                yield PublishedPoint(CLIENT_WAITING, compartment_id, dimensions, minute, share, place.address)

    def trial(self, now: float, compartment_id: str) -> PublishedPoint:
        """Return a point that shows whether this host can post. `now` is epoch seconds."""
        dimensions = (("host", self._host),)
        return PublishedPoint(AGENT_POSTS, compartment_id, dimensions, newest_complete(now), 1.0, self._host)
