"""The launcher of the packages, and the script of the wheelhouses: what they hand to the program, and which Python they take."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "deploy/package"


@pytest.mark.parametrize(("command", "is_ignored"), [("serve", True), ("iostat", False)])
def test_a_reload_while_python_starts_does_not_end_the_exporter(tmp_path: Path, command: str, is_ignored: bool) -> None:
    python = tmp_path / "python3.12"
    python.write_text("#!/bin/sh\nexec grep SigIgn /proc/self/status\n")
    python.chmod(0o755)
    launcher = (PACKAGE / "fss-exporter").read_text().replace("/usr/bin/python", f"{tmp_path}/python")
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


@pytest.mark.parametrize(
    ("version", "is_taken"), [((3, 10), False), ((3, 11), True), ((3, 14), True), ((3, 15), False)]
)
def test_a_wheelhouse_refuses_a_python_that_it_has_no_wheels_for_and_names_one(
    tmp_path: Path, version: tuple[int, int], is_taken: bool
) -> None:
    tool = (PACKAGE.parents[1] / "tools/release/wheelhouse").read_text()
    script = tool.partition("<<'SCRIPT'\n")[2].partition("\nSCRIPT\n")[0]
    (tmp_path / "install").write_text(script)
    stand_in = tmp_path / "python3"
    stand_in.write_text(
        f'#!/bin/sh\n[ $1 = -c ] || {{ echo $2; exit 7; }}\nexec {sys.executable} -c "import sys; sys.version_info = {version}; $2"\n'
    )
    stand_in.chmod(0o755)
    command = ("env", f"PYTHON={stand_in}", "sh", tmp_path / "install", tmp_path / "new")
    done = subprocess.run(command, check=False, capture_output=True, text=True)

    assert done.returncode == (7 if is_taken else 2)  # the stand-in makes no environment
    assert ("set PYTHON to another, for example python3.12" in done.stderr) is not is_taken
