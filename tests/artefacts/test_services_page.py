"""docs/services.md says what the table of services says."""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from tests.rules.pack import promtool

from fss_exporter.model.service_table import GB, GIB, SERVICES, TB, CapacityCeiling
from fss_exporter.oci.iam import NEEDS
from fss_exporter.oci.metric_table import BLOCK, LUSTRE, metrics_of
from fss_exporter.settings import Settings

PAGE = Path(__file__).parents[2] / "docs/services.md"

# Levels of block volumes that a sentence of the page describes in place of a row.
BETWEEN = {f"vpu-{vpus}" for vpus in range(40, 120, 10)}

UNITS = {1000 * GIB: "1,000 GiB", TB: "TB", GB: "GB"}


def _amount(value: float, unit: str) -> str:
    if unit == "B/s" and not value % (1 << 20):
        return f"{value / (1 << 20):,g} MiB/s"
    return f"{value / 1e6:,g} MB/s" if unit == "B/s" else f"{value:,g} IOPS"


def _line(line: CapacityCeiling | None, unit: str) -> str:
    if line is None:
        return ""
    most = "" if line.most is None else _amount(line.most, unit)
    if line.per_unit is None:
        return most
    grows = f"{_amount(line.per_unit, unit)} per {UNITS[int(line.unit_bytes)]}"
    return f"{grows}, up to {most}" if most else grows


def rows() -> Iterator[str]:
    """The table of ceilings, and below it the sources that its last column numbers."""
    numbers: dict[str, int] = {}
    yield "| service | type | IOPS | bandwidth | source |"
    yield "|---|---|---|---|---|"
    for service in SERVICES.values():
        for kind in (kind for kind in service.kinds.values() if kind.name not in BETWEEN):
            lines = [line for line in (kind.iops, kind.both, kind.read, kind.write) if line is not None]
            each = [
                text
                for text, line in (("{} both", kind.both), ("{} read", kind.read), ("{} written", kind.write))
                if line is not None
                for text in [text.format(_line(line, "B/s"))]
            ]
            sources = dict.fromkeys(f"{line.source.document} ({line.source.dated})" for line in lines)
            if kind.remark:
                sources[f"{kind.remark[:1].upper()}{kind.remark[1:]}"] = None
            cited = ", ".join(str(numbers.setdefault(source, len(numbers) + 1)) for source in sources)
            yield f"| `{service.name}` | `{kind.name}` | {_line(kind.iops, 'IOPS')} | {', '.join(each)} | {cited} |"
    yield ""
    yield from (f"{number}. {source}" for source, number in numbers.items())


def test_the_table_of_ceilings_is_the_models() -> None:
    shown = re.search(r"<!-- kinds.*?-->\n(.*?)\n<!-- end of kinds -->", PAGE.read_text(), re.DOTALL)

    assert shown is not None
    assert shown[1].splitlines() == list(rows()), "write the table: python -m tests.artefacts.test_services_page"


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


if __name__ == "__main__":
    text = PAGE.read_text()
    begin, end = text.index("-->\n", text.index("<!-- kinds")) + 4, text.index("<!-- end of kinds")
    PAGE.write_text(text[:begin] + "\n".join(rows()) + "\n" + text[end:])
