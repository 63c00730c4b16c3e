"""Sizes, rates and times as people write them."""

import click
import pytest
from hypothesis import given, strategies as st

from fss_exporter import units
from fss_toolbox import printed

READERS = (units.size, units.bandwidth, units.network, units.rate, units.latency, units.interval)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "-1",
        "nan",
        "inf",
        "1e400",
        f"0.{'0' * 318}1",
        f"0.{'0' * 318}1s",
        f"{10**400}s",
        f"{10**400}",
        "k",
        "4 4",
        "4kk",
        "٣",
        "0x10",
        "1,000",
        "4parsecs",
        "1_0",
    ],
)
@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)
def test_what_is_no_figure_is_refused(read: object, text: str) -> None:
    assert callable(read)
    with pytest.raises(click.BadParameter):
        read(text)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    for read in READERS:
        try:
            value = read(text)
        except click.BadParameter:
            continue
        assert 0 <= value < float("inf")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("32k", 32768),
        ("32K", 32768),
        ("32KiB", 32768),
        ("1m", 1 << 20),
        ("1MB", 10**6),
        ("4096", 4096),
        ("4096B", 4096),
        ("1.5k", 1536),
    ],
)
def test_sizes_are_binary_unless_they_end_in_bytes(text: str, expected: int) -> None:
    assert units.size(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("500MB/s", 5e8),
        ("1GiB/s", 2**30),
        ("10Gbit/s", 1.25e9),
        ("10Gbps", 1.25e9),
        ("10gbit/s", 1.25e9),
        ("10 kbps", 1250.0),
        ("800bit", 100.0),
        ("65536B/s", 65536.0),
    ],
)
def test_bandwidths_are_bytes_or_bits(text: str, expected: float) -> None:
    assert units.bandwidth(text) == expected


@pytest.mark.parametrize(("text", "expected"), [("5000", 5000.0), ("5k", 5000.0), ("5k/s", 5000.0), ("0.5", 0.5)])
def test_rates_are_decimal(text: str, expected: float) -> None:
    assert units.rate(text) == expected


@pytest.mark.parametrize(("text", "expected"), [("2ms", 0.002), ("500us", 0.0005), ("1.5s", 1.5)])
def test_latencies_have_a_unit(text: str, expected: float) -> None:
    assert units.latency(text) == pytest.approx(expected)


@pytest.mark.parametrize(("text", "expected"), [("5", 5.0), ("0.5", 0.5), ("1m30s", 90.0)])
def test_intervals_are_seconds_or_durations(text: str, expected: float) -> None:
    assert units.interval(text) == expected


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "-"),
        (float("inf"), "-"),
        (0.0, "0"),
        (0.36923, "0.369"),
        (9.96, "10.0"),
        (99.4, "99.4"),
        (1234.5, "1,234"),
    ],
)
def test_numbers_have_as_many_digits_as_matter(value: float | None, shown: str) -> None:
    assert printed.number(value) == shown


def test_what_is_not_known_is_no_zero() -> None:
    for show in (printed.megabytes, printed.kibibytes, printed.milliseconds, printed.percent):
        assert show(None) == "-"
        assert show(0.0).startswith("0")


@pytest.mark.parametrize("text", ["10Gb/s", "500Mb", "1kb/s", "500b/s"])
def test_a_bandwidth_in_small_b_is_refused_because_it_may_be_bits_or_bytes(text: str) -> None:
    with pytest.raises(click.BadParameter, match="Write it like 500MB/s or 10Gbit/s"):
        units.bandwidth(text)


@pytest.mark.parametrize("text", ["10Gibit/s", "10xbit", "10parsecbps", "5e3", "5 ", "500/s"])
def test_a_bandwidth_with_an_odd_unit_or_without_a_unit_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="Write it like 500MB/s or 10Gbit/s"):
        units.bandwidth(text)


def test_a_network_without_bandwidth_is_refused() -> None:
    assert units.network("1Gbit/s") == 1.25e8
    with pytest.raises(click.BadParameter, match="must be more than 0"):
        units.network("0Gbit/s")
