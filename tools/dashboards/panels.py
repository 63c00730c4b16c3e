"""Panels in Grafana's own words, as little of them as our dashboards need (Grafana 10 and later).

A panel is a plain dictionary; builders fill in what is the same for all of ours.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fss_exporter.model.thresholds import (
    CRITICAL_RATIO,
    LATENCY_CRITICAL_RATIO,
    LATENCY_WARNING_RATIO,
    WARNING_RATIO,
)

Json = dict[str, Any]

DATASOURCE: Json = {"type": "prometheus", "uid": "${datasource}"}

CEILING_STEPS = ((None, "green"), (WARNING_RATIO, "orange"), (CRITICAL_RATIO, "red"))
OBJECTIVE_STEPS = ((None, "green"), (LATENCY_WARNING_RATIO, "orange"), (LATENCY_CRITICAL_RATIO, "red"))
NEUTRAL_STEPS = ((None, "text"),)
NOT_ZERO_STEPS = ((None, "green"), (1, "orange"))
NOT_ZERO_CRITICAL_STEPS = ((None, "green"), (1, "red"))

Steps = Sequence[tuple[float | None, str]]


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel before it has its place: width and height in grid units (24 wide)."""

    body: Json
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Query:
    """A PromQL query; `name` is its legend, or in a table the heading of its column."""

    expr: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """How a table shows a field: a label, or the value of the query of that name.

    Attributes:
        heading: as the reader sees it; None hides the field from sight but keeps it for links.
        unit, steps: of a value; bar draws it as a bar from 0 to 1.
        width: in pixels; None lets Grafana choose.
        url: where a click leads.
    """

    heading: str | None
    unit: str | None = None
    steps: Steps | None = None
    bar: bool = False
    width: int | None = None
    url: str | None = None
    mappings: Sequence[Json] = field(default=())


def _thresholds(steps: Steps) -> Json:
    return {"mode": "absolute", "steps": [{"color": color, "value": value} for value, color in steps]}


def _targets(queries: Sequence[Query], *, instant: bool, table: bool) -> list[Json]:
    return [
        {
            "datasource": DATASOURCE,
            "editorMode": "code",
            "expr": query.expr,
            "format": "table" if table else "time_series",
            "instant": instant,
            "legendFormat": query.name or "__auto",
            "range": not instant,
            "refId": chr(ord("A") + position),
        }
        for position, query in enumerate(queries)
    ]


def stat(title: str, description: str, query: Query, *, unit: str, steps: Steps, width: int = 3) -> Panel:
    """One number, coloured by its steps."""
    body: Json = {
        "type": "stat",
        "title": title,
        "description": description,
        "targets": _targets([query], instant=True, table=False),
        "fieldConfig": {
            "defaults": {
                "color": {"mode": "thresholds"},
                "noValue": "no data",
                "thresholds": _thresholds(steps),
                "unit": unit,
            },
            "overrides": [],
        },
        "options": {
            "colorMode": "value",
            "graphMode": "none",
            "justifyMode": "auto",
            "orientation": "auto",
            "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
            "textMode": "auto",
        },
    }
    if unit == "percentunit":
        body["fieldConfig"]["defaults"] |= {"max": 1, "min": 0}
    return Panel(body, width, 4)


def graph(
    title: str,
    description: str,
    *queries: Query,
    unit: str,
    steps: Steps | None = None,
    stacked: bool = False,
    overrides: Sequence[Json] = (),
    width: int = 12,
    height: int = 9,
    decimals: int | None = None,
) -> Panel:
    """Lines over time. With steps, their lines are drawn across the panel."""
    custom: Json = {
        "drawStyle": "line",
        "fillOpacity": 60 if stacked else 6,
        "lineWidth": 1,
        "showPoints": "never",
        "spanNulls": False,
        "stacking": {"group": "A", "mode": "normal" if stacked else "none"},
        "thresholdsStyle": {"mode": "dashed" if steps else "off"},
    }
    defaults: Json = {
        "color": {"mode": "palette-classic"},
        "custom": custom,
        "min": 0,
        "thresholds": _thresholds(steps or NEUTRAL_STEPS),
        "unit": unit,
    }
    if unit == "percentunit" and steps and steps[-1][0]:
        custom["axisSoftMax"] = round(1.05 * steps[-1][0], 4)
    if decimals is not None:
        defaults["decimals"] = decimals
    body: Json = {
        "type": "timeseries",
        "title": title,
        "description": description,
        "targets": _targets(queries, instant=False, table=False),
        "fieldConfig": {"defaults": defaults, "overrides": list(overrides)},
        "options": {
            "legend": {
                "calcs": ["lastNotNull", "max"],
                "displayMode": "table",
                "placement": "bottom",
                "showLegend": True,
            },
            "tooltip": {"mode": "multi", "sort": "desc"},
        },
    }
    return Panel(body, width, height)


def table(
    title: str,
    description: str,
    *queries: Query,
    columns: Mapping[str, Column],
    sort_by: str | None = None,
    width: int = 24,
    height: int = 10,
) -> Panel:
    """One row per set of labels, one column per query; fields that are no column are left out.

    Args:
        columns: by label name or by the name of a query, in the order they are shown.
        sort_by: heading, largest first.
    """
    fields = {query.name: _value_field(position, queries) for position, query in enumerate(queries)}
    names = [fields.get(name, name) for name in columns]
    transformations: list[Json] = [{"id": "merge", "options": {}}] if len(queries) > 1 else []
    transformations += [
        {"id": "filterFieldsByName", "options": {"include": {"names": names}}},
        {
            "id": "organize",
            "options": {
                "excludeByName": {},
                "indexByName": {name: position for position, name in enumerate(names)},
                "renameByName": {},
            },
        },
    ]
    body: Json = {
        "type": "table",
        "title": title,
        "description": description,
        "targets": _targets(queries, instant=True, table=True),
        "transformations": transformations,
        "fieldConfig": {
            "defaults": {
                "color": {"mode": "thresholds"},
                "custom": {"align": "auto", "cellOptions": {"type": "auto"}, "filterable": False, "inspect": False},
                "noValue": "-",
                "thresholds": _thresholds(NEUTRAL_STEPS),
                "unit": "string",
            },
            "overrides": [_column_override(name, column) for name, column in zip(names, columns.values(), strict=True)],
        },
        "options": {
            "cellHeight": "sm",
            "footer": {"countRows": False, "enablePagination": True, "fields": "", "reducer": ["sum"], "show": False},
            "showHeader": True,
            "sortBy": [{"desc": True, "displayName": sort_by}] if sort_by else [],
        },
    }
    return Panel(body, width, height)


def _value_field(position: int, queries: Sequence[Query]) -> str:
    """Grafana names the value of the only query `Value`, of several `Value #A`, `Value #B`."""
    return f"Value #{chr(ord('A') + position)}" if len(queries) > 1 else "Value"


def _column_override(name: str, column: Column) -> Json:
    properties: list[Json] = []
    if column.heading is None:
        properties.append({"id": "custom.hidden", "value": True})
    else:
        properties.append({"id": "displayName", "value": column.heading})
    if column.unit is not None:
        properties.append({"id": "unit", "value": column.unit})
    if column.steps is not None:
        properties.append({"id": "thresholds", "value": _thresholds(column.steps)})
        properties.append({"id": "custom.cellOptions", "value": _cell(bar=column.bar)})
    if column.bar:
        properties += [{"id": "min", "value": 0}, {"id": "max", "value": 1}]
    if column.width is not None:
        properties.append({"id": "custom.width", "value": column.width})
    if column.url is not None:
        properties.append({"id": "links", "value": [{"title": "Open", "url": column.url}]})
    if column.mappings:
        properties.append({"id": "mappings", "value": list(column.mappings)})
    return {"matcher": {"id": "byName", "options": name}, "properties": properties}


def _cell(*, bar: bool) -> Json:
    return {"mode": "basic", "type": "gauge", "valueDisplayMode": "text"} if bar else {"type": "color-text"}


def override(name: str, *, regex: bool = False, **properties: Any) -> Json:  # Grafana's own values
    """Properties of one series by legend; `__` in a property's name stands for a dot."""
    return {
        "matcher": {"id": "byRegexp" if regex else "byName", "options": name},
        "properties": [{"id": key.replace("__", "."), "value": value} for key, value in properties.items()],
    }


def line(name: str, color: str, *, dashed: bool = False, regex: bool = False) -> Json:
    """A series in a colour of its own; a dashed one is a limit and has no fill."""
    properties: Json = {"color": {"fixedColor": color, "mode": "fixed"}}
    if dashed:
        properties |= {"custom__lineStyle": {"dash": [8, 6], "fill": "dash"}, "custom__fillOpacity": 0}
    return override(name, regex=regex, **properties)


def band(lower: str, upper: str, color: str) -> list[Json]:
    """Two series without lines, the room between them filled, out of the legend."""
    common: Json = {
        "color": {"fixedColor": color, "mode": "fixed"},
        "custom__lineWidth": 0,
        "custom__hideFrom": {"legend": True, "tooltip": False, "viz": False},
    }
    return [
        override(upper, **common, custom__fillBelowTo=lower, custom__fillOpacity=18),
        override(lower, **common, custom__fillOpacity=0),
    ]
