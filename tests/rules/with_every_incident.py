"""`make test-incidents`: every incident of the table. Not among the default tests, because the runs take minutes.

`PROMTOOL` names another promtool than the installed one, such as the newer one that tools/check/engine builds.
"""

import os
from dataclasses import replace

import pytest
from tests.rules.incidents import INCIDENTS
from tests.rules.runner import Incident, outcome_of, page, tried
from tests.rules.site import scraped
from tests.rules.situations import SITUATIONS, Situation, seen

PROMTOOL = os.environ.get("PROMTOOL")


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("incident", INCIDENTS, ids=str)
def test_an_incident_brings_the_messages_that_the_person_on_call_wants(incident: Incident) -> None:
    outcome = outcome_of(incident, scraped(incident.site, incident.faults), PROMTOOL)
    assert not outcome.wrong, f"{outcome.got}: {outcome.wrong}"


@pytest.mark.timeout(1200)
def test_a_page_about_clients_that_hang_says_so_to_its_end_where_its_parts_come_a_minute_late() -> None:
    """Prometheus evaluates groups of rules side by side, so that some parts of a text can be gone before others."""
    (hang,) = (incident for incident in INCIDENTS if incident.name == "all clients hang for half an hour")
    told = page("FssMountTargetDown", 9, " does not serve: 20 of 20 clients hang", told=45)

    outcome = tried(replace(hang, wanted=(told,)), is_late=True)

    assert not outcome.wrong, f"{outcome.got}: {outcome.wrong}"


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("situation", SITUATIONS, ids=str)
def test_every_place_says_the_same_word_of_a_situation(situation: Situation) -> None:
    assert seen(situation, scraped(situation.site, situation.faults), PROMTOOL) == situation.said
