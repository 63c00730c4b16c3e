from pathlib import Path

_EXPORTER = Path(__file__).parent.parent / "exporter"


def test_every_module_that_ships_names_its_licence_in_its_first_line() -> None:
    without = [
        str(path.relative_to(_EXPORTER))
        for path in _EXPORTER.rglob("*.py")
        if (text := path.read_text()) and not text.startswith("# SPDX-License-Identifier: Apache-2.0\n")
    ]

    assert without == [], "put `# SPDX-License-Identifier: Apache-2.0` above the docstring"
