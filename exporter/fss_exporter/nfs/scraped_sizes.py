"""The histogram of I/O sizes in an exporter's metrics, read back."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from prometheus_client.parser import text_string_to_metric_families

from fss_exporter.errors import SourceError
from fss_exporter.model.histograms import TransferClass

_SIZES = "fss_client_io_size_bytes"
_SECONDS = "fss_client_cost_seconds_total"


@dataclass(slots=True)
class Histogram:
    """Sizes of one address and operation."""

    counts: dict[float, float] = field(default_factory=dict)  # operations up to a size in bytes, by the size
    payload_bytes: float = 0.0  # payload of all operations

    def since(self, before: "Histogram", seconds: float) -> tuple[tuple[TransferClass, ...], float]:
        """Return the used classes in operations per second, and the payload in bytes per second.

        Raises:
            SourceError: a counter fell, or the last class has no bound and is not empty.
        """
        found, above, counted = [], 0.0, 0.0
        for bound, count in sorted(self.counts.items()):
            upto = count - before.counts.get(bound, 0.0)
            if upto < counted:
                raise SourceError(f"{_SIZES} went back: the exporter was restarted between two scrapes")
            if upto > counted:
                found.append(TransferClass(above, bound, (upto - counted) / seconds))
            above, counted = bound, upto
        if found and found[-1].up_to_bytes == float("inf"):
            raise SourceError(
                f"{_SIZES} has transfers of more than {found[-1].above_bytes:g} bytes, which no kernel makes"
            )
        return tuple(found), (self.payload_bytes - before.payload_bytes) / seconds


NO_HISTOGRAM = Histogram()


@dataclass(frozen=True, slots=True)
class ScrapedSizes:
    """Size histograms of one scrape."""

    histograms: Mapping[tuple[str, str], Histogram]  # by address and operation
    seconds: float  # seconds of counting or estimating, of the oldest mount. 0 if the scrape does not say


def read_sizes(source: str, text: str) -> ScrapedSizes:
    """Read the size histograms of a scrape.

    Args:
        source: file or URL, for messages.
        text: Prometheus text format.

    Raises:
        SourceError: the text has another format.
    """
    histograms: dict[tuple[str, str], Histogram] = defaultdict(Histogram)
    seconds: dict[tuple[str, ...], float] = defaultdict(float)
    try:
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                labels = sample.labels
                if sample.name == _SECONDS:
                    seconds[labels["address"], labels["server"], labels["export"]] += sample.value
                elif sample.name == f"{_SIZES}_bucket":
                    histograms[labels["address"], labels["operation"]].counts[float(labels["le"])] = sample.value
                elif sample.name == f"{_SIZES}_sum":
                    histograms[labels["address"], labels["operation"]].payload_bytes = sample.value
    except (ValueError, KeyError, OverflowError) as error:
        raise SourceError(f"{source}: not the metrics of an exporter: {error}") from error
    return ScrapedSizes(dict(histograms), max(seconds.values(), default=0.0))
