"""`make test-incidents`: every incident on either generation of promtool in turn, and one in six with the groups in another order too.

Not among the default tests, because the runs take minutes. A job of its own runs it for every change.
"""

import pytest
from tests.rules import trial
from tests.rules.alerts_tried import tried
from tests.rules.chosen import in_another_order, name, on_a_generation
from tests.rules.incidents import Incident
from tests.rules.orders import ORDERS
from tests.rules.table import INCIDENTS


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("incident", "generation"), on_a_generation(INCIDENTS), ids=name)
def test_an_incident_brings_the_messages_that_the_person_on_call_wants(incident: Incident, generation: str) -> None:
    verdict = tried(incident, trial.promtool_of(generation))

    assert not verdict.wrong, f"{verdict.got}: {verdict.wrong}"


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("incident", "order"), in_another_order(INCIDENTS[::6]), ids=name)
def test_order_and_phase_of_groups_change_messages_by_two_intervals_at_most(incident: Incident, order: str) -> None:
    verdict = tried(incident, trial.promtool_of("2"), ORDERS[order], slack=2)

    assert not verdict.wrong, f"{verdict.got}: {verdict.wrong}"
