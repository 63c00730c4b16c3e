"""What an availability domain is billed more: twelve cases computed by hand, at 0.30 USD a GB, so 300 USD a TB."""

import pytest

from fss_toolbox.sizing.domain_bill import DomainBill

USD_PER_TB = 300


@pytest.mark.parametrize(
    ("stored_tb", "entitled_tb", "own_tb", "then_tb", "usd"),
    [
        # one standard mount target becomes a high performance one, and none is there yet
        (0, 0, 0, 20, 6_000),
        (10, 0, 0, 20, 3_000),
        (20, 0, 0, 20, 0),
        (50, 0, 0, 20, 0),
        (50, 0, 0, 2 * 40, 9_000),
        # beside another hpmt-20
        (10, 20, 0, 20, 6_000),
        (30, 20, 0, 20, 3_000),
        # an hpmt-20 becomes an hpmt-40, or standard again
        (10, 20, 20, 40, 6_000),
        (10, 20, 20, 0, -3_000),
        (25, 20, 20, 0, 0),
        # an hpmt-20 beside an hpmt-40 becomes an hpmt-80
        (70, 60, 20, 80, 15_000),
        # an hpmt-40 becomes two hpmt-20
        (5, 40, 40, 2 * 20, 0),
    ],
)
def test_the_larger_of_stored_data_and_entitlement_is_billed(
    stored_tb: float, entitled_tb: float, own_tb: float, then_tb: float, usd: float
) -> None:
    bill = DomainBill(stored_tb * 1e12, entitled_tb * 1e12, own_tb * 1e12)

    assert bill.extra_bytes(then_tb * 1e12) / 1e12 * USD_PER_TB == pytest.approx(usd)
