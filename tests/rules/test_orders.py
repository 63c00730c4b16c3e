"""Groups in other orders and phases are the same groups."""

import pytest
from tests.rules import trial
from tests.rules.orders import ORDERS, as_of


@pytest.mark.parametrize(
    ("expression", "delayed"),
    [
        ("sum by (address) (rate(fss_a_total[5m]))", "sum by (address) (rate(fss_a_total[5m] offset 15s))"),
        ('fss_a{b="fss_c"} - fss_a{b="fss_c"} offset 4m', 'fss_a{b="fss_c"} offset 15s - fss_a{b="fss_c"} offset 255s'),
        ("address:fss_a:sum / fss_limit", "address:fss_a:sum / fss_limit offset 15s"),
        ("fss_default * 2", "fss_default * 2"),
        ("time() - up > 600", "(time() - 15) - up offset 15s > 600"),
    ],
)
def test_a_group_with_a_phase_reads_raw_series_as_of_its_own_moment(expression: str, delayed: str) -> None:
    assert as_of(expression, 15, frozenset({"fss_default"})) == delayed


@pytest.mark.parametrize("order", ORDERS)
def test_every_order_has_all_groups_and_rules(order: str) -> None:
    groups = trial.groups_in_order()
    changed = ORDERS[order](groups)

    assert [group["name"] for group in changed] != [group["name"] for group in groups]
    assert {group["name"]: len(group["rules"]) for group in changed} == {
        group["name"]: len(group["rules"]) for group in groups
    }
