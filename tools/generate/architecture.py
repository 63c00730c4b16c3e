"""Write the picture of rooms and imports into docs/architecture.md, from the code's own imports."""

from pathlib import Path

import grimp
from tools.generate.written_part import rewritten

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/architecture.md"

# Each root, and the folder that it lies in.
ROOTS = {"fss_exporter": "exporter", "fss_toolbox": "toolbox", "fss_kernel_counting": "exporter"}

MARKS = ("<!-- picture: written by make architecture -->\n", "<!-- end of picture -->")

# Single modules of the exporter that read the configuration file: one box in the picture.
CONFIGURATION = ("settings", "setting_types", "yaml_lines")


def rooms() -> dict[str, set[str]]:
    """Each room, written `root/room`, and the rooms that its modules import."""
    graph = grimp.build_graph(*ROOTS)
    imports: dict[str, set[str]] = {}
    for module in graph.modules:
        targets = {room_of(imported) for imported in graph.find_modules_directly_imported_by(module)}
        imports.setdefault(room_of(module), set()).update(targets - {room_of(module), ""})
    imports.pop("", None)
    return imports


def room_of(module: str) -> str:
    """The room of a dotted module name: a package of a root, `settings`, or the single modules of a root."""
    root, _, rest = module.partition(".")
    name = rest.partition(".")[0]
    if name in ("", "__main__"):
        return ""
    if root == "fss_exporter" and name in CONFIGURATION:
        name = "settings"
    elif not (ROOT / ROOTS[root] / root / name).is_dir():
        name = "ground" if root == "fss_exporter" else "modules"
    return f"{root}/{name}"


def picture(imports: dict[str, set[str]]) -> str:
    """The rooms as a Mermaid graph, a frame for each root. Arrows to the exporter's ground are left out, because every room has one. So are
    those of a `cli`, which has one to every room.

    An arrow inside a root is from a room to a room, and between two roots from a root to a root.
    """
    lines = ["```mermaid", "graph TD"]
    for root in ROOTS:
        lines.append(f"    subgraph {root}")
        lines += [
            f"        {room}[{room.partition('/')[2]}]" for room in sorted(imports) if room.startswith(root + "/")
        ]
        lines.append("    end")
    arrows = set()
    for room, targets in imports.items():
        root, _, name = room.partition("/")
        for target in targets - {"fss_exporter/ground"}:
            other = target.partition("/")[0]
            if other != root:
                arrows.add(f"    {root} --> {other}")
            elif name != "cli":
                arrows.add(f"    {room} --> {target}")
    return "\n".join([*lines, *sorted(arrows), "```", ""])


def page() -> str:
    """Return the page with the picture of today."""
    return rewritten(PAGE.read_text(), *MARKS, picture(rooms()))


if __name__ == "__main__":
    PAGE.write_text(page())
