"""Write two lists of series into docs/scaling.md: what a cell forwards, and what a scrape job may drop.

A cell forwards the records from raw series of clients, and the raw series of exporters that later rules and alerts read. A job may
drop what no rule, dashboard or command reads. `make generated` runs it.
"""

import re
from pathlib import Path
from typing import Any

import yaml

from fss_exporter.catalogue import CATALOGUE, CLIENT, EXACT, EXPORTER, MOUNT_TARGETS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/scaling.md"
EDGE = ("clients.yml", "panels.yml")
FILES = (*EDGE, "load.yml", "service_level.yml", "monitoring.yml")
OF_SCRAPES = {"up", "process_start_time_seconds"}


def rules(name: str) -> list[dict[str, Any]]:
    groups = yaml.safe_load((ROOT / "rules" / name).read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def forwarded() -> set[str]:
    """Names of the series that cross."""
    pack = [rule for name in FILES for rule in rules(name)]
    recording = [rule for rule in pack if "record" in rule]
    records = {rule["record"] for rule in recording}
    names = CATALOGUE.keys() | records | OF_SCRAPES

    def used(rule: dict[str, Any]) -> set[str]:
        return names & set(re.findall(r"[a-zA-Z_:][\w:]*", rule["expr"]))

    of_clients = {row.name for row in (*CLIENT, *EXACT)}
    at_centre = {rule["record"] for name in FILES if name not in EDGE for rule in rules(name) if "record" in rule}
    recorded = [rule for name in EDGE for rule in rules(name) if "record" in rule and not used(rule) & at_centre]
    edge = {rule["record"] for rule in recorded if used(rule) & of_clients}
    later = [rule for rule in pack if rule.get("record") not in edge]
    at_clients = {row.name for row in (*CLIENT, *EXACT, *EXPORTER)} | OF_SCRAPES
    return edge | (set().union(*map(used, later)) & at_clients)


def unread() -> set[str]:
    """Names of series of mounts and mount targets that no rule, dashboard or command reads."""
    pack = (rule for path in (ROOT / "rules").glob("*.yml") for rule in rules(path.name))
    texts = [f"{rule['expr']} {rule.get('annotations')}" for rule in pack]
    for path in (ROOT / "dashboards").glob("*.json"):
        texts += re.findall(r'"(?:expr|query)": "((?:[^"\\]|\\.)*)"', path.read_text(encoding="utf-8"))
    texts += (path.read_text(encoding="utf-8") for path in (ROOT / "toolbox/fss_toolbox").rglob("*.py"))
    read = set(re.findall(r"(?<![\w:])fss_[a-z0-9_]+(?![\w:])", " ".join(texts)))
    return {row.name for row in (*CLIENT, *MOUNT_TARGETS)} - read


def with_lists(text: str) -> str:
    """Return the page with the lists of today. A ValueError names a file that the page does not have."""
    for file, names in (("prometheus-cell.yml", forwarded()), ("prometheus-lean.yml", unread())):
        lines = "|\\\n".join(f"          {name}" for name in sorted(names, key=lambda name: (":" in name, name)))
        pattern = rf'(^# {file}\n(?:(?!```).*\n)*?        regex: )"\\\n(?:          .*\n)+'
        text, count = re.subn(pattern, lambda found: f'{found[1]}"\\\n{lines}"\n', text, flags=re.MULTILINE)  # noqa: B023
        if count != 1:
            raise ValueError(f"{PAGE}: {file} has no block of the form of a regex")
    return text


if __name__ == "__main__":
    PAGE.write_text(with_lists(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
