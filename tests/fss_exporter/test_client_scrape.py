"""The metrics of an agent read back: the traffic that iostat, plan and the status page show between two scrapes."""

from copy import deepcopy

import pytest
from tests.exposition_text import written
from tests.fss_exporter.nfs.fed_accounts import KEY, reading
from tests.fss_exporter.nfs.records import mountstats

from fss_exporter.errors import SourceError
from fss_exporter.nfs.collector import NfsCollector
from fss_exporter.nfs.ticker import Ticker
from fss_toolbox.iostat.rates import traffic
from fss_toolbox.scrape_text import read_scrape, traffic_between, went_back

FIRST = mountstats({"READ": 5, "LOOKUP": 2})
SECOND = mountstats(
    {"READ": 9, "WRITE": 3, "LOOKUP": 6, "RENAME": 2}, age=1001, read_bytes=4 << 20, written_bytes=3 << 16
)


def scrapes(*looks: str) -> list[str]:
    """The scrape after each tick."""
    remaining = iter(looks)
    ticker = Ticker(lambda: reading(next(remaining)), 1.0)
    collector = NfsCollector(ticker)
    texts = []
    for _ in looks:
        ticker.tick()
        texts.append(written(collector.collect()))
    return texts


@pytest.mark.parametrize(
    "text", ["fss_client_operations_total{\n", "{, =TYPE\n", 'fss_client_rtt_seconds_total{address="a"} 1\n']
)
def test_what_is_no_scrape_of_this_version_is_refused(text: str) -> None:
    with pytest.raises(SourceError, match="not the metrics of an exporter of this version"):
        read_scrape("file", text)


@pytest.mark.parametrize("value", ["NaN", "+Inf"])
def test_a_counter_that_is_no_number_is_refused(value: str) -> None:
    first, _ = scrapes(FIRST, SECOND)
    lines = [
        f"{line.rpartition(' ')[0]} {value}" if "lock_io" in line and line[0] != "#" else line
        for line in first.splitlines()
    ]
    with pytest.raises(SourceError, match="fss_client_estimated_lock_io_operations_total"):
        read_scrape("file", "\n".join(lines) + "\n")


BUCKET = 'fss_client_io_size_bytes_bucket{address="a",operation="READ",le="%s"} %s\n'


@pytest.mark.parametrize(
    "text",
    [
        *(BUCKET % ("32768", count) for count in ("NaN", "+Inf", "-5")),
        *(BUCKET % (edge, 5) for edge in ("NaN", "-5", "0", "large")),
        'fss_client_request_duration_seconds_bucket{address="a",le="0.1"} NaN\n',
    ],
)
def test_a_damaged_histogram_is_refused(text: str) -> None:
    with pytest.raises(SourceError, match="not the metrics of an exporter of this version"):
        read_scrape("file", text)


def test_the_traffic_between_two_scrapes_is_that_between_two_readings() -> None:
    first, second = (read_scrape("exporter", text) for text in scrapes(FIRST, SECOND))
    scraped = traffic_between(first, second, 1.0)[KEY]
    ticker = Ticker(lambda: reading(FIRST), 1.0, lambda: 0.0)
    ticker.tick()
    before = deepcopy(ticker.accounts.mounts)
    ticker.accounts.apply(reading(SECOND), 1.0)
    read = traffic(before, ticker.accounts.mounts, 1.0)[KEY]

    assert scraped.by_class == read.by_class
    assert scraped.iops == read.iops
    assert scraped.all_operations.rtt_seconds == pytest.approx(read.all_operations.rtt_seconds)
    assert scraped.operations["READ"] == read.operations["READ"]
    rename = scraped.operations["RENAME"]
    assert (rename.operations, rename.iops, rename.rtt_seconds) == (2, (16, 16, 16), None)
    assert (scraped.read_bytes, scraped.written_bytes) == (read.read_bytes, read.written_bytes)


def test_a_counter_that_went_back_is_a_restart_and_a_mount_that_is_gone_is_none() -> None:
    first, second = (read_scrape("exporter", text) for text in scrapes(FIRST, SECOND))
    nothing = read_scrape("exporter", "fss_client_peak_estimated_iops 1\n")

    assert went_back(second, first)
    assert not went_back(first, second)
    assert not went_back(second, nothing)
