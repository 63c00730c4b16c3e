"""`make test-packages`: the packages of the agent, built, installed into an empty root folder, run, and removed.

Not among the default tests, because the builds take most of a minute. `make check` runs them beside the linters.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest
from tests.deploy.built_packages import BUILD_SECONDS, build, copy_of_the_project
from tests.processes import get, process, require, wait_for

import fss_exporter

ROOT = Path(__file__).parents[2]
VERSION = fss_exporter.__version__
MACHINE = os.uname().machine

# A mount namespace in which the program is at the place that the package gives it, and in which no service manager is to be found.
NAMESPACE = """
mount -t tmpfs tmpfs /run && mkdir -p "$0/usr/lib/fss-exporter" /usr/lib/fss-exporter &&
mount --bind "$0/usr/lib/fss-exporter" /usr/lib/fss-exporter && exec "$@"
"""

AGENT = "etc/systemd/system/multi-user.target.wants/fss-exporter-agent.service"
SOCKET = "etc/systemd/system/sockets.target.wants/fss-exporter-agent.socket"
SETTINGS = "etc/default/fss-exporter-agent"


def inside(scratch: Path) -> tuple[str, ...]:
    return ("unshare", "--map-root-user", "--mount", "sh", "-c", NAMESPACE, str(scratch))


def run(*command: str | Path, **environment: str) -> str:
    environment = os.environ | environment
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=BUILD_SECONDS)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages of the agent, built from a copy of the project."""
    return build(tmp_path_factory.mktemp("source"), "agent")


@pytest.fixture(scope="module")
def deb(packages: Path) -> Path:
    (package,) = packages.glob(f"fss-exporter-agent_{VERSION}_*.deb")
    return package


@pytest.fixture(scope="module")
def rpm(packages: Path) -> Path:
    (package,) = packages.glob(f"fss-exporter-agent-{VERSION}-1.*.rpm")
    return package


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """A root folder with an empty package database."""
    for folder in ("var/lib/dpkg/info", "var/lib/dpkg/updates", "var/log", "rpm"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "var/lib/dpkg/status").touch()
    return tmp_path


def dpkg(scratch: Path, *arguments: str | Path) -> str:
    options = (
        "--force-depends",
        "--force-not-root",
        "--force-script-chrootless",
        "--force-confold",
        f"--root={scratch}",
    )
    return run(*inside(scratch), "dpkg", *options, *arguments)


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() or path.is_symlink()}


def left_of_the_package(scratch: Path) -> set[str]:
    return {path for path in files(scratch) if not path.startswith(("var/", "rpm/", "agent.log"))}


def is_on(scratch: Path) -> bool:
    """Whether the agent starts at boot, with its socket."""
    return all((scratch / link).is_symlink() for link in (AGENT, SOCKET))


def required(rpm: Path) -> list[str]:
    own = ("rpmlib", "config(", "/bin/sh")
    return [line for line in run("rpm", "-qp", "--requires", rpm).splitlines() if not line.startswith(own)]


def test_the_packages_need_a_python_that_the_distribution_has_under_that_name(deb: Path, rpm: Path) -> None:
    assert run("dpkg-deb", "--field", deb, "Depends").strip() == "python3 (>= 3.11), python3 (<< 3.15)"
    # rpm of Enterprise Linux 8 is 4.14, and knows "or" since 4.13. dnf installs the first that it finds.
    assert required(rpm) == ["(python3.12 or python3.13 or python3.14 or python3.11)"]


def test_a_host_without_dpkg_builds_the_rpm_and_says_that_there_is_no_deb(tmp_path: Path) -> None:
    for folder in os.environ["PATH"].split(os.pathsep):
        for program in Path(folder).glob("*"):
            link = tmp_path / "bin" / program.name
            link.parent.mkdir(exist_ok=True)
            if not program.name.startswith(("apt", "dpkg")) and not link.is_symlink():
                link.symlink_to(program)
    source = copy_of_the_project(tmp_path)
    command = [str(source / "tools/release/package"), "agent"]
    environment = os.environ | {"PATH": str(tmp_path / "bin"), "UNCOMPRESSED": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=BUILD_SECONDS)
    assert done.returncode == 0, done.stderr
    assert [path.suffix for path in (source / "dist").iterdir()] == [".rpm"]
    assert "no deb" in done.stderr


def test_compiled_modules_of_every_version_need_no_newer_c_library_than_enterprise_linux_8(
    deb: Path, scratch: Path
) -> None:
    dpkg(scratch, "--unpack", deb)
    modules = list((scratch / "usr/lib/fss-exporter/lib").rglob("*.so"))
    for minor in ("311", "312", "313", "314"):
        assert [module for module in modules if f"cpython-{minor}-" in module.name], minor
    for module in modules:
        versions = re.findall(r"GLIBC_2\.(\d+)", run("readelf", "--version-info", module))
        assert max(map(int, versions), default=0) <= 28, module


def test_the_installed_deb_runs_and_its_removal_leaves_only_settings_and_links(
    deb: Path, scratch: Path, tmp_path: Path
) -> None:
    dpkg(scratch, "--install", deb)

    command = scratch / "usr/bin/fss-exporter"
    assert run(*inside(scratch), command, "--version").split()[-1] == VERSION
    serve = [*inside(scratch), str(command), "serve", "--path.pid=self", "--web.listen-address=127.0.0.1:0"]
    log = tmp_path / "agent.log"
    with process(serve, log):
        url, *_ = wait_for(
            lambda: re.findall(r"http://[\d.:]+/metrics", log.read_text()), f"a listening agent, see {log}"
        )
        wait_for(lambda: 'fss_collector_success{collector="nfs"} 1.0' in get(url), "the first reading")

    dpkg(scratch, "--remove", "fss-exporter-agent")
    assert left_of_the_package(scratch) == {SETTINGS, AGENT, SOCKET}
    dpkg(scratch, "--purge", "fss-exporter-agent")
    assert left_of_the_package(scratch) == set()


def test_a_purge_takes_the_settings_of_its_own_edition_and_no_others(deb: Path, scratch: Path) -> None:
    dpkg(scratch, "--install", deb)
    kept = {f"etc/fss-exporter/{name}" for name in ("fss-exporter.yml", "web.yml")}
    kept.add("etc/systemd/system/multi-user.target.wants/fss-exporter-poller.service")
    for path in (*kept, "etc/fss-exporter/agent.yml"):
        (scratch / path).touch()
    dpkg(scratch, "--remove", "fss-exporter-agent")
    dpkg(scratch, "--purge", "fss-exporter-agent")
    assert left_of_the_package(scratch) == kept


def test_the_first_installation_switches_the_agent_on_and_removed_and_installed_again_it_is_on(
    deb: Path, scratch: Path
) -> None:
    dpkg(scratch, "--install", deb)
    assert is_on(scratch)
    dpkg(scratch, "--remove", "fss-exporter-agent")
    dpkg(scratch, "--install", deb)
    assert is_on(scratch)


def test_an_agent_that_was_switched_off_stays_off_over_an_upgrade(deb: Path, scratch: Path) -> None:
    dpkg(scratch, "--install", deb)
    run("systemctl", f"--root={scratch}", "disable", "fss-exporter-agent.service")
    dpkg(scratch, "--install", deb)
    assert not is_on(scratch)


def test_the_deb_holds_units_manual_and_completion(deb: Path, scratch: Path) -> None:
    dpkg(scratch, "--unpack", deb)

    for shipped in (ROOT / "deploy/systemd").iterdir():
        unit = (scratch / "usr/lib/systemd/system" / shipped.name).read_text()
        assert unit == shipped.read_text().replace("/opt/fss-exporter/bin/fss-exporter", "/usr/bin/fss-exporter")
    pages = {path.name for path in (scratch / "usr/share/man/man1").iterdir()}
    told = run(require("fss-exporter", "this project"), "--help")
    expected = set(re.findall(r"^  ([a-z]+) +[A-Z]", told, re.MULTILINE))  # options begin with a dash
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
    install = ("rpm", "--install", "--nodeps", "--noscripts", "--root", other, "--dbpath", "/rpmdb", rpm)
    run("unshare", "--map-root-user", *install)
    dpkg(scratch, "--unpack", deb)

    from_rpm = {path for path in files(other) if not path.startswith("rpmdb/")}
    from_deb = {path.removesuffix(".dpkg-new") for path in left_of_the_package(scratch)}
    assert {path for path in from_rpm if "__pycache__" not in path} == from_deb


def test_a_host_without_a_fitting_python_is_told_what_to_install(deb: Path, scratch: Path) -> None:
    dpkg(scratch, "--unpack", deb)
    launcher = (scratch / "usr/bin/fss-exporter").read_text().replace("/usr/bin/python", "/nowhere/python")
    done = subprocess.run(["sh", "-c", launcher], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "dnf install python3.12" in done.stderr


def test_the_python_that_a_distribution_still_mends_is_taken_before_python_3_11(deb: Path, scratch: Path) -> None:
    dpkg(scratch, "--unpack", deb)
    for minor in ("11", "12", "14"):
        interpreter = scratch / f"usr/bin/python3.{minor}"
        interpreter.write_text(f"#!/bin/sh\necho 3.{minor}\n")
        interpreter.chmod(0o755)
    launcher = (scratch / "usr/bin/fss-exporter").read_text().replace("/usr/bin/python", f"{scratch}/usr/bin/python")
    assert run("sh", "-c", launcher) == "3.12\n"
