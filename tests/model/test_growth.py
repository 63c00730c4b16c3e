"""When a load reaches a ceiling."""

import pytest

from fss_toolbox.sizing.growth import LEAST_DAYS, DailyPeak, growth_of


def rising(days: int, first: float, per_day: float) -> list[DailyPeak]:
    return [DailyPeak(20_000.0 + day, first + per_day * day) for day in range(days)]


def test_a_steady_growth_reaches_the_ceiling_on_a_day() -> None:
    growth = growth_of(rising(21, 20_000, 500))

    assert growth is not None
    assert growth.days == 21
    assert [growth.last_day, growth.last, growth.per_day] == pytest.approx([20_020, 30_000, 500])
    assert growth.day_of(50_000) == pytest.approx(20_060)
    assert growth.day_of(30_000 - 1) == 20_020


@pytest.mark.parametrize("per_day", [0, -100])
def test_a_load_that_does_not_grow_has_no_day(per_day: float) -> None:
    growth = growth_of(rising(21, 20_000, per_day))

    assert growth is not None
    assert growth.day_of(50_000) is None


def test_a_few_days_are_no_trend() -> None:
    assert growth_of(rising(LEAST_DAYS - 1, 20_000, 500)) is None
    assert growth_of([]) is None


def test_missing_days_do_not_bend_the_line() -> None:
    days = [peak for number, peak in enumerate(rising(28, 1_000, 10)) if number % 5]

    growth = growth_of(days)

    assert growth is not None
    assert growth.per_day == pytest.approx(10)
