"""What stands around the panels: variables, links, places, and the JSON as it is committed (schema 39)."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tools.dashboards.panels import DATASOURCE, Json, Panel

TAG = "fss"
SCHEMA_VERSION = 39


@dataclass(frozen=True, slots=True)
class Section:
    """A row heading and the panels under it, which flow from left to right."""

    title: str
    panels: Sequence[Panel]


def _datasource_variable() -> Json:
    return {
        "type": "datasource",
        "name": "datasource",
        "label": "Data source",
        "query": "prometheus",
        "refresh": 1,
        "hide": 0,
    }


def query_variable(
    name: str,
    label: str,
    query: str,
    *,
    description: str,
    multi: bool = True,
    hidden: bool = False,
    regex: str = "",
    all_value: str | None = ".*",
) -> Json:
    """A variable filled by a query of labels; one that takes several starts with all of them.

    Args:
        all_value: what stands for all; None lists every value, so that All means all that are offered.
    """
    variable: Json = {
        "type": "query",
        "name": name,
        "label": label,
        "description": description,
        "datasource": DATASOURCE,
        "hide": 2 if hidden else 0,
        "includeAll": multi,
        "multi": multi,
        "query": {"query": query, "refId": "StandardVariableQuery"},
        "refresh": 2,
        "regex": regex,
        "sort": 1,
    }
    if multi:
        variable["current"] = {"selected": True, "text": ["All"], "value": ["$__all"]}
        if all_value is not None:
            variable["allValue"] = all_value
    return variable


def _region_variable() -> Json:
    return query_variable(
        "region", "Region", "label_values(fss_mount_target_info, region)", description="Regions of the inventory."
    )


def dashboard(
    *,
    uid: str,
    title: str,
    description: str,
    sections: Iterable[Section],
    alerts: str,
    variables: Sequence[Json] = (),
) -> Json:
    """A whole dashboard.

    Args:
        alerts: label matchers of the alerts that are marked in its graphs.
        variables: its own, behind data source and region.
    """
    return {
        "annotations": {"list": [_marks(alerts)]},
        "description": description,
        "editable": False,
        "graphTooltip": 1,
        "id": None,
        "links": [_LINK],
        "panels": _placed(sections),
        "refresh": "",
        "schemaVersion": SCHEMA_VERSION,
        "tags": [TAG],
        "templating": {"list": [_datasource_variable(), _region_variable(), *variables]},
        "time": {"from": "now-3h", "to": "now"},
        "timezone": "browser",
        "title": title,
        "uid": uid,
        "version": 1,
    }


_LINK: Json = {
    "asDropdown": False,
    "icon": "dashboard",
    "includeVars": True,
    "keepTime": True,
    "tags": [TAG],
    "targetBlank": False,
    "title": "OCI File Storage",
    "tooltip": "",
    "type": "dashboards",
    "url": "",
}


def _marks(alerts: str) -> Json:
    return {
        "datasource": DATASOURCE,
        "enable": True,
        "expr": f'ALERTS{{{alerts}, alertstate="firing"}}',
        "hide": False,
        "iconColor": "red",
        "name": "Alerts",
        "titleFormat": "{{alertname}}",
    }


def _placed(sections: Iterable[Section]) -> list[Json]:
    """Panels with ids and places: from left to right, a new line where the width is used up."""
    placed: list[Json] = []
    top = 0
    for section in sections:
        place = {"h": 1, "w": 24, "x": 0, "y": top}
        placed.append({"collapsed": False, "gridPos": place, "panels": [], "title": section.title, "type": "row"})
        top, left, tallest = top + 1, 0, 0
        for panel in section.panels:
            if left + panel.width > 24:
                top, left, tallest = top + tallest, 0, 0
            place = {"h": panel.height, "w": panel.width, "x": left, "y": top}
            placed.append(panel.body | {"datasource": DATASOURCE, "gridPos": place})
            left, tallest = left + panel.width, max(tallest, panel.height)
        top += tallest
    return [panel | {"id": number} for number, panel in enumerate(placed, start=1)]


def as_text(content: Json) -> str:
    """JSON as it is committed: sorted keys, so that a change is a small difference."""
    return json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
