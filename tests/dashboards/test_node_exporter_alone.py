"""A fleet with node_exporter alone: the page says which panels of the clients have data, and no other has."""

import json
import re
import shutil
from pathlib import Path

from tests.artefacts.promql import substituted
from tests.artefacts.shipped_dashboards import PANELS
from tests.rules.pack import ROOT, RULE_FILES, promtool

_MOUNT = 'job="node",instance="n1:9100",mountaddr="10.0.0.5",export="10.0.0.5:/a",protocol="tcp"'
_OPERATIONS = "node_mountstats_nfs_operations"
_READ_BYTES = 50 * (1 << 20)

# Growth a second of the counters of one host, of which one call in ten is sent again.
_GROWTH = {
    f"node_mountstats_nfs_total_read_bytes_total{{{_MOUNT}}}": _READ_BYTES,
    **{
        f'{_OPERATIONS}_{what}_total{{{_MOUNT},operation="{operation}"}}': rate * share
        for operation, rate in (("READ", 50), ("GETATTR", 100))
        for what, share in (("requests", 1), ("transmissions", 1.1), ("response_time_seconds", 0.002))
    },
}


def test_the_page_lists_the_panels_of_the_clients_that_have_data(tmp_path: Path) -> None:
    page = (ROOT / "docs/start/node-exporter.md").read_text("utf-8")
    (section,) = re.findall(r"## What the dashboards show\n(.*?)\n## ", page, re.DOTALL)
    listed = {" ".join(title.split()) for title in re.findall(r"\*([^*]+)\*", section)}
    panels = {panel.title.split(":")[0]: panel for panel in PANELS if panel.file == "clients.json"}

    asked = [
        {
            "expr": " or ".join(
                f"group({substituted(expr)})" for _, expr, _ in panel.queries() if "absent(" not in expr
            ),
            "eval_time": "25m",
            "exp_samples": [{"labels": "{}", "value": 1}] if title in listed else [],
        }
        for title, panel in panels.items()
    ]
    for path in RULE_FILES:
        shutil.copy(path, tmp_path)
    inputs = [{"series": name, "values": f"0+{60 * growth:g}x30"} for name, growth in _GROWTH.items()]
    test = {"interval": "1m", "input_series": inputs, "promql_expr_test": asked}
    rules = [path.name for path in RULE_FILES]
    document = tmp_path / "test.yml"
    document.write_text(json.dumps({"rule_files": rules, "evaluation_interval": "1m", "tests": [test]}), "utf-8")
    fine, said = promtool("test", "rules", document)

    assert listed <= set(panels)
    assert fine, said
