"""Turn the waiting time of this host's clients into points for OCI's alarms. Pure.

A point is posted only for a minute in which requests waited, so a healthy fleet costs nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from fss_exporter.oci.ledger import newest_complete
from fss_exporter.oci.published_metrics import CLIENT_WAITING, PublishedPoint


@dataclass(eq=False, repr=False)
class ClientWaits:
    """The waits of one host."""

    host: str  # its name
    _seen_at: float | None = field(default=None, init=False)
    _totals: Mapping[str, float] = field(default_factory=dict, init=False)

    def points(self, totals: Mapping[str, float], now: float, compartment_id: str) -> Iterator[PublishedPoint]:
        """Yield a point for each address with a wait since the last call.

        `totals` are the seconds of waiting so far by address, `now` is epoch seconds, `compartment_id` an OCID for the metric.
        """
        before, began = self._totals, self._seen_at
        self._totals, self._seen_at = dict(totals), now
        if began is None or now <= began:
            return
        for address, total in totals.items():
            waited = total - before.get(address, 0.0)
            if waited > 0:
                dimensions = (("address", address), ("host", self.host))
                share = min(1.0, waited / (now - began))
                yield PublishedPoint(CLIENT_WAITING, compartment_id, dimensions, newest_complete(now), share, address)
