"""How much CPU each panel costs at 2,000 clients and six hours: a real prometheus, generated clients, CPU seconds.

Every client mounts four exports of fifty mount targets. The counters of the clients are there at the begin and at the end of the six
hours, because panels read counters for the newest minutes alone (tests/artefacts holds them to it). The rules are evaluated once, and what
they record is repeated for each minute of the six hours.
"""

import argparse
import json
import random
import re
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from tests.processes import prometheus
from tools.dashboard_pictures.answers import Prometheus
from tools.dashboard_pictures.replay import FLAGS, Labels, Rules, Server
from tools.dashboard_pictures.scenes import Asked, Json, panels_of
from tools.fleet_series import MOUNT_TARGETS, Selected, of_client, of_region, selected

ROOT = Path(__file__).parent.parent
FILES = ("clients.yml", "panels.yml", "load.yml")
BUDGET_S = 1.0
_BEGIN = 1_795_003_200
_COUNTED_MINUTES = 6
_SERIES = re.compile(r'(\w+)="([^"]*)"')


def _labels(text: str) -> Labels:
    name, _, rest = text.partition("{")
    return (("__name__", name), *_SERIES.findall(rest))


def _fleet(clients: int, names: dict[str, Selected]) -> list[tuple[Labels, float]]:
    """Every series, and how fast it grows or what it is."""
    random.seed(1)
    lines = [line for client in range(clients) for line in of_client(client, names)]
    lines += of_region(names)
    return [(_labels(line), random.lognormvariate(2, 1)) for line in lines]  # no secret


def _at(fleet: Iterable[tuple[Labels, float]], seconds: float) -> Iterator[tuple[Labels, float]]:
    for labels, speed in fleet:
        yield labels, speed * seconds if labels[0][1].endswith("_total") else speed


def cpu_s(url: str) -> float:
    """CPU seconds of the server so far."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("process_cpu_seconds_total"))


def fill(server: Server, fleet: Sequence[tuple[Labels, float]], groups: Sequence[Any], hours: float) -> float:
    """Store the history. The last moment, epoch seconds."""
    for minute in range(_COUNTED_MINUTES):
        server.write(_at(fleet, 60 * minute), _BEGIN + 60 * minute)
    first = _BEGIN + 60 * (_COUNTED_MINUTES - 1)
    Rules(server, groups).evaluate(first)
    recorded = server.ask('{__name__=~".+:.+"}', first)
    minutes = int(hours * 60)
    for minute in range(_COUNTED_MINUTES, minutes + 1):
        at = _BEGIN + 60 * minute
        server.write(((labels, value * random.uniform(0.9, 1.1)) for labels, value in recorded), at)  # noqa: S311
        if minute > minutes - _COUNTED_MINUTES:
            server.write(_at(fleet, 60 * minute), at)
    return float(_BEGIN + 60 * minutes)


class _Dear:
    """A server whose answers are measured."""

    def __init__(self, server: Prometheus) -> None:
        self._server = server
        self.costs: list[tuple[float, str]] = []

    @property
    def scrape_s(self) -> int:
        return self._server.scrape_s

    def ask(self, path: str, **parameters: str) -> Any:
        before = cpu_s(self._server.url)
        answer = self._server.ask(path, **parameters)
        self.costs.append((cpu_s(self._server.url) - before, parameters.get("query", "")))
        return answer


def measured(server: Prometheus, dashboard: Json, end: float, hours: float) -> Iterator[tuple[float, str]]:
    """CPU seconds of each panel."""
    for panel in panels_of(dashboard):
        dear = _Dear(server)
        alone = {**dashboard, "panels": [panel], "annotations": {"list": []}}
        Asked(dear, alone, end - 3600 * hours, end, {}).scene()
        yield sum(cost for cost, _ in dear.costs[-len(panel["targets"]) :]), panel["title"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=2_000)
    parser.add_argument("--hours", type=float, default=6)
    options = parser.parse_args()
    groups = [group for name in FILES for group in yaml.safe_load((ROOT / "rules" / name).read_text("utf-8"))["groups"]]
    names: dict[str, Selected] = {}
    for name in {name for group in groups for name in selected(group) if ":" not in name}:
        names[name] = Selected(name)
        names[name].add([])  # every series of the name
    dashboards = [json.loads(path.read_text("utf-8")) for path in sorted((ROOT / "dashboards").glob("*.json"))]
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory() as folder,
        prometheus("", Path(folder), *FLAGS, "--query.max-samples=100000000") as running,
    ):
        fleet = _fleet(options.clients, names)
        end = fill(Server(running.url), fleet, groups, options.hours)
        said = f"{options.clients:,} clients, {MOUNT_TARGETS} mount targets, {len(fleet):,} series, {options.hours:g} h"
        print(f"{said}, filled in {time.monotonic() - began:.0f} s", flush=True)
        worst = 0.0
        for dashboard in dashboards:
            costs = sorted(measured(Prometheus(running.url, 60), dashboard, end, options.hours), reverse=True)
            print(f"{dashboard['uid']:18} {sum(cost for cost, _ in costs):6.2f} CPU s, {len(costs)} panels")
            for cost, title in costs[:3]:
                print(f"{'':18} {cost:6.2f} {title}", flush=True)
            worst = max(worst, costs[0][0])
    if worst >= BUDGET_S:
        sys.exit(f"a panel costs more than {BUDGET_S:.0f} s of CPU")


if __name__ == "__main__":
    main()
