"""Tables in Grafana's own words: a row per set of labels, a column per label or query."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tools.generate.dashboards.panels import (
    NEUTRAL_STEPS,
    NUMBER_DECIMALS,
    Json,
    Panel,
    Query,
    Steps,
    targets,
    thresholds,
    value_words,
)

from fss_exporter.ocid import BEGINNING

_DEFAULTS: Json = {
    "color": {"mode": "thresholds"},
    "custom": {"align": "auto", "cellOptions": {"type": "auto"}, "filterable": False, "inspect": False},
    "thresholds": thresholds(NEUTRAL_STEPS),
    "unit": "string",
}


_MISSING: Json = {
    "type": "special",
    "options": {"match": "null+nan", "result": {"color": "text", "index": 0, "text": "-"}},
}


_TAIL: Json = {
    "type": "regex",
    "options": {"pattern": f"/^{BEGINNING}.*(.{{6}})$/", "result": {"color": "text", "index": 2, "text": "…$1"}},
}

_EMPTY: Json = {"type": "special", "options": {"match": "empty", "result": {"color": "text", "index": 1, "text": "-"}}}


@dataclass(frozen=True, slots=True)
class Column:
    """How a table shows a field: a label, or the value of the query of that name.

    Attributes:
        heading: as the reader sees it; None hides the field from sight but keeps it for links.
        unit, steps, decimals: of a value; bar draws it as a bar from 0 to 1.
        width: in pixels; None lets Grafana choose, `least` or more, by default 150.
        url: where a click leads.
        words: what the reader sees in place of a text, and its colour.
        has_ocids: of a text that is a name or an OCID: the tail of an OCID is shown.
        is_optional: of a text that some rows do not have: a dash there.
    """

    heading: str | None
    unit: str | None = None
    steps: Steps | None = None
    decimals: int | None = None
    bar: bool = False
    width: int | None = None
    least: int | None = None
    url: str | None = None
    words: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    has_ocids: bool = False
    is_optional: bool = False


def table(
    title: str,
    description: str,
    *queries: Query,
    columns: Mapping[str, Column],
    sort_by: str | Sequence[str] = (),
    ascending: bool = False,
    empty: str = "No data.",
    width: int = 24,
    height: int = 10,
) -> Panel:
    """One row per set of labels, one column per query; fields that are no column are left out.

    Args:
        columns: by label name or by the name of a query, in the order they are shown.
        empty: text of a table without rows.
        sort_by: headings, largest first unless `ascending`.
    """
    headings = [sort_by] if isinstance(sort_by, str) else sort_by
    fields = {query.name: _value_field(position, queries) for position, query in enumerate(queries)}
    names = [fields.get(name, name) for name in columns]
    body: Json = {
        "type": "table",
        "title": title,
        "description": description,
        "targets": targets(queries, instant=True, form="table"),
        "transformations": _transformations(names, merge=len(queries) > 1),
        "fieldConfig": {
            "defaults": _DEFAULTS | {"noValue": empty},
            "overrides": [_column_override(name, column) for name, column in zip(names, columns.values(), strict=True)],
        },
        "options": {
            "cellHeight": "sm",
            "footer": {"countRows": False, "enablePagination": False, "fields": "", "reducer": ["sum"], "show": False},
            "showHeader": True,
            "sortBy": [{"desc": not ascending, "displayName": heading} for heading in headings],
        },
    }
    return Panel(body, width, height)


def _transformations(names: Sequence[str], *, merge: bool) -> list[Json]:
    """One row of several queries' values; the fields of these names in this order, and no other."""
    return [
        *([{"id": "merge", "options": {}}] if merge else []),
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


def _value_field(position: int, queries: Sequence[Query]) -> str:
    """Grafana names the value of the only query `Value`, of several `Value #A`, `Value #B`."""
    return f"Value #{chr(ord('A') + position)}" if len(queries) > 1 else "Value"


def _column_override(name: str, column: Column) -> Json:
    properties = {
        **_sight(column),
        **_value(column),
        "custom.width": column.width,
        "custom.minWidth": column.least,
        "links": [{"title": "Open", "url": column.url}] if column.url else None,
    }
    shown = [{"id": key, "value": value} for key, value in properties.items() if value is not None]
    return {"matcher": {"id": "byName", "options": name}, "properties": shown}


def _sight(column: Column) -> Json:
    """Grafana 10 and 11 hide a column by `hidden`, later versions by `hideFrom`; each ignores the other."""
    if column.heading is None:
        return {"custom.hidden": True, "custom.hideFrom": {"legend": False, "tooltip": False, "viz": True}}
    return {"displayName": column.heading}


def _value(column: Column) -> Json:
    decimals = NUMBER_DECIMALS.get(column.unit or "") if column.decimals is None else column.decimals
    mappings = [_MISSING] if column.unit else [_MISSING, _EMPTY] if column.is_optional else []
    if column.has_ocids:
        mappings = [_TAIL, *mappings]
    if column.words:
        mappings = [value_words(column.words), *mappings]
    return {
        "unit": column.unit,
        "decimals": decimals,
        "thresholds": thresholds(column.steps) if column.steps else None,
        "mappings": mappings or None,
        "custom.cellOptions": _cell(bar=column.bar) if column.steps or column.words else None,
        "min": 0 if column.bar else None,
        "max": 1 if column.bar else None,
    }


def _cell(*, bar: bool) -> Json:
    return {"mode": "basic", "type": "gauge", "valueDisplayMode": "text"} if bar else {"type": "color-text"}
