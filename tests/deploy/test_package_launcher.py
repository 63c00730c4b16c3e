"""The launcher of the packages: what it hands to the program."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "deploy/package"


@pytest.mark.parametrize(("command", "is_ignored"), [("serve", True), ("iostat", False)])
def test_a_reload_while_python_starts_does_not_end_the_exporter(tmp_path: Path, command: str, is_ignored: bool) -> None:
    python = tmp_path / "python/bin/python3"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\nexec grep SigIgn /proc/self/status\n")
    python.chmod(0o755)
    launcher = (PACKAGE / "fss-exporter").read_text().replace("/usr/lib/fss-exporter", str(tmp_path))
    started = [
        "env",
        "--default-signal=HUP",
        "sh",
        "-c",
        launcher,
        "fss-exporter",
        command,
    ]  # the tests may run under nohup
    done = subprocess.run(started, check=True, capture_output=True, text=True)

    ignored = int(done.stdout.split()[1], 16)
    assert bool(ignored >> (signal.SIGHUP - 1) & 1) is is_ignored


def test_the_packages_enter_the_program_by_the_door_of_the_script(tmp_path: Path) -> None:
    """Which sets the signals before the imports that take most of the start."""
    module = tmp_path / "lib/fss_exporter"
    module.mkdir(parents=True)
    (module / "__init__.py").touch()
    (module / "__main__.py").write_text("def main():\n    print('entered')\n")
    (tmp_path / "run.py").write_text((PACKAGE / "run.py").read_text())
    done = subprocess.run([sys.executable, "-I", tmp_path / "run.py"], check=True, capture_output=True, text=True)

    assert done.stdout == "entered\n"
