"""Incidents of the table in a real Prometheus and a real Alertmanager: `make test-incidents`.

Agents and pollers make the /metrics of an incident on a clock that is turned by hand, as for promtool. A player then shows a minute of
the incident in each second. All durations of rules and routes are divided by 60. Rates are 60 times too high, so no incident here
depends on how many requests there are.
"""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self

from tests.e2e.alerting import Receiver, alertmanager, prometheus_configuration, routes_to
from tests.processes import Prometheus, get, prometheus, wait_for
from tests.rules.faults import Answer, Fault, Hang, PollerDown
from tests.rules.site import EPOCH, Scrapes, Site, scraped

MINUTES_A_SECOND = 60


class Player:
    """Answers scrapes with the series of an incident, a minute in each second."""

    def __init__(self, scrapes: Scrapes) -> None:
        self._scrapes, self._begin = scrapes, time.monotonic()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.end_headers()
                self.wfile.write(outer._text().encode())

            def log_message(self, *_: object) -> None:
                """A test is quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def _text(self) -> str:
        number = min(int(time.monotonic() - self._begin), self._scrapes.taken - 1)
        lines = []
        for series, values in self._scrapes.series.items():
            value = values[number] if number < len(values) else None
            if value is not None and series.partition("{")[0].endswith("_timestamp_seconds"):
                value += time.time() - EPOCH - number * self._scrapes.interval_s  # as old as in the incident
            if value is not None:
                lines.append(f"{series} {value}\n")
        return "".join(lines)

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class Messages:
    """What came of an incident: what each message was about, in order, and what Prometheus had."""

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver

    def of(self, status: str) -> list[tuple[str, list[str]]]:
        """Return the receiver and the names of the alerts of each message that says `firing` or `resolved`."""
        notes = [note for note in self._receiver.notifications if note["status"] == status]
        return [(note["receiver"], sorted(one["labels"]["alertname"] for one in note["alerts"])) for note in notes]


def play(directory: Path, site: Site, faults: tuple[Fault, ...], held_back: str) -> Messages:
    """Play an incident until its alerts are resolved. An alert with the name `held_back` must fire meanwhile and be suppressed."""
    scrapes = scraped(site, faults)
    with Receiver() as receiver:
        messages = Messages(receiver)
        routes = routes_to(receiver, MINUTES_A_SECOND)
        with alertmanager(directory, routes) as manager, Player(scrapes) as player:
            configuration = prometheus_configuration(directory, player.url, manager, MINUTES_A_SECOND)
            with prometheus(configuration, directory / "prometheus") as server:
                wait_for(lambda: _is_suppressed(server, manager, held_back), f"{held_back} to be held back")
                wait_for(lambda: messages.of("resolved"), "the message that the incident has ended")
                wait_for(lambda: not server.query('ALERTS{alertstate="firing"}'), "all alerts to end")
    return messages


def _is_suppressed(server: Prometheus, manager: str, alert: str) -> bool:
    if not server.query(f'ALERTS{{alertname="{alert}",alertstate="firing"}}'):
        return False
    held = [one for one in json.loads(get(f"{manager}/api/v2/alerts")) if one["labels"]["alertname"] == alert]
    return bool(held) and all(one["status"]["state"] == "suppressed" for one in held)


def test_a_mount_target_that_is_down_holds_back_that_its_requests_fail(tmp_path: Path) -> None:
    site = Site(hosts=4, before=12, minutes=60)
    messages = play(tmp_path, site, (Hang(0, 8),), held_back="FssMountTargetFailing")

    assert messages.of("firing") == [("pager", ["FssMountTargetDown"])]
    assert messages.of("resolved") == [("pager", ["FssMountTargetDown"])]


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
