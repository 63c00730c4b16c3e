"""A small check of JSON documents against the schemas in docs/schemas: the keywords that these schemas use, and no others."""

import json
from pathlib import Path
from typing import Any

SCHEMAS = Path(__file__).parents[1] / "docs/schemas"
_KEYWORDS = {
    "$schema", "$id", "$defs", "$ref", "title", "description", "type", "const", "enum", "properties", "required",
    "additionalProperties", "items", "anyOf",
}  # fmt: skip
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}


def schema_of(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((SCHEMAS / f"{name}.json").read_text())
    return schema


def problems(document: Any, schema: dict[str, Any], root: dict[str, Any], place: str = "$") -> list[str]:
    """Where a document does not fit a schema; empty if it fits."""
    unknown = schema.keys() - _KEYWORDS
    assert not unknown, f"the schema uses {unknown}"
    if "$ref" in schema:
        return problems(document, root["$defs"][schema["$ref"].rpartition("/")[2]], root, place)
    if "anyOf" in schema:
        tried = [problems(document, choice, root, place) for choice in schema["anyOf"]]
        return [] if any(not messages for messages in tried) else min(tried, key=len)
    if "const" in schema and document != schema["const"]:
        return [f"{place}: {document!r} is not {schema['const']!r}"]
    if "enum" in schema and document not in schema["enum"]:
        return [f"{place}: {document!r} is none of {schema['enum']}"]
    if not _is_a(document, schema.get("type")):
        return [f"{place}: {document!r} is not a {schema['type']}"]
    messages = []
    if isinstance(document, dict):
        messages += _object_problems(document, schema, root, place)
    if isinstance(document, list) and "items" in schema:
        for number, item in enumerate(document):
            messages += problems(item, schema["items"], root, f"{place}[{number}]")
    return messages


def _is_a(document: Any, wanted: str | list[str] | None) -> bool:
    if wanted is None:
        return True
    names = [wanted] if isinstance(wanted, str) else wanted
    is_bool = isinstance(document, bool)
    return any(isinstance(document, _TYPES[name]) and (name == "boolean" or not is_bool) for name in names)


def _object_problems(document: dict[str, Any], schema: dict[str, Any], root: dict[str, Any], place: str) -> list[str]:
    properties, more = schema.get("properties", {}), schema.get("additionalProperties", True)
    messages = [f"{place}: {name} is missing" for name in schema.get("required", ()) if name not in document]
    for name, value in document.items():
        if name in properties:
            messages += problems(value, properties[name], root, f"{place}.{name}")
        elif more is False:
            messages.append(f"{place}: {name} is not in the schema")
        elif isinstance(more, dict):
            messages += problems(value, more, root, f"{place}.{name}")
    return messages
