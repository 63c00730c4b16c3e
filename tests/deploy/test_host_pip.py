"""`make image-check` reaches packages the way the machine's own pip does."""

import runpy
from pathlib import Path
from typing import Any

HOST: dict[str, Any] = runpy.run_path(str(Path(__file__).parents[2] / "tools/release/host_pip.py"))


def test_a_machine_without_settings_of_pip_adds_nothing(tmp_path: Path) -> None:
    assert HOST["settings"]("", {}) == {}
    assert HOST["options"]({}, tmp_path) == []


def test_the_environment_wins_over_the_files_of_pip() -> None:
    listed = "global.index-url='https://a.example/simple'\n:env:.index-url='https://b.example/simple'\n"
    assert HOST["settings"](listed, {}) == {"index-url": "https://b.example/simple"}


def test_settings_that_do_not_decide_how_packages_are_reached_stay_on_the_machine() -> None:
    listed = "global.user='true'\n:env:.require-virtualenv='1'\n:env:.default-timeout='180'\n"
    assert HOST["settings"](listed, {}) == {"timeout": "180"}


def test_certificates_of_the_environment_are_those_of_pip_unless_pip_names_its_own() -> None:
    assert HOST["settings"]("", {"SSL_CERT_FILE": "/a.pem"}) == {"cert": "/a.pem"}
    assert HOST["settings"]("global.cert='/b.pem'\n", {"SSL_CERT_FILE": "/a.pem"}) == {"cert": "/b.pem"}


def test_certificates_and_local_folders_are_mounted_at_their_own_paths(tmp_path: Path) -> None:
    bundle, wheels = tmp_path / "bundle.pem", tmp_path / "wheels"
    bundle.touch()
    wheels.mkdir()
    values = {"cert": str(bundle), "find-links": f"\n{wheels}\nhttps://a.example/wheels"}

    mounts = HOST["options"](values, tmp_path)

    assert mounts == [
        f"--volume={tmp_path}/pip.conf:/etc/pip.conf:ro",
        f"--volume={bundle}:{bundle}:ro",
        f"--volume={wheels}:{wheels}:ro",
    ]
    written = (tmp_path / "pip.conf").read_text()
    assert written == f"[global]\ncert = {bundle}\nfind-links = {wheels} https://a.example/wheels\n"
