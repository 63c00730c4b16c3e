"""Incidents of the table in a real Prometheus and a real Alertmanager: `make test-incidents`.

Agents and pollers make the /metrics of an incident on a clock that is turned by hand, as for promtool. A player then shows a minute of
the incident in each second. All durations of rules and routes are divided by 60. Rates are 60 times too high, so no incident here
depends on how many requests there are.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.alerting import Receiver, alertmanager, prometheus_configuration, receiver, routes_to
from tests.local_server import Quiet, serving
from tests.processes import Prometheus, get, prometheus, wait_for
from tests.rules.faults import Answer, Failing, Fault, Hang, PollerDown
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


def play(directory: Path, site: Site, faults: tuple[Fault, ...], held_back: str) -> Messages:
    """Play an incident until its alerts are resolved. An alert with the name `held_back` must fire meanwhile and be suppressed."""
    scrapes = scraped(site, faults)
    with receiver() as told:
        messages = Messages(told)
        routes = routes_to(told, MINUTES_A_SECOND)
        with alertmanager(directory, routes) as manager, playing(scrapes) as player:
            configuration = prometheus_configuration(directory, player, manager, MINUTES_A_SECOND)
            with prometheus(configuration, directory / "prometheus") as server:
                wait_for(lambda: _is_suppressed(server, manager, held_back), f"{held_back} to be held back")
                wait_for(lambda: messages.of("resolved"), "the message that the incident has ended")
                wait_for(lambda: not server.query('ALERTS{alertstate="firing"}'), "all alerts to end")
    return messages


def _is_suppressed(server: Prometheus, manager: str, alert: str) -> bool:
    if not server.query(f'ALERTS{{alertname="{alert}",alertstate="firing"}}'):
        return False
    held = [told for told in json.loads(get(f"{manager}/api/v2/alerts")) if told["labels"]["alertname"] == alert]
    return bool(held) and all(alert["status"]["state"] == "suppressed" for alert in held)


def test_a_mount_target_that_is_down_holds_back_that_its_clients_wait(tmp_path: Path) -> None:
    site = Site(hosts=4, before=12, minutes=60)
    messages = play(tmp_path, site, (Hang(0, 25),), held_back="FssClientStalled")

    assert messages.of("firing") == [("pager", ["FssMountTargetDown"])]
    assert messages.of("resolved") == [("pager", ["FssMountTargetDown"])]


def test_requests_that_fail_before_their_mount_target_is_down_are_held_back_from_then_on(tmp_path: Path) -> None:
    site = Site(hosts=4, before=12, minutes=80)
    messages = play(tmp_path, site, (Failing(0, 20), Hang(20, 35)), held_back="FssMountTargetFailing")

    assert messages.of("firing") == [("pager", ["FssMountTargetFailing"]), ("pager", ["FssMountTargetDown"])]
    assert ("pager", ["FssMountTargetDown"]) in messages.of("resolved")


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
