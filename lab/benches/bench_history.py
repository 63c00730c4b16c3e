"""What the rules cost that read 7 and 30 days, in a real prometheus with that much history.

The history is as dense as rules record it, in the large blocks to which a prometheus merges it in time. Each rule is asked as a query, because
its group is evaluated each four minutes only.
"""

import argparse
import random
import subprocess
import tempfile
import time
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import yaml
from lab.benches.bench_rules import ROOT, ask, counter, prometheus

DAY_S = 86_400
MOUNT_TARGET = 'tenancy="t",region="eu-frankfurt-1",mount_target_id="ocid1.mounttarget.oc1.%d"'


@dataclass(frozen=True)
class History:
    """What a rule reads of many days.

    Attributes:
        rule: the name of what it records.
        metric: what it reads.
        labels: of each series of a mount target.
        days: how far back.
        step_s: seconds between two samples, as the rules record the metric.
    """

    rule: str
    metric: str
    labels: tuple[str, ...]
    days: int
    step_s: int

    def lines(self, mount_targets: int, end_s: int) -> Iterator[str]:
        """The samples in OpenMetrics."""
        values = random.Random(0)
        yield f"# TYPE {self.metric} gauge\n"
        for number in range(mount_targets):
            for labels in self.labels:
                series = f"{self.metric}{{{MOUNT_TARGET % number},{labels}}}"
                for time_s in range(end_s - self.days * DAY_S, end_s + 1, self.step_s):
                    yield f"{series} {values.random():.3f} {time_s}\n"


HISTORIES = (
    History(
        "mount_target_resource:fss_utilisation:p99_7d",
        "mount_target_resource:fss_utilisation:ratio",
        tuple(
            f'resource="{resource}",source="{source}"'
            for resource in ("iops", "read_bandwidth", "write_bandwidth")
            for source in ("oci", "clients")
        ),
        days=7,
        step_s=60,
    ),
    History(
        "slo:fss_error_budget_left:ratio",
        "slo:fss_error_budget_burn:ratio",
        tuple(
            f'objective="{objective}",source="{source}",window="6h"'
            for objective in ("availability", "latency")
            for source in ("oci", "clients")
        ),
        days=30,
        step_s=240,
    ),
)


def expression(rule: str) -> str:
    """What the rules evaluate to record this."""
    groups = [group for path in ROOT.glob("rules/*.yml") for group in yaml.safe_load(path.read_text())["groups"]]
    (found,) = (entry["expr"] for group in groups for entry in group["rules"] if entry.get("record") == rule)
    return str(found)


def load(directory: Path, mount_targets: int, end_s: int) -> None:
    """Write the blocks of all histories to where prometheus reads them."""
    history = directory / "history.om"
    with history.open("w", encoding="utf-8") as file:
        for of_rule in HISTORIES:
            file.writelines(of_rule.lines(mount_targets, end_s))
        file.write("# EOF\n")
    command = ("promtool", "tsdb", "create-blocks-from", "openmetrics", "--max-block-duration=744h", history)
    subprocess.run([*command, directory / "data"], check=True, capture_output=True)
    history.unlink()


def cpu_of(url: str, query: str, end_s: int, rounds: int) -> tuple[float, int]:
    """CPU seconds of prometheus for one answer, and the series in it."""
    asked = f"{url}/api/v1/query?{urllib.parse.urlencode({'query': query, 'time': end_s})}"
    series = len(ask(asked)["data"]["result"])  # the first answer reads the blocks from the disk
    cpu_s = counter(url, "process_cpu_seconds_total")
    for _ in range(rounds):
        ask(asked)
    return (counter(url, "process_cpu_seconds_total") - cpu_s) / rounds, series


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mount-targets", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    say = partial(print, flush=True)
    end_s = int(time.time()) // DAY_S * DAY_S
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        load(directory, options.mount_targets, end_s)
        (directory / "prometheus.yml").write_text("global: {}\n")
        with prometheus(directory) as url:
            say(f"{options.mount_targets} mount targets, {len(list((directory / 'data').glob('*/meta.json')))} blocks")
            for history in HISTORIES:
                cpu_s, series = cpu_of(url, expression(history.rule), end_s, options.rounds)
                say(
                    f"{history.rule:40} {series:5} series {cpu_s / options.mount_targets * 1000:7.2f} ms of CPU a mount target"
                )


if __name__ == "__main__":
    main()
