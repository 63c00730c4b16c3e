"""architecture.py [check]: write the picture of rooms and imports into docs/architecture.md, from the code's own imports."""

import re
import sys
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/architecture.md"
PACKAGE = "fss_exporter"
MARKS = ("<!-- picture: written by make architecture -->\n", "<!-- end of picture -->")

CONFIGURATION = ("settings", "setting_types", "yaml_lines")
"""Single modules that read the configuration file: one box in the picture. All further single modules are the ground."""


def rooms() -> dict[str, set[str]]:
    """Each room (a package, or the ground) and the rooms that its modules import."""
    graph = grimp.build_graph(PACKAGE)
    imports: dict[str, set[str]] = {}
    for module in graph.modules:
        room = room_of(module)
        targets = {room_of(imported) for imported in graph.find_modules_directly_imported_by(module)}
        imports.setdefault(room, set()).update(targets - {room, ""})
    imports.pop("", None)
    return imports


def room_of(module: str) -> str:
    """The room of a dotted module name; empty for the package itself and its entry point."""
    name = module.removeprefix(PACKAGE).removeprefix(".").partition(".")[0]
    if name in ("", "__main__"):
        return ""
    if name in CONFIGURATION:
        return "settings"
    return name if (ROOT / "exporter" / PACKAGE / name).is_dir() else "ground"


def picture(imports: dict[str, set[str]]) -> str:
    """The rooms as a Mermaid graph; imports of the ground are left out, because every room has some."""
    lines = ["```mermaid", "graph TD"]
    for room in sorted(imports):
        targets = sorted(imports[room] - {"ground"})
        lines += [f"    {room} --> {target}" for target in targets] or [f"    {room}"]
    return "\n".join([*lines, "```", ""])


def page_with(drawn: str) -> str:
    begin, end = MARKS
    text = PAGE.read_text()
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if not pattern.search(text):
        sys.exit(f"{PAGE}: the marks of the picture are missing: {begin.strip()} and {end}")
    return pattern.sub(lambda _: begin + drawn + end, text)


if __name__ == "__main__":
    page = page_with(picture(rooms()))
    if sys.argv[1:] == ["check"]:
        sys.exit(
            0
            if page == PAGE.read_text()
            else "docs/architecture.md: the picture is out of date; run: make architecture"
        )
    PAGE.write_text(page)
