"""`make test-incidents`: every incident of the table. Not among the default tests, because the runs take minutes.

`PROMTOOL` names another promtool, such as the newer one that tools/engine builds.
"""

import os

import pytest
from tests.rules.incidents import INCIDENTS
from tests.rules.runner import Incident, tried


@pytest.mark.timeout(600)
@pytest.mark.parametrize("incident", INCIDENTS, ids=str)
def test_an_incident_brings_the_messages_that_the_person_on_call_wants(incident: Incident) -> None:
    outcome = tried(incident, os.environ.get("PROMTOOL"))

    assert not outcome.wrong, f"{outcome.got}: {outcome.wrong}"
