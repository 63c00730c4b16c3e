"""The status page under axe-core, the usual checker of accessibility, in a real browser.

axe-core comes from the npm registry by `npm ci` in tests/axe, pinned by its lock file.
"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.e2e.browser import measured
from tests.fss_exporter.web.pages import fresh, mount, mount_target, page_of
from tests.processes import require

from fss_exporter.web.status.html import render

AXE = Path(__file__).parents[1] / "axe"

RUN = """async () => {
  AXE
  document.querySelectorAll("details").forEach(one => { one.open = true; });
  const found = await axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]});
  return found.violations.map(one => [one.id, one.nodes.map(node => node.html).slice(0, 3)]);
}"""


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The source of axe-core."""
    npm = require("npm", "nodejs npm")
    folder = tmp_path_factory.mktemp("axe")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(AXE / name, folder)
    subprocess.run([npm, "ci", "--silent", "--no-audit", "--no-fund"], cwd=folder, check=True, timeout=500)
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


def page() -> str:
    """A page with everything on it: mount targets at every level, a search, mounts, failing collectors."""
    rows = [row for n in range(60) for row in mount_target(f"mt-{n}", iops=n * 900, iops_limit=50_000)]
    failing = [("fss_collector_success", {"collector": name}, value) for name, value in (("nfs", 0.0), ("oci", 1.0))]
    peak = ("fss_client_peak_estimated_iops", {"address": "10.80.1.10"}, 45_000.0)
    region = ("fss_oci_poll_success", {"region": "eu-frankfurt-1"}, 1.0)
    return render(page_of(*rows, *fresh(), *mount(5000), *failing, peak, region, earlier=mount(10)), host="client-1")


def test_the_page_shows_each_level() -> None:
    text = page()

    assert [level for level in ("fine", "warning", "critical", "unknown") if f'class="{level}"' not in text] == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_on_the_status_page(axe: str, tmp_path: Path, dark: bool) -> None:
    violations = measured(page(), RUN.replace("AXE", axe), tmp_path, size=(1280, 900), dark=dark)

    assert violations == [], json.dumps(violations, indent=2)


def test_axe_would_find_a_colour_that_is_too_pale(axe: str, tmp_path: Path) -> None:
    pale = page().replace("--warning: #8a5200", "--warning: #e0a030")

    violations = measured(pale, RUN.replace("AXE", axe), tmp_path, size=(1280, 900))

    assert "color-contrast" in [rule for rule, _ in violations]
