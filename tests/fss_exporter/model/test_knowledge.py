"""Which figure to believe, and what a figure may say."""

import re

import pytest
from hypothesis import given, strategies as st

from fss_exporter.model.estimate import Bounds, estimate_transfers, wire_of
from fss_exporter.model.knowledge import (
    LAST_KNOWN_SECONDS,
    FigureSource,
    Knowledge,
    KnownFigure,
    best_known,
    coverage_of,
)
from fss_exporter.model.operations import READ, read_io_operations
from fss_exporter.model.server_estimate import BUCKETS, estimate_reads_by_size
from fss_exporter.model.state import IOPS, Evidence, State

OUTAGE = 31 * 60.0


@pytest.mark.parametrize(
    ("source", "age", "knowledge"),
    [
        (FigureSource.MEASURED, 0.0, Knowledge.NOW),
        (FigureSource.OCI, 599.0, Knowledge.NOW),
        (FigureSource.OCI, 600.0, Knowledge.BEFORE),
        (FigureSource.MEASURED, 3600.0, Knowledge.BEFORE),
        (FigureSource.MEASURED, 3601.0, Knowledge.NOTHING),
        (FigureSource.MEASURED, None, Knowledge.NOTHING),
        (FigureSource.CLIENTS, 0.0, Knowledge.PART),
        (FigureSource.HOST, 0.0, Knowledge.PART),
        (FigureSource.CLIENTS, 600.0, Knowledge.NOTHING),
    ],
)
def test_age_and_source_say_what_a_figure_is_worth(
    source: FigureSource, age: float | None, knowledge: Knowledge
) -> None:
    assert KnownFigure(0.5, source, age).knowledge is knowledge


def test_a_measured_figure_comes_before_an_estimate_of_the_same_minutes() -> None:
    measured, estimated = KnownFigure(0.9, FigureSource.MEASURED, 200.0), KnownFigure(0.8, FigureSource.OCI, 60.0)

    assert best_known([KnownFigure(0.1, FigureSource.CLIENTS), estimated, measured]) is measured


def test_in_an_outage_the_last_known_figure_counts_and_not_the_part_that_clients_see() -> None:
    last = KnownFigure(0.91, FigureSource.OCI, OUTAGE)

    assert best_known([KnownFigure(0.09, FigureSource.HOST), last]) is last


def test_a_part_above_the_last_known_figure_is_believed() -> None:
    part = KnownFigure(0.85, FigureSource.CLIENTS)

    assert best_known([KnownFigure(0.4, FigureSource.OCI, OUTAGE), part]) is part


def test_after_an_hour_only_the_highest_part_is_left() -> None:
    host, clients = KnownFigure(0.05, FigureSource.HOST), KnownFigure(0.09, FigureSource.CLIENTS)

    assert best_known([KnownFigure(0.91, FigureSource.OCI, 2 * LAST_KNOWN_SECONDS), host, clients]) is clients


def test_nothing_is_known_without_a_figure() -> None:
    assert best_known([]) is None
    assert best_known([KnownFigure(0.9, FigureSource.OCI, None)]) is None


def test_the_coverage_of_clients_needs_a_fresh_figure_of_the_whole() -> None:
    assert coverage_of(5_000, KnownFigure(50_000, FigureSource.OCI, 60.0)) == pytest.approx(0.1)
    assert coverage_of(5_000, KnownFigure(50_000, FigureSource.OCI, OUTAGE)) is None
    assert coverage_of(5_000, KnownFigure(0.0, FigureSource.OCI, 60.0)) is None
    assert coverage_of(5_000, None) is None


def percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")


@pytest.mark.parametrize(
    ("figure", "words"),
    [
        (KnownFigure(0.84, FigureSource.MEASURED), "84 %"),
        (KnownFigure(0.84, FigureSource.OCI), "about 84 %"),
        (KnownFigure.of(Bounds(0.71, 0.84, 0.97), FigureSource.OCI), "about 84 % (71 to 97 %)"),
        (KnownFigure.of(Bounds(0.71, 0.84, 0.97), FigureSource.HOST), "about 84 % (71 to 97 %)"),
        (KnownFigure.of(Bounds(0.8399, 0.84, 0.8401), FigureSource.CLIENTS), "about 84 %"),
        (KnownFigure.counted(0.71, FigureSource.CLIENTS), "at least 71 %"),
        (KnownFigure.of(Bounds(35_500, 42_000, 48_500), FigureSource.HOST).share_of(50_000), "about 84 % (71 to 97 %)"),
    ],
)
def test_the_words_say_whether_a_figure_is_measured_likely_or_proven(figure: KnownFigure, words: str) -> None:
    assert figure.in_words(percent) == words


def test_a_ceiling_is_near_by_the_likely_value_because_the_lower_bound_would_hide_it() -> None:
    assert Evidence(IOPS, KnownFigure.of(Bounds(0.71, 0.84, 0.97), FigureSource.HOST)).state is State.NEAR


def proven(figure: KnownFigure) -> float:
    """What the words call a bound from below."""
    least = re.search(r"at least (\S+)|\((\S+) to ", figure.in_words(repr))
    assert least, figure
    return float(least[1] or least[2])


MIXES = st.lists(
    st.tuples(st.integers(1, 1000), st.one_of(st.integers(1, 1 << 20), st.sampled_from([4096, 32768, 65536, 131072]))),
    min_size=1,
    max_size=5,
)


@given(MIXES)
def test_what_is_called_a_bound_is_no_more_than_the_truth_of_a_drawn_stream(mix: list[tuple[int, int]]) -> None:
    """Half of 64 KiB and half of 4 KiB have a likely value 20 % above the truth, in OCI's size buckets and in client counters."""
    truth = sum(count * read_io_operations(size) for count, size in mix)
    count, payload = sum(count for count, _ in mix), sum(count * size for count, size in mix)
    rates = [0.0] * len(BUCKETS)
    for number, size in mix:
        rates[next(at for at, bucket in enumerate(BUCKETS) if size <= bucket.up_to_bytes)] += number

    of_oci = estimate_reads_by_size(rates, float(payload))
    padded = sum(count * (size + -size % 4 + 128) for count, size in mix)
    of_client = estimate_transfers(READ, count, payload, 1 << 20, wire_of(READ, padded))

    assert proven(KnownFigure.of(of_oci, FigureSource.OCI)) <= truth * (1 + 1e-12)
    assert proven(KnownFigure.of(of_client, FigureSource.HOST)) <= truth
