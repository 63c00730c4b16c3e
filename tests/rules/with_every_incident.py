"""`make test-incidents`: every incident of the table. Not among the default tests, because the runs take minutes.

`PROMTOOL` names another promtool, such as the newer one that tools/engine builds.
"""

import os

import pytest
from tests.rules.incidents import INCIDENTS
from tests.rules.runner import Incident, tried
from tests.rules.situations import SITUATIONS, Situation, seen


@pytest.mark.timeout(600)
@pytest.mark.parametrize("incident", INCIDENTS, ids=str)
def test_an_incident_brings_the_messages_that_the_person_on_call_wants(incident: Incident) -> None:
    outcome = tried(incident, os.environ.get("PROMTOOL"))

    assert not outcome.wrong, f"{outcome.got}: {outcome.wrong}"


@pytest.mark.timeout(600)
@pytest.mark.parametrize("situation", SITUATIONS, ids=str)
def test_every_place_says_the_same_word_of_a_situation(situation: Situation) -> None:
    assert seen(situation, os.environ.get("PROMTOOL")) == situation.said
