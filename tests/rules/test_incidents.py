"""The table of incidents, its page, and the rules on the incident that a reader asks about first.

`make test-incidents` runs the whole table (with_every_incident.py).
"""

import re
from dataclasses import replace

import pytest
from tests.rules.incidents import INCIDENTS, NOT_TRIED
from tests.rules.notifications import Notification, notifications
from tests.rules.pack import ROOT, RULE_FILES, rules_of
from tests.rules.runner import Incident, Outcome, page, ticket, tried
from tests.rules.site import Site
from tests.rules.situations import table
from tools.generate.alerts_tried import PAGE


def test_a_mount_target_near_its_iops_ceiling_is_one_ticket_in_time() -> None:
    (ceiling,) = (incident for incident in INCIDENTS if incident.name == "the IOPS ceiling in two of five minutes")

    outcome = tried(ceiling)

    assert not outcome.wrong, f"{outcome.got}: {outcome.wrong}"


def test_every_alert_is_wanted_in_an_incident_or_has_a_reason() -> None:
    wanted = {name for incident in INCIDENTS for message in incident.wanted for name in message.alert.split("|")}
    alerts = {rule.name for path in RULE_FILES for rule in rules_of(path) if rule.is_alert}

    assert wanted | NOT_TRIED.keys() == alerts
    assert not wanted & NOT_TRIED.keys()


def test_the_page_has_each_alert_that_an_incident_brings() -> None:
    """`make alerts-tried` writes the page."""
    wanted = {name for incident in INCIDENTS for message in incident.wanted for name in message.alert.split("|")}

    assert set(re.findall(r"(?m)^\| (Fss\w+) \|", PAGE.read_text("utf-8"))) == wanted


def test_the_page_has_the_table_of_situations_that_every_place_is_asked_about() -> None:
    assert table() in PAGE.read_text("utf-8")


def latest(*names: str) -> str:
    """The latest minutes of the pages of these incidents, as the page about service levels writes them."""
    minutes = sorted({message.by for incident in INCIDENTS if incident.name in names for message in incident.wanted})
    return f"{' to '.join(f'{minute:g}' for minute in minutes)} minutes"


def test_the_times_to_a_page_in_the_docs_are_those_of_incidents() -> None:
    text = (ROOT / "docs" / "slo.md").read_text(encoding="utf-8")
    failing, slow = "10 % of the requests fail", "requests take longer than the objective"
    oci_slow = (
        "OCI sees 100 ms, without agents",
        "READs of one of three file systems take 60 ms for three hours, as OCI alone sees",
    )

    assert f"| the clients hang | {latest('all clients hang for half an hour')} |" in text
    assert f"| {failing} | {latest(failing)} | {latest(f'{failing}, as OCI alone sees')} |" in text
    by_clients = latest("each request takes 100 ms", "requests at 101 % of the latency objective")
    assert f"| {slow} | {by_clients} | {latest(*oci_slow)} |" in text


def test_every_incident_has_a_name_of_its_own() -> None:
    assert len({incident.name for incident in INCIDENTS}) == len(INCIDENTS)


@pytest.mark.parametrize(
    ("minute", "alert", "wrong"),
    [
        (4, "FssMountTargetDown", ""),
        (6, "FssMountTargetDown", "no page FssMountTargetDown by 5; unwanted page FssMountTargetDown 6"),
        (-1, "FssMountTargetDown", "no page FssMountTargetDown by 5; unwanted page FssMountTargetDown -1"),
        (4, "FssMountTargetSlow", "no page FssMountTargetDown by 5; unwanted page FssMountTargetSlow 4"),
    ],
)
def test_a_message_that_is_late_early_or_about_something_else_is_a_mistake(minute: int, alert: str, wrong: str) -> None:
    incident = Incident("all clients hang", Site(), (), (page("FssMountTargetDown", 5),))

    assert Outcome(incident, (Notification(minute, "pager", (), (alert,)),)).wrong == wrong


def test_a_message_more_is_a_mistake() -> None:
    incident = Incident("a full ceiling", Site(), (), (ticket("FssMountTargetIopsHigh", 10),))
    sent = Notification(5, "tickets", (), ("FssMountTargetIopsHigh",))

    assert not Outcome(incident, (sent,)).wrong
    assert Outcome(incident, (sent, replace(sent, minute=9))).wrong == "unwanted ticket FssMountTargetIopsHigh 9"


def test_an_alert_that_is_held_back_and_then_not_is_a_new_message() -> None:
    place = {("severity", "critical"), ("region", "eu-1"), ("mount_target_id", "a")}
    down, slow = (frozenset({("alertname", f"FssMountTarget{name}"), *place}) for name in ("Down", "Slow"))

    sent = notifications({1: frozenset({down}), 2: frozenset({down, slow}), 3: frozenset({slow})})

    assert [(message.minute, message.alerts) for message in sent] == [
        (1, ("FssMountTargetDown",)),
        (3, ("FssMountTargetSlow",)),
    ]
