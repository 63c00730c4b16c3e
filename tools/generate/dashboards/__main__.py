"""Write the dashboards: into dashboards/, or with the argument grafana-com into build/, as grafana.com takes them."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.generate.dashboards.clients import clients
from tools.generate.dashboards.exporter import exporter
from tools.generate.dashboards.file_systems import file_systems
from tools.generate.dashboards.fleet import fleet
from tools.generate.dashboards.frame import as_text
from tools.generate.dashboards.mount_target import mount_target
from tools.generate.dashboards.panels import Json
from tools.generate.dashboards.sharing import for_grafana_com

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "dashboards"
GRAFANA_COM = ROOT / "build" / "dashboards-grafana-com"


def contents() -> Mapping[str, Json]:
    """Every dashboard by file name."""
    made = {
        "clients": clients(),
        "exporter": exporter(),
        "file-systems": file_systems(),
        "fleet": fleet(),
        "mount-target": mount_target(),
    }
    return {f"{name}.json": content for name, content in made.items()}


def texts() -> Mapping[str, str]:
    """Every dashboard as it is committed, by file name."""
    return {name: as_text(content) for name, content in contents().items()}


def main(arguments: Sequence[str]) -> int:
    if list(arguments) == ["grafana-com"]:
        GRAFANA_COM.mkdir(parents=True, exist_ok=True)
        for name, content in contents().items():
            (GRAFANA_COM / name).write_text(as_text(for_grafana_com(content)), encoding="utf-8")
        print(GRAFANA_COM)
        return 0
    for name, text in texts().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
