"""Part of `make test-rules`: every incident on both generations of promtool, and with groups reversed, shuffled and in phases.

Not among the default tests, because the runs take an hour. The default tests run each incident once.
"""

from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.rules import trial
from tests.rules.alerts_tried import tried
from tests.rules.incidents import Incident
from tests.rules.orders import ORDERS
from tests.rules.pack import RULE_FILES, rules_of
from tests.rules.table import INCIDENTS

SHORT = [one for one in INCIDENTS if one.build().step == 1]


def _name(incident: object) -> str:
    return incident.name if isinstance(incident, Incident) else str(incident)


@pytest.fixture(params=["2", "3"], scope="session")
def promtool(request: pytest.FixtureRequest) -> str:
    return trial.promtool_of(request.param)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("incident", INCIDENTS, ids=_name)
def test_an_incident_brings_the_messages_that_the_person_on_call_wants(incident: Incident, promtool: str) -> None:
    verdict = tried(incident, promtool, all_rules=True)

    assert not verdict.wrong, f"{verdict.got}: {verdict.wrong}"


@pytest.mark.timeout(600)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("incident", SHORT, ids=_name)
def test_order_and_phase_of_groups_change_messages_by_one_interval_at_most(incident: Incident, order: str) -> None:
    verdict = tried(incident, trial.promtool_of("2"), ORDERS[order], slack=2)

    assert not verdict.wrong, f"{verdict.got}: {verdict.wrong}"


@pytest.mark.timeout(600)
def test_every_alert_fires_in_an_incident_with_each_of_its_severities() -> None:
    path = trial.promtool_of("2")
    worlds = [one.build() for one in INCIDENTS]
    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(lambda world: trial.firing(world, path, all_rules=True), worlds))
    firing = {alert for run in runs for alerts in run.values() for alert in alerts}
    seen = {(dict(alert)["alertname"], dict(alert)["severity"]) for alert in firing}
    wanted = {(rule.name, rule.labels["severity"]) for path in RULE_FILES for rule in rules_of(path) if rule.is_alert}

    assert seen == wanted
