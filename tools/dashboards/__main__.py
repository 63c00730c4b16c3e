"""Write the dashboards."""

import sys
from collections.abc import Mapping
from pathlib import Path

from tools.dashboards.clients import clients
from tools.dashboards.exporter import exporter
from tools.dashboards.fleet import fleet
from tools.dashboards.frame import as_text
from tools.dashboards.mount_target import mount_target

FOLDER = Path(__file__).parents[2] / "dashboards"


def texts() -> Mapping[str, str]:
    """Every dashboard by file name."""
    made = {"clients": clients(), "exporter": exporter(), "fleet": fleet(), "mount-target": mount_target()}
    return {f"{name}.json": as_text(content) for name, content in made.items()}


def main() -> int:
    for name, text in texts().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
