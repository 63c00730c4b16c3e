"""Which figure to believe, and what a figure may say."""

import pytest

from fss_exporter.model.knowledge import (
    LAST_KNOWN_SECONDS,
    FigureSource,
    Knowledge,
    KnownFigure,
    best_known,
    coverage_of,
)

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
        (FigureSource.CLIENTS, 0.0, Knowledge.AT_LEAST),
        (FigureSource.HOST, 0.0, Knowledge.AT_LEAST),
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


def test_a_lower_bound_above_the_last_known_figure_is_believed() -> None:
    bound = KnownFigure(0.85, FigureSource.CLIENTS)

    assert best_known([KnownFigure(0.4, FigureSource.OCI, OUTAGE), bound]) is bound


def test_after_an_hour_only_the_highest_lower_bound_is_left() -> None:
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
