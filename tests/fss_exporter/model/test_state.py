"""One judgement: the worst evidence decides, and fine needs knowledge."""

import pytest
from hypothesis import given, strategies as st

from fss_exporter.model.knowledge import FRESH_SECONDS, LAST_KNOWN_SECONDS, FigureSource, KnownFigure
from fss_exporter.model.state import ERRORS, IOPS, LATENCY, WAIT, Evidence, State, Subject, judged

SUBJECTS = (WAIT, ERRORS, LATENCY, IOPS)


def measured(subject: Subject, value: float, age: float | None = 0.0) -> Evidence:
    return Evidence(subject, KnownFigure(value, FigureSource.MEASURED, age))


def test_nothing_judged_is_not_known() -> None:
    assert judged([]).state is State.NOT_KNOWN


@pytest.mark.parametrize("age", [None, FRESH_SECONDS, LAST_KNOWN_SECONDS + 1])
@pytest.mark.parametrize("subject", SUBJECTS)
def test_an_old_figure_or_one_of_unknown_age_is_not_known(subject: Subject, age: float | None) -> None:
    assert measured(subject, 0.0, age).state is State.NOT_KNOWN
    assert measured(subject, 100.0, age).state is State.NOT_KNOWN


@pytest.mark.parametrize(
    ("subject", "value", "text"),
    [
        (IOPS, 0.7999, "IOPS at 79 % of the ceiling in the largest of five minutes"),
        (IOPS, 0.8, "IOPS at 80 % of the ceiling in the largest of five minutes"),
        (IOPS, 0.29, "IOPS at 29 % of the ceiling in the largest of five minutes"),
        (LATENCY, 0.9999, "latency at 99 % of the objective"),
        (LATENCY, 1.0, "latency at 100 % of the objective"),
    ],
)
def test_no_reason_rounds_a_figure_up_to_a_threshold_that_it_is_below(
    subject: Subject, value: float, text: str
) -> None:
    assert measured(subject, value).text == text


def test_a_missing_figure_is_not_known_and_takes_fine_away() -> None:
    assert judged([measured(IOPS, 0.1), Evidence(LATENCY, None)]).state is State.NOT_KNOWN


@pytest.mark.parametrize(
    ("subject", "value", "state"),
    [
        (WAIT, 4.9, State.FINE),
        (WAIT, 5.0, State.HANGING),
        (ERRORS, 0.01, State.FINE),
        (ERRORS, 0.0101, State.FAILING),
        (LATENCY, 0.79, State.FINE),
        (LATENCY, 0.80, State.NEAR),
        (LATENCY, 1.00, State.SLOW),
        (IOPS, 0.79, State.FINE),
        (IOPS, 0.80, State.NEAR),
        (IOPS, 1.50, State.NEAR),
    ],
)
def test_a_figure_has_the_state_of_the_limit_that_it_reaches(subject: Subject, value: float, state: State) -> None:
    assert measured(subject, value).state is state


def test_a_part_of_the_load_brings_a_ceiling_near_and_never_tells_that_it_is_far() -> None:
    low, high = (Evidence(IOPS, KnownFigure(value, FigureSource.CLIENTS)) for value in (0.1, 0.9))
    assert low.state is State.NOT_KNOWN
    assert high.state is State.NEAR


def test_the_reasons_are_the_evidence_of_the_worst_state_and_the_furthest_beyond_its_limit_comes_first() -> None:
    judgement = judged([measured(IOPS, 0.9), measured(LATENCY, 1.1), measured(LATENCY, 3.0), measured(WAIT, 0.0)])
    assert judgement.state is State.SLOW
    assert [reason.limit_ratio for reason in judgement.reasons] == [3.0, 1.1]


def test_idle_is_fine() -> None:
    assert judged([], is_idle=True).state is State.FINE


EVIDENCE = st.builds(measured, st.sampled_from(SUBJECTS), st.floats(0, 10), st.floats(0, 5000))


@given(st.lists(EVIDENCE, min_size=1), EVIDENCE)
def test_more_evidence_never_makes_a_state_better(evidence: list[Evidence], more: Evidence) -> None:
    assert judged([*evidence, more]).state >= judged(evidence).state
