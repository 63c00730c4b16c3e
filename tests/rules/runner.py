"""The runner: an incident, the product and the rules in promtool, and the messages that a person gets."""

import json
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.processes import require
from tests.rules.faults import Fault
from tests.rules.notifications import Labels, Notification, notifications
from tests.rules.pack import CORE_FILES, PROMTOOL_ENVIRONMENT, RULES, parsed
from tests.rules.site import EPOCH, Scrapes, Site, scraped

_SAMPLE = re.compile(r"\w*(?::\w+)*\{[^}]*\} [-+.\w]+")
_DESCRIPTION = re.compile(r'description=("(?:[^"\\]|\\.)*")')
_TIME = re.compile(r"(\d+)([wdhms])")
_UNITS_MINUTES = {"w": 10_080.0, "d": 1440.0, "h": 60.0, "m": 1.0, "s": 1 / 60}


@dataclass(frozen=True)
class Message:
    """A message that the person on call wants, and until which minute of the incident."""

    kind: str  # `page` or `ticket`
    alert: str  # the name, or names with `|` where the rules may choose
    by: float  # latest minute
    says: tuple[str, ...] = ()  # what the text of the alert says in that minute
    since: float = 0.0  # minute in which its cause begins
    told: float | None = None  # minute of the text, if it is not the latest one

    @property
    def read(self) -> float:
        """The minute in which somebody reads the text."""
        return self.by if self.told is None else self.told

    def fits(self, sent: Notification) -> bool:
        """Return whether a message that came is this one."""
        names = set(self.alert.split("|"))
        return sent.kind == self.kind and names >= set(sent.alerts) and 0 <= sent.minute <= self.by

    def __str__(self) -> str:
        return f"{self.kind} {self.alert} by {self.by:g}"


def page(alert: str, by: float, *says: str, since: float = 0.0, told: float | None = None) -> Message:
    """A page."""
    return Message("page", alert, by, says, since, told)


def ticket(alert: str, by: float, *says: str, since: float = 0.0) -> Message:
    """A ticket."""
    return Message("ticket", alert, by, says, since)


@dataclass(frozen=True)
class Incident:
    """A row of the table.

    Attributes:
        name: what happens, in a few words.
        site: hosts, mount targets and pollers.
        faults: what goes wrong, and in which minutes.
        wanted: all messages, in any order. Each further message is a mistake.
    """

    name: str
    site: Site
    faults: tuple[Fault, ...]
    wanted: tuple[Message, ...] = ()

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Outcome:
    """What came of an incident."""

    incident: Incident
    sent: tuple[Notification, ...]
    texts: Mapping[tuple[str, float], str] = field(default_factory=dict)  # of alerts by name and minute

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
            fits = [rest_item for rest_item in left if message.fits(rest_item)]
            if fits:
                left.remove(fits[0])
            else:
                wrong.append(f"no {message}")
            text = self.texts.get((message.alert, message.read), "")
            wrong += [f"{message} does not say {words!r} but {text!r}" for words in message.says if words not in text]
        return "; ".join(wrong + [f"unwanted {message}" for message in left])


def tried(incident: Incident, *, is_late: bool = False) -> Outcome:
    """Run an incident through the product, the rules and the routes, as in `outcome_of`."""
    return outcome_of(incident, scraped(incident.site, incident.faults), is_late=is_late)


def outcome_of(incident: Incident, scrapes: Scrapes, promtool: str | None = None, *, is_late: bool = False) -> Outcome:
    """Judge what was scraped during an incident, with the rules and the routes.

    Args:
        incident: the row of the table.
        scrapes: of the product.
        promtool: another one than the installed one.
        is_late: whether each group of rules reads what the groups before it recorded a minute ago, as it can on a server.
    """
    texts = [(message.alert, message.read) for message in incident.wanted if message.says]
    said = judged(scrapes, ['ALERTS{alertstate="firing"}'], texts, promtool, is_late=is_late)
    firing = {minute: labels_of(samples) for (_, minute), samples in said.samples.items()}
    return Outcome(incident, tuple(notifications(firing)), said.texts)


@dataclass(frozen=True)
class Judged:
    """What the rules make of the scrapes of a site.

    Attributes:
        samples: of each expression, by minute of the incident.
        texts: descriptions of alerts, by name and minute of the incident.
    """

    samples: Mapping[tuple[str, float], list[str]]
    texts: Mapping[tuple[str, float], str]


def judged(
    scrapes: Scrapes,
    expressions: Sequence[str],
    texts: Sequence[tuple[str, float]] = (),
    promtool: str | None = None,
    *,
    is_late: bool = False,
) -> Judged:
    """Evaluate the rules. promtool prints samples and texts because others are expected."""
    groups = [group["name"] for path in rule_files() for group in parsed(path)["groups"]]
    wrong = [{"labels": "none", "value": -1}]
    seconds = [EPOCH + number * scrapes.interval_s for number in range(scrapes.taken)]
    alerts = [
        {"alertname": name, "eval_time": f"{EPOCH + int((scrapes.before + minute) * 60)}s", "exp_alerts": []}
        for name, minute in texts
    ]
    test = {
        "interval": f"{scrapes.interval_s}s",
        "input_series": scrapes.inputs(),
        "promql_expr_test": [
            {"expr": expression, "eval_time": f"{at}s", "exp_samples": wrong}
            for expression in expressions
            for at in seconds
        ],
        "alert_rule_test": alerts,
    }
    document = {
        "rule_files": [str(path) for path in rule_files()],
        "evaluation_interval": f"{scrapes.interval_s}s",
        "group_eval_order": groups[::-1] if is_late else groups,
        "tests": [test],
    }
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "test.yml"
        # JSON is YAML, and is written in a hundredth of the time.
        file.write_text(json.dumps(document), encoding="utf-8")
        command = [promtool or require("promtool", "prometheus"), "test", "rules", str(file)]
        finished = subprocess.run(command, env=PROMTOOL_ENVIRONMENT, capture_output=True, text=True, check=False)
    return _parsed(finished.stdout + finished.stderr, scrapes.before)


def rule_files() -> Sequence[Path]:
    """The files of rules. Those that others read come first, as an operator loads them. No alert reads what panels.yml records."""
    others = sorted(path for path in RULES.glob("*.yml") if path not in CORE_FILES and path.stem != "panels")
    return (*CORE_FILES, *others)


def _parsed(said: str, before: int) -> Judged:
    samples: dict[tuple[str, float], list[str]] = {}
    texts: dict[tuple[str, float], str] = {}
    for block in re.split(r"(?=^ +(?:expr|alertname): )", said, flags=re.MULTILINE)[1:]:
        head = re.match(r' +(expr|alertname): "?(.*?)"?, time: ([^,]+),', block)
        assert head, block
        kind, asked, time = head.groups()
        got = block.split("got:", 1)[1]
        if kind == "expr":
            samples[json.loads(f'"{asked}"'), _minute(time) - before] = [
                text for text in _SAMPLE.findall(got) if "nil" not in text
            ]
        else:
            texts[asked, _minute(time) - before] = " ".join(json.loads(text) for text in _DESCRIPTION.findall(got))
    assert samples, said
    return Judged(samples, texts)


def labels_of(samples: Sequence[str]) -> frozenset[Labels]:
    """The labels of firing alerts, from samples as promtool prints them."""
    return frozenset(map(_labels, samples))


def _labels(sample: str) -> Labels:
    labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', sample))
    return frozenset((label, value) for label, value in labels.items() if label not in {"__name__", "alertstate"})


def _minute(time: str) -> float:
    minutes = sum(int(number) * _UNITS_MINUTES[unit] for number, unit in _TIME.findall(time))
    return minutes - EPOCH / 60
