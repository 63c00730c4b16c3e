"""The pages of docs/ that show commands: run what they show and put the real output in.

A block fenced as `console` holds lines `$ fss-exporter ...`, each followed by what it printed. Commands with
`--config.file fss-exporter.yml` ask a demo region on loopback. `python -m tools.generate.command_pages` rewrites the pages; a
test fails where a page and the output differ.
"""

import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from fss_exporter.cli.main import run
from fss_toolbox import tables
from fss_toolbox.demo.region import Region

ROOT = Path(__file__).parents[2]
WIDTH = "112"
CONFIGURATION = "fss-exporter.yml"

_BLOCK = re.compile(r"(?ms)^```console\n(.*?)^```$")


def commands(page: str) -> list[str]:
    """Every command line a page shows, without the prompt."""
    return [line[2:] for block in _BLOCK.findall(page) for line in block.splitlines() if line.startswith("$ ")]


def render(page: str) -> str:
    """The page with the output its commands have now."""
    with _configuration(page) as path:
        return _BLOCK.sub(lambda block: f"```console\n{''.join(_run_all(block[1], path))}```", page)


PAGES = tuple(
    path for path in sorted((ROOT / "docs").rglob("*.md")) if "```console\n$ fss-exporter " in path.read_text()
)


@contextmanager
def _configuration(page: str) -> Iterator[str]:
    """Yield the path that stands for `fss-exporter.yml`, for a demo region. Empty where no command of the page names the file."""
    if not any(CONFIGURATION in command for command in commands(page)):
        yield ""
        return
    with tempfile.TemporaryDirectory() as folder, Region() as region:
        keys = region.account.write_config(Path(folder), region.tenancy.region)
        path = Path(folder) / CONFIGURATION
        path.write_text(
            f"oci: {{config_file: {keys}, endpoint: '{region.url}', compartments: [storage], calls_per_second: 9.9}}\n"
        )
        yield str(path)


def _run_all(block: str, configuration: str) -> Iterator[str]:
    for line in block.splitlines():
        if line.startswith("$ "):
            yield f"{line}\n{output(line[2:], configuration)}"


def output(command: str, configuration: str) -> str:
    """What a command prints, and its exit code where that is not 0. Commands run in this process, because starts take longer than work."""
    words = [configuration if word == CONFIGURATION else word for word in shlex.split(command)]
    printed = io.StringIO()
    environment = {"COLUMNS": WIDTH, "HOME": "/nonexistent", "LANG": "C.UTF-8", "PATH": os.environ["PATH"]}
    with (
        chdir(ROOT),
        patch.dict(os.environ, environment, clear=True),
        redirect_stdout(printed),
        redirect_stderr(printed),
        patch.object(tables, "_TOLD_EVERY_SECONDS", 3600.0),  # a slow machine adds no lines of progress
    ):
        code = run(words[1:])
    lines = [line.rstrip() for line in printed.getvalue().strip().splitlines()]
    if code:
        lines.append(f"[exit code {code}]")
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
