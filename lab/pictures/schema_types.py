"""Dashboards as TypeScript, so that a compiler holds them to the types Grafana publishes for each of its versions."""

import json
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from lab.pictures.drawing import PAGES, program
from lab.pictures.scenes import Json, panels_of

# Packages of Grafana's types by version, as package.json pins them.
VERSIONS = {"10.4": "schema-10", "11.6": "schema-11", "12.4": "schema-12", "13.2": "@grafana/schema"}

_HEAD = """
import type {{ AnnotationQuery, Dashboard, GraphFieldConfig, Panel, ReduceDataOptions, TableFieldOptions, VizLegendOptions, VizTooltipOptions }} from '{package}';
// Every field may be missing, and the name of an enumeration's value stands for it, as in JSON.
type Text<T> = T extends string ? `${{T}}` : T;
type AsJson<T> = T extends string | number | boolean | null | undefined ? Text<T>
  : T extends Array<infer U> ? Array<AsJson<U>>
  : T extends object ? {{ [K in keyof T]?: AsJson<T[K]> | null }} : T;
"""

# Fields that the Prometheus data source reads of an annotation; the types describe annotations of all data sources.
_ONLY_PROMETHEUS = frozenset({"titleFormat", "expr"})


def complaints(dashboards: Sequence[Json], version: str) -> list[str]:
    """What the compiler says against the dashboards; an empty list is good.

    Raises:
        RuntimeError: node or the packages are missing.
    """
    with tempfile.TemporaryDirectory(dir=PAGES / "node_modules") as folder:  # where git and archives do not look
        source = Path(folder) / "dashboards.ts"
        lines = (line for dashboard in dashboards for line in _declarations(dashboard))
        source.write_text("\n".join((_HEAD.format(package=VERSIONS[version]), *lines)))
        compiler = PAGES / "node_modules" / "typescript" / "bin" / "tsc"
        flags = (
            "--noEmit",
            "--strict",
            "--skipLibCheck",
            "--module",
            "esnext",
            "--moduleResolution",
            "bundler",
            "--pretty",
            "false",
        )
        command = [program("node"), str(compiler), *flags, str(source)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    return [line.partition("): ")[2] for line in done.stdout.splitlines() if "error TS" in line]


def _declarations(dashboard: Json) -> Iterator[str]:
    """A constant of its type for the dashboard, its annotations, and the parts of panels that Grafana's Panel leaves open."""
    uid = dashboard["uid"].replace("-", "_")
    annotations = [_without(annotation, _ONLY_PROMETHEUS) for annotation in dashboard["annotations"]["list"]]
    yield _constant(uid, "Dashboard", _without(dashboard, {"panels", "annotations"}))
    yield _constant(f"{uid}_annotations", "AnnotationQuery[]", annotations)
    for panel in panels_of(dashboard):
        name = f"{uid}_{panel['id']}"
        yield _constant(name, "Panel", panel)
        custom = panel["fieldConfig"]["defaults"].get("custom")
        if panel["type"] == "timeseries":
            yield _constant(f"{name}_custom", "GraphFieldConfig", custom)
            yield _constant(f"{name}_legend", "VizLegendOptions", panel["options"]["legend"])
            yield _constant(f"{name}_tooltip", "VizTooltipOptions", panel["options"]["tooltip"])
        elif panel["type"] == "table":
            yield _constant(f"{name}_custom", "TableFieldOptions", custom)
        elif panel["type"] == "stat":
            yield _constant(f"{name}_reduce", "ReduceDataOptions", panel["options"]["reduceOptions"])


def _constant(name: str, kind: str, content: object) -> str:
    return f"export const {name}: AsJson<{kind}> = {json.dumps(content)};"


def _without(content: Json, names: frozenset[str] | set[str]) -> Json:
    return {name: value for name, value in content.items() if name not in names}
