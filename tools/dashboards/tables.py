"""Tables in Grafana's own words: a row per set of labels, a column per label or query."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tools.dashboards.panels import NEUTRAL_STEPS, Json, Panel, Query, Steps, targets, thresholds

_DEFAULTS: Json = {
    "color": {"mode": "thresholds"},
    "custom": {"align": "auto", "cellOptions": {"type": "auto"}, "filterable": False, "inspect": False},
    "noValue": "-",
    "thresholds": thresholds(NEUTRAL_STEPS),
    "unit": "string",
}


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
    body: Json = {
        "type": "table",
        "title": title,
        "description": description,
        "targets": targets(queries, instant=True, table=True),
        "transformations": _transformations(names, merge=len(queries) > 1),
        "fieldConfig": {
            "defaults": _DEFAULTS,
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
    properties: list[Json] = []
    if column.heading is None:
        properties.append({"id": "custom.hidden", "value": True})
    else:
        properties.append({"id": "displayName", "value": column.heading})
    if column.unit is not None:
        properties.append({"id": "unit", "value": column.unit})
    if column.steps is not None:
        properties.append({"id": "thresholds", "value": thresholds(column.steps)})
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
