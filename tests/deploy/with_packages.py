"""`make test-packages`: the deb and the rpm of the agent, built, installed into an empty root folder, run, and removed.

Not among the default tests, because the builds take a quarter of a minute. `make check` runs them beside the linters.
"""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from tests.processes import get, process, require, wait_for

import fss_exporter

ROOT = Path(__file__).parents[2]
VERSION = fss_exporter.__version__
UNITS = ("fss-exporter-agent.service", "fss-exporter-agent.socket")
BUILD_SECONDS = 300

# A mount namespace in which /opt is the one of the scratch root, and in which no service manager is to be found.
NAMESPACE = (
    'mount -t tmpfs tmpfs /run && mkdir -p /opt "$0/opt" && mount --bind "$0/opt" /opt && exec "$@"'  # $0: scratch root
)


def inside(scratch: Path) -> tuple[str, ...]:
    return ("unshare", "--map-root-user", "--mount", "sh", "-c", NAMESPACE, str(scratch))


def run(*command: str | Path, **environment: str) -> str:
    environment = os.environ | environment
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=BUILD_SECONDS)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both packages, built from a copy of the project."""
    for command in ("dpkg-deb", "rpmbuild"):
        require(command, "dpkg rpm")
    source = tmp_path_factory.mktemp("source") / "fss-exporter"
    left_behind = shutil.ignore_patterns(
        ".git", ".tools", ".*cache", ".venv*", "build", "dist", "__pycache__", "node_modules", "*.egg-info"
    )
    shutil.copytree(ROOT, source, symlinks=True, ignore=left_behind)
    (source / ".venv").symlink_to(ROOT / ".venv")
    run(source / "tools/package", "all", UNCOMPRESSED="1")
    return source / "dist"


@pytest.fixture(scope="module")
def deb(packages: Path) -> Path:
    (found,) = packages.glob(f"fss-exporter-agent_{VERSION}_*.deb")
    return found


@pytest.fixture(scope="module")
def rpm(packages: Path) -> Path:
    (found,) = packages.glob(f"fss-exporter-agent-{VERSION}-1.*.rpm")
    return found


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """A root folder with an empty package database."""
    for folder in ("var/lib/dpkg/info", "var/lib/dpkg/updates", "var/log", "rpm"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "var/lib/dpkg/status").touch()
    return tmp_path


def dpkg(scratch: Path, *arguments: str | Path) -> str:
    options = ("--force-depends", "--force-not-root", "--force-script-chrootless", f"--root={scratch}")
    return run(*inside(scratch), "dpkg", *options, *arguments)


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() or path.is_symlink()}


def test_the_deb_needs_only_the_python_it_was_built_for(deb: Path) -> None:
    (depends,) = run("dpkg-deb", "--field", deb, "Depends").splitlines()
    assert re.fullmatch(r"python3 \(>= 3\.\d+\), python3 \(<< 3\.\d+\)", depends)


def test_the_rpm_needs_only_the_python_it_was_built_for(rpm: Path) -> None:
    required = [
        line
        for line in run("rpm", "-qp", "--requires", rpm).splitlines()
        if not line.startswith(("rpmlib", "config(", "/bin/sh"))
    ]
    assert sorted(re.sub(r"[\d.]+$", "", line) for line in required) == ["python3 < ", "python3 >= "]


def test_the_installed_deb_runs_and_its_removal_leaves_only_the_settings(
    deb: Path, scratch: Path, tmp_path: Path
) -> None:
    dpkg(scratch, "--install", deb)

    version = run(*inside(scratch), "/opt/fss-exporter/bin/fss-exporter", "--version")
    assert version.split()[-1] == VERSION
    command = [
        *inside(scratch),
        "/opt/fss-exporter/bin/fss-exporter",
        "serve",
        "--path.pid=self",
        "--web.listen-address=127.0.0.1:0",
    ]
    log = tmp_path / "agent.log"
    with process(command, log):
        url, *_ = wait_for(
            lambda: re.findall(r"http://[\d.:]+/metrics", log.read_text()), f"a listening agent, see {log}"
        )
        wait_for(lambda: 'fss_collector_success{collector="nfs"} 1.0' in get(url), "the first reading")

    dpkg(scratch, "--remove", "fss-exporter-agent")
    left = {path for path in files(scratch) if not path.startswith(("var/", "rpm/", "agent.log"))}
    assert left == {"etc/default/fss-exporter-agent"}


def test_the_deb_holds_units_manual_and_completion(deb: Path, scratch: Path) -> None:
    dpkg(scratch, "--unpack", deb)

    for unit in UNITS:
        shipped = (ROOT / "deploy/systemd" / unit).read_text()
        assert (scratch / "usr/lib/systemd/system" / unit).read_text() == shipped
    pages = {path.name for path in (scratch / "usr/share/man/man1").iterdir()}
    commands = run(require("fss-exporter", "this project"), "--help").partition("Commands:")[2].split("\n  ")
    expected = {line.split()[0] for line in commands if line.strip() and not line.startswith(" ")}
    assert {f"fss-exporter-{name}.1.gz" for name in expected} <= pages
    assert expected
    for shell in (
        "bash-completion/completions/fss-exporter",
        "zsh/site-functions/_fss-exporter",
        "fish/vendor_completions.d/fss-exporter.fish",
    ):
        assert "_FSS_EXPORTER_COMPLETE" in (scratch / "usr/share" / shell).read_text()


def test_the_rpm_installs_what_the_deb_installs(
    deb: Path, rpm: Path, scratch: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("rpm")
    run(
        "unshare",
        "--map-root-user",
        "rpm",
        "--install",
        "--nodeps",
        "--noscripts",
        "--root",
        other,
        "--dbpath",
        "/rpmdb",
        rpm,
    )
    dpkg(scratch, "--unpack", deb)

    from_rpm = {path for path in files(other) if not path.startswith("rpmdb/")}
    from_deb = {path.removesuffix(".dpkg-new") for path in files(scratch) if not path.startswith(("var/", "rpm/"))}
    assert {path for path in from_rpm if "__pycache__" not in path} == from_deb


def test_no_script_of_the_package_names_the_folder_it_was_built_in(deb: Path, scratch: Path) -> None:
    dpkg(scratch, "--unpack", deb)
    for script in [*(scratch / "opt/fss-exporter/bin").iterdir(), scratch / "opt/fss-exporter/pyvenv.cfg"]:
        if not script.is_symlink():
            assert tempfile.gettempdir() not in script.read_text()
    assert (scratch / "opt/fss-exporter/bin/fss-exporter").read_text().startswith("#!/opt/fss-exporter/bin/python")
