"""`make test-packages`: the wheel and the source archive hold everything, and the installed wheel works.

Not among the default tests, because the archives take a quarter of a minute. `make check` builds them beside the linters.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest
from tests.deploy.packaged import packaged_files
from tests.processes import get, process, wait_for

import fss_exporter

ROOT = Path(__file__).parents[2]
LEFT_BEHIND = shutil.ignore_patterns(
    ".git", ".venv*", ".tools", ".*cache", ".hypothesis", "build", "dist", "__pycache__", "node_modules", "*.egg-info"
)
VERSION = fss_exporter.__version__


def run(*command: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, env=bare_environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def bare_environment() -> dict[str, str]:
    """Without what would let the checkout answer in place of the wheel."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder `make dist` fills: the wheel is made from the source archive, so the archive is complete too."""
    source = tmp_path_factory.mktemp("source") / "fss-exporter"
    shutil.copytree(ROOT, source, symlinks=True, ignore=LEFT_BEHIND)
    target = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", target, source)
    return target


@pytest.fixture(scope="module")
def wheel(archives: Path) -> Path:
    return archives / f"fss_exporter-{VERSION}-py3-none-any.whl"


@pytest.fixture(scope="module")
def command(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`fss-exporter` in a new environment: the wheel and its dependencies, nothing of the checkout."""
    environment = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", "--without-pip", environment)
    python = environment / "bin/python"
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-index", "--no-deps")
    run(*pip, "--no-compile", wheel)
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    where = run(python, "-c", "import fss_exporter; print(fss_exporter.__file__)", cwd=environment)
    assert where.startswith(str(environment)), "the checkout answered in place of the wheel"
    return environment / "bin/fss-exporter"


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert packed == packaged_files()


def test_the_source_archive_holds_tests_docs_and_deployment(archives: Path) -> None:
    with tarfile.open(archives / f"fss_exporter-{VERSION}.tar.gz") as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for folder in ("rules", "dashboards", "mql", "deploy", "docs", "lab", "tests", "toolbox", "tools", "requirements"):
        expected = {
            str(path.relative_to(ROOT))
            for path in (ROOT / folder).rglob("*")
            if path.is_file() and not {"__pycache__", ".terraform", "node_modules"} & set(path.parts)
        }
        assert expected - names == set()
    assert {"LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "Makefile", "Dockerfile", "README.md"} <= names


def test_the_installed_command_knows_its_version(command: Path) -> None:
    assert run(command, "--version").split()[-1] == VERSION


def test_the_installed_command_writes_the_shipped_files(command: Path, tmp_path: Path) -> None:
    run(command, "assets", tmp_path)
    for folder, source in {
        "rules": "rules",
        "mql": "mql",
        "dashboards": "dashboards",
        "systemd": "deploy/systemd",
    }.items():
        written = {path.relative_to(tmp_path / folder) for path in (tmp_path / folder).rglob("*.*")}
        shipped = {path.relative_to(ROOT / source) for path in (ROOT / source).rglob("*.*")}
        assert written == shipped
        assert shipped


def test_the_installed_command_demonstrates_itself(command: Path, tmp_path: Path) -> None:
    """Recorded clients, a loopback region, the poller and the web server, all out of the wheel."""
    log = tmp_path / "demo.log"
    with process([str(command), "demo", "--listen-address=127.0.0.1:0"], log):
        url, *_ = wait_for(
            lambda: re.findall(r"http://[\d.:]+/metrics", log.read_text()), f"the demo to listen, see {log}"
        )
        metrics = wait_for(lambda: demonstrated(get(url)), "clients and mount targets on /metrics")
    assert f'version="{VERSION}"' in metrics


def demonstrated(metrics: str) -> str:
    """The metrics once both sides have something to show, empty before."""
    shown = all(
        f"\n{name}{{" in metrics for name in ("fss_client_estimated_io_operations_total", "fss_mount_target_iops")
    )
    return metrics if shown else ""


def test_every_command_of_the_installed_package_starts(command: Path) -> None:
    listed = re.findall(r"^  ([a-z]+)  +(.*)$", run(command, "--help"), flags=re.MULTILINE)
    assert {"serve", "demo", "assets"} <= {name for name, _ in listed}
    assert [name for name, summary in listed if "not installed" in summary] == []
