"""stamp.py DIRECTORY: write what only a release knows into a copy of the project. An empty or missing variable changes nothing.

REVISION      commit, for fss_exporter_build_info
RUNBOOK_URL   published runbook, the base of the links in alerts, in the package and in the chart
PROJECT_URL   repository, for the project links of the wheel
REGISTRY      registry of the images, for the chart
IMAGES        folder with the OCI layouts of the images, agent and poller, which have the digests for the chart
"""

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

PACKAGE = "exporter/fss_exporter/__init__.py"
VALUES = "deploy/helm/fss-exporter/values.yaml"
PROJECT = "pyproject.toml"
PAGES = {
    "Homepage": "",
    "Documentation": "/tree/HEAD/docs",
    "Changelog": "/blob/HEAD/CHANGELOG.md",
    "Issues": "/issues",
}


def changes(facts: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """File, pattern and replacement. Each pattern stands exactly once in its file."""
    if revision := facts.get("REVISION"):
        yield PACKAGE, r'^REVISION = ".*?"', f'REVISION = "{revision}"'
    if runbook := facts.get("RUNBOOK_URL"):
        yield PACKAGE, r'^RUNBOOK_URL = f?".*?"', f'RUNBOOK_URL = "{runbook}"'
        yield VALUES, r"^runbookUrl: .*", f"runbookUrl: {runbook}"
    if project := facts.get("PROJECT_URL"):
        links = "\n".join(f'{name} = "{project}{path}"' for name, path in PAGES.items())
        yield PROJECT, r"^\[project\.scripts\]", f"[project.urls]\n{links}\n\n[project.scripts]"
    if registry := facts.get("REGISTRY"):
        yield VALUES, r'^  registry: ""', f'  registry: "{registry}"'
    if images := facts.get("IMAGES"):
        for image in ("agent", "poller"):
            place = rf'(    repository: fss-exporter-{image}\n    digest: )""'
            yield VALUES, place, rf'\g<1>"{digest_of(Path(images) / image)}"'


def digest_of(layout: Path) -> str:
    """The digest of the one image, for all its architectures, in an OCI layout."""
    index = layout / "index.json"
    if not index.is_file():
        sys.exit(f"{layout} is no OCI layout: run IMAGES={layout.parent} tools/release/image first")
    images = json.loads(index.read_text())["manifests"]
    if len(images) != 1:
        sys.exit(f"{index} has {len(images)} images and not one")
    return str(images[0]["digest"])


def stamp(tree: Path, facts: Mapping[str, str]) -> None:
    if bool(facts.get("REGISTRY")) != bool(facts.get("IMAGES")):
        sys.exit("REGISTRY and IMAGES go together: a chart pulls by digest from its registry")
    for name, pattern, replacement in changes(facts):
        text, count = re.subn(pattern, replacement, (tree / name).read_text(), flags=re.MULTILINE)
        if count != 1:
            sys.exit(f"{name}: {pattern} stands there {count} times and not once")
        (tree / name).write_text(text)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    stamp(Path(sys.argv[1]), os.environ)
