"""Panels in Grafana's own words, as little of them as our dashboards need (Grafana 10 and later).

A panel is a plain dictionary; builders fill in what is the same for all of ours.
"""

from collections.abc import Sequence
from dataclasses import dataclass
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


def thresholds(steps: Steps) -> Json:
    """Colours and where they begin."""
    return {"mode": "absolute", "steps": [{"color": color, "value": value} for value, color in steps]}


def targets(queries: Sequence[Query], *, instant: bool, table: bool) -> list[Json]:
    """What a panel asks: once for now, or over the time shown."""
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
        "targets": targets([query], instant=True, table=False),
        "fieldConfig": {
            "defaults": {
                "color": {"mode": "thresholds"},
                "noValue": "no data",
                "thresholds": thresholds(steps),
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


def tally(title: str, description: str, expr: str, *, steps: Steps = NEUTRAL_STEPS, width: int = 3) -> Panel:
    """How many there are; uncoloured, unless `steps` say from where on it is too many."""
    return stat(title, description, Query(expr), unit="none", steps=steps, width=width)


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
    defaults = _line_defaults(unit, steps, stacked=stacked)
    if decimals is not None:
        defaults["decimals"] = decimals
    body: Json = {
        "type": "timeseries",
        "title": title,
        "description": description,
        "targets": targets(queries, instant=False, table=False),
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


def _line_defaults(unit: str, steps: Steps | None, *, stacked: bool) -> Json:
    custom: Json = {
        "drawStyle": "line",
        "fillOpacity": 60 if stacked else 6,
        "lineWidth": 1,
        "showPoints": "never",
        "spanNulls": False,
        "stacking": {"group": "A", "mode": "normal" if stacked else "none"},
        "thresholdsStyle": {"mode": "dashed" if steps else "off"},
    }
    if unit == "percentunit" and steps and steps[-1][0]:
        custom["axisSoftMax"] = round(1.05 * steps[-1][0], 4)
    return {
        "color": {"mode": "palette-classic"},
        "custom": custom,
        "min": 0,
        "thresholds": thresholds(steps or NEUTRAL_STEPS),
        "unit": unit,
    }


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
