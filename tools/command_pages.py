"""The pages of docs/ that show commands: run what they show and put the real output in.

A block fenced as `console` holds lines `$ fss-exporter ...`, each followed by what it printed. `python -m
tools.command_pages` rewrites the pages; a test fails where a page and the output differ.
"""

import os
import re
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = (*sorted((ROOT / "docs/commands").glob("*.md")), ROOT / "docs/capacity.md")
WIDTH = "112"

_BLOCK = re.compile(r"(?ms)^```console\n(.*?)^```$")


def commands(page: str) -> list[str]:
    """Every command line a page shows, without the prompt."""
    return [line[2:] for block in _BLOCK.findall(page) for line in block.splitlines() if line.startswith("$ ")]


def render(page: str) -> str:
    """The page with the output its commands have now."""
    return _BLOCK.sub(lambda block: f"```console\n{''.join(_run_all(block[1]))}```", page)


def _run_all(block: str) -> Iterator[str]:
    for line in block.splitlines():
        if line.startswith("$ "):
            yield f"{line}\n{output(line[2:])}"


def output(command: str) -> str:
    """What a command prints, and its exit code where that is not 0."""
    scripts = os.pathsep.join((sysconfig.get_path("scripts"), os.environ["PATH"]))
    done = subprocess.run(
        shlex.split(command),
        cwd=ROOT,
        env={"PATH": scripts, "COLUMNS": WIDTH, "HOME": "/nonexistent", "LANG": "C.UTF-8"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    lines = [line.rstrip() for line in done.stdout.strip().splitlines()]
    if done.returncode:
        lines.append(f"[exit code {done.returncode}]")
    return "".join(f"{line}\n" for line in lines)


def main() -> int:
    """Rewrite every page."""
    for path in PAGES:
        old = path.read_text()
        new = render(old)
        if new != old:
            path.write_text(new)
            print(f"{path.relative_to(ROOT)}: rewritten")
    return 0


if __name__ == "__main__":
    sys.exit(main())
