"""Packages for tests, built from a copy of the project."""

import os
import shutil
import subprocess
from pathlib import Path

from tests.processes import require

ROOT = Path(__file__).parents[2]
BUILD_SECONDS = 900  # ends a build that hangs; on a busy machine the package of the poller took more than 300


def copy_of_the_project(folder: Path) -> Path:
    """Return a copy, with the environment of the project."""
    left_behind = shutil.ignore_patterns(
        ".git", ".tools", ".*cache", ".venv*", "build", "dist", "__pycache__", "node_modules", "*.egg-info"
    )
    shutil.copytree(ROOT, folder / "fss-exporter", symlinks=True, ignore=left_behind)
    (folder / "fss-exporter/.venv").symlink_to(ROOT / ".venv")
    return folder / "fss-exporter"


def build(scratch: Path, *editions: str) -> Path:
    """Build a deb and an rpm for each edition. Return their folder."""
    for command in ("dpkg-deb", "rpmbuild"):
        require(command, "dpkg rpm")
    source = copy_of_the_project(scratch)
    for edition in editions:
        tool = [str(source / "tools/release/package"), edition]
        environment = os.environ | {"UNCOMPRESSED": "1"}
        done = subprocess.run(tool, env=environment, capture_output=True, text=True, check=False, timeout=BUILD_SECONDS)
        assert done.returncode == 0, f"{tool}\n{done.stdout}{done.stderr}"
    return source / "dist"
