"""The runner: an incident, the product and the rules in promtool, and the messages that a person gets."""

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.processes import require
from tests.rules.faults import Fault
from tests.rules.notifications import Labels, Notification, notifications
from tests.rules.pack import CORE_FILES, RULES, parsed
from tests.rules.site import BEFORE, EPOCH, Scrapes, Site, scraped

_SAMPLE = re.compile(r"\w*(?::\w+)*\{[^}]*\} [-+.\w]+")
_TIME = re.compile(r"(\d+)([wdhms])")
_UNITS_MINUTES = {"w": 10_080.0, "d": 1440.0, "h": 60.0, "m": 1.0, "s": 1 / 60}


@dataclass(frozen=True)
class Message:
    """A message that the person on call wants, and until which minute of the incident."""

    kind: str  # `page` or `ticket`
    alert: str  # the name, or names with `|` where the rules may choose
    by: float  # latest minute

    def __str__(self) -> str:
        return f"{self.kind} {self.alert} by {self.by:g}"


def page(alert: str, by: float) -> Message:
    """A page."""
    return Message("page", alert, by)


def ticket(alert: str, by: float) -> Message:
    """A ticket."""
    return Message("ticket", alert, by)


@dataclass(frozen=True)
class Incident:
    """A row of the table.

    Attributes:
        name: what happens, in a few words.
        site: hosts, mount targets and pollers.
        faults: what goes wrong, and in which minutes.
        wanted: all messages, in any order. Each further message is a mistake.
        in_make_test: whether `make test` runs the incident. `make test-incidents` runs all.
    """

    name: str
    site: Site
    faults: tuple[Fault, ...]
    wanted: tuple[Message, ...] = ()
    in_make_test: bool = False

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Outcome:
    """What came of an incident."""

    incident: Incident
    sent: tuple[Notification, ...]

    @property
    def got(self) -> str:
        """The messages in words, with the minute of the incident."""
        return ", ".join(map(str, self.sent)) or "quiet"

    @property
    def wanted(self) -> str:
        """The wanted messages in words."""
        return ", ".join(map(str, self.incident.wanted)) or "quiet"

    @property
    def wrong(self) -> str:
        """What differs from the wanted messages. Empty if nothing does."""
        left, wrong = list(self.sent), []
        for message in self.incident.wanted:
            fits = [one for one in left if _fits(message, one)]
            if fits:
                left.remove(fits[0])
            else:
                wrong.append(f"no {message}")
        return "; ".join(wrong + [f"unwanted {one}" for one in left])


def _fits(message: Message, sent: Notification) -> bool:
    names = set(message.alert.split("|"))
    return sent.kind == message.kind and names >= set(sent.alerts) and 0 <= sent.minute <= message.by


def tried(incident: Incident, promtool: str | None = None) -> Outcome:
    """Run an incident through the product, the rules and the routes."""
    scrapes = scraped(incident.site, incident.faults)
    firing = fired(scrapes, promtool or require("promtool", "prometheus"))
    return Outcome(incident, tuple(notifications(firing)))


def fired(scrapes: Scrapes, promtool: str) -> dict[float, frozenset[Labels]]:
    """Return the labels of the firing alerts by minute of the incident."""
    said = asked(scrapes, promtool, 'ALERTS{alertstate="firing"}')
    return {minute: frozenset(map(_labels, samples)) for minute, samples in said.items()}


def asked(scrapes: Scrapes, promtool: str, expression: str) -> dict[float, list[str]]:
    """Return the samples of an expression by minute of the incident. promtool prints them because other samples are expected."""
    wrong = [{"labels": "none", "value": -1}]
    seconds = [EPOCH + number * scrapes.interval_s for number in range(scrapes.taken)]
    queries = [{"expr": expression, "eval_time": f"{at}s", "exp_samples": wrong} for at in seconds]
    with tempfile.TemporaryDirectory() as folder:
        test = Path(folder) / "test.yml"
        document = {
            "rule_files": [str(path) for path in rule_files()],
            "evaluation_interval": f"{scrapes.interval_s}s",
            "group_eval_order": [group["name"] for path in rule_files() for group in parsed(path)["groups"]],
            "tests": [
                {
                    "interval": f"{scrapes.interval_s}s",
                    "input_series": scrapes.inputs(),
                    "promql_expr_test": queries,
                }
            ],
        }
        test.write_text(
            json.dumps(document), encoding="utf-8"
        )  # JSON is YAML, and is written in a hundredth of the time
        # A third of the time of promtool is garbage collection, unless its small heap may grow. Tests run side by side.
        environment = {**os.environ, "GOGC": "400", "GOMAXPROCS": "1"}
        command = [promtool, "test", "rules", str(test)]
        finished = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return _parsed(finished.stdout + finished.stderr)


def rule_files() -> Sequence[Path]:
    """The files of rules. Those that others read come first, as an operator loads them."""
    return (*CORE_FILES, *sorted(path for path in RULES.glob("*.yml") if path not in CORE_FILES))


def _parsed(said: str) -> dict[float, list[str]]:
    answers: dict[float, list[str]] = {}
    for block in re.split(r'(?=expr: ")', said)[1:]:
        time = re.search(r"time: (\S+),", block)
        assert time, block
        got = block.split("got:", 1)[1]
        answers[_minute(time[1])] = [text for text in _SAMPLE.findall(got) if "nil" not in text]
    assert answers, said
    return answers


def _labels(sample: str) -> Labels:
    labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', sample))
    return frozenset((label, value) for label, value in labels.items() if label not in {"__name__", "alertstate"})


def _minute(time: str) -> float:
    minutes = sum(int(number) * _UNITS_MINUTES[unit] for number, unit in _TIME.findall(time))
    return minutes - EPOCH / 60 - BEFORE
