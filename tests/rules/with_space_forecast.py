"""When a file system of another service is full: days of free space in promtool."""

import re
from collections.abc import Callable, Mapping
from typing import Final

import pytest
from tests.rules.runner import Judged, judged
from tests.rules.site import EPOCH, Scrapes

TENS = 6 * 24 * 5  # scrapes, one each ten minutes for five days
END = 10.0 * (TENS - 1)
FULL = "service:fss_full_timestamp_seconds:forecast"
ALERTS = 'ALERTS{alertname="FssServiceSpaceForecast",alertstate="firing"}'
LEVELS = 'ALERTS{alertname="FssServiceUtilisationHigh",alertstate="firing"}'

# Free bytes of 100 TB, or of 250 TB where it says so, in an hour, by name of the file system. promtool judges all of them in one run.
FREE: Final[Mapping[str, Callable[[float], float]]] = {
    "full in six days": lambda hour: 60e12 - hour * 10e12 / 24,
    "extended yesterday": lambda hour: (60e12 if hour < 100 else 210e12) - hour * 10e12 / 24,
    "full in 120 hours": lambda hour: 30e12 - hour * 6e12 / 24,
    "scratch files come and go each day": lambda hour: 60e12 - (hour % 24) * 2e12,
    "a large file": lambda hour: 60e12 if hour < 90 else 40e12,
    "full in eight weeks": lambda hour: 60e12 - hour * 1e12 / 24,
    "a job fills 27 % in ten hours": lambda hour: 30e12 - max(0.0, hour - 115) * 2.7e12,
    "files are deleted": lambda hour: 20e12 + hour * 1e12 / 24,
}


def _total(name: str, hour: float) -> float:
    return 250e12 if name == "extended yesterday" and hour >= 100 else 100e12


@pytest.fixture(scope="module")
def said() -> Judged:
    """What the rules say of all file systems."""
    scrapes = Scrapes(600, 0)
    for ten in range(TENS):
        lines = ['fss_oci_warning_ratio{tenancy="",region="eu-1"} 0.8']
        for name, free_of_hour in FREE.items():
            labels = f'tenancy="",region="eu-1",service="lustre",resource_id="ocid1.{name}",resource="{name}"'
            lines += [
                f'fss_service_space_bytes{{{labels},capacity_type="{kind}"}} {value}'
                for kind, value in (("available", free_of_hour(ten / 6)), ("total", _total(name, ten / 6)))
            ]
        scrapes.add("\n".join(lines), ['instance="poller-0:10949",job="fss"'])
        scrapes.end()
    texts = [(name, END) for name in ("FssServiceSpaceForecast", "FssServiceUtilisationHigh")]
    return judged(scrapes, [FULL, ALERTS, LEVELS], texts)


def of(samples: list[str], name: str) -> list[str]:
    return [sample for sample in samples if f'resource_id="ocid1.{name}"' in sample]


def test_steady_growth_has_a_date_and_a_ticket_within_a_week_of_it(said: Judged) -> None:
    (full,) = of(said.samples[FULL, END], "full in six days")

    assert float(full.rpartition(" ")[2]) == pytest.approx(EPOCH + 6 * 86_400, abs=7200)
    assert of(said.samples[ALERTS, END], "full in six days")
    assert re.search(
        r"ocid1.full in six days \(lustre, eu-1\) is full on 1970-01-07", said.texts["FssServiceSpaceForecast", END]
    )


@pytest.mark.parametrize("name", list(FREE)[3:])
def test_what_comes_and_goes_and_what_takes_long_opens_no_ticket(said: Judged, name: str) -> None:
    assert not any(of(samples, name) for (expression, _), samples in said.samples.items() if expression == ALERTS)


def test_a_lustre_that_fills_is_a_ticket_at_80_percent_and_a_page_with_the_day_at_95(said: Judged) -> None:
    begin: dict[str, float] = {}
    for (expression, minute), samples in sorted(said.samples.items()):
        for sample in of(samples, "full in 120 hours") if expression == LEVELS else ():
            begin.setdefault(re.findall(r'severity="(\w+)"', sample)[0], minute / 60)

    assert begin == {"warning": pytest.approx(40, abs=0.5), "critical": pytest.approx(100, abs=0.5)}
    text = said.texts["FssServiceUtilisationHigh", END]
    assert re.search(
        r"ocid1.full in 120 hours \(lustre, eu-1\) uses 9\d[.\d]*% of its space and is full on 1970-01-06", text
    )


def test_a_ticket_about_space_says_in_how_many_hours_it_is_full_at_the_rate_of_the_last_six(said: Judged) -> None:
    assert re.search(
        r"ocid1.a job fills 27 % in ten hours \(lustre, eu-1\) used 83[.\d]*% of its space\. It is full in [67]h ",
        said.texts["FssServiceUtilisationHigh", END],
    )


def test_the_days_before_an_extension_say_nothing_about_the_days_after_it(said: Judged) -> None:
    assert not of(said.samples[FULL, END], "extended yesterday")
