"""Dashboards as grafana.com takes them: the data source is an input of the import, not a variable."""

import json
from typing import Any

from tools.generate.dashboards.panels import Json

_INPUT = "DS_PROMETHEUS"
_PANELS = {"heatmap": "Heatmap", "stat": "Stat", "table": "Table", "timeseries": "Time series"}
_OLDEST_GRAFANA = "10.0.0"


def for_grafana_com(dashboard: Json) -> Json:
    """A copy with `__inputs` and `__requires`, and without the variable of the data source."""
    shared: Json = _with_input(dashboard)
    shared["templating"] = {
        "list": [variable for variable in shared["templating"]["list"] if variable["type"] != "datasource"]
    }
    source = {"id": "prometheus", "name": "Prometheus"}
    return {
        "__elements": {},
        "__inputs": [
            {
                "description": "",
                "label": "Prometheus",
                "name": _INPUT,
                "pluginId": source["id"],
                "pluginName": source["name"],
                "type": "datasource",
            }
        ],
        "__requires": [
            {"id": "grafana", "name": "Grafana", "type": "grafana", "version": _OLDEST_GRAFANA},
            {**source, "type": "datasource", "version": "1.0.0"},
            *({"id": kind, "name": _PANELS[kind], "type": "panel", "version": ""} for kind in _kinds(dashboard)),
        ],
        **shared,
    }


def _kinds(dashboard: Json) -> list[str]:
    """Types of panels, those within rows included; a row is a part of Grafana."""
    panels = [panel for outer in dashboard["panels"] for panel in (outer, *outer.get("panels", ()))]
    return sorted({panel["type"] for panel in panels} - {"row"})


def _with_input(dashboard: Json) -> Any:
    text = json.dumps(dashboard).replace("${datasource:queryparam}&", "").replace("${datasource}", f"${{{_INPUT}}}")
    return json.loads(text)
