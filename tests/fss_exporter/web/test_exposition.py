import math
import zlib
from typing import Any

import pytest
from hypothesis import given, strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from fss_exporter.catalogue import Family, family
from fss_exporter.web.exposition import OPENMETRICS, PLAIN, Format, gzip_accepted, negotiate, only_named, write

PROMETHEUS_2_42 = (
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)
PROMETHEUS_3 = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;"
    "q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1"
)
PROTOBUF_FIRST = (
    "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,"
    "application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5"
)


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        pytest.param("", PLAIN, id="nothing said"),
        pytest.param("*/*", PLAIN, id="anything"),
        pytest.param("text/html", PLAIN, id="a browser"),
        pytest.param(PROMETHEUS_2_42, OPENMETRICS, id="prometheus 2.42"),
        pytest.param(PROMETHEUS_3, OPENMETRICS, id="prometheus 3"),
        pytest.param(PROTOBUF_FIRST, OPENMETRICS, id="protobuf preferred"),
        pytest.param("application/openmetrics-text", OPENMETRICS, id="openmetrics without version"),
        pytest.param("application/openmetrics-text;version=2.0.0", PLAIN, id="a version not written here"),
        pytest.param(
            "application/openmetrics-text;version=9.9.9,text/plain", PLAIN, id="a version that does not exist"
        ),
        pytest.param("application/openmetrics-text;version=0.0.1", PLAIN, id="a version before the first"),
        pytest.param("Application/OpenMetrics-Text; Version=1.0.0", OPENMETRICS, id="other case, blanks"),
        pytest.param("application/openmetrics-text;q=0.1,text/plain;q=0.9", PLAIN, id="weights count"),
        pytest.param("text/plain;q=0,application/openmetrics-text;q=0", PLAIN, id="refuses all, gets the simplest"),
        pytest.param("application/openmetrics-text;q=x", PLAIN, id="a weight that is no number"),
        pytest.param(";;=,,;q=,\x00", PLAIN, id="rubbish"),
    ],
)
def test_a_scraper_gets_the_best_format_that_is_really_written(accept: str, expected: Format) -> None:
    assert negotiate(accept) is expected


@given(st.text())
def test_no_accept_header_breaks_the_choice(header: str) -> None:
    assert negotiate(header) in {PLAIN, OPENMETRICS}
    assert gzip_accepted(header) in {True, False}


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", False),
        ("gzip", True),
        ("deflate, GZIP;q=0.5", True),
        ("gzip;q=0", False),
        ("br", False),
        ("*", True),
        ("gzip;q=0, *", False),
        ("*;q=0, gzip", True),
    ],
)
def test_compression_is_used_where_it_is_accepted(header: str, *, expected: bool) -> None:
    assert gzip_accepted(header) is expected


def some() -> list[Family]:
    operations = family("fss_client_operations_total")
    operations.add_metric(['a "quoted"\nname\\', *"bcdefgh"][: len(operations.metric.labels)], 3)
    return [family("fss_nfs_superblocks", (((), math.pi),)), operations]


@pytest.mark.parametrize("form", [PLAIN, OPENMETRICS], ids=lambda form: form.media_type)
def test_compression_changes_nothing_but_the_size(form: Format) -> None:
    assert zlib.decompress(write(some(), form, compress=True), wbits=31) == write(some(), form, compress=False)


def test_openmetrics_is_what_its_own_parser_reads() -> None:
    read = text_string_to_metric_families(write(some(), OPENMETRICS, compress=False).decode())

    samples = [(sample.name, sample.labels, sample.value) for family in read for sample in family.samples]
    assert samples == [tuple(sample) for family in some() for sample in family.samples]


class Unforeseen(Exception):
    """A mistake that no module names."""


class Unreadable(list[float]):
    """Values that raise once they are read."""

    def __getitem__(self, _: object) -> Any:
        raise Unforeseen


@pytest.mark.parametrize("form", [PLAIN, OPENMETRICS], ids=lambda form: form.media_type)
def test_whatever_a_family_raises_costs_only_itself(form: Format) -> None:
    broken = family("fss_nfs_ticks_total", (((), 1.0),))
    broken.values = Unreadable()

    assert write([broken, *some()], form, compress=False) == write(some(), form, compress=False)


def test_a_family_that_cannot_be_encoded_costs_only_itself() -> None:
    broken = family("fss_collector_success", ((("half a character: \udc80",), 1.0),))

    assert write([broken, *some()], PLAIN, compress=False) == write(some(), PLAIN, compress=False)


@pytest.mark.parametrize("asked", ["fss_nfs_ticks", "fss_nfs_ticks_total"])
def test_name_filter_takes_family_and_sample_names(asked: str) -> None:
    made = [*some(), family("fss_nfs_ticks_total", (((), 1.0),))]

    assert [family.name for family in only_named(made, {asked})] == ["fss_nfs_ticks"]
    assert only_named(made, {"fss_c"}) == []


def test_name_filter_takes_the_names_of_single_series_of_a_histogram() -> None:
    sizes = family("fss_client_io_size_bytes")
    sizes.add_histogram(("eu-frankfurt-1", "10.0.0.3", "READ"), [(32768.0, 2), (math.inf, 5)], 4_000_000)

    (only,) = only_named([sizes], {"fss_client_io_size_bytes_count"})

    assert [sample.name for sample in only.samples] == ["fss_client_io_size_bytes_count"]
