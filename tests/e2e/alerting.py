"""A real Alertmanager with the documented routes, faster rules, and a receiver of messages."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from tests.local_server import Quiet, serving
from tests.processes import answers, listening_url, process, require, wait_for
from tests.rules.notifications import BLOCK
from tests.rules.pack import CORE_FILES

from fss_exporter.durations import parse_duration
from fss_toolbox.alert_labels import with_alert_labels

# All durations of rules and routes are divided by it, as any user can by editing them; nothing else is touched.
FASTER = 100


def faster(text: str, factor: int = FASTER) -> str:
    """A file with its durations divided: values of `for` and its like, and the windows and steps of range selectors."""

    def shorter(match: re.Match[str]) -> str:
        least = 1 if match["before"] == ":" else 2  # a step is one evaluation, a window needs two
        return f"{match['before']}{max(least, int(parse_duration(match['duration']) / factor))}s"

    keys = "for|interval|keep_firing_for|group_wait|group_interval|repeat_interval"
    before = rf"\b(?:{keys}): |\[|(?<=\d[smhdw]):|offset "
    return re.sub(rf"(?P<before>{before})(?P<duration>(?:\d+[smhdw])+)\b", shorter, text)


def with_true_rates(text: str, factor: int) -> str:
    """Rules with each rate as it would be, had the counters not grown faster by a factor."""
    return re.sub(r"\bi?rate\((?:[^()]|\([^()]*\))*\)", rf"(\g<0> / {factor})", text)


def faster_rules(
    directory: Path, factor: int = FASTER, *, is_played: bool = False, labels: Sequence[str] = ()
) -> list[str]:
    """Write the shipped rules with shorter durations, and perhaps with labels of tags, to a directory, and return the paths."""
    for path in CORE_FILES:
        text = faster(with_alert_labels(path.read_text(encoding="utf-8"), labels), factor)
        (directory / path.name).write_text(with_true_rates(text, factor) if is_played else text, encoding="utf-8")
    return [str(directory / path.name) for path in CORE_FILES]


def prometheus_configuration(
    directory: Path,
    target: str,
    manager: str,
    factor: int = FASTER,
    *,
    is_played: bool = False,
    labels: Sequence[str] = (),
) -> str:
    """Return a configuration with the shipped rules with shorter durations, each second, on two scrapes a second.

    Args:
        directory: of the rules.
        target: what is scraped.
        manager: URL of the Alertmanager.
        factor: by which durations are divided.
        is_played: whether counters grow faster by that factor.
        labels: of tags, which the alerts get.
    """
    static = {"static_configs": [{"targets": [target.removeprefix("http://")]}]}
    return str(
        yaml.safe_dump(
            {
                "global": {"scrape_interval": "500ms", "scrape_timeout": "500ms", "evaluation_interval": "1s"},
                "rule_files": faster_rules(directory, factor, is_played=is_played, labels=labels),
                "alerting": {"alertmanagers": [{"static_configs": [{"targets": [manager.removeprefix("http://")]}]}]},
                "scrape_configs": [{"job_name": "fss", "honor_labels": True, **static}],
            }
        )
    )


def routes_to(receiver: "Receiver", factor: int = FASTER, *first: str) -> str:
    """Return the Alertmanager configuration of docs/alertmanager.md with a receiver and shorter durations.

    The routes and receivers of `first`, blocks of the same page, come first.
    """
    whole = yaml.safe_load(BLOCK)
    for block in map(yaml.safe_load, first):
        whole["route"]["routes"][:0] = block["route"]["routes"]
        whole["receivers"] += block["receivers"]
    configuration = str(yaml.safe_dump(whole, sort_keys=False))
    return re.sub(r"http://(\w+)\.example/alerts", rf"{receiver.url}/\1", faster(configuration, factor))


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
        url = wait_for(lambda: listening_url(log), f"alertmanager to listen, see {log}")
        wait_for(lambda: answers(f"{url}/-/ready"), f"alertmanager to be ready, see {log}")
        yield url


@contextmanager
def receiver() -> Iterator["Receiver"]:
    """A webhook that keeps what it is told."""
    notifications: list[dict[str, Any]] = []

    class Webhook(Quiet):
        def post(self) -> None:
            notifications.append({"receiver": self.path.strip("/"), **json.loads(self.received())})
            self.answer()

    with serving(Webhook) as address:
        yield Receiver(f"http://{address}", notifications)


@dataclass(frozen=True)
class Receiver:
    """What a webhook was told: notifications in the order in which they came."""

    url: str
    notifications: list[dict[str, Any]]

    def texts(self) -> list[tuple[str, str, str]]:
        """Receiver, alert and text of every alert in a message that says `firing`."""
        return [
            (note["receiver"], told["labels"]["alertname"], told["annotations"]["description"])
            for note in self.notifications
            for told in note["alerts"]
            if told["status"] == "firing"
        ]

    def told(self, alert: str) -> list[tuple[str, str, str]]:
        """Receiver, status and OCID of the mount target of every message about an alert."""
        return [
            (note["receiver"], told["status"], told["labels"].get("mount_target_id", ""))
            for note in self.notifications
            for told in note["alerts"]
            if told["labels"]["alertname"] == alert
        ]
