"""An installation without the extra `[oci]`: one line names the command that installs it, and the agent needs nothing."""

import os
import subprocess
import sys

import pytest

INSTALL = "pip install '.[oci]'"
WITHOUT = """
import sys
for name in ("oci", "circuitbreaker", "cryptography", "msgspec"):
    sys.modules[name] = None
from fss_exporter.cli.main import run
sys.exit(run(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ("serve", "--collector.oci", "--no-collector.nfs", "--web.listen-address", "127.0.0.1:0"),
        ("serve", "--collector.oci", "--oci.auth", "instance_principal", "--web.listen-address", "127.0.0.1:0"),
        ("serve", "--oci.publish", "--web.listen-address", "127.0.0.1:0"),
        ("discover", "--output", "json"),
        ("alarms", "plan", "--oci.compartment", "ocid1.compartment.oc1..x"),
    ],
    ids=" ".join,
)
def test_a_command_that_needs_the_extra_says_how_to_install_it(arguments: tuple[str, ...]) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT, *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.returncode == 2, ran.stderr
    (line,) = ran.stderr.splitlines()
    assert INSTALL in line


def test_the_help_of_serve_needs_no_extra() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT, "serve", "--help"], capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.returncode == 0
    assert "--collector.oci" in ran.stdout


@pytest.mark.parametrize(
    ("arguments", "flag"),
    [
        (("alarms", "--help"), "  plan "),
        (("alarms", "plan", "-h"), "--detailed-exitcode"),
        (("discover", "--help"), "--oci.auth"),
    ],
    ids=str,
)
def test_the_help_of_a_command_that_needs_the_extra_says_so_and_shows_the_flags(
    arguments: tuple[str, ...], flag: str
) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT, *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert INSTALL in ran.stdout.splitlines()[0]
    assert flag in ran.stdout


def test_doctor_says_in_one_line_how_to_install_it() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT, "doctor", "--no-client", "--account"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=dict(os.environ),  # readline, where pytest imports it, leaves COLUMNS behind Python's back
    )
    assert ran.returncode == 2, ran.stderr
    assert "Traceback" not in ran.stderr
    (line,) = (line for line in ran.stdout.splitlines() if INSTALL in line)
    assert (
        line.strip()
        == f"do: Install the package fss-exporter-poller, or run {INSTALL} in a clone. Or add --no-account."
    )
