"""Which figure to believe, and what a figure may say."""

import pytest

from fss_exporter.model.knowledge import (
    FRESH_SECONDS,
    LAST_KNOWN_SECONDS,
    Figure,
    Knowledge,
    Source,
    best_known,
    coverage_of,
)

OUTAGE = 31 * 60.0


@pytest.mark.parametrize(
    ("source", "age", "knowledge"),
    [
        (Source.MEASURED, 0.0, Knowledge.NOW),
        (Source.OCI, FRESH_SECONDS - 1, Knowledge.NOW),
        (Source.OCI, FRESH_SECONDS, Knowledge.BEFORE),
        (Source.MEASURED, LAST_KNOWN_SECONDS, Knowledge.BEFORE),
        (Source.MEASURED, LAST_KNOWN_SECONDS + 1, Knowledge.NOTHING),
        (Source.MEASURED, None, Knowledge.NOTHING),
        (Source.CLIENTS, 0.0, Knowledge.AT_LEAST),
        (Source.HOST, 0.0, Knowledge.AT_LEAST),
        (Source.CLIENTS, FRESH_SECONDS, Knowledge.NOTHING),
    ],
)
def test_age_and_source_say_what_a_figure_is_worth(source: Source, age: float | None, knowledge: Knowledge) -> None:
    assert Figure(0.5, source, age).knowledge is knowledge


def test_a_measured_figure_comes_before_an_estimate_of_the_same_minutes() -> None:
    measured, estimated = Figure(0.9, Source.MEASURED, 200.0), Figure(0.8, Source.OCI, 60.0)

    assert best_known([Figure(0.1, Source.CLIENTS), estimated, measured]) is measured


def test_in_an_outage_the_last_known_figure_counts_and_not_the_part_that_clients_see() -> None:
    last = Figure(0.91, Source.OCI, OUTAGE)

    assert best_known([Figure(0.09, Source.HOST), last]) is last


def test_a_lower_bound_above_the_last_known_figure_is_believed() -> None:
    bound = Figure(0.85, Source.CLIENTS)

    assert best_known([Figure(0.4, Source.OCI, OUTAGE), bound]) is bound


def test_after_an_hour_only_the_highest_lower_bound_is_left() -> None:
    host, clients = Figure(0.05, Source.HOST), Figure(0.09, Source.CLIENTS)

    assert best_known([Figure(0.91, Source.OCI, 2 * LAST_KNOWN_SECONDS), host, clients]) is clients


def test_nothing_is_known_without_a_figure() -> None:
    assert best_known([]) is None
    assert best_known([Figure(0.9, Source.OCI, None)]) is None


def test_the_coverage_of_clients_needs_a_fresh_figure_of_the_whole() -> None:
    assert coverage_of(5_000, Figure(50_000, Source.OCI, 60.0)) == pytest.approx(0.1)
    assert coverage_of(5_000, Figure(50_000, Source.OCI, OUTAGE)) is None
    assert coverage_of(5_000, Figure(0.0, Source.OCI, 60.0)) is None
    assert coverage_of(5_000, None) is None
