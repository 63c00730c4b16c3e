import math
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, strategies as st
from prometheus_client import exposition as reference
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.openmetrics import exposition as openmetrics_reference
from prometheus_client.openmetrics.parser import text_string_to_metric_families

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


class _Registry:
    def __init__(self, families: list[Metric]) -> None:
        self.families = families

    def collect(self) -> list[Metric]:
        return self.families


names = st.from_regex(r"fss_[a-z]{1,8}", fullmatch=True)
values = st.floats() | st.integers(-(2**60), 2**60)
labels = st.dictionaries(
    st.from_regex(r"[a-z]{1,5}", fullmatch=True), st.text(st.characters(codec="utf-8")), max_size=3
)


@st.composite
def families(draw: st.DrawFn) -> list[Metric]:
    made: list[Metric] = []
    for name in draw(st.lists(names, unique=True, max_size=4)):
        kind = draw(st.sampled_from(["counter", "gauge", "info"]))
        family = Metric(name, draw(st.text(st.characters(codec="utf-8"))), kind)
        suffix = {"counter": "_total", "gauge": "", "info": "_info"}[kind]
        for _ in range(draw(st.integers(0, 3))):
            family.add_sample(name + suffix, draw(labels), draw(values))
        made.append(family)
    return made


@given(families())
def test_what_is_written_is_what_prometheus_client_writes(made: list[Metric]) -> None:
    assert write(made, PLAIN, compress=False) == reference.generate_latest(_Registry(made))
    openmetrics = openmetrics_reference.generate_latest(_Registry(made))
    assert write(made, OPENMETRICS, compress=False) == openmetrics


@given(families())
def test_compression_changes_nothing_but_the_size(made: list[Metric]) -> None:
    compressed = write(made, OPENMETRICS, compress=True)

    assert zlib.decompress(compressed, wbits=31) == write(made, OPENMETRICS, compress=False)


def test_openmetrics_is_what_its_own_parser_reads() -> None:
    counter = CounterMetricFamily("fss_things", "Things.", labels=["of"])
    counter.add_metric(['a "quoted"\nname\\'], 3)

    written = write([counter], OPENMETRICS, compress=False).decode()
    (read,) = text_string_to_metric_families(written)

    assert [(sample.name, sample.labels, sample.value) for sample in read.samples] == [
        ("fss_things_total", {"of": 'a "quoted"\nname\\'}, 3.0)
    ]


def test_a_family_that_cannot_be_written_costs_only_itself() -> None:
    broken = GaugeMetricFamily("fss_broken", "Broken.", labels=["name"])
    broken.add_metric(["half a character: \udc80"], 1)
    sound = GaugeMetricFamily("fss_sound", "Sound.", value=math.pi)

    assert write([broken, sound], PLAIN, compress=False) == write([sound], PLAIN, compress=False)


class Unforeseen(Exception):
    """A mistake that no module names."""


class Unreadable(list[Any]):
    """Samples that raise once they are read."""

    def __iter__(self) -> Iterator[Any]:
        raise Unforeseen


@pytest.mark.parametrize("form", [PLAIN, OPENMETRICS], ids=lambda form: form.media_type)
def test_whatever_a_family_raises_costs_only_itself(form: Format) -> None:
    broken, sound = Metric("fss_broken", "Broken.", "gauge"), GaugeMetricFamily("fss_sound", "Sound.", value=math.pi)
    broken.samples = Unreadable()

    assert write([broken, sound], form, compress=False) == write([sound], form, compress=False)


def test_no_created_series_and_no_time_stamps_are_written() -> None:
    counter = CounterMetricFamily("fss_things", "Things.", value=1)

    for form in (PLAIN, OPENMETRICS):
        body = write([counter], form, compress=False)
        assert b"_created" not in body
        assert b"fss_things_total 1.0\n" in body


@pytest.mark.parametrize("asked", ["fss_b", "fss_b_total"])
def test_name_filter_takes_family_and_sample_names(asked: str) -> None:
    made = [GaugeMetricFamily("fss_a", "A.", value=1), CounterMetricFamily("fss_b", "B.", value=2)]

    assert [family.name for family in only_named(made, {asked})] == ["fss_b"]
    assert only_named(made, {"fss_c"}) == []
