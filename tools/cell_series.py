"""cell_series.py: write into docs/scaling.md what a cell forwards to the centre. `make chart` runs it after rules change.

The cell forwards the records from raw series of clients, and the raw series of clients that later rules and alerts read.
"""

import re
import sys
from pathlib import Path
from typing import Any

import yaml

from fss_exporter.catalogue import CATALOGUE, CLIENT, EXPORTER

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/scaling.md"
EDGE = ("clients.yml", "panels.yml")
FILES = (*EDGE, "load.yml", "service_level.yml", "monitoring.yml")
REGEX = re.compile(r'^        regex: "\\\n(?:          .*\n)+', flags=re.MULTILINE)


def rules(name: str) -> list[dict[str, Any]]:
    groups = yaml.safe_load((ROOT / "rules" / name).read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def forwarded() -> set[str]:
    """Names of the series that cross."""
    pack = [rule for name in FILES for rule in rules(name)]
    recording = [rule for rule in pack if "record" in rule]
    records = {rule["record"] for rule in recording}
    names = CATALOGUE.keys() | records | {"up"}

    def used(rule: dict[str, Any]) -> set[str]:
        return names & set(re.findall(r"[a-zA-Z_:][\w:]*", rule["expr"]))

    of_clients = {row.name for row in CLIENT}
    edge = {rule["record"] for name in EDGE for rule in rules(name) if "record" in rule and used(rule) & of_clients}
    later = [rule for rule in pack if rule.get("record") not in edge]
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
