"""The frame of a dashboard: variables, links, rows, places, and the JSON as it is committed (schema 39)."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count

from tools.generate.dashboards.alerts import marks
from tools.generate.dashboards.panels import DATASOURCE, Json, Panel

from fss_exporter.ocid import BEGINNING

TAG = "fss"
SCHEMA_VERSION = 39


@dataclass(frozen=True, slots=True)
class Section:
    """A row heading and the panels under it, which flow from left to right.

    Without a title the panels have no row: the first screen. Rows are closed, so that only an opened one asks Prometheus.
    """

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
    is_sorted: bool = True,
) -> Json:
    """A variable filled by a query of labels; one that takes several starts with all of them.

    Args:
        all_value: what stands for all; None lists every value, so that All means all that are offered.
        is_sorted: by text, or else as the query sorts its result.
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
        "sort": 1 if is_sorted else 0,
    }
    if multi:
        variable["current"] = {"selected": True, "text": ["All"], "value": ["$__all"]}
        if all_value is not None:
            variable["allValue"] = all_value
    return variable


def text_variable(name: str, label: str, value: str, *, description: str) -> Json:
    """A variable that the reader types in."""
    chosen = {"selected": True, "text": value, "value": value}
    return {
        "type": "textbox",
        "name": name,
        "label": label,
        "description": description,
        "query": value,
        "current": chosen,
        "options": [chosen],
        "hide": 0,
        "skipUrlSync": False,
    }


def _region_variable() -> Json:
    return query_variable(
        "region",
        "Region",
        'label_values(mount_target:fss_mount_target:info{tenancy=~"$tenancy"}, region)',
        description="Regions of the inventory.",
    )


def _tenancy_variable() -> Json:
    return query_variable(
        "tenancy",
        "Tenancy",
        "query_result(group by (tenancy) (mount_target:fss_mount_target:info))",
        description="Accounts of the pollers, by name or by the tail of the OCID.",
        regex=rf'/tenancy="(?<value>(?:{BEGINNING}[^"]*(?=[^"]{{6}}"))?(?<text>[^"]+))"/',
    )


RUNBOOK = query_variable(
    "runbook",
    "Runbook at",
    "label_values(fss_exporter_build_info, instance)",
    description="The exporter whose page /runbook the links of alerts open. Choose one that your browser reaches.",
    multi=False,
)

_TOP: Json = {
    "type": "custom",
    "name": "top",
    "label": "Top",
    "description": "How many mount targets, clients or file systems a graph shows.",
    "query": "5,10,20",
    "options": [{"selected": text == "10", "text": text, "value": text} for text in ("5", "10", "20")],
    "current": {"selected": True, "text": "10", "value": "10"},
    "includeAll": False,
    "multi": False,
    "hide": 0,
    "skipUrlSync": False,
}


def of_inventory(label: str, title: str) -> Json:
    """A variable with the values that a label of the mount targets has. The rows outlive the poller for hours."""
    return query_variable(
        label,
        title,
        f'label_values(mount_target:fss_mount_target:info{{tenancy=~"$tenancy", region=~"$region"}}, {label})',
        description=f"{title} of the mount targets.",
    )


def dashboard(
    *,
    uid: str,
    title: str,
    description: str,
    sections: Iterable[Section],
    alerts: str,
    variables: Sequence[Json] = (),
    links: Sequence[Json] = (),
) -> Json:
    """A whole dashboard.

    Args:
        alerts: label matchers of the alerts that are marked in its graphs.
        variables: its own, behind data source, tenancy and region.
        links: further links at the top right.
    """
    return {
        "annotations": {"list": [_marks(alerts)]},
        "description": description,
        "editable": False,
        "graphTooltip": 1,
        "id": None,
        "links": [*links, _LINK],
        "panels": _placed(sections),
        "refresh": "1m",
        "schemaVersion": SCHEMA_VERSION,
        "tags": [TAG],
        "templating": {
            "list": [_datasource_variable(), _tenancy_variable(), _region_variable(), *variables, _TOP, RUNBOOK]
        },
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


def console_link(url: str) -> Json:
    """A link to the page of a resource in the console of OCI."""
    return _LINK | {
        "icon": "external link",
        "includeVars": False,
        "keepTime": False,
        "tags": [],
        "targetBlank": True,
        "title": "OCI console",
        "type": "link",
        "url": url,
    }


def _marks(alerts: str) -> Json:
    return {
        "datasource": DATASOURCE,
        "enable": True,
        "expr": marks(alerts),
        "hide": False,
        "iconColor": "red",
        "name": "Alerts",
        "titleFormat": "{{alertname}} {{subject}}",
    }


def _placed(sections: Iterable[Section]) -> list[Json]:
    """Rows and panels with ids and places; the panels of a closed row are within the row."""
    placed: list[Json] = []
    top = 0
    for section in sections:
        if not section.title:
            panels, top = _flowed(section.panels, top)
            placed += panels
            continue
        panels, _ = _flowed(section.panels, top + 1)
        place = {"h": 1, "w": 24, "x": 0, "y": top}
        placed.append({"collapsed": True, "gridPos": place, "panels": panels, "title": section.title, "type": "row"})
        top += 1
    return _numbered(placed)


def _flowed(panels: Iterable[Panel], top: int) -> tuple[list[Json], int]:
    """Panels from left to right, a new line where the width is used up; and where the next line begins."""
    placed = []
    left, tallest = 0, 0
    for panel in panels:
        if left + panel.width > 24:
            top, left, tallest = top + tallest, 0, 0
        place = {"h": panel.height, "w": panel.width, "x": left, "y": top}
        placed.append(panel.body | {"datasource": DATASOURCE, "gridPos": place})
        left, tallest = left + panel.width, max(tallest, panel.height)
    return placed, top + tallest


def _numbered(placed: list[Json]) -> list[Json]:
    numbers = count(1)
    numbered = []
    for panel in placed:
        own = panel | {"id": next(numbers)}
        if panel["type"] == "row":
            own["panels"] = [inner | {"id": next(numbers)} for inner in panel["panels"]]
        numbered.append(own)
    return numbered


def as_text(content: Json) -> str:
    """JSON as it is committed: sorted keys, so that a change is a small difference, and few spaces, because an annotation must hold all."""
    return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
