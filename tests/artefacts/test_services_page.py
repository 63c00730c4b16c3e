"""docs/services.md says what the table of services says."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from tests.rules.pack import promtool
from tools.generate.services_page import BETWEEN, PAGE, with_table

from fss_exporter.model.service_table import GB, SERVICES
from fss_exporter.oci.iam import NEEDS
from fss_exporter.oci.metric_table import BLOCK, LUSTRE, metrics_of
from fss_exporter.settings import Settings


def test_the_table_of_ceilings_is_the_models() -> None:
    assert with_table(PAGE.read_text()) == PAGE.read_text(), "run: make generated"


def test_the_levels_between_two_rows_lie_on_the_line_of_the_page() -> None:
    iops, throughput = "15 IOPS per GB, and 25,000 IOPS to the most", "0.12 MB/s per GB, and 200 MB/s to the most"
    levels = [kind for kind in SERVICES["block-volume"].kinds.values() if kind.name in BETWEEN | {"vpu-30", "vpu-120"}]

    assert f"Each 10 VPU add {iops}. They add {throughput}." in " ".join(PAGE.read_text().split())
    assert len(levels) == 10
    for gigabytes, more in ((1, (15, 0.12e6)), (10**6, (25_000, 200e6))):
        ceilings = [level.ceilings(gigabytes * GB) for level in levels]
        for lower, higher in pairwise((limits.iops or 0, limits.bytes_per_second or 0) for limits in ceilings):
            assert (higher[0] - lower[0], higher[1] - lower[1]) == pytest.approx(more)


def test_every_service_has_a_row() -> None:
    assert set(re.findall(r"^\| `([\w-]+)` \| (?!`)", PAGE.read_text(), re.MULTILINE)) == set(SERVICES)


def test_the_configurations_shown_are_correct() -> None:
    shown = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)

    assert shown
    for text in shown:
        Settings.model_validate(yaml.safe_load(text))


def test_the_query_shown_tells_what_is_read_from_each_kind_of_service(tmp_path: Path) -> None:
    (query,) = re.findall(r"```promql\n(.*?)```", PAGE.read_text(), re.DOTALL)
    mount = 'address="10.9.0.5", server="x.nas.aliyuncs.com", export="/share", service="apsara-nas"'
    series = {
        **{f'fss_client_read_bytes_total{{instance="{host}", {mount}}}': "0+120x10" for host in ("web", "db")},
        **{f'fss_client_service_info{{instance="{host}", {mount}, kind="capacity"}}': "1x10" for host in ("web", "db")},
    }
    expected = {"labels": '{service="apsara-nas", kind="capacity"}', "value": 4}
    case = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [{"expr": query, "eval_time": "10m", "exp_samples": [expected]}],
    }
    path = tmp_path / "test.yml"
    path.write_text(yaml.safe_dump({"tests": [case]}))

    fine, said = promtool("test", "rules", path)

    assert fine, said


def test_the_number_of_queries_is_reported() -> None:
    counted = f"({len(metrics_of(['lustre']))} and {len(metrics_of(['block-volume']))})"

    assert counted in PAGE.read_text()


@pytest.mark.parametrize("operation", ["ListLustreFileSystems", "ListVolumes", "ListBootVolumes"])
def test_the_policies_are_those_the_calls_need(operation: str) -> None:
    need = NEEDS[operation]

    assert f"to {need.verb} {need.resource} in tenancy\n" in PAGE.read_text()


@pytest.mark.parametrize("namespace", [LUSTRE, BLOCK])
def test_the_policies_allow_the_metrics_of_each_namespace(namespace: str) -> None:
    need = NEEDS["SummarizeMetricsData"]

    assert f"to {need.verb} {need.resource} in tenancy where {need.condition(namespace)}\n" in PAGE.read_text()
