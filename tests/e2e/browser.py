"""A real Chromium without a window: what a page is and how it is laid out, as a person would see it."""

import html
import json
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.processes import require

_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--enable-logging=stderr",
    "--run-all-compositor-stages-before-draw",
)
_DARK = "--blink-settings=preferredColorScheme=0"
_MEASURE = """<script>
window.addEventListener("load", async () => {
  const result = await (MEASURE)();
  const holder = document.createElement("meta");
  holder.name = "measured";
  holder.content = JSON.stringify(result);
  document.head.append(holder);
});
</script>"""


def _browser() -> str:
    for name in ("chromium", "google-chrome", "chromium-browser"):
        program = shutil.which(name)
        if program and not program.startswith("/snap/"):  # a snap cannot read what lies below /tmp
            return program
    return require("chromium", "chromium")


@dataclass(frozen=True)
class Browsed:
    """What came of one visit: the document after loading, and what the browser complained about."""

    dom: str
    log: str

    @property
    def complaints(self) -> list[str]:
        """Lines of the browser's console: refused styles, broken markup, errors of scripts."""
        return [line for line in self.log.splitlines() if "CONSOLE" in line]


def visit(
    url: str,
    *,
    size: tuple[int, int] = (1280, 900),
    dark: bool = False,
    picture: Path | None = None,
    patient: bool = False,
    virtual_seconds: int = 20,
) -> Browsed:
    """Load a page; write a picture of it where one is asked for. `patient` waits for scripts that take `virtual_seconds`."""
    with tempfile.TemporaryDirectory() as profile:
        command = [
            _browser(),
            *_FLAGS,
            *([_DARK] if dark else []),
            *([f"--virtual-time-budget={virtual_seconds * 1000}"] if patient else []),
            f"--user-data-dir={profile}",
            f"--window-size={size[0]},{size[1]}",
            f"--screenshot={picture}" if picture else "--dump-dom",
            url,
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    return Browsed(done.stdout, done.stderr)


def measured(page: str, function: str, directory: Path, *, size: tuple[int, int], dark: bool = False) -> Any:
    """What a JavaScript function says about the laid-out page. The page itself holds no script: ours is put in beside it."""
    copy = directory / "page.html"
    copy.write_text(page.replace("</head>", _MEASURE.replace("MEASURE", function) + "</head>", 1), encoding="utf-8")
    dom = visit(copy.as_uri(), size=size, dark=dark, patient=True).dom
    match = re.search(r'<meta name="measured" content="([^"]*)"', dom)
    assert match, "the page was not measured"
    return json.loads(html.unescape(match[1]))


def visible_text(dom: str) -> str:
    """The words of a document without its markup, in one line."""
    without = re.sub(r"<(style|script)\b.*?</\1>", " ", dom, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", without)).split())
