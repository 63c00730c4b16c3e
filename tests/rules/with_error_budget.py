"""What an outage costs: the recorded series of the error budget, from agents and poller to promtool."""

import re

from tests.rules.faults import Hang
from tests.rules.runner import judged
from tests.rules.site import Site, scraped

BAD = 'slo:fss_bad_minutes:ratio{objective="availability",window="1h"}'
LEFT = 'slo:fss_error_budget_left:ratio{objective="availability"}'


def test_a_total_outage_is_bad_time_and_costs_error_budget() -> None:
    # 20 of 20 clients hang for 30 minutes. The site works for half an hour before.
    scrapes = scraped(Site(hosts=20, minutes=40), (Hang(0, 30),))

    said = judged(scrapes, [BAD, LEFT])

    bad, left = (_of_clients(said.samples[expression, 35]) for expression in (BAD, LEFT))
    assert 0.4 < bad < 0.6  # half of the last hour
    assert left < 1.0


def _of_clients(samples: list[str]) -> float:
    (sample,) = (text for text in samples if 'source="clients"' in text)
    value = re.fullmatch(r".*\} (\S+)", sample)
    assert value, sample
    return float(value[1])
