"""An incident run through promtool: the alerts that fire in each minute."""

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tests.processes import require
from tests.rules.notifications import Labels
from tests.rules.pack import ROOT, RULES, parsed
from tests.rules.possible import Group, read_by_alerts, with_results
from tests.rules.simulator import World

_SAMPLE = re.compile(r"\w*(?::\w+)*\{[^}]*\} [-+.\w]+")


@cache
def promtools() -> dict[str, str]:
    """By version: promtool of the path, and one of Prometheus 3, which Go builds where there is none."""
    third = subprocess.run([ROOT / "tools" / "promtool3"], capture_output=True, text=True, check=False)
    assert third.returncode == 0, third.stderr
    found = [require("promtool", "prometheus"), third.stdout.strip()]
    return {_version(path): path for path in found}


def promtool_of(generation: str) -> str:
    """The path of the promtool whose version begins with these digits."""
    (path,) = {path for version, path in promtools().items() if version.startswith(generation)}
    return path


def _version(path: str) -> str:
    # Go puts no version into a tool that is built as a module. Module v0.315.0 is Prometheus 3.15.
    if module := re.search(r"promtool-v0\.(\d)(\d\d)\.", path):
        return f"{module[1]}.{int(module[2])}"
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
    return re.search(r"version (\d+\.\d+)", said.stdout + said.stderr)[1]  # type: ignore[index]  # no version is a failure


def groups_in_order() -> list[Group]:
    """All groups of the files, in the order of the files."""
    names = ("recording.yml", "node_exporter.yml", "kubernetes.yml", "alerts.yml")
    return [group for name in names for group in parsed(RULES / name)["groups"]]


def firing(
    world: World,
    promtool: str,
    groups: Sequence[Group] | None = None,
    *,
    all_rules: bool = False,
) -> dict[int, frozenset[Labels]]:
    """The labels of the firing alerts, by minute. Rules that cannot change them take part only with `all_rules`."""
    chosen = groups or groups_in_order()
    if not all_rules:
        chosen = read_by_alerts(with_results(chosen, frozenset(name.partition("{")[0] for name in world.series)))
    said = _asked(world, promtool, 'ALERTS{alertstate="firing"}', chosen)
    return {minute: frozenset(map(_labels, got)) for minute, got in said.items()}


def values(world: World, promtool: str, expression: str, groups: Sequence[Group]) -> list[float]:
    """Every value that an expression has in any minute."""
    said = _asked(world, promtool, expression, groups)
    return [float(text.rsplit(" ", 1)[1]) for got in said.values() for text in got]


def _asked(world: World, promtool: str, expression: str, groups: Sequence[Group]) -> dict[int, list[str]]:
    """The samples of an expression by minute, as promtool prints them. It prints them because another answer is expected."""
    wrong = [{"labels": "none", "value": -1}]
    asked = [
        {"expr": expression, "eval_time": f"{minute}m", "exp_samples": wrong}
        for minute in range(0, world.minutes + 1, world.step)
    ]
    with tempfile.TemporaryDirectory() as folder:
        rules, test = Path(folder) / "rules.yml", Path(folder) / "test.yml"
        document = {
            "rule_files": [str(rules)],
            "evaluation_interval": f"{world.step * world.evaluated}s",
            "group_eval_order": [group["name"] for group in groups],
            "tests": [
                {
                    "interval": f"{world.step * world.seconds}s",
                    "input_series": world.inputs(),
                    "promql_expr_test": asked,
                }
            ],
        }
        # JSON is YAML, and takes a hundredth of the time to write.
        for path, content in ((rules, {"groups": list(groups)}), (test, document)):
            path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
        command = [promtool, "test", "rules", str(test)]
        # A third of the time of promtool is garbage collection, unless its small heap may grow. Tests run side by side, so one thread is enough.
        environment = {**os.environ, "GOGC": "400", "GOMAXPROCS": "1"}
        finished = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return _parsed(finished.stdout + finished.stderr)


def _parsed(said: str) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for block in re.split(r'(?=expr: ")', said)[1:]:
        time = re.search(r"time: (\S+),", block)
        assert time, block
        got = block.split("got:", 1)[1]
        found[_minute(time[1])] = [text for text in _SAMPLE.findall(got) if "nil" not in text]
    assert found, said
    return found


def _labels(sample: str) -> Labels:
    labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', sample))
    return frozenset((label, value) for label, value in labels.items() if label not in {"__name__", "alertstate"})


def _minute(text: str) -> int:
    units = {"w": 10_080, "d": 1440, "h": 60, "m": 1, "s": 0}
    return sum(int(number) * units[unit] for number, unit in re.findall(r"(\d+)([wdhms])", text))
