"""Panels as Grafana's JSON has them, no more than our dashboards need (Grafana 10 and later).

A panel is a plain dictionary. The builders fill in what all panels of a type have in common.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fss_exporter.model.thresholds import (
    CRITICAL_RATIO,
    LATENCY_CRITICAL_RATIO,
    WARNING_RATIO,
)

Json = dict[str, Any]

DATASOURCE: Json = {"type": "prometheus", "uid": "${datasource}"}

CEILING_STEPS = ((None, "green"), (WARNING_RATIO, "orange"), (CRITICAL_RATIO, "red"))
OBJECTIVE_STEPS = ((None, "green"), (WARNING_RATIO, "orange"), (LATENCY_CRITICAL_RATIO, "red"))
NEUTRAL_STEPS = ((None, "text"),)
NOT_ZERO_STEPS = ((None, "green"), (1, "orange"))
NOT_ZERO_CRITICAL_STEPS = ((None, "green"), (1, "red"))

Steps = Sequence[tuple[float | None, str]]

NO_POLLER = -1  # value of a number that only a poller could tell, where there is none

# A missing value without the colour of the lowest step, which is green.
NO_DATA: Json = {
    "type": "special",
    "options": {"match": "null+nan", "result": {"color": "text", "index": 0, "text": "no data"}},
}

# Digits after the point by unit, where a panel does not say otherwise.
#
# Not 0 for a graph of shares: Grafana would round its axis to whole ones, which is 100 %.
DECIMALS = {
    "Bps": 1,
    "bytes": 1,
    "cps": 2,
    "iops": 1,
    "none": 0,
    "ops": 1,
    "percentunit": 1,
    "reqps": 1,
    "s": 1,
    "short": 1,
}

AGE_DECIMALS = 0  # of an age in seconds

NUMBER_DECIMALS = DECIMALS | {"percentunit": 0}  # the same for a single number or a cell

# Narrowest panel with its legend beside the graph, in grid units. Beside the graph a legend shows ten rows, below it three.
LEGEND_BESIDE = 10

# Minimum step of every rate: the window is then four minutes or more. A shorter window is empty at a scrape of 60 s where the data
# source says 15 s, and a saw-tooth for the counters of the poller, which grow once a minute.
MINIMUM_STEP = "1m"


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


_IN_PLACE: Sequence[Json] = (
    NO_DATA,
    {
        "type": "value",
        "options": {str(NO_POLLER): {"color": "text", "index": 1, "text": "no poller"}},
    },
)


def thresholds(steps: Steps) -> Json:
    """Colours and where they begin."""
    return {"mode": "absolute", "steps": [{"color": color, "value": value} for value, color in steps]}


def targets(queries: Sequence[Query], *, instant: bool, form: str = "time_series") -> list[Json]:
    """Queries of a panel: once for now, or over the time shown. `form` is time_series, table or heatmap."""
    return [
        _target(query, chr(ord("A") + position), instant=instant, form=form) for position, query in enumerate(queries)
    ]


def _target(query: Query, ref: str, *, instant: bool, form: str) -> Json:
    target: Json = {
        "datasource": DATASOURCE,
        "editorMode": "code",
        "expr": query.expr,
        "format": form,
        "instant": instant,
        "legendFormat": query.name or "__auto",
        "range": not instant,
        "refId": ref,
    }
    return target | {"interval": MINIMUM_STEP} if "$__rate_interval" in query.expr else target


def stat(
    title: str,
    description: str,
    *queries: Query,
    unit: str,
    steps: Steps,
    width: int = 3,
    decimals: int | None = None,
    words: Mapping[str, tuple[str, str]] | None = None,
) -> Panel:
    """One number in the colour of its step, or the word and colour that `words` has for it.

    Further queries say what is known in its place, in grey: no colour judges a value that is not fresh or of a part of the load. The name of
    a query stands below its number.
    """
    unknown = [_colourless(chr(ord("A") + position)) for position in range(1, len(queries))]
    body: Json = {
        "type": "stat",
        "title": title,
        "description": description,
        "targets": targets(queries, instant=True),
        "fieldConfig": {
            "defaults": {
                "color": {"mode": "thresholds"},
                "decimals": NUMBER_DECIMALS[unit] if decimals is None else decimals,
                "mappings": [value_words(words)] if words else [*_IN_PLACE],
                "noValue": "no data",
                "thresholds": thresholds(steps),
                "unit": unit,
            },
            "overrides": unknown,
        },
        "options": {
            "colorMode": "value",
            "graphMode": "none",
            "justifyMode": "auto",
            "orientation": "auto",
            "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
            "textMode": "value_and_name" if any(query.name for query in queries) else "value",
        },
    }
    return Panel(body, width, 4)


def value_words(words: Mapping[str, tuple[str, str]]) -> Json:
    """Text and colour in place of a value."""
    options = {
        raw: {"color": color, "index": at, "text": text} for at, (raw, (text, color)) in enumerate(words.items())
    }
    return {"type": "value", "options": options}


def _colourless(ref: str) -> Json:
    """The result of a query in the colour of text."""
    color = {"fixedColor": "text", "mode": "fixed"}
    return {
        "matcher": {"id": "byFrameRefID", "options": ref},
        "properties": [{"id": "color", "value": color}],
    }


def tally(title: str, description: str, *exprs: str | Query, steps: Steps = NEUTRAL_STEPS, width: int = 3) -> Panel:
    """A count; uncoloured, unless `steps` say from where on it is too many."""
    queries = [Query(expression) if isinstance(expression, str) else expression for expression in exprs]
    return stat(title, description, *queries, unit="none", steps=steps, width=width)


def graph(
    title: str,
    description: str,
    *queries: Query,
    unit: str,
    steps: Steps | None = None,
    stacked: bool = False,
    overrides: Sequence[Json] = (),
    renames: Sequence[tuple[str, str]] = (),
    empty: str = "",
    width: int = 12,
    height: int = 9,
    decimals: int | None = None,
    logarithmic: bool = False,
) -> Panel:
    """Lines over time, the largest first in the legend.

    Args:
        steps: drawn as lines across the panel.
        empty: text of a panel without data, where no data is good or has a known reason.
        logarithmic: for values that differ by powers of ten.
        renames: a regular expression without slashes and what it is replaced with, for labels that are no words of people.
    """
    defaults = _line_defaults(unit, steps, stacked=stacked) | {
        "decimals": DECIMALS[unit] if decimals is None else decimals
    }
    if empty:
        defaults["noValue"] = empty
    if logarithmic:
        defaults["custom"] |= {"fillOpacity": 0, "scaleDistribution": {"type": "log", "log": 10}}
        del defaults["min"]  # 0 is not on the axis
    body: Json = {
        "type": "timeseries",
        "title": title,
        "description": description,
        "targets": targets(queries, instant=False),
        "fieldConfig": {
            "defaults": defaults,
            "overrides": [*overrides],
        },
        "options": {
            "legend": {
                "calcs": ["lastNotNull", "max"] if width > 2 * LEGEND_BESIDE else ["lastNotNull"],
                "displayMode": "table" if width >= LEGEND_BESIDE else "list",
                "placement": "right" if width >= LEGEND_BESIDE else "bottom",
                "showLegend": True,
                "sortBy": "Last *",
                "sortDesc": True,
            },
            "tooltip": {"mode": "multi", "sort": "desc"},
        },
    }
    if renames:
        body["transformations"] = [_rename(*rename) for rename in renames]
    return Panel(body, width, height)


def _rename(regex: str, replacement: str) -> Json:
    """Slashes: without them Grafana takes a regular expression for the whole name only."""
    return {"id": "renameByRegex", "options": {"regex": f"/{regex}/", "renamePattern": replacement}}


def _line_defaults(unit: str, steps: Steps | None, *, stacked: bool) -> Json:
    custom: Json = {
        "drawStyle": "line",
        "fillOpacity": 60 if stacked else 0,
        "lineWidth": 1,
        "showPoints": "never",
        "spanNulls": False,
        "stacking": {"group": "A", "mode": "normal" if stacked else "none"},
        "thresholdsStyle": {"mode": "dashed" if steps else "off"},
    }
    if steps and steps[-1][0]:
        custom["axisSoftMax"] = round(1.05 * steps[-1][0], 4)
    elif unit in {"iops", "ops", "reqps", "cps"}:
        custom["axisSoftMax"] = 1  # an axis without values would reach 100
    return {
        "color": {"mode": "palette-classic"},
        "custom": custom,
        "min": 0,
        "thresholds": thresholds(steps or NEUTRAL_STEPS),
        "unit": unit,
    }


def heatmap(
    title: str, description: str, expr: str, *, unit: str, empty: str, width: int = 12, height: int = 9
) -> Panel:
    """The buckets of a histogram over time; `expr` has the label `le` and no other. `empty` is the text without data."""
    body: Json = {
        "type": "heatmap",
        "title": title,
        "description": description,
        "targets": targets([Query(expr, "{{le}}")], instant=False, form="heatmap"),
        "fieldConfig": {"defaults": {"noValue": empty}, "overrides": []},
        "options": {
            "calculate": False,
            "cellGap": 1,
            "color": {
                "exponent": 0.5,
                "fill": "dark-orange",
                "mode": "scheme",
                "reverse": False,
                "scale": "exponential",
                "scheme": "Oranges",
                "steps": 64,
            },
            "legend": {"show": True},
            "tooltip": {"mode": "single", "yHistogram": False},
            "yAxis": {"axisPlacement": "left", "decimals": DECIMALS[unit], "reverse": False, "unit": unit},
        },
    }
    return Panel(body, width, height)


def override(name: str, *, regex: bool = False, **properties: Any) -> Json:  # Grafana's own values
    """Properties of one series by legend, or of all a regular expression finds; `__` in a property's name stands for a dot."""
    matcher = {"id": "byRegexp", "options": f"/{name}/"} if regex else {"id": "byName", "options": name}
    return {
        "matcher": matcher,
        "properties": [{"id": key.replace("__", "."), "value": value} for key, value in properties.items()],
    }


def line(name: str, color: str, *, dashed: bool = False, regex: bool = False, legend: bool = True) -> Json:
    """A series in a colour of its own; a dashed one is a limit and has no fill. A legend has room for three rows."""
    properties: Json = {"color": {"fixedColor": color, "mode": "fixed"}}
    if dashed:
        properties |= {"custom__lineStyle": {"dash": [8, 6], "fill": "dash"}, "custom__fillOpacity": 0}
    if not legend:
        properties["custom__hideFrom"] = {"legend": True, "tooltip": False, "viz": False}
    return override(name, regex=regex, **properties)


def lines(colours: Mapping[str, str]) -> list[Json]:
    """Series in colours of their own, by legend."""
    return [line(name, colour) for name, colour in colours.items()]


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
