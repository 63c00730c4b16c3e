"""What panels answer over series of a test, evaluated by promtool."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.artefacts.promql import substituted
from tests.artefacts.shipped_dashboards import PANELS, Panel, variables
from tests.rules.pack import RULES, promtool, rules_of

_AT = "20m"

# Expressions of the recording rules by name of the series.
RECORDED = {
    rule.name: rule.expr
    for path in (RULES / "load.yml", RULES / "clients.yml", RULES / "panels.yml")
    for rule in rules_of(path)
    if not rule.is_alert
}


def computed(expr: str, name: str) -> str:
    """An expression with a rule in place of the series that it records."""
    return re.sub(rf"{name}(?![\w:{{])", lambda _: f"({RECORDED[name]})", expr)


# A series whose target is gone for some minutes.
STALE = "100x5 stale"

# An OCID as OCI gave them in 2016.
OF_2016 = "ocidv1:tenancy:oc1:phx:1450000000000:aaaabbbbcccc"

# Variables of the dashboard of one mount target. All other variables have the value All.
CHOSEN = {"mount_target": "ocid1.mt", "mount_address": "10.0.0.1"}


def panel_of(file: str, title: str) -> Panel:
    (panel_of_title,) = (panel for panel in PANELS if (panel.file, panel.title) == (f"{file}.json", title))
    return panel_of_title


def expressions(panel: Panel) -> list[str]:
    return [substituted(expr, CHOSEN) for _, expr, _ in panel.queries()]


def expressions_with(file: str, title: str, chosen: Mapping[str, str]) -> list[str]:
    """The expressions of a panel where the reader chose this."""
    return [substituted(expr, chosen) for _, expr, _ in panel_of(file, title).queries()]


def offered(dashboard: str, variable: str) -> str:
    """The expression whose series a variable offers."""
    query: str = variables(f"{dashboard}.json")[variable]["query"]["query"]
    return query.removeprefix("query_result(").removesuffix(")")


def ask(folder: Path, series: Mapping[str, str], expected: Sequence[tuple[str, Sequence[tuple[str, float]]]]) -> None:
    """Fail where an expression has other samples than expected, after these series came once a minute."""
    asked = [
        {
            "expr": expr,
            "eval_time": _AT,
            "exp_samples": [{"labels": labels, "value": value} for labels, value in samples],
        }
        for expr, samples in expected
    ]
    inputs = [{"series": name, "values": values} for name, values in series.items()]
    test: dict[str, Any] = {"interval": "1m", "input_series": inputs, "promql_expr_test": asked}
    document = folder / "test.yml"
    document.write_text(json.dumps({"tests": [test]}), encoding="utf-8")
    content, said = promtool("test", "rules", document)
    assert content, said
