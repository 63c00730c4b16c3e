"""`make advisories` tells an advisory from a database that does not answer."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
GOOD: dict[str, Any] = {"name": "attrs", "version": "1.0", "vulns": []}
BAD: dict[str, Any] = {
    "name": "pip",
    "version": "2.0",
    "vulns": [{"id": "PYSEC-2026-1", "fix_versions": ["2.1"], "aliases": [], "description": "text"}],
}
SILENT: dict[str, Any] = {"name": "oci", "skip_reason": "Dependency not found on PyPI"}


def audited(tmp_path: Path, stdout: str, code: int, stderr: str = "") -> subprocess.CompletedProcess[str]:
    """Run the script with a program that answers as pip-audit does."""
    program = tmp_path / "pip-audit"
    text = f"import sys\nprint({stdout!r})\nprint({stderr!r}, file=sys.stderr)\nsys.exit({code})\n"
    program.write_text(f"#!{sys.executable}\n{text}")
    program.chmod(0o755)
    command = [sys.executable, str(ROOT / "tools/check/advisories.py"), str(program), "requirements/poller.txt"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def answered(tmp_path: Path, *dependencies: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    # pip-audit ends with 1 for an advisory, and with 0 for a version that it could not ask for
    found = any(entry.get("vulns") for entry in dependencies)
    return audited(tmp_path, json.dumps({"dependencies": dependencies, "fixes": []}), int(found))


@pytest.mark.parametrize("stdout", ["", "no JSON", "{"])
def test_a_database_that_cannot_be_reached_is_named_and_is_no_advisory(tmp_path: Path, stdout: str) -> None:
    done = audited(tmp_path, stdout, 1, "Could not connect to PyPI's vulnerability feed")
    assert done.returncode == 3
    assert done.stdout.startswith("COULD NOT ASK: pip-audit ended with 1\nCould not connect")
    assert "Whether there is an advisory is not known" in done.stdout


def test_a_version_without_an_answer_is_named_with_what_to_do(tmp_path: Path) -> None:
    done = answered(tmp_path, GOOD, SILENT)
    assert done.returncode == 3
    assert "COULD NOT ASK: no answer for 1 of 2 versions: oci\n" in done.stdout
    assert "Run `make advisories` where" in done.stdout


def test_an_answer_about_nothing_is_no_good_news(tmp_path: Path) -> None:
    assert answered(tmp_path).returncode == 3


def test_an_advisory_is_shown_beside_a_version_without_an_answer(tmp_path: Path) -> None:
    done = answered(tmp_path, SILENT, BAD, GOOD)
    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == "pip 2.0: PYSEC-2026-1, fixed in 2.1"
    assert "COULD NOT ASK: no answer for 1 of 3 versions: oci" in done.stdout


def test_versions_without_an_advisory_pass(tmp_path: Path) -> None:
    done = answered(tmp_path, GOOD)
    assert (done.returncode, done.stdout) == (0, "no known advisory for 1 versions\n")
