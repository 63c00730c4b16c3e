"""docs/architecture.md shows the rooms as they are."""

import re
from pathlib import Path

from tools.generate.architecture import page

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/architecture.md").read_text()
ROOTS = [ROOT / name for name in ("exporter/fss_exporter", "exporter/fss_kernel_counting", "toolbox/fss_toolbox")]


def test_the_picture_is_drawn_from_the_imports() -> None:
    assert page() == PAGE, "run: make architecture"


def test_every_module_and_series_that_the_page_names_exists() -> None:
    named = set(re.findall(r"`((?:\w+/)+\w+\.py)`", PAGE.partition("## Walk 1")[2]))
    assert [
        path
        for path in sorted(named)
        if not any((root / path).is_file() for root in [*ROOTS, *(root.parent for root in ROOTS), ROOT])
    ] == []
    recorded = "".join(path.read_text() for path in sorted((ROOT / "rules").glob("*.yml")))
    assert [series for series in re.findall(r"`(\w+:\w+:\w+)`", PAGE) if f"record: {series}" not in recorded] == []
    assert named


def test_every_room_has_a_row() -> None:
    rooms = {path.name for root in ROOTS for path in root.iterdir() if (path / "__init__.py").exists()}
    table = PAGE.partition("| root | room |")[2].partition("\n\n")[0]
    rows = set(re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\|.*?\| (`.*?) \|", table, re.MULTILINE))))
    assert rooms | {"settings"} == rows
