# SPDX-License-Identifier: Apache-2.0
"""Reports of `iostat` about the metrics of a running exporter."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime

from fss_exporter.client_scrape import Scraped, durations_between, states_with_load
from fss_exporter.errors import SourceError
from fss_toolbox.fetch import OPEN, Access, get, shown
from fss_toolbox.iostat.traffic_report import Report
from fss_toolbox.scrape_text import RESTARTED, read_scrape, traffic_between, why_unknown
from fss_toolbox.tables import note


def reports_of_page(url: str, interval: float, count: int | None, access: Access = OPEN) -> Iterator[Report]:
    """Yield `count` reports (None: no end) about a page of metrics, one each `interval` seconds.

    A note tells of each interval that is left out.

    Raises:
        SourceError: the page cannot be read. With a count of 1 also: the exporter was restarted in the interval, or could not read its counters.
    """
    source = shown(url)
    old, last = read_scrape(source, get(url, "text/plain", access)), time.monotonic()
    done = 0
    while count is None or done < count:
        time.sleep(interval)
        new, now = read_scrape(source, get(url, "text/plain", access)), time.monotonic()
        unknown = why_unknown(old, new)
        if unknown and count == 1:
            raise SourceError(f"{source}: {unknown}")
        if unknown:
            note(f"{source}: {unknown}. This interval is left out")
        else:
            yield report_between(source, old, new, now - last)
        if unknown != RESTARTED:
            done += 1
        old, last = new, now


def report_between(source: str, old: Scraped, new: Scraped, seconds: float) -> Report:
    """Return the report between two scrapes of an exporter."""
    traffic = traffic_between(old, new, seconds)
    return Report(
        source,
        traffic,
        new.mount_points,
        time=datetime.now(UTC),
        seconds=seconds,
        counted=new.estimated_seconds == old.estimated_seconds,
        # Series that come back after a pause have every request since the start of the agent.
        durations={
            address: calls for address, calls in durations_between(old, new).items() if address in old.durations
        },
        network_bytes_per_second=new.network_bytes_per_second,
        ceilings=new.ceilings,
        states=states_with_load(new, traffic),
    )
