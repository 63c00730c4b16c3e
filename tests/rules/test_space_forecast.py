"""When a file system of another service is full: days of free space in promtool."""

import re
from collections.abc import Callable

import pytest
from tests.rules.runner import Judged, judged
from tests.rules.site import EPOCH, Scrapes

TENS = 6 * 24 * 5
LABELS = 'tenancy="",region="eu-1",service="lustre",resource_id="ocid1.lustre",resource="scratch"'
FULL = "service:fss_full:timestamp_seconds"
ALERTS = 'ALERTS{alertname="FssServiceSpaceForecast",alertstate="firing"}'
LEVELS = 'ALERTS{alertname="FssServiceUtilisationHigh",alertstate="firing"}'


def told(free_of_hour: Callable[[float], float]) -> Judged:
    """What the rules say of a file system of 100 TB, scraped each ten minutes for five days."""
    scrapes = Scrapes(600, 0)
    for ten in range(TENS):
        space = {"available": free_of_hour(ten / 6), "total": 100e12}
        body = 'fss_oci_warning_ratio{tenancy="",region="eu-1"} 0.8\n' + "\n".join(
            f'fss_service_space_bytes{{{LABELS},capacity_type="{name}"}} {value}' for name, value in space.items()
        )
        scrapes.add(body, ['instance="poller-0:10949",job="fss"'])
        scrapes.end()
    texts = [(name, 10.0 * (TENS - 1)) for name in ("FssServiceSpaceForecast", "FssServiceUtilisationHigh")]
    return judged(scrapes, [FULL, ALERTS, LEVELS], texts)


def test_steady_growth_has_a_date_and_a_ticket_within_a_week_of_it() -> None:
    said = told(lambda hour: 60e12 - hour * 10e12 / 24)  # full in the sixth day

    (full,) = said.samples[FULL, 10.0 * (TENS - 1)]
    assert float(full.rpartition(" ")[2]) == pytest.approx(EPOCH + 6 * 86_400, abs=7200)
    assert said.samples[ALERTS, 10.0 * (TENS - 1)]
    text = said.texts["FssServiceSpaceForecast", 10.0 * (TENS - 1)]
    assert re.search(r"ocid1.lustre \(lustre, eu-1\) is full on 1970-01-07", text)


@pytest.mark.parametrize(
    "free",
    [
        pytest.param(lambda hour: 60e12 - (hour % 24) * 2e12, id="scratch files come and go each day"),
        pytest.param(lambda hour: 60e12 if hour < 90 else 40e12, id="a large file"),
        pytest.param(lambda hour: 60e12 - hour * 1e12 / 24, id="full in eight weeks"),
        pytest.param(lambda hour: 20e12 + hour * 1e12 / 24, id="files are deleted"),
    ],
)
def test_what_comes_and_goes_and_what_takes_long_opens_no_ticket(free: Callable[[float], float]) -> None:
    said = told(free)

    assert not any(samples for (expression, _), samples in said.samples.items() if expression == ALERTS)


def test_a_lustre_that_fills_is_a_ticket_at_80_percent_and_a_page_with_the_day_at_95() -> None:
    said = told(lambda hour: 30e12 - hour * 6e12 / 24)  # full in 120 hours
    begin: dict[str, float] = {}
    for (expression, minute), samples in sorted(said.samples.items()):
        for sample in samples if expression == LEVELS else ():
            begin.setdefault(re.findall(r'severity="(\w+)"', sample)[0], minute / 60)

    assert begin == {"warning": pytest.approx(40, abs=0.5), "critical": pytest.approx(100, abs=0.5)}
    text = said.texts["FssServiceUtilisationHigh", 10.0 * (TENS - 1)]
    assert re.search(r"ocid1.lustre \(lustre, eu-1\) uses 9\d[.\d]*% of its space and is full on 1970-01-06", text)
