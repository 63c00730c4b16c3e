"""cell_series.py: write into docs/scaling.md what a cell forwards to the centre. `make chart` runs it after rules change.

The cell forwards the records from raw client counters, and the raw series of clients that later rules and alerts read.
"""

import re
import sys
from pathlib import Path
from typing import Any

import yaml

from fss_exporter.catalogue import CATALOGUE, CLIENT, EXPORTER

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/scaling.md"
REGEX = re.compile(r'^        regex: "\\\n(?:          .*\n)+', flags=re.MULTILINE)


def rules(name: str) -> list[dict[str, Any]]:
    groups = yaml.safe_load((ROOT / "rules" / name).read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def forwarded() -> set[str]:
    """Names of the series that cross."""
    recording = rules("recording.yml")
    records = {rule["record"] for rule in recording}
    known = CATALOGUE.keys() | records | {"up"}

    def used(rule: dict[str, Any]) -> set[str]:
        return known & set(re.findall(r"[a-zA-Z_:][\w:]*", rule["expr"]))

    counters = {row.name for row in CLIENT if row.kind in {"counter", "histogram"}} | {"fss_client_unanswered_seconds"}
    edge = {rule["record"] for rule in recording if used(rule) & counters}
    later = [rule for rule in recording if rule["record"] not in edge] + rules("alerts.yml")
    at_clients = {row.name for row in (*CLIENT, *EXPORTER)} | {"up"}
    return edge | (set().union(*map(used, later)) & at_clients)


def block(names: set[str]) -> str:
    lines = "|\\\n".join(f"          {name}" for name in sorted(names, key=lambda name: (":" in name, name)))
    return f'        regex: "\\\n{lines}"\n'


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    if len(REGEX.findall(text)) != 1:
        sys.exit(f"{PAGE}: there is no one block of the form of write_relabel_configs' regex")
    fresh = REGEX.sub(lambda _: block(forwarded()), text)
    if fresh != text:
        PAGE.write_text(fresh, encoding="utf-8")
        print(f"wrote {PAGE.relative_to(ROOT)}")
