"""How much CPU each panel costs at 2,000 clients and six hours: a real prometheus, an agent and a poller, CPU seconds.

The series are those that an agent with a mount and a poller of fifty mount targets answer. The answer of the agent is repeated for every
client and its four mounts. What the rules record, and what a graph reads itself, is there for each minute. The other counters of the clients
are there for the first and the newest minutes alone, because no graph reads the counters of every client over the time shown
(tests/artefacts/test_dashboard_queries.py). The rules are evaluated once, at the first minutes.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import promql_parser
import yaml
from lab.benches.bench_rules import counter
from lab.benches.scraped_fleet import MOUNT_TARGETS, address_of, of_agent, of_clients, of_poller
from lab.pictures.answers import Prometheus
from lab.pictures.replay import FLAGS, Labels, Rules, Server, samples_of
from lab.pictures.scenes import Asked, Json, panels_of
from tests.artefacts.promql import selectors, substituted
from tests.processes import prometheus

from fss_toolbox.demo.region import Region, large

ROOT = Path(__file__).parents[2]
FILES = ("clients.yml", "load.yml", "service_level.yml", "monitoring.yml", "panels.yml")
BUDGET_S = 1.0
FILE_SYSTEMS_EACH = 4
_TRIES = 4  # how often a panel is asked. The least CPU counts, because a collection of garbage belongs to no panel

Samples = Sequence[tuple[Labels, float]]


@dataclass(frozen=True)
class Fleet:
    """Series with their speed a second (counters) or their value, as the servers of one tenancy answer."""

    often: Samples  # what a graph reads over the time shown
    rarely: Samples  # counters of every client, which only the rules and tables read


def _history(samples: Samples, moments: Sequence[float], since: float) -> Iterator[tuple[Labels, list[float]]]:
    """The values of series at moments, epoch seconds."""
    for labels, value in samples:
        name = labels[0][1]
        if name.endswith("_total"):
            yield labels, [value * (moment - since) for moment in moments]
        elif name.endswith("_timestamp_seconds"):
            yield labels, [moment - 60 for moment in moments]
        else:
            yield labels, [value] * len(moments)


def of_exact_mode(network: str, rules: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Labels, float]]:
    """What the rules record of the histograms of agents in exact mode, which the clients of this fleet are not in."""
    for record in (rule["record"] for rule in rules if "_bucket:" in rule.get("record", "")):
        label, values = ("class", _CLASSES) if record.startswith("address_class") else ("operation", ("READ", "WRITE"))
        for number in range(MOUNT_TARGETS):
            for value in values:
                for exponent in range(8, 26):
                    edge = "+Inf" if exponent == 25 else f"{2**exponent / 1e6:g}"
                    yield (
                        (
                            ("__name__", record),
                            ("network", network),
                            ("address", address_of(number)),
                            (label, value),
                            ("le", edge),
                        ),
                        float(exponent),
                    )


_CLASSES = ("read", "write", "metadata_read", "metadata_write")


def read_over_time(dashboards: Iterable[Json]) -> set[str]:
    """Names that graphs read over the time shown while all clients are chosen."""
    return {
        selector.name
        for dashboard in dashboards
        for panel in panels_of(dashboard)
        for target in panel["targets"]
        if not target["instant"]
        for selector in selectors(promql_parser.parse(substituted(target["expr"])))
        if not any(matcher.name == "instance" and "NotRe" in str(matcher.op) for matcher in selector.matchers.matchers)
    }


def fleet(folder: Path, clients: int, dashboards: Iterable[Json]) -> tuple[str, Fleet]:
    """Network and series of everything that is scraped."""
    random.seed(1)
    with Region(large(MOUNT_TARGETS, FILE_SYSTEMS_EACH)) as region:
        network = region.tenancy.region
        of_region = list(samples_of(of_poller(folder, region), (("instance", "poller"), ("job", "fss-exporter"))))
        series = [*of_region, *of_clients(of_agent(folder, network), clients)]
    names = read_over_time(dashboards) | {labels[0][1] for labels, _ in of_region}
    often = [row for row in series if row[0][0][1] in names]
    return network, Fleet(often, [row for row in series if row[0][0][1] not in names])


def fill(server: Server, of: Fleet, recorded_too: Samples, groups: Sequence[Any], begin: float, hours: float) -> float:
    """Store the history. The last moment, epoch seconds."""
    moments = [begin + 60 * minute for minute in range(int(hours * 60) + 1)]
    first, later = moments[:_FIRST_MINUTES], moments[_FIRST_MINUTES:]
    server.write_history(_history([*of.often, *of.rarely], first, begin), first)
    Rules(server, groups).evaluate(first[-1])
    recorded = [*server.ask('{__name__=~".+:.+"}', first[-1]), *recorded_too]
    for number in range(0, len(later), _PART):
        part = later[number : number + _PART]
        server.write_history(_history(of.often, part, begin), part)
        server.write_history(((labels, _noisy(value, len(part))) for labels, value in recorded), part)
    newest = later[-_NEWEST_MINUTES:]
    server.write_history(_history(of.rarely, newest, begin), newest)
    return moments[-1]


def _noisy(value: float, count: int) -> list[float]:
    return [value * random.uniform(0.9, 1.1) for _ in range(count)]  # no secret


_FIRST_MINUTES = 2  # so that a rate has a value
_NEWEST_MINUTES = 6  # more than the window of a rate
_PART = 30  # minutes: the server refuses samples that are an hour older than the newest


class _Measured:
    """A server, and the CPU seconds that its answers took."""

    def __init__(self, server: Prometheus) -> None:
        self._server = server
        self.cpu_s = 0.0

    @property
    def scrape_s(self) -> int:
        return self._server.scrape_s

    def ask(self, path: str, **parameters: str) -> Any:
        before = self._cpu_s()
        answer = self._server.ask(path, **parameters)
        self.cpu_s += self._cpu_s() - before
        return answer

    def _cpu_s(self) -> float:
        return counter(self._server.url, "process_cpu_seconds_total")


def measured(server: Prometheus, dashboard: Json, end: float, hours: float) -> Iterator[tuple[float, str]]:
    """CPU seconds of the variables, and of each panel."""
    every = _Measured(server)
    asked = Asked(every, dashboard, end - 3600 * hours, end, {})
    variables = asked.variables()
    yield every.cpu_s, "(the variables)"
    for panel in panels_of(dashboard):
        costs = []
        for _ in range(_TRIES):
            every.cpu_s = 0.0
            asked.answers(panel, variables)
            costs.append(every.cpu_s)
        yield min(costs), panel["title"]


@contextmanager
def filled(clients: int, hours: float, dashboards: Sequence[Json]) -> Iterator[tuple[Prometheus, float]]:
    """A running server with the history, and the end of the history in epoch seconds."""
    groups = [group for name in FILES for group in yaml.safe_load((ROOT / "rules" / name).read_text("utf-8"))["groups"]]
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        network, series = fleet(folder, clients, dashboards)
        exact = list(of_exact_mode(network, (rule for group in groups for rule in group["rules"])))
        with prometheus("", folder / "prometheus", *FLAGS, "--query.max-samples=100000000") as running:
            end = fill(Server(running.url), series, exact, groups, time.time() // 60 * 60 - 3600 * hours, hours)
            said = f"{clients:,} clients, {MOUNT_TARGETS} mount targets, {hours:g} h"
            counts = f"{len(series.often) + len(series.rarely):,} series scraped"
            print(f"{said}, {counts}, filled in {time.monotonic() - began:.0f} s", flush=True)
            yield Prometheus(running.url, 60), end


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=2_000)
    parser.add_argument("--hours", type=float, default=6)
    options = parser.parse_args()
    dashboards = [json.loads(path.read_text("utf-8")) for path in sorted((ROOT / "dashboards").glob("*.json"))]
    worst = 0.0
    with filled(options.clients, options.hours, dashboards) as (server, end):
        for dashboard in dashboards:
            costs = sorted(measured(server, dashboard, end, options.hours), reverse=True)
            print(f"{dashboard['uid']:18} {sum(cost for cost, _ in costs):6.2f} CPU s, {len(costs)} panels")
            for cost, title in costs[:3]:
                print(f"{'':18} {cost:6.2f} {title}", flush=True)
            worst = max(worst, costs[0][0])
    if worst >= BUDGET_S:
        sys.exit(f"a panel costs more than {BUDGET_S:.0f} s of CPU")


if __name__ == "__main__":
    main()
