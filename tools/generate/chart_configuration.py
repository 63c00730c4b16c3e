"""Write the keys of the exporter's configuration into the schema of the chart's values. `make chart` runs it.

Only keys are held. A value can take forms that JSON Schema does not know, such as a duration, and the exporter checks it.
"""

import json
from pathlib import Path
from typing import Any

from fss_exporter.settings import Settings

SCHEMA = Path(__file__).parents[2] / "deploy/helm/fss-exporter/values.schema.json"


def configuration() -> dict[str, Any]:
    """Return the known keys of a configuration file, as a part of a JSON schema."""
    whole = Settings.model_json_schema()
    keys: dict[str, Any] = _keys(whole, whole["$defs"])
    return keys


def with_configuration(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of the values with these keys in the place of the earlier ones."""
    return {**schema, "definitions": {"configuration": configuration()}}


def text(schema: dict[str, Any]) -> str:
    """Return the schema as the file has it."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _keys(part: Any, records: dict[str, Any]) -> Any:
    """Return what a part of a schema says about keys. It bites on mappings and lists alone, because it names no type."""
    if isinstance(part, bool):
        return part
    if "$ref" in part:
        return _keys(records[part["$ref"].rpartition("/")[2]], records)
    choices = [keys for choice in part.get("anyOf", ()) if (keys := _keys(choice, records))]
    kept: dict[str, Any] = choices[0] if choices else {}
    if "properties" in part:
        kept["properties"] = {name: _keys(value, records) for name, value in part["properties"].items()}
    for name in ("additionalProperties", "items"):
        if name in part and (keys := _keys(part[name], records)) != {}:
            kept[name] = keys
    return kept


if __name__ == "__main__":
    SCHEMA.write_text(text(with_configuration(json.loads(SCHEMA.read_text("utf-8")))), "utf-8")
