"""When a load reaches a ceiling."""

import pytest

from fss_toolbox.sizing.growth import DailyPeak, growth_of


def rising(days: int, first: float, per_day: float) -> list[DailyPeak]:
    return [DailyPeak(20_000.0 + day, first + per_day * day) for day in range(days)]


def test_a_steady_growth_reaches_the_ceiling_on_a_day() -> None:
    growth = growth_of(rising(21, 20_000, 500))

    assert growth is not None
    assert [growth.last_day, growth.last, growth.per_day] == pytest.approx([20_020, 30_000, 500])
    assert growth.day_of(50_000) == pytest.approx(20_060)
    assert growth.day_of(30_000 - 1) == 20_020


def test_a_load_at_its_ceiling_is_full_although_it_no_longer_grows() -> None:
    growth = growth_of(rising(21, 50_000, 0))

    assert growth is not None
    assert growth.day_of(50_000) == 20_020


def test_a_slow_growth_has_a_day_and_one_of_more_than_ten_years_has_none() -> None:
    growth = growth_of(rising(21, 20_000, 0.5))

    assert growth is not None
    assert growth.day_of(growth.last + 0.5 * 3_640) == pytest.approx(20_020 + 3_640)
    assert growth.day_of(growth.last + 0.5 * 3_660) is None


@pytest.mark.parametrize("per_day", [0, -100])
def test_a_load_that_does_not_grow_has_no_day(per_day: float) -> None:
    growth = growth_of(rising(21, 20_000, per_day))

    assert growth is not None
    assert growth.day_of(50_000) is None


def test_a_few_days_are_no_trend() -> None:
    assert growth_of(rising(13, 20_000, 500)) is None
    assert growth_of([]) is None
    assert growth_of(rising(14, 20_000, 500)) is not None


def test_missing_days_do_not_bend_the_line() -> None:
    days = [peak for number, peak in enumerate(rising(28, 1_000, 10)) if number % 5]

    growth = growth_of(days)

    assert growth is not None
    assert growth.per_day == pytest.approx(10)
