import pytest
from hypothesis import given, strategies as st

from fss_exporter.durations import in_words, parse_duration


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "s",
        "1",
        "1 s",
        "-1s",
        "1x",
        "1s ",
        "+1s",
        "1e3s",
        ".5s",
        "1.s",
        "0x1s",
        "\N{ARABIC-INDIC DIGIT ONE}s",
        "1S",
        "1m30",
        "inf",
    ],
)
def test_what_is_no_duration_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="Write it like 500ms, 1s or 1m30s"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("0s", 0),
        ("500ms", 0.5),
        ("1s", 1),
        ("1m30s", 90),
        ("1.5h", 5400),
        ("1h1m1s1ms", 3661.001),
        ("1d", 86400),
    ],
)
def test_durations_are_read_as_prometheus_and_go_write_them(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["521w6d", f"{10**400}s", "9999999999999d"])
def test_a_duration_beyond_ten_years_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="longer than 10 years"):
        parse_duration(text)


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_terms_add_up(minutes: int, seconds: int) -> None:
    assert parse_duration(f"{minutes}m{seconds}s") == minutes * 60 + seconds


@pytest.mark.parametrize(("seconds", "words"), [(95, "95 s"), (600, "10 min"), (90_000, "25 h"), (900_000, "10 days")])
def test_a_length_of_time_reads_in_whole_units(seconds: float, words: str) -> None:
    assert in_words(seconds) == words
