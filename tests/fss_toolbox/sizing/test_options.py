"""The options for a load: shapes and Lustre sizes, with fit, price and date."""

from datetime import date

import pytest

from fss_exporter.model.limits import SHAPES, Limits
from fss_exporter.model.service_table import TIB
from fss_exporter.model.traffic import Traffic
from fss_toolbox.sizing.capacity import ClientHosts
from fss_toolbox.sizing.domain_bill import DomainBill
from fss_toolbox.sizing.growth import Growth
from fss_toolbox.sizing.options import LoadToCarry, Option, Price, options
from fss_toolbox.sizing.uses import BOTH_DIRECTIONS, READ_BANDWIDTH, WRITE_BANDWIDTH
from fss_toolbox.sizing.workload import Transfers, workload

TODAY = 20_717.5  # 2026-09-21, days since 1970
PRICES = {
    "standard": Price(0.3, "s", "2026-11-24"),
    "hpmt-20": Price(0.3, "s", "2026-11-24"),
    "lustre mbps-per-tb-125": Price(0.1, "s", "2026-11-24"),
}


def options_of(
    traffic: Traffic, growth: dict[str, Growth] | None = None, bill: DomainBill | None = None, target: float = 0.8
) -> dict[str, Option]:
    def limits_of(shape: str) -> Limits:
        return SHAPES[shape].limits

    every = options(LoadToCarry(traffic, limits_of, ClientHosts(), target, PRICES, growth or {}, bill))
    return {f"{option.count} x {option.name}": option for option in every}


READS = workload(Transfers(1_500, 1_000_000), None, {})


def test_one_standard_mount_target_that_is_not_enough_stands_beside_the_number_that_is() -> None:
    options = options_of(READS)

    assert [options[name].fits for name in ("1 x standard", "2 x standard")] == [False, True]
    assert options["2 x standard"].binds is not None
    assert options["2 x standard"].binds.ratio == pytest.approx(0.75)
    assert options["2 x standard"].commitment_days == 0


def test_a_shape_with_an_unpublished_ceiling_is_not_known_to_fit() -> None:
    option = options_of(READS)["1 x hpmt-20"]

    assert (option.fits, option.unknown) == (None, ("IOPS",))
    assert (option.service_limit, option.commitment_days) == (2, 30)


def test_a_load_above_a_high_performance_shape_takes_more_of_them() -> None:
    options = options_of(workload(Transfers(5_500, 1_000_000), None, {}))

    assert options["3 x hpmt-20"].usd_per_month == 18_000
    assert "1 x hpmt-20" not in options


@pytest.mark.parametrize(
    ("reads", "target", "name"),
    [
        (800, 0.8, "1 x standard"),
        (2_100, 0.7, "3 x standard"),
        (300, 0.1, "3 x standard"),
        (1_999, 0.8, "3 x standard"),
    ],
)
def test_a_load_at_the_target_fits_whatever_the_last_digit_of_a_computed_share(
    reads: int, target: float, name: str
) -> None:
    every = options_of(workload(Transfers(reads, 1_000_000), None, {}), target=target)
    fits = {key: option.fits for key, option in every.items() if option.name == "standard"}
    assert fits == {"1 x standard": False, name: True}


def test_a_load_on_ceilings_that_no_document_states_is_one_mount_target_that_may_not_fit() -> None:
    options = options_of(workload(None, None, {"GETATTR": 400_000}))

    assert options["1 x hpmt-20"].fits is None
    assert options["1 x hpmt-20"].binds is None


def test_lustre_is_a_size_on_sale() -> None:
    option = options_of(READS)["1 x lustre mbps-per-tb-125"]

    assert option.capacity_bytes == pytest.approx(31.2 * TIB)
    assert option.fits
    assert option.usd_per_month == pytest.approx(31.2 * TIB / 1e9 * 0.1)


def test_an_option_without_a_price_has_none_and_not_zero() -> None:
    options = options_of(READS)

    assert options["2 x standard"].usd_per_month == 0
    assert options["1 x hpmt-20"].usd_per_month == 6_000
    assert options["1 x hpmt-40"].usd_per_month is None


def test_what_the_bill_grows_by_is_not_known_without_the_stored_data() -> None:
    assert options_of(READS)["1 x hpmt-20"].extra_usd_per_month is None


def test_a_shape_whose_entitlement_is_stored_already_costs_nothing_more() -> None:
    options = options_of(READS, bill=DomainBill(25e12))

    assert (options["1 x hpmt-20"].usd_per_month, options["1 x hpmt-20"].extra_usd_per_month) == (6_000, 0)
    assert options["1 x lustre mbps-per-tb-125"].extra_usd_per_month == (pytest.approx(31.2 * TIB / 1e9 * 0.1))


def test_more_ceiling_is_full_later() -> None:
    growth = {READ_BANDWIDTH: Growth(TODAY, 1.5e9, 1e7)}
    options = options_of(READS, growth)

    assert options["1 x standard"].full_on == date(2026, 9, 21)
    assert options["2 x standard"].full_on == date(2026, 11, 10)
    assert options["1 x hpmt-20"].full_on == date(2026, 12, 30)
    assert options_of(READS)["1 x hpmt-20"].full_on is None


def test_the_ceiling_that_is_reached_first_gives_the_date() -> None:
    growth = {READ_BANDWIDTH: Growth(TODAY, 0.9e9, 1e6), WRITE_BANDWIDTH: Growth(TODAY, 0.5e9, 1e8)}

    assert options_of(READS, growth)["1 x standard"].full_on == date(2026, 9, 26)


def test_lustre_is_full_when_both_directions_together_reach_its_bandwidth() -> None:
    """31.2 TiB of 125 MB/s per TB are 4,288 MB/s."""
    growth = {BOTH_DIRECTIONS: Growth(TODAY, 3.288e9, 1e8), READ_BANDWIDTH: Growth(TODAY, 4.2e9, 1e9)}

    assert options_of(READS, growth)["1 x lustre mbps-per-tb-125"].full_on == date(2026, 10, 1)
