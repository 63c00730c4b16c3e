from pathlib import Path

_ROOT = Path(__file__).parent.parent


def test_every_module_that_ships_names_its_licence_in_its_first_line() -> None:
    without = [
        str(path.relative_to(_ROOT))
        for folder in ("exporter", "toolbox")
        for path in (_ROOT / folder).rglob("*.py")
        if (text := path.read_text()) and not text.startswith("# SPDX-License-Identifier: Apache-2.0\n")
    ]

    assert without == [], "put `# SPDX-License-Identifier: Apache-2.0` above the docstring"
