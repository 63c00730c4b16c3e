"""`cost_model` of the configuration reaches every command that prices operations, and NLM beside the operations of NFSv3."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.exposition_text import collected
from tests.fss_toolbox.plan.planned import by_part
from tests.prompt import ask
from tests.recordings import RECORDINGS, load as load_recording

from fss_exporter.cli.serve import CostModelSource
from fss_exporter.client_scrape import override_of
from fss_exporter.model.cost_overrides import NO_OVERRIDES, CostOverride, CostOverrides
from fss_exporter.model.estimate import Bounds
from fss_exporter.model.limits import Limits
from fss_exporter.model.traffic import OperationTraffic, Traffic
from fss_exporter.nfs.collector import Answer
from fss_kernel_counting.sizes.counted_costs import CountedTotals, counted_families
from fss_toolbox.iostat.host_reports import HostTraffic
from fss_toolbox.plan.history import client_loads
from fss_toolbox.plan.prometheus_api import Prometheus
from fss_toolbox.scrape_text import read_scrape
from fss_toolbox.sizing.workload import priced

FIXTURES = Path(__file__).parents[2] / "fixtures"
NFSIOSTAT = FIXTURES / "nfs-utils" / "k_mixed" / "nfsiostat.txt"
HOST = FIXTURES / "procfs" / "second"
TWICE = "cost_model:\n  operations:\n" + "".join(
    f"    {name}: {{{cost}, date: 2026-11-22, source: x}}\n"
    for name, cost in {
        "READ": "factor: 2",
        "WRITE": "factor: 2",
        "GETATTR": "io_operations: 2",
        "ACCESS": "io_operations: 2",
        "LOOKUP": "io_operations: 4",
        "NLM": "io_operations: 8",
    }.items()
)
NLM_ONLY = CostOverrides((CostOverride("NLM", 6.0, 1.0, "2026-11-22", "x"),))
RENAME = CostOverride("RENAME", 9.5, 1.0, "2026-11-22", "x")


@pytest.fixture
def twice(tmp_path: Path) -> tuple[str, Path]:
    """The flag with a configuration that doubles the costs."""
    path = tmp_path / "fss-exporter.yml"
    path.write_text(TWICE)
    return "--config.file", path


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (("iostat", "--to", NFSIOSTAT), "READ"),
        (("iostat", "--path.procfs", HOST), "READ"),
    ],
    ids=["nfsiostat", "means since mount"],
)
def test_iostat_shows_the_measured_costs(command: tuple[object, ...], name: str, twice: tuple[str, Path]) -> None:
    by_operation = (*command, "--by", "operation", "--output", "json")
    table, measured = ask(*by_operation).document, ask(*by_operation, *twice).document
    assert _iops(measured, name) == pytest.approx([2 * cost for cost in _iops(table, name)])
    assert any(_iops(table, name))


def test_a_live_report_of_iostat_counts_by_them() -> None:
    """However short its interval is."""
    renames = []
    for overrides in (NO_OVERRIDES, CostOverrides((RENAME,))):
        looks = (reading for _, reading in load_recording(RECORDINGS / "kernel-6.12" / "k_mixed").readings())
        first, *_, last = looks
        (report,) = HostTraffic(iter((first, last)).__next__, overrides=overrides).reports(0.01, 1)
        (traffic,) = report.traffic.values()
        rate = traffic.operations["RENAME"]
        assert rate.iops
        renames.append(rate.iops.point / rate.operations)
    assert renames == pytest.approx([8.0, 9.5])


def _iops(document: Any, name: str) -> list[float]:
    """Point estimates of an operation, by mount target."""
    rows = (row for target in document["mount_targets"] for row in target["operations"])
    return [row["estimated_iops"]["point"] for row in rows if row["operation"] == name and row["estimated_iops"]]


def test_plan_prices_saved_nfsiostat_output(twice: tuple[str, Path]) -> None:
    command = ("plan", "--nfsiostat", NFSIOSTAT, "--output", "json")
    table, measured = (ask(*command, *more).document["plans"][0]["iops"]["point"] for more in ((), twice))
    assert measured == pytest.approx(2 * table)


def test_fio_prices_a_report(twice: tuple[str, Path]) -> None:
    command = ("fio", FIXTURES / "fio" / "normal.txt", "--output", "json")
    table, measured = (ask(*command, *more).document["groups"][0]["mount_target_iops"] for more in ((), twice))
    assert measured["point"] == pytest.approx(2 * table["point"])


def test_plan_prices_lock_calls_and_leaves_free_all_alone(twice: tuple[str, Path]) -> None:
    answer = ask("plan", "--operation", "NLM_LOCK=10", "--operation", "NLM_FREE_ALL=1", *twice, "--output", "json")
    assert answer.document["plans"][0]["iops"]["point"] == 10 * 8 + 8


def test_counted_lock_calls_cost_what_was_measured() -> None:
    totals = CountedTotals()
    totals.locks["10.0.0.3", "LOCK"] = 10
    totals.locks["10.0.0.3", "FREE_ALL"] = 1
    for overrides, cost in ((NO_OVERRIDES, 48.0), (NLM_ONLY, 68.0)):
        families = {family.name: family for family in counted_families(totals, overrides, Answer())}
        (sample,) = families["fss_client_lock_io_operations"].samples
        assert sample.value == cost


def test_an_unknown_cost_stays_unknown() -> None:
    traffic = Traffic({"OPEN": OperationTraffic(5.0), "RENAME": OperationTraffic(2.0, Bounds(16, 16, 16))})
    measured = priced(traffic, CostOverrides((RENAME,)))
    assert measured.operations["OPEN"].iops is None
    assert measured.operations["RENAME"].iops == Bounds(19, 19, 19)


class TestReadBack:
    def test_a_scrape_says_which_costs_its_agent_counts_by(self) -> None:
        (family,) = collected(CostModelSource((RENAME,)))
        labels = family.samples[0].labels
        text = ",".join(f'{name}="{value}"' for name, value in labels.items())
        scrape = read_scrape("x", f"fss_cost_model_info{{{text}}} 1\nfss_client_read_bytes_total{{{MOUNT}}} 1\n")
        assert scrape.overrides.rows == (RENAME,)
        assert override_of(labels) == RENAME

    def test_the_operations_of_a_week_cost_what_the_newest_measurement_says(self) -> None:
        prometheus = Prometheus(by_part(_answers), now=1000.0)
        (load,) = client_loads(prometheus, None, lambda _: Limits()).values()
        assert load.traffic.operations["RENAME"].iops == Bounds(95.0, 95.0, 95.0)


MOUNT = 'address="10.0.0.3",server="s",export="/a",service="oci-fss"'


def _answers(path: str) -> str:
    """A Prometheus with one operation, and two agents that were calibrated on different days."""
    url = urlsplit(path)
    query = parse_qs(url.query)["query"][0]
    if url.path.endswith("query_range"):
        return _result([{"metric": {"address": "10.0.0.3"}, "values": [[900, "10"]]}])
    of: Any = {"service": "oci-fss", "class": "metadata_write"}
    if query == "group by (operation, io_operations, factor, date, source) (fss_cost_model_info @ 900.0)":
        return _result([_info("2026-11-22", "9.5"), _info("2026-01-01", "3")])
    if "fss_client_operations_total" in query:
        return _result([{"metric": of | {"operation": "RENAME"}, "value": [900, "10"]}])
    if "fss_client_estimated_io_operations_total" in query:
        return _result([{"metric": of, "value": [900, "95"]}])
    return _result([])


def _info(date: str, cost: str) -> dict[str, object]:
    labels = {"operation": "RENAME", "io_operations": cost, "factor": "", "date": date, "source": "x"}
    return {"metric": labels, "value": [900, "1"]}


def _result(series: list[object]) -> str:
    return json.dumps({"status": "success", "data": {"result": series}})
