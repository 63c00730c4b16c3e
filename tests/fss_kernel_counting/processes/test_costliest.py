"""Rows of the dearest processes: bounded, never going back, right under increase()."""

from hypothesis import given, settings, strategies as st

from fss_kernel_counting.processes.costliest import Amount, Labels, TopLoads, TopRow

HERE = "10.0.0.3"
PRICED = {HERE: True}


def amounts(**costs: float) -> dict[str, dict[Labels | None, Amount]]:
    """One interval: cost by name of the process."""
    return {HERE: {(name,): Amount(1, cost) for name, cost in costs.items()}}


def shown(top: TopLoads) -> dict[str, float]:
    """Cost by row."""
    address = top.addresses[HERE]
    return {
        **{name: row.total.io_operations for (name,), row in address.rows.items()},
        "other": address.other.io_operations,
    }


def test_the_dearest_have_rows_and_the_rest_is_other() -> None:
    top = TopLoads(2)
    top.add(amounts(a=5, b=90, c=40), PRICED, 0)

    assert shown(top) == {"b": 90, "c": 40, "other": 5}


def test_a_mount_without_load_has_the_row_other_at_zero() -> None:
    top = TopLoads(2)
    top.add({}, PRICED, 0)

    assert shown(top) == {"other": 0}


def test_a_process_enters_when_it_costs_twice_as_much_as_the_cheapest_row() -> None:
    top = TopLoads(2)
    top.add(amounts(a=10, b=10), PRICED, 0)
    top.add(amounts(c=19), PRICED, 0)
    assert shown(top) == {"a": 10, "b": 10, "other": 19}

    top.add(amounts(c=19), PRICED, 0)

    assert set(shown(top)) == {"b", "c", "other"}
    assert (shown(top)["c"], shown(top)["other"]) == (19, 19)


def test_the_counts_of_a_row_that_leaves_do_not_move_to_other() -> None:
    top = TopLoads(1)
    top.add(amounts(a=10), PRICED, 0)
    top.add(amounts(b=100), PRICED, 10)

    assert shown(top) == {"b": 100, "other": 0}


def test_a_row_leaves_after_an_hour_without_load() -> None:
    top = TopLoads(2)
    top.add(amounts(a=10, b=10), PRICED, 0)
    top.add(amounts(b=1), PRICED, 3000)
    top.add({}, PRICED, 3600)
    assert set(shown(top)) == {"a", "b", "other"}

    top.add({}, PRICED, 3601)

    assert set(shown(top)) == {"b", "other"}


def test_a_process_that_renames_itself_all_the_time_makes_few_series_an_hour() -> None:
    top = TopLoads(5)
    names = set()
    for at in range(360):
        top.add(amounts(**{f"n{at}": 100.0 * 3**at if at < 300 else 1e300}), PRICED, 10.0 * at)
        names |= set(shown(top))

    assert len(names - {"other"}) <= 3 * 5


def test_an_address_without_a_mount_goes_after_an_hour() -> None:
    top = TopLoads(2)
    top.add(amounts(a=10), PRICED, 0)
    top.add({}, {}, 3600)
    assert HERE in top.addresses

    top.add({}, {}, 3601)

    assert top.addresses == {}


def test_where_the_service_publishes_no_cost_the_calls_decide() -> None:
    top = TopLoads(1)
    top.add({HERE: {("a",): Amount(5), ("b",): Amount(50)}}, {HERE: False}, 0)

    assert list(top.addresses[HERE].rows) == [("b",)]
    assert not top.addresses[HERE].priced


LOADS = st.lists(st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 1000)), max_size=30)


@settings(max_examples=settings().max_examples // 2)
@given(LOADS, st.integers(1, 4), st.sampled_from([10.0, 700.0, 4000.0]))
def test_no_row_ever_goes_back_and_nothing_is_counted_twice_or_lost(
    loads: list[dict[str, int]], most: int, step: float
) -> None:
    top, other = TopLoads(most), 0.0
    seen: dict[int, tuple[TopRow, float]] = {}
    for at, costs in enumerate(loads):
        top.add(amounts(**costs), PRICED, at * step)
        address = top.addresses[HERE]
        assert len(address.rows) <= most
        for row in address.rows.values():
            assert row.total.io_operations >= seen.get(id(row), (row, 0.0))[1]
            seen[id(row)] = (row, row.total.io_operations)
        assert address.other.io_operations >= other
        other = address.other.io_operations

    assert other + sum(value for _, value in seen.values()) == sum(sum(costs.values()) for costs in loads)
