"""The rules on incidents and non-incidents, with the documented routes and inhibition.

So many incidents run that each alert sends each kind of its messages, on either generation of promtool in turn. A few run with the groups in
another order too.
`make test-incidents` runs every incident so (with_every_incident.py). `make test-rules` runs every incident on both generations and in all
orders (with_every_promtool.py).
"""

import re

import pytest
from tests.rules import trial
from tests.rules.alerts_tried import tried
from tests.rules.chosen import LARGE, LONG_RUNS, candidates, chosen, in_another_order, name, on_a_generation, outcomes
from tests.rules.incidents import Incident
from tests.rules.notifications import notifications
from tests.rules.orders import ORDERS
from tests.rules.simulator import START, Client, MountTarget, Poller, World, after
from tests.rules.table import INCIDENTS

CHOSEN = list(chosen())


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("incident", "generation"), on_a_generation(CHOSEN), ids=name)
def test_an_incident_brings_the_messages_that_the_person_on_call_wants(incident: Incident, generation: str) -> None:
    verdict = tried(incident, trial.promtool_of(generation))

    assert not verdict.wrong, f"{verdict.got}: {verdict.wrong}"


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("incident", "order"), in_another_order(CHOSEN[::12]), ids=name)
def test_order_and_phase_of_groups_change_messages_by_two_intervals_at_most(incident: Incident, order: str) -> None:
    verdict = tried(incident, trial.promtool_of("2"), ORDERS[order], slack=2)

    assert not verdict.wrong, f"{verdict.got}: {verdict.wrong}"


def test_every_alert_with_its_receiver_and_every_quiet_kind_is_in_a_chosen_incident() -> None:
    shown = candidates()
    pairs = {pair for outcome in outcomes().values() for pair in re.findall(r"(?:page|ticket) Fss\w+", outcome)}
    seen = frozenset[str]().union(*(shown[one] for one in CHOSEN))

    assert seen == frozenset[str]().union(*shown.values())
    assert pairs - seen == {"ticket FssOciPollerDown"}  # three hours after its page, in a long run


def test_a_smaller_incident_stands_for_each_large_one() -> None:
    assert {one.name for one in INCIDENTS} >= LARGE | LONG_RUNS
    assert not LARGE & {one.name for one in CHOSEN}


def test_every_incident_has_a_name_of_its_own_and_expects_something() -> None:
    assert len({one.name for one in INCIDENTS}) == len(INCIDENTS)
    assert not [one.name for one in INCIDENTS if one.quiet and (one.page_by or one.ticket_by)]


def test_a_page_that_comes_too_late_is_found() -> None:
    world = World()
    MountTarget(Poller(world).add(), success=after(0.9, 1.0)).add()
    impatient = Incident("delay", "10 % of the requests fail", lambda: world, page_by=1)

    path = trial.promtool_of("2")

    assert tried(impatient, path).wrong == "late page"


def test_an_alert_that_is_held_back_and_then_not_is_a_new_message() -> None:
    down = frozenset(
        {("alertname", "FssMountTargetDown"), ("severity", "critical"), ("region", "eu-1"), ("mount_target_id", "a")}
    )
    slow = frozenset(
        {("alertname", "FssMountTargetSlow"), ("severity", "critical"), ("region", "eu-1"), ("mount_target_id", "a")}
    )

    sent = notifications({1: frozenset({down}), 2: frozenset({down, slow}), 3: frozenset({slow})})

    assert [(one.minute, one.alerts) for one in sent] == [(1, ("FssMountTargetDown",)), (3, ("FssMountTargetSlow",))]


def test_info_is_no_message() -> None:
    info = frozenset({("alertname", "FssClientMountOptions"), ("severity", "info")})

    assert notifications({1: frozenset({info})}) == []


def test_a_constant_round_trip_is_recorded_as_it_is_whatever_the_order_and_phase_of_groups() -> None:
    world = World(START)
    Client(world, rtt=0.006).add()
    path = trial.promtool_of("2")

    for order_name, order in ORDERS.items():
        values = trial.values(world, path, "address_class:fss_client_rtt_seconds:mean", order(trial.groups_in_order()))
        assert values, order_name
        assert all(value == pytest.approx(0.006) for value in values), order_name
