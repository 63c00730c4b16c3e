"""The histogram of request durations in an exporter's metrics, read back."""

from collections import Counter, defaultdict
from collections.abc import Mapping

from prometheus_client.samples import Sample

from fss_exporter.model.histograms import CallsByEdge, in_classes

_BUCKET = "fss_client_request_duration_seconds_bucket"


class ScrapedDurations:
    """Histograms of one scrape, of all classes of operations together.

    Attributes:
        at_most: requests up to an edge in seconds, by address and edge.
    """

    def __init__(self) -> None:
        self.at_most: dict[str, Counter[float]] = defaultdict(Counter)

    def take(self, sample: Sample) -> None:
        """Take a sample of any metric.

        Raises:
            KeyError: a bucket lacks a label.
            ValueError: an edge is not a number.
        """
        if sample.name == _BUCKET:
            edges = self.at_most[sample.labels["address"]]
            edges[float(sample.labels["le"])] += sample.value  # type: ignore[assignment]  # a float counts as well

    def since(self, before: "ScrapedDurations") -> dict[str, CallsByEdge]:
        """Return the requests since an earlier scrape by address and class; without addresses that one scrape lacks."""
        return {
            address: in_classes(_grown(before.at_most[address], edges))
            for address, edges in self.at_most.items()
            if address in before.at_most
        }


def _grown(before: Mapping[float, float], after: Mapping[float, float]) -> Mapping[float, float]:
    return {edge: count - before.get(edge, 0.0) for edge, count in after.items()}
