"""Each dashboard decodes into the models Grafana generates from its own schema, and nothing in it is unknown there."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models import common, dashboard, heatmap, units
from tests.artefacts.shipped_dashboards import objects
from tests.rules.pack import ROOT

FILES = sorted((ROOT / "dashboards").glob("*.json"))

UNKNOWN_TO_THE_MODELS = {
    # The Prometheus data source reads it from its annotations; the models describe annotations of all data sources.
    "annotations.list[0].titleFormat",
}


@pytest.fixture(scope="module", autouse=True)
def plugins() -> None:
    register_default_plugins()


def decoded(content: dict[str, Any]) -> dict[str, Any]:
    """Through the models and back: what they do not know is gone."""
    text = json.dumps(dashboard.Dashboard.from_json(content), cls=JSONEncoder)
    result: dict[str, Any] = json.loads(text)
    return result


def lost(ours: Any, theirs: Any, path: str = "") -> Iterator[str]:
    """Places of ours that are missing or different in theirs."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key, value in ours.items():
            here = f"{path}.{key}" if path else key
            if key not in theirs:
                if value is not None:
                    yield here
            else:
                yield from lost(value, theirs[key], here)
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for position, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from lost(one, other, f"{path}[{position}]")
    elif ours != theirs:
        yield path


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_field_is_unknown_to_grafana(path: Any) -> None:
    content = json.loads(path.read_text("utf-8"))

    assert set(lost(content, decoded(content))) == UNKNOWN_TO_THE_MODELS


def test_a_field_grafana_does_not_know_is_found() -> None:
    content = json.loads(FILES[0].read_text("utf-8"))
    panel = next(panel for panel in content["panels"] if panel["type"] == "timeseries")
    panel["options"]["legendary"] = True
    panel["fieldConfig"]["defaults"]["custom"]["lineWith"] = 2

    fields = {place.rpartition(".")[2] for place in lost(content, decoded(content))}

    assert {"legendary", "lineWith"} <= fields


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_unit_is_one_grafana_knows(path: Any) -> None:
    known = {value for name, value in vars(units).items() if isinstance(value, str) and not name.startswith("_")}
    everything = list(objects(json.loads(path.read_text("utf-8"))))
    used = {node["unit"] for node in everything if isinstance(node.get("unit"), str)}
    used |= {node["value"] for node in everything if node.get("id") == "unit"}

    assert used
    assert {unit for unit in used if not unit.startswith("time:")} <= known  # time:FORMAT is a custom unit of Grafana


def test_every_mode_is_one_grafana_knows() -> None:
    """The models check no values of enumerations, so the ones in use are compared here."""
    enumerations = (
        common.GraphThresholdsStyleMode,
        common.StackingMode,
        common.TooltipDisplayMode,
        common.BarGaugeDisplayMode,
        dashboard.FieldColorModeId,
        dashboard.ThresholdsMode,
        heatmap.HeatmapColorMode,
    )
    known = {str(mode) for enumeration in enumerations for mode in enumeration}
    for path in FILES:
        everything = objects(json.loads(path.read_text("utf-8"))["panels"])
        assert {node["mode"] for node in everything if isinstance(node.get("mode"), str)} <= known
