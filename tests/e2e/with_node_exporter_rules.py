"""rules/node_exporter.yml on a real node_exporter, beside the agent on the same recorded procfs."""

import json
import re
import shutil
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import promql_parser
import pytest
from tests.artefacts.promql import selectors
from tests.processes import Prometheus, exporter, get, node_exporter, prometheus, wait_for
from tests.recordings import RECORDINGS
from tests.rules.pack import rules_of

from fss_exporter.model.operations import class_of

ROOT = Path(__file__).parents[2]

CONFIGURATION = """
global: {{scrape_interval: 500ms, evaluation_interval: 500ms}}
rule_files: ['{rules}/clients.yml', '{rules}/node_exporter.yml']
scrape_configs:
- job_name: agent
  static_configs: [{{targets: ['{agent}'], labels: {{instance: 'host-a:10949'}}}}]
- job_name: node
  static_configs: [{{targets: ['{node}'], labels: {{instance: 'host-b:9100'}}}}]
"""


class Client:
    """A procfs with one recorded client, before its workload and after."""

    def __init__(self, root: Path, recording: Path) -> None:
        self.root = root
        self.flags = ("--collector.mountstats", f"--path.procfs={root}")
        self._recording = recording
        (root / "1").mkdir(parents=True)
        (root / "self").symlink_to("1")
        shutil.copy(min(recording.glob("mountinfo*.txt")), root / "1" / "mountinfo")
        self._show("before.txt")

    def work(self) -> None:
        """Let the workload have happened."""
        self._show("after.txt")

    def _show(self, name: str) -> None:
        fresh = self.root / "1" / "mountstats.new"
        shutil.copy(self._recording / name, fresh)
        fresh.replace(self.root / "1" / "mountstats")


@dataclass(frozen=True)
class Costs:
    """Estimated I/O operations of one operation, by class."""

    lower: dict[str, float]
    point: dict[str, float]
    upper: dict[str, float]


BOUNDS = ("_lower_bound", "", "_upper_bound")


def agent_costs(server: Prometheus) -> Costs:
    """As the agent itself counts, over the whole workload."""
    done = _by_class(server, "rate(fss_client_operations_total[5m])")
    costs = [_by_class(server, f"rate(fss_client_estimated_io_operations{bound}_total[5m])") for bound in BOUNDS]
    return Costs(*(_each(cost, done) for cost in costs))


def node_costs(server: Prometheus) -> Costs:
    """As rules/node_exporter.yml makes them from node_exporter's counters."""
    done: dict[str, float] = {}
    for row in server.query("sum by (operation) (rate(node_mountstats_nfs_operations_requests_total[5m]))"):
        kind = class_of(row["metric"]["operation"])
        done[kind] = done.get(kind, 0.0) + float(row["value"][1])
    costs = [
        _by_class(server, f'address_class:fss_client_estimated_iops{bound}:rate5m{{agent="node_exporter"}}')
        for bound in BOUNDS
    ]
    return Costs(*(_each(cost, done) for cost in costs))


def _by_class(server: Prometheus, expression: str) -> dict[str, float]:
    return {row["metric"]["class"]: float(row["value"][1]) for row in server.query(f"sum by (class) ({expression})")}


def _each(costs: dict[str, float], done: dict[str, float]) -> dict[str, float]:
    return {kind: cost / done[kind] for kind, cost in costs.items() if done.get(kind)}


@pytest.mark.parametrize("recording", ["kernel-6.12/k_mixed", "kernel-6.1/d4_randwrite_36k"])
def test_node_exporter_and_agent_agree_within_the_bounds_of_the_formulas(recording: str, tmp_path: Path) -> None:
    client = Client(tmp_path / "proc", RECORDINGS / recording)
    with (
        exporter(tmp_path / "agent", f"--path.procfs={client.root}", "--nfs.tick=200ms") as agent,
        node_exporter(tmp_path, *client.flags) as node,
        prometheus(
            CONFIGURATION.format(
                rules=ROOT / "rules", agent=agent.removeprefix("http://"), node=node.removeprefix("http://")
            ),
            tmp_path / "prometheus",
        ) as server,
    ):
        wait_for(lambda: server.value("count(count_over_time(up[1m]) > 2)") == 2, "both to be scraped")
        client.work()
        # What is recorded is older than what it is divided by: half a second for each group in between.
        wait_for(lambda: steady(server), "rates that hardly differ from those of two seconds ago")
        wait_for(lambda: exact_operations_agree(server), "operations of known cost to cost that")
        evaluated(server)
        evaluated(server)  # Some is recorded of what other groups recorded.
        own, made = agent_costs(server), node_costs(server)

    sized = {"read", "write"} & own.point.keys()
    assert sized
    for name in sized:
        assert made.lower[name] * 0.95 <= own.point[name] <= made.upper[name] * 1.05
        assert own.lower[name] * 0.95 <= made.point[name] <= own.upper[name] * 1.05


def test_node_exporter_has_every_series_the_rules_ask_for(tmp_path: Path) -> None:
    client = Client(tmp_path / "proc", RECORDINGS / "kernel-6.12/k_mixed")
    rules = (promql_parser.parse(rule.expr) for rule in rules_of(ROOT / "rules" / "node_exporter.yml"))
    asked = {str(selector.name) for rule in rules for selector in selectors(rule)}
    with node_exporter(tmp_path, *client.flags) as url:
        told = set(re.findall(r"^# TYPE (\w+) ", get(f"{url}/metrics"), re.MULTILINE))

    of_node_exporter = {name for name in asked if name.startswith("node_") and ":" not in name}
    assert of_node_exporter
    assert of_node_exporter <= told


def steady(server: Prometheus) -> bool:
    """Whether every operation that happened has the rate it had two seconds ago, but for 2 %."""
    rate = "rate(node_mountstats_nfs_operations_requests_total[5m])"
    before = rate.replace("[5m]", "[5m] offset 2s")
    changes = server.query(f"abs({rate} / ({before} > 0) - 1)")
    happening = server.query(f"{rate} > 0")
    return 0 < len(happening) == len([row for row in changes if float(row["value"][1]) < 0.02])


def exact_operations_agree(server: Prometheus) -> bool:
    """Whether metadata operations cost the same in both, and something was done at all."""
    own, made = agent_costs(server).point, node_costs(server).point
    exact = own.keys() - {"read", "write"}
    return bool(exact) and all(made.get(kind, 0.0) == pytest.approx(own[kind], rel=0.04) for kind in exact)


def evaluated(server: Prometheus) -> None:
    """Return when every group of rules has been evaluated since the call."""
    called = time.time()

    def all_since() -> bool:
        groups = json.loads(get(f"{server.url}/api/v1/rules"))["data"]["groups"]
        return all(datetime.fromisoformat(group["lastEvaluation"]).timestamp() > called for group in groups)

    wait_for(all_since, "all rules to be evaluated")
