"""A machine without node: the check of the dashboards says that nothing was drawn, and fails in CI."""

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools/check/node-libraries"


@pytest.mark.parametrize(("ci", "code"), [("true", 1), ("", 3)])
def test_a_missing_node_is_named_and_fails_only_in_ci(tmp_path: Path, ci: str, code: int) -> None:
    for name in ("bash", "dirname", "sed"):
        program = shutil.which(name)
        assert program
        (tmp_path / name).symlink_to(program)

    done = subprocess.run(
        [tmp_path / "bash", SCRIPT], env={"PATH": str(tmp_path), "CI": ci}, capture_output=True, text=True, check=False
    )

    assert done.returncode == code
    assert done.stderr.startswith("DASHBOARDS NOT DRAWN")
    assert "node 20" in done.stderr
