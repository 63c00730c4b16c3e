"""`cost_model` of the configuration: checked, and used by agent, poller, plan and node_exporter's rules alike."""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.exposition_text import collected
from tests.prompt import ask
from tests.recordings import RECORDINGS, load as load_recording
from tools.generate.cost_rules import rendered

from fss_exporter.cli.serve import CostModelSource, ServeFlags, components_of
from fss_exporter.errors import ConfigError
from fss_exporter.model.cost_overrides import NO_OVERRIDES, CostOverrides
from fss_exporter.nfs.accounts import Accounts
from fss_exporter.oci.minute_metrics import METADATA, READS, WRITES
from fss_exporter.oci.minutes.mount_target_estimates import estimate
from fss_exporter.settings import Settings, load
from fss_toolbox.iostat.saved_readings import between, read_saved

MEASURED = """
cost_model:
  operations:
    RENAME: {io_operations: 9.5, date: 2026-11-22, source: fss-exporter calibrate}
    LOOKUP: {io_operations: 1, date: 2026-11-22, source: fss-exporter calibrate}
    READ: {factor: 1.25, date: 2026-11-22, source: fss-exporter calibrate}
"""


@pytest.fixture
def configuration(tmp_path: Path) -> Path:
    path = tmp_path / "fss-exporter.yml"
    path.write_text(MEASURED)
    return path


@pytest.fixture
def overrides(configuration: Path) -> CostOverrides:
    return load(configuration).cost_model.overrides


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("COFFEE: {io_operations: 1, date: 2026-11-22, source: x}", "COFFEE is no operation"),
        ("READ: {io_operations: 1, date: 2026-11-22, source: x}", "READ needs factor"),
        ("LOOKUP: {factor: 1, date: 2026-11-22, source: x}", "LOOKUP needs io_operations"),
        ("LOOKUP: {date: 2026-11-22, source: x}", "give io_operations"),
        ("LOOKUP: {io_operations: 1, factor: 2, date: 2026-11-22, source: x}", "give io_operations"),
        ("LOOKUP: {io_operations: -1, date: 2026-11-22, source: x}", "greater than or equal to 0"),
        ("LOOKUP: {io_operations: .inf, date: 2026-11-22, source: x}", "1000"),
        ("LOOKUP: {io_operations: 1, source: x}", "date"),
        ("LOOKUP: {io_operations: 1, date: soon, source: x}", "date"),
        ("LOOKUP: {io_operations: 1, date: 2026-11-22}", "source"),
    ],
)
def test_a_mistake_is_named_with_its_place(row: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.yml"
    path.write_text(f"cost_model:\n  operations:\n    {row}\n")
    with pytest.raises(ConfigError) as wrong:
        load(path)
    assert words in str(wrong.value)
    assert "cost_model" in str(wrong.value)


def _costs(overrides: CostOverrides) -> dict[str, float]:
    """Cost by operation of a recorded mix of work, at the agent."""
    accounts = Accounts(overrides=overrides)
    for at, reading in load_recording(RECORDINGS / "kernel-6.12" / "k_mixed").readings():
        accounts.apply(reading, at)
    (mount,) = accounts.mounts.values()
    return {name: totals.cost.point for name, totals in mount.operations.items() if totals.cost}


def test_the_agent_counts_by_the_measured_costs(overrides: CostOverrides) -> None:
    table, measured = _costs(NO_OVERRIDES), _costs(overrides)
    assert table["RENAME"] > 0
    assert table["LOOKUP"] > 0
    assert table["READ"] > 0
    assert measured["RENAME"] == pytest.approx(table["RENAME"] * 9.5 / 8)
    assert measured["LOOKUP"] == pytest.approx(table["LOOKUP"] / 2)
    assert measured["READ"] == pytest.approx(table["READ"] * 1.25)
    same = table.keys() - {"RENAME", "LOOKUP", "READ"}
    assert {name: measured[name] for name in same} == {name: table[name] for name in same}


def test_saved_files_are_judged_by_the_measured_costs(overrides: CostOverrides) -> None:
    folder = RECORDINGS / "kernel-6.12" / "k_mixed"
    texts = [(folder / name).read_text() for name in ("before.txt", "after.txt")]
    mounts = (folder / "mountinfo.txt").read_text()
    before, after = (read_saved(name, text, mounts) for name, text in zip(("before", "after"), texts, strict=True))
    costs = [
        next(iter(between(before, after, None, costs).traffic.values())).operations["RENAME"].iops
        for costs in (NO_OVERRIDES, overrides)
    ]
    assert costs[0]
    assert costs[1]
    assert costs[1].point == pytest.approx(costs[0].point * 9.5 / 8)


def test_the_poller_estimates_by_the_measured_costs() -> None:
    rows = "SETATTR: {io_operations: 5, date: 2026-11-22, source: x}"
    overrides = load_text(rows + "\n    WRITE: {factor: 2, date: 2026-11-22, source: x}").cost_model.overrides
    watched: dict[tuple[str, ...], float] = {
        (READS, "fs", "0B_to_8KiB"): 10.0,
        (WRITES, "fs", "0B_to_8KiB"): 10.0,
        (METADATA, "fs", "SETATTR"): 100.0,
    }
    table, measured = estimate(watched), estimate(watched, overrides)
    assert table is not None
    assert measured is not None
    assert table.point == 10 * 2 + 10 * 4 + 100 * 2
    assert measured.point == 10 * 2 + 10 * 8 + 100 * 5


def load_text(rows: str) -> Settings:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fss-exporter.yml"
        path.write_text(f"cost_model:\n  operations:\n    {rows}\n")
        return load(path)


def test_plan_costs_a_stated_workload_by_them(configuration: Path) -> None:
    stated = ("plan", "--operation", "RENAME=1000", "--reads", "100", "--read-size", "4KiB", "--output", "json")
    table, measured = ask(*stated).document, ask(*stated, "--config.file", configuration).document
    assert _iops(table) == 1000 * 8 + 100 * 2
    assert _iops(measured) == 1000 * 9.5 + 100 * 2 * 1.25


def _iops(document: Any) -> float:
    return float(document["plans"][0]["iops"]["point"])


def test_every_override_is_an_info_series(overrides: CostOverrides) -> None:
    (shown,) = collected(CostModelSource(overrides.rows))
    assert [tuple(sample.labels.values()) for sample in shown.samples] == [
        ("RENAME", "9.5", "", "2026-11-22", "fss-exporter calibrate"),
        ("LOOKUP", "1", "", "2026-11-22", "fss-exporter calibrate"),
        ("READ", "", "1.25", "2026-11-22", "fss-exporter calibrate"),
    ]


class TestRules:
    def test_the_constants_are_the_measured_ones(self, overrides: CostOverrides) -> None:
        text = rendered("clients.yml", overrides)
        of = "group by (operation) (address_operation:fss_client_operations:rate5m"
        assert f'9.5 * {of}{{operation=~"RENAME"}})' in text
        assert f'1 * {of}{{operation=~"ACCESS|COMMIT|FSINFO|FSSTAT|GETATTR|LOOKUP|PATHCONF|READLINK"}})' in text
        assert f'8 * {of}{{operation=~"REMOVE"}})' in text

    def test_node_exporter_s_metadata_and_reads_follow(self, overrides: CostOverrides) -> None:
        rules = _estimates(rendered("node_exporter.yml", overrides))
        assert (
            '9.5 * rate(node_mountstats_nfs_operations_requests_total{operation=~"RENAME"}' in (rules["metadata_write"])
        )
        assert 'operation=~"ACCESS|FSINFO|FSSTAT|GETATTR|LOOKUP|PATHCONF|READLINK"' in rules["metadata_read"]
        assert '(1.25 * node_mount:fss_transfers:rate5m{class="read"} or 2 * node_mount:' in rules["transfers"]

    def test_without_overrides_every_operation_keeps_its_cost(self) -> None:
        shipped = _estimates((Path(__file__).parents[3] / "rules" / "node_exporter.yml").read_text())
        plain = _estimates(rendered("node_exporter.yml", NO_OVERRIDES))
        assert plain["transfers"] == shipped["transfers"]
        assert plain["metadata_write"].count("REMOVE|RENAME") == shipped["metadata_write"].count("REMOVE|RENAME") == 1

    def test_the_tool_writes_files_and_names_a_wrong_configuration(self, configuration: Path, tmp_path: Path) -> None:
        def run(*arguments: object) -> subprocess.CompletedProcess[str]:
            command = [sys.executable, "-m", "tools.generate.cost_rules", *map(str, arguments)]
            return subprocess.run(command, capture_output=True, text=True, check=False)

        assert run(configuration, tmp_path / "rules").returncode == 0
        assert {path.name for path in (tmp_path / "rules").iterdir()} == {"clients.yml", "node_exporter.yml"}
        wrong = run(tmp_path / "nothing.yml", tmp_path)
        assert wrong.returncode == 1
        assert "Traceback" not in wrong.stderr


def _estimates(text: str) -> dict[str, str]:
    rules = [rule for group in yaml.safe_load(text)["groups"] for rule in group["rules"]]
    return {
        rule["labels"].get("class", "transfers"): rule["expr"]
        for rule in rules
        if rule.get("record") == "node_class:fss_client_estimated_iops:rate5m"
    }


def test_the_running_agent_shows_them(configuration: Path) -> None:
    """`serve` has a component for the overrides, and none without them."""
    named = [component.name for component in components_of(ServeFlags(config_file=configuration)) if component.source]
    assert named == ["nfs", "cost_model"]
    assert [component.name for component in components_of(ServeFlags()) if component.source] == ["nfs"]
