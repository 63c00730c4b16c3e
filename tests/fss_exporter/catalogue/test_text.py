"""What is written is what `prometheus_client` would have written, to the byte."""

import math

import pytest
from hypothesis import example, given, strategies as st
from prometheus_client import exposition
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.utils import floatToGoString
from tests.exposition_text import AsLibrary

from fss_exporter.catalogue import CATALOGUE, Family, family
from fss_exporter.catalogue.text import number, open_metrics, plain

names = st.text(max_size=12)
values = st.one_of(st.integers(-(2**70), 2**70), st.floats(), st.integers(0, 10**7), st.floats(0, 1e9))


@given(values)
@example(0)
@example(1_000_000)
@example(999_999)
@example(10**15 + 1)
@example(2**53)
@example(2**53 + 1)
@example(-1)
@example(-1_000_000)
@example(1e-7)
@example(1.5e22)
@example(123456.5)
@example(1234567.25)
@example(math.nan)
@example(math.inf)
@example(-math.inf)
def test_a_number_is_written_as_the_library_writes_it(value: float) -> None:
    assert number(value) == floatToGoString(value)


@st.composite
def families(draw: st.DrawFn) -> list[Family]:
    result: list[Family] = []
    for metric in draw(st.lists(st.sampled_from(sorted(CATALOGUE.values(), key=lambda row: row.name)), max_size=4)):
        made = Family(metric)
        labels = st.tuples(*(names for _ in metric.labels))
        for values_of_labels, value in draw(st.lists(st.tuples(labels, values), max_size=5)):
            if metric.kind == "histogram":
                made.add_histogram(values_of_labels, [(32768.0, value), (1048576.0, value), (math.inf, value)], value)
            else:
                made.add_metric(values_of_labels, value)
        result.append(made)
    return result


@given(families())
def test_the_plain_format_is_the_librarys_to_the_byte(some: list[Family]) -> None:
    assert b"".join(plain(some)) == exposition.generate_latest(AsLibrary(some))


@given(families())
def test_open_metrics_is_the_librarys_to_the_byte(some: list[Family]) -> None:
    assert b"".join(open_metrics(some)) == openmetrics.generate_latest(AsLibrary(some))


def test_the_wrong_number_of_label_values_is_refused() -> None:
    with pytest.raises(ValueError, match="1 label values for 7 labels"):
        family("fss_client_operations_total").add_metric(("10.0.0.3",), 1)


def test_a_histogram_is_its_buckets_its_sum_and_its_count() -> None:
    sizes = family("fss_client_io_size_bytes")
    sizes.add_histogram(("lab", "10.0.0.3", "READ"), [(32768.0, 2), (math.inf, 5)], 4_000_000)

    written = b"".join(plain([sizes])).decode()
    assert "# TYPE fss_client_io_size_bytes histogram\n" in written
    assert [line for line in written.splitlines() if not line.startswith("#")] == [
        'fss_client_io_size_bytes_bucket{address="10.0.0.3",le="32768.0",network="lab",operation="READ"} 2.0',
        'fss_client_io_size_bytes_bucket{address="10.0.0.3",le="+Inf",network="lab",operation="READ"} 5.0',
        'fss_client_io_size_bytes_sum{address="10.0.0.3",network="lab",operation="READ"} 4e+06',
        'fss_client_io_size_bytes_count{address="10.0.0.3",network="lab",operation="READ"} 5.0',
    ]


def test_a_single_sample_is_no_histogram() -> None:
    with pytest.raises(ValueError, match="add_histogram"):
        family("fss_client_io_size_bytes").add_metric(("10.0.0.3", "READ"), 1)
