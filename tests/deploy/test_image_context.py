"""The files that .dockerignore lets through are enough for the Dockerfile and for the wheel."""

import re
import runpy
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tests.deploy.packaged import packaged_files

ROOT = Path(__file__).parents[2]
STAMP: dict[str, Any] = runpy.run_path(str(ROOT / "tools/release/stamp.py"))
EVERYWHERE = "**/"


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a builder is sent: first `*`, then what is let through, then names that are left out everywhere."""
    first, *lines = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if not line.startswith("#")]
    let_through = [line[1:] for line in lines if line.startswith("!")]
    left_out = [line for line in lines if not line.startswith("!")]
    assert first == "*"
    assert all(line.startswith(EVERYWHERE) for line in left_out)

    sent = tmp_path_factory.mktemp("context")
    for name in let_through:
        (sent / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            ignore = shutil.ignore_patterns(*(line.removeprefix(EVERYWHERE) for line in left_out))
            shutil.copytree(ROOT / name, sent / name, symlinks=True, ignore=ignore)
        else:
            shutil.copy(ROOT / name, sent / name)
    return sent


def test_every_file_that_the_dockerfile_copies_or_runs_by_name_is_let_through(context: Path) -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    copied = re.findall(r"^COPY (?!--from)(\S+) ", dockerfile, flags=re.MULTILINE)
    started = re.findall(r"/python (\w+/\S+)", dockerfile)
    assert copied
    assert started
    assert [name for name in copied + started if not (context / name).exists()] == []


def test_the_wheel_of_the_image_is_stamped_and_holds_every_file_of_the_packages(context: Path, tmp_path: Path) -> None:
    """The two steps of the stage `wheel`, with the variables that a release sets."""
    STAMP["stamp"](context, {"REVISION": "0123456789ab", "RUNBOOK_URL": "https://example.com/runbook.md"})
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-index", "--no-build-isolation", "--no-deps")
    done = subprocess.run([*pip, "--wheel-dir", tmp_path, context], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
        stamped = archive.read("fss_exporter/__init__.py").decode()
    assert packed == packaged_files()
    assert 'REVISION = "0123456789ab"' in stamped
