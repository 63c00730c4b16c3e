"""From a mount target at its ceiling to a message: demo region, exporter, prometheus with the shipped rules, alertmanager."""

import json
import re
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, Self

import pytest
import yaml
from tests.processes import PATIENCE_S, answers, exporter, get, process, prometheus, require, wait_for
from tests.region import Region, shared_account

ROOT = Path(__file__).parents[2]
FASTER = 100
"""All durations of rules and routes are divided by it, as any user can by editing them; nothing else is touched."""

_FILES = ("clients.yml", "load.yml", "service_level.yml", "monitoring.yml")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def faster(text: str) -> str:
    """A file with its durations divided: values of `for` and its like, and the windows of range selectors."""

    def shorter(match: re.Match[str]) -> str:
        seconds = int(match["number"]) * _SECONDS[match["unit"]]
        return f"{match['before']}{max(2, seconds // FASTER)}s"

    keys = "for|keep_firing_for|group_wait|group_interval|repeat_interval"
    return re.sub(rf"(?P<before>\b(?:{keys}): |\[|offset )(?P<number>\d+)(?P<unit>[smhd])\b", shorter, text)


def exporter_configuration(region: Region, directory: Path) -> Path:
    """A configuration file that polls the demo region as often as it may."""
    path = directory / "fss-exporter.yml"
    credentials = region.account.write_config(directory, region.tenancy.region)
    oci = {"config_file": str(credentials), "endpoint": region.url, "poll_interval": 10, "calls_per_second": 9}
    path.write_text(yaml.safe_dump({"oci": oci}), encoding="utf-8")
    return path


def raise_ceiling(configuration: Path) -> None:
    """Give mt-home ten times its IOPS ceiling."""
    document = yaml.safe_load(configuration.read_text(encoding="utf-8"))
    document["limits"] = {"mount_targets": {"mt-home": {"iops": 500_000}}}
    configuration.write_text(yaml.safe_dump(document), encoding="utf-8")


def prometheus_configuration(directory: Path, target: str, alertmanager: str) -> str:
    """The shipped rules with shorter durations, each second, on two scrapes a second."""
    for name in _FILES:
        text = (ROOT / "rules" / name).read_text(encoding="utf-8")
        (directory / name).write_text(faster(text), encoding="utf-8")
    static = {"static_configs": [{"targets": [target.removeprefix("http://")]}]}
    return yaml.safe_dump(
        {
            "global": {"scrape_interval": "500ms", "scrape_timeout": "500ms", "evaluation_interval": "1s"},
            "rule_files": [str(directory / name) for name in _FILES],
            "alerting": {"alertmanagers": [{"static_configs": [{"targets": [alertmanager.removeprefix("http://")]}]}]},
            "scrape_configs": [{"job_name": "fss", **static}],
        }
    )


def documented_routes() -> str:
    """The Alertmanager configuration of docs/alertmanager.md."""
    text = (ROOT / "docs" / "alertmanager.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```yaml\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return str(block)


@contextmanager
def alertmanager(directory: Path, configuration: str) -> Iterator[str]:
    """A real Alertmanager on its own; its URL."""
    (directory / "alertmanager.yml").write_text(configuration, encoding="utf-8")
    log = directory / "alertmanager.log"
    command = [
        require("prometheus-alertmanager", "prometheus-alertmanager"),
        f"--config.file={directory / 'alertmanager.yml'}",
        f"--storage.path={directory / 'alertmanager'}",
        "--web.listen-address=127.0.0.1:0",
        "--cluster.listen-address=",
    ]
    with process(command, log):
        url = wait_for(lambda: _address(log), f"alertmanager to listen, see {log}")
        wait_for(lambda: answers(f"{url}/-/ready"), f"alertmanager to be ready, see {log}")
        yield url


def _address(log: Path) -> str:
    for line in log.read_text().splitlines():
        if 'msg="Listening on"' in line:
            return "http://" + line.rpartition("address=")[2].split()[0]
    return ""


class Receiver:
    """What a webhook was told: notifications in the order in which they came."""

    def __init__(self) -> None:
        self.notifications: list[dict[str, Any]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.notifications.append({"receiver": self.path.strip("/"), **json.loads(body)})
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """A test is quiet."""

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def told(self, alert: str) -> list[tuple[str, str, str]]:
        """Receiver, status and OCID of the mount target of every message about an alert."""
        return [
            (note["receiver"], one["status"], one["labels"].get("mount_target_id", ""))
            for note in self.notifications
            for one in note["alerts"]
            if one["labels"]["alertname"] == alert
        ]

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def descriptions(manager: str, alert: str) -> list[str]:
    """Texts of an alert that an Alertmanager holds now."""
    held = json.loads(get(f"{manager}/api/v2/alerts"))
    return [one["annotations"]["description"] for one in held if one["labels"]["alertname"] == alert]


def test_only_the_mount_target_at_its_iops_ceiling_has_an_alert_until_the_ceiling_is_raised(tmp_path: Path) -> None:
    region = Region(account=shared_account())
    region.start()
    try:
        with Receiver() as receiver:
            routes = re.sub(r"http://(\w+)\.example/alerts", rf"{receiver.url}/\1", faster(documented_routes()))
            flags = (
                "--no-collector.nfs",
                "--collector.oci",
                f"--config.file={exporter_configuration(region, tmp_path)}",
            )
            with (
                exporter(tmp_path / "exporter", *flags) as target,
                alertmanager(tmp_path, routes) as manager,
                prometheus(prometheus_configuration(tmp_path, target, manager), tmp_path / "prometheus") as server,
            ):
                high = 'ALERTS{alertname="FssMountTargetIopsHigh",alertstate="firing"}'
                wait_for(lambda: server.query(high), "the mount target at its ceiling to be seen")
                wait_for(lambda: receiver.told("FssMountTargetIopsHigh"), "a message about it")
                # Where a busy machine lets a scrape take longer than half a second, there is nothing until the next.
                (row,) = wait_for(lambda: server.query('fss_mount_target_info{mount_target="mt-home"}'), "a scrape")
                home = row["metric"]["mount_target_id"]
                firing = wait_for(lambda: server.query(high), "the alert in a scrape")
                assert [row["metric"]["mount_target_id"] for row in firing] == [home]
                assert receiver.told("FssMountTargetIopsHigh")[0] == ("tickets", "firing", home)
                (text,) = wait_for(
                    partial(descriptions, manager, "FssMountTargetIopsHigh"), "the alert at the Alertmanager"
                )
                assert re.search(
                    r"Mount target mt-home \([\d.]+, eu-frankfurt-1\) used [89]\d(\.\d+)?% of its IOPS ceiling", text
                )

                # The load of five minutes cannot fall faster than in five minutes. A higher ceiling counts at once.
                raise_ceiling(tmp_path / "fss-exporter.yml")
                urllib.request.urlopen(urllib.request.Request(f"{target}/-/reload", method="POST"), timeout=PATIENCE_S)
                wait_for(lambda: not server.query(high), "the alert to end")
                gone = ("tickets", "resolved", home)
                wait_for(lambda: gone in receiver.told("FssMountTargetIopsHigh"), "the message that it ended")

        assert {who for _, _, who in receiver.told("FssMountTargetIopsHigh")} == {home}
        assert not [note for note in receiver.notifications if note["commonLabels"].get("severity") == "info"]
    finally:
        region.stop()


@pytest.mark.parametrize(
    ("text", "shorter"),
    [
        ("for: 10m", "for: 6s"),
        ("rate(x[5m])", "rate(x[3s])"),
        ("x[3d:1h]", "x[2592s:1h]"),
        ("offset 2d", "offset 1728s"),
        ("up == 10", "up == 10"),
    ],
)
def test_only_durations_are_made_shorter(text: str, shorter: str) -> None:
    assert faster(text) == shorter
