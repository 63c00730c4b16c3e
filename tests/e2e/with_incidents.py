"""Incidents of the table in a real Prometheus and a real Alertmanager: `make test-incidents`.

Agents and pollers make the /metrics of an incident on a clock that is turned by hand, as for promtool. A player then shows a minute of
the incident in each second. All durations of rules and routes are divided by 60, and so are rates, because counters grow 60 times too fast. A server evaluates groups
of rules at instants of their own, and promtool all at once.
"""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.e2e.alerting import Receiver, alertmanager, prometheus_configuration, receiver, routes_to
from tests.local_server import Quiet, serving
from tests.processes import Prometheus, get, prometheus, wait_for
from tests.rules.faults import Answer, Failing, Fault, Hang, Listed, PollerDown
from tests.rules.incidents import INCIDENTS
from tests.rules.notifications import BY_TEAM
from tests.rules.runner import Incident
from tests.rules.site import EPOCH, Scrapes, Site, scraped

MINUTES_A_SECOND = 60


@contextmanager
def playing(scrapes: Scrapes) -> Iterator[str]:
    """Answer scrapes with the series of an incident, a minute in each second; host and port."""
    begin = time.monotonic()

    class Player(Quiet):
        def get(self) -> None:
            self.answer(_text(scrapes, int(time.monotonic() - begin)))

    with serving(Player) as address:
        yield address


def _text(scrapes: Scrapes, minute: int) -> str:
    number = min(minute, scrapes.taken - 1)
    lines = []
    for series, values in scrapes.series.items():
        value = values[number] if number < len(values) else None
        if value is not None and series.partition("{")[0].endswith("_timestamp_seconds"):
            value += time.time() - EPOCH - number * scrapes.interval_s  # as old as in the incident
        if value is not None:
            lines.append(f"{series} {value}\n")
    return "".join(lines)


class Messages:
    """What came of an incident: what each message was about, in order, and what Prometheus had."""

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver

    def of(self, status: str) -> list[tuple[str, list[str]]]:
        """Return the receiver and the names of the alerts of each message that says `firing` or `resolved`."""
        notes = [note for note in self._receiver.notifications if note["status"] == status]
        return [(note["receiver"], sorted(alert["labels"]["alertname"] for alert in note["alerts"])) for note in notes]


def texts_of(
    directory: Path, incident: Incident, *routes: str, labels: Sequence[str] = ()
) -> list[tuple[str, str, str]]:
    """Play an incident to its last scrape; receiver, alert and text of each alert that was told.

    The blocks of `routes` come first, and alerts have these labels of tags.
    """
    scrapes = scraped(incident.site, incident.faults)
    with (
        receiver() as told,
        alertmanager(directory, routes_to(told, MINUTES_A_SECOND, *routes)) as manager,
        playing(scrapes) as player,
    ):
        configuration = prometheus_configuration(
            directory, player, manager, MINUTES_A_SECOND, is_played=True, labels=labels
        )
        end = time.monotonic() + scrapes.taken
        with prometheus(configuration, directory / "prometheus"):
            wait_for(lambda: time.monotonic() > end, "the incident to end", patience_s=2 * scrapes.taken)
    return told.texts()


ONE_OF_EACH_KIND = (
    "everything is well",
    "10 of 16 clients hang, and all agents are rolled out in the fourth minute",
    "10 % of the requests fail, as OCI alone sees",
    "each request takes 100 ms",
    "96 % of the IOPS ceiling",
    "the LDAP server of two mount targets does not answer",
    "two of ten agents are dead",
)


@pytest.mark.parametrize("name", ONE_OF_EACH_KIND)
def test_an_incident_of_each_kind_brings_its_messages_and_texts(tmp_path: Path, name: str) -> None:
    (incident,) = (incident for incident in INCIDENTS if incident.name == name)
    got = texts_of(tmp_path, incident)

    receivers = {"page": "pager", "ticket": "tickets"}
    wanted = {(receivers[message.kind], message.alert) for message in incident.wanted}
    assert {(receiver, alert) for receiver, alert, _ in got} == wanted
    said = " ".join(text for _, _, text in got)
    assert not [words for message in incident.wanted for words in message.says if words not in said], said
    assert "FAILED" not in said


def test_an_incident_takes_the_route_of_a_tag(tmp_path: Path) -> None:
    tags = Listed(-12, field="freeformTags", value={"team": "genomics"}, target=0)
    site = Site(hosts=4, mount_targets=2, before=12, minutes=15, settings={"oci.tags_as_labels": ("team",)})
    incident = Incident("two mount targets hang, and one is tagged", site, (tags, Hang()))

    got = texts_of(tmp_path, incident, BY_TEAM, labels=("tag_team",))

    routes = {(receiver, text.partition(" (")[0]) for receiver, _, text in got}
    assert routes == {("genomics", "Mount target mt-00000"), ("pager", "Mount target mt-00001")}


def play(directory: Path, site: Site, faults: tuple[Fault, ...], held_back: str) -> Messages:
    """Play an incident until its alerts are resolved. An alert with the name `held_back` must fire meanwhile and be suppressed."""
    scrapes = scraped(site, faults)
    with receiver() as told:
        messages = Messages(told)
        routes = routes_to(told, MINUTES_A_SECOND)
        with alertmanager(directory, routes) as manager, playing(scrapes) as player:
            configuration = prometheus_configuration(directory, player, manager, MINUTES_A_SECOND, is_played=True)
            with prometheus(configuration, directory / "prometheus") as server:
                wait_for(lambda: _is_suppressed(server, manager, held_back), f"{held_back} to be held back")
                wait_for(lambda: messages.of("resolved"), "the message that the incident has ended")
                wait_for(lambda: not server.query('ALERTS{alertstate="firing"}'), "all alerts to end")
    return messages


def told_at_the_end(messages: Messages) -> set[str]:
    """The alerts of which the pager was told that they ended. Two that end within one interval of a group are one message."""
    assert {receiver for receiver, _ in messages.of("resolved")} == {"pager"}
    return {alert for _, alerts in messages.of("resolved") for alert in alerts}


def _is_suppressed(server: Prometheus, manager: str, alert: str) -> bool:
    if not server.query(f'ALERTS{{alertname="{alert}",alertstate="firing"}}'):
        return False
    held = [told for told in json.loads(get(f"{manager}/api/v2/alerts")) if told["labels"]["alertname"] == alert]
    return bool(held) and all(alert["status"]["state"] == "suppressed" for alert in held)


def test_a_mount_target_that_is_down_holds_back_that_its_clients_wait(tmp_path: Path) -> None:
    site = Site(hosts=4, before=12, minutes=60)
    messages = play(tmp_path, site, (Hang(0, 25),), held_back="FssClientStalled")

    assert messages.of("firing") == [("pager", ["FssMountTargetDown"])]
    assert "FssMountTargetDown" in told_at_the_end(messages)


def test_requests_that_fail_before_their_mount_target_is_down_are_held_back_from_then_on(tmp_path: Path) -> None:
    site = Site(hosts=4, before=12, minutes=80)
    messages = play(tmp_path, site, (Failing(0, 20), Hang(20, 35)), held_back="FssMountTargetFailing")

    assert messages.of("firing") == [("pager", ["FssMountTargetFailing"]), ("pager", ["FssMountTargetDown"])]
    # Alertmanager tells nothing about an alert that ends while it is held back. The group, which is one incident, is told to have ended.
    assert "FssMountTargetDown" in told_at_the_end(messages)


def test_a_dead_poller_is_one_message(tmp_path: Path) -> None:
    site = Site(hosts=4, before=12, minutes=60)
    messages = play(tmp_path, site, (PollerDown(0, 25),), held_back="FssExporterDown")

    assert messages.of("firing") == [("pager", ["FssOciPollerDown"])]
    assert messages.of("resolved") == [("pager", ["FssOciPollerDown"])]


def test_a_failing_api_of_oci_is_one_message(tmp_path: Path) -> None:
    site = Site(hosts=4, before=12, minutes=60)
    fault = Answer(0, 25, fault="503:SummarizeMetricsData,match=MountTargetHealth")
    messages = play(tmp_path, site, (fault,), held_back="FssCollectorFailing")

    assert messages.of("firing") == [("tickets", ["FssCoverageIncomplete"])]
    assert messages.of("resolved") == [("tickets", ["FssCoverageIncomplete"])]
