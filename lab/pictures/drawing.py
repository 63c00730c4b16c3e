"""Draw scenes in a headless Chromium with Grafana's own libraries; the pages are in `grafana/`."""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from lab.pictures.scenes import Json

PAGES = Path(__file__).parent / "grafana"
_BROWSERS = ("chromium", "google-chrome", "chromium-browser")


@dataclass(frozen=True)
class Drawing:
    """What to draw: every width with every theme, rows as in the file or all open.

    Attributes:
        pictures: write a picture beside each report.
        kind: png or webp.
        scale: of a picture; 0.5 has half the pixels of the screen.
    """

    widths: Sequence[int] = (1280,)
    themes: Sequence[str] = ("light",)
    open: Sequence[bool] = (True,)
    pictures: bool = False
    kind: str = "png"
    scale: float = 1.0


def draw(scenes: Sequence[Json], folder: Path, drawing: Drawing, *, timeout_s: float = 600) -> None:
    """Write `UID-WIDTH-THEME[-open].json` for each scene, and the picture beside it.

    Raises:
        RuntimeError: a program is missing, or a page was not drawn; the message names the fix.
    """
    options = {**asdict(drawing), "chromium": program(*_BROWSERS)}
    _node("draw.mjs", scenes, str(folder), json.dumps(options), timeout_s=timeout_s)


def contents(scenes: Sequence[Json], library: str) -> list[Json]:
    """What the panels of each scene hold, as a version of Grafana's data library says it: a report of `draw` without the layout.

    Raises:
        RuntimeError: a program is missing, or the library refuses a panel.
    """
    reports: list[Json] = json.loads(_node("contents.mjs", scenes, library, timeout_s=600))
    return reports


def _node(script: str, scenes: Sequence[Json], *arguments: str, timeout_s: float) -> str:
    """The output of a script of `PAGES` that reads scenes."""
    if not (PAGES / "node_modules").is_dir():
        message = f"the libraries of Grafana are not installed: npm ci --ignore-scripts --prefix {PAGES}"
        raise RuntimeError(message)
    with tempfile.TemporaryDirectory() as scratch:
        asked = Path(scratch) / "scenes.json"
        asked.write_text(json.dumps(scenes))
        command = [program("node"), str(PAGES / script), str(asked), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


def program(*names: str) -> str:
    """Where the first of these programs is."""
    program = next((path for name in names if (path := shutil.which(name)) and not path.startswith("/snap/")), None)
    if not program:
        message = f"{names[0]} is not installed; the pictures of dashboards need it"
        raise RuntimeError(message)
    return program
