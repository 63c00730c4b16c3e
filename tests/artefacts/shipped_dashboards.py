"""The shipped dashboards as the tests read them."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import promql_parser
import pytest
from tests.artefacts.promql import Names, Series, dimension_of_unit, substituted
from tests.rules.pack import ROOT

FOLDER = ROOT / "dashboards"
FILES = {path.name: path for path in sorted(FOLDER.glob("*.json"))}
DASHBOARDS: dict[str, dict[str, Any]] = {name: json.loads(path.read_text("utf-8")) for name, path in FILES.items()}
UIDS = {
    "clients.json": "fss-clients",
    "exporter.json": "fss-exporter",
    "file-systems.json": "fss-file-systems",
    "fleet.json": "fss-fleet",
    "mount-target.json": "fss-mount-target",
}
NAMES = Names.of_this_project()
NAMES.by_name["ALERTS_FOR_STATE"] = Series(
    NAMES.by_name["ALERTS"].labels - {"alertstate"}, dimension_of_unit("seconds")
)
for _name, _series in NAMES.by_name.items():
    if re.match(
        r"slo:|mount_target_class:fss_latency_objective:ratio", _name
    ):  # shares, over constants without a dimension
        NAMES.by_name[_name] = Series(_series.labels)


@dataclass(frozen=True)
class Panel:
    file: str
    body: dict[str, Any]

    @property
    def title(self) -> str:
        return str(self.body["title"])

    def queries(self) -> Iterator[tuple[str, str, str]]:
        """Reference, expression, legend of each target."""
        for target in self.body["targets"]:
            yield target["refId"], target["expr"], target["legendFormat"]

    def __str__(self) -> str:
        return f"{self.file}: {self.title}"


def panels_of(content: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every panel, those of closed rows included."""
    for body in content["panels"]:
        yield from body["panels"] if body["type"] == "row" else [body]


PANELS = [Panel(name, body) for name, content in DASHBOARDS.items() for body in panels_of(content)]
QUERIES = [(panel, ref, expr, legend) for panel in PANELS for ref, expr, legend in panel.queries()]
EVERY_DASHBOARD = pytest.mark.parametrize("name", DASHBOARDS)


def variables(name: str) -> dict[str, dict[str, Any]]:
    return {variable["name"]: variable for variable in DASHBOARDS[name]["templating"]["list"]}


def parsed(expr: str) -> Any:
    return promql_parser.parse(substituted(expr))


def objects(node: Any) -> Iterator[dict[str, Any]]:
    """Every JSON object within a value, itself included."""
    if isinstance(node, dict):
        yield node
    for value in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from objects(value)
