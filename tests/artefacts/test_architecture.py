"""docs/architecture.md shows the rooms as they are."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/architecture.md").read_text()
PACKAGE = ROOT / "exporter/fss_exporter"


def walk(number: int) -> list[str]:
    section = PAGE.partition(f"## Walk {number}")[2].partition("\n## ")[0]
    return re.findall(r"^\d+\. `([\w/]+\.py)`", section, re.MULTILINE)


def test_the_picture_is_drawn_from_the_imports() -> None:
    done = subprocess.run(
        [sys.executable, "tools/architecture.py", "check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_every_module_and_series_that_the_page_names_exists() -> None:
    named = set(re.findall(r"`((?:nfs|oci|web|model|cli|demo|plan)/[\w/]+\.py)`", PAGE))
    assert [path for path in sorted(named) if not (PACKAGE / path).is_file()] == []
    recorded = (ROOT / "rules/recording.yml").read_text()
    assert [series for series in re.findall(r"`(\w+:\w+:\w+)`", PAGE) if f"record: {series}" not in recorded] == []
    assert len(named) > 15


def test_a_read_passes_at_most_8_modules_and_a_datapoint_at_most_12() -> None:
    assert 5 < len(walk(1)) <= 8
    assert 5 < len(walk(2)) <= 12


def test_every_room_has_a_row() -> None:
    rooms = {path.name for path in PACKAGE.iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    rows = set(
        re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\| (`.*?) \|", PAGE.partition("## Threads")[0], re.MULTILINE)))
    )
    assert rooms | {"settings"} == rows
