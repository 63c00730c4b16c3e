# SPDX-License-Identifier: Apache-2.0
"""The text of a scrape of an agent, and the traffic between two scrapes."""

from prometheus_client.parser import text_string_to_metric_families

from fss_exporter.client_scrape import REQUESTS_BY, Scraped, rates_between, scrape_of, traffic_of
from fss_exporter.errors import SourceError
from fss_exporter.model.service_table import SeriesKey
from fss_exporter.model.traffic import Traffic
from fss_exporter.samples import Samples

RESTARTED = "the exporter was restarted between two scrapes: its counters went back"
UNREAD = "the exporter could not read the NFS counters, so the load is not known. Its log says why"

_LONGEST_REASON = 200  # characters. The parser repeats the whole line


_LARGE = 1 << 20  # characters


def is_foreign(text: str) -> bool:
    """Whether a large text has no metric of an exporter of this project. Parsing it would take six times its size."""
    return len(text) > _LARGE and "\nfss_" not in text


def parsed(source: str, text: str) -> tuple[Samples, Scraped]:
    """Return the samples in the text of a scrape, and what they say of an agent. Messages name the source.

    Raises:
        SourceError: the text has another format.
    """
    # The format ends every line, and a figure that is cut off is another figure. A text without any end of a line is no scrape.
    is_whole = text.endswith("\n") or "\n" not in text
    if is_foreign(text):
        raise SourceError(
            f"{source}: {len(text) >> 20} MiB without a metric of fss-exporter. Give a scrape, or the URL of /metrics"
        )
    try:
        samples = Samples(text_string_to_metric_families(text))
        scrape = scrape_of(samples)  # refuses a damaged counter
        if samples.not_finite:
            samples = samples.finite()
            scrape = scrape_of(samples)
    except (ValueError, LookupError, OverflowError) as error:
        if not is_whole:
            raise _cut_off(source) from error
        raise SourceError(
            f"{source}: not the metrics of an exporter of this version ({str(error)[:_LONGEST_REASON]}). Give a scrape, or the URL of /metrics"
        ) from error
    if not is_whole:
        raise _cut_off(source)
    return samples, scrape


def _cut_off(source: str) -> SourceError:
    return SourceError(f"{source}: cut off in the last line. Give a whole scrape, or the URL of /metrics")


def read_scrape(source: str, text: str) -> Scraped:
    """Read the client metrics in the text of a scrape. Messages name the source.

    Raises:
        SourceError: the text has another format, or contains no client metrics.
    """
    samples, scrape = parsed(source, text)
    if not any(name.startswith("fss_client_") for name, _, _ in samples):
        raise SourceError(f"{source}: no fss_client_ metrics. Give a scrape of an agent, or the URL of its metrics")
    return scrape


def went_back(before: Scraped, after: Scraped) -> bool:
    """Whether a counter of a mount in both scrapes started at zero again."""
    return any(
        value < old.get(counter, 0.0)
        for mount, old in before.counters.items()
        for counter, value in after.counters.get(mount, {}).items()
        if counter[0] in REQUESTS_BY
    )


def why_unknown(before: Scraped, after: Scraped) -> str:
    """Return why the load between two scrapes is not known. Empty for a known load.

    Counters that can be read again have grown by the load of the whole time without a reading.
    """
    if went_back(before, after):
        return RESTARTED
    return "" if before.is_read and after.is_read else UNREAD


def traffic_between(before: Scraped, after: Scraped, seconds: float) -> dict[SeriesKey, Traffic]:
    """Return the traffic of each mount between two scrapes."""
    rates = rates_between(before, after, seconds)
    return {mount: traffic_of(mount.service, own, after.overrides) for mount, own in rates.items()}
