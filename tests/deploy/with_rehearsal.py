"""`make rehearse`: what a release publishes, installed as its readers do, in fresh systems without this project.

Needs root, debootstrap and what `make release` wrote to dist/. Each system is a folder with a minimal Debian. The tests run only files of
dist/ in it. An Enterprise Linux cannot be made here: its rpm is tried with a stub of AppStream's python3.12.
"""

import json
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.deploy.debian_trees import debian_tree
from tests.processes import get, process, wait_for

import fss_exporter

ROOT = Path(__file__).parents[2]
DIST = ROOT / "dist"
VERSION = fss_exporter.__version__
MACHINE = platform.machine()
PACKAGES = {
    "bookworm": "systemd,python3,python3-venv,rpm",
    "trixie": "systemd,python3,python3-venv",
}


@dataclass(frozen=True)
class System:
    """A folder with a minimal Debian, and the commands in it."""

    root: Path

    def command(self, *command: str) -> list[str]:
        mounts = 'mount --rbind /proc "$0/proc" && mount --rbind /dev "$0/dev" && mount -t tmpfs tmpfs "$0/run" && exec chroot "$0" "$@"'
        return ["unshare", "--mount", "sh", "-c", mounts, str(self.root), *command]

    def run(self, *command: str) -> str:
        done = subprocess.run(self.command(*command), capture_output=True, text=True, check=False, timeout=600)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    def take(self, pattern: str) -> str:
        """Copy one file of dist/ into the system, and return its path there."""
        sources = list(DIST.glob(pattern))
        assert len(sources) == 1, f"{len(sources)} files in {DIST} are named {pattern}. Run `make release` first"
        shutil.copy(sources[0], self.root / "root")
        return f"/root/{sources[0].name}"

    def is_on(self, unit: str) -> bool:
        done = subprocess.run(
            ["systemctl", f"--root={self.root}", "is-enabled", unit], capture_output=True, text=True, check=False
        )
        return done.stdout.strip() == "enabled"

    def files(self) -> set[str]:
        """Every file but caches, logs and the databases of the package managers."""
        passing = re.compile(r"(var|root|tmp|run|proc|dev)/|.*__pycache__")
        walked = (Path(folder) / name for folder, _, names in os.walk(self.root) for name in names)
        return {path for file in walked if not passing.match(path := str(file.relative_to(self.root)))}


def system(name: str, target: Path) -> System:
    return System(debian_tree(name, name, PACKAGES[name], target))


@pytest.fixture(params=["bookworm", "trixie"])
def debian(request: pytest.FixtureRequest, tmp_path: Path) -> System:
    return system(request.param, tmp_path)


@pytest.fixture
def bookworm(tmp_path: Path) -> System:
    return system("bookworm", tmp_path)


@pytest.fixture
def trixie(tmp_path: Path) -> System:
    return system("trixie", tmp_path)


def assert_agent_serves(within: System, program: str, log: Path) -> None:
    """The agent reads the NFS counters of the host and serves them."""
    with process(within.command(program, "serve", "--web.listen-address=127.0.0.1:0"), log):
        (url,) = wait_for(lambda: re.findall(r"http://[\d.:]+/metrics", log.read_text()), f"an agent, see {log}")
        metrics = wait_for(lambda: page if 'collector="nfs"} 1.0' in (page := get(url)) else "", "the first reading")
        runbook = get(url.replace("/metrics", "/runbook"))
    (running,) = re.findall(r"^fss_exporter_build_info\{(.*)\} 1", metrics, re.MULTILINE)
    assert f'version="{VERSION}"' in running
    assert re.search(r'revision="[0-9a-f]{12}"', running)
    assert 'id="fssmounttargetdown"' in runbook


@pytest.fixture
def region_flags(tmp_path: Path) -> Iterator[list[str]]:
    """Flags of a poller for a loopback region, which the same package serves from a second system."""
    (tmp_path / "region").mkdir()
    host = system("trixie", tmp_path / "region")
    host.run("dpkg", "--install", host.take(f"fss-exporter-poller_{VERSION}_amd64.deb"))
    log = tmp_path / "region.log"
    with process(host.command("fss-exporter", "demo", "--region-only"), log):
        wait_for(lambda: "Ctrl-C" in log.read_text(), f"a region, see {log}")
        text = log.read_text()
        (url,) = re.findall(r"^OCI region +(\S+)", text, re.MULTILINE)
        (credentials,) = re.findall(r"^Credentials +(\S+)", text, re.MULTILINE)
        folder = Path(credentials).parent
        shutil.copytree(host.root / folder.relative_to("/"), tmp_path / "credentials")
        yield [f"--oci.endpoint={url}", f"--oci.config-file={credentials}"]


def test_the_deb_installs_serves_stays_on_over_a_removal_and_leaves_nothing(debian: System, tmp_path: Path) -> None:
    before = debian.files()
    package = debian.take(f"fss-exporter-agent_{VERSION}_amd64.deb")
    debian.run("dpkg", "--install", package)
    assert debian.is_on("fss-exporter-agent.service")
    assert_agent_serves(debian, "/usr/bin/fss-exporter", tmp_path / "agent.log")

    debian.run("systemctl", "disable", "fss-exporter-agent.service")
    debian.run("dpkg", "--install", package)  # an upgrade, to dpkg
    assert not debian.is_on("fss-exporter-agent.service")

    debian.run("systemctl", "enable", "fss-exporter-agent.service")
    debian.run("dpkg", "--remove", "fss-exporter-agent")
    debian.run("dpkg", "--install", package)
    assert debian.is_on("fss-exporter-agent.service")

    debian.run("dpkg", "--purge", "fss-exporter-agent")
    assert debian.files() - before == set()
    assert not (debian.root / "usr/lib/fss-exporter").exists()


def test_the_wheels_install_without_a_network(trixie: System, tmp_path: Path) -> None:
    archive = trixie.take(f"fss-exporter-agent-wheels-{VERSION}-linux-x86_64.tar.gz")
    trixie.run("tar", "-C", "/root", "-xzf", archive)
    trixie.run("unshare", "--net", archive.removesuffix(".tar.gz") + "/install", "/opt/fss-exporter")
    assert_agent_serves(trixie, "/opt/fss-exporter/bin/fss-exporter", tmp_path / "agent.log")


def test_the_rpm_serves_where_a_package_named_python3_12_is_installed(bookworm: System, tmp_path: Path) -> None:
    stub = "Name: python3.12\nVersion: 3.12.11\nRelease: 1\nSummary: stub\nLicense: none\nBuildArch: noarch\n%description\nstub\n%files\n"
    (bookworm.root / "root/stub.spec").write_text(stub)
    bookworm.run("rpmbuild", "-bb", "--quiet", "/root/stub.spec")
    bookworm.run("sh", "-c", "rpm --install --nodeps /root/rpmbuild/RPMS/noarch/python3.12-*.rpm")
    package = bookworm.take(f"fss-exporter-agent-{VERSION}-1.x86_64.rpm")
    bookworm.run(
        "sh", "-c", f"rpm --install --test {package} 2>&1 | grep -v /bin/sh | grep 'is needed' && exit 1 || true"
    )
    bookworm.run("rpm", "--install", "--nodeps", package)
    assert bookworm.is_on("fss-exporter-agent.service")
    assert_agent_serves(bookworm, "/usr/bin/fss-exporter", tmp_path / "agent.log")
    bookworm.run("rpm", "--erase", "fss-exporter-agent")
    assert not bookworm.is_on("fss-exporter-agent.service")
    assert not (bookworm.root / "usr/lib/fss-exporter").exists()


def test_the_poller_package_polls_a_region(trixie: System, region_flags: list[str], tmp_path: Path) -> None:
    trixie.run("dpkg", "--install", trixie.take(f"fss-exporter-poller_{VERSION}_amd64.deb"))
    assert not trixie.is_on("fss-exporter-poller.service")
    (credentials,) = (Path(flag.partition("=")[2]) for flag in region_flags if "config-file" in flag)
    shutil.copytree(tmp_path / "credentials", trixie.root / credentials.parent.relative_to("/"))
    log = tmp_path / "poller.log"
    serve = ["fss-exporter", "serve", "--no-collector.nfs", "--collector.oci", "--web.listen-address=127.0.0.1:0"]
    with process(trixie.command(*serve, *region_flags), log):
        (url,) = wait_for(lambda: re.findall(r"http://[\d.:]+/metrics", log.read_text()), f"a poller, see {log}")
        wait_for(lambda: "\nfss_mount_target_iops{" in get(url), "the first poll")


def test_prometheus_takes_the_rules_and_each_alert_has_its_section_in_the_runbook(tmp_path: Path) -> None:
    subprocess.run(["tar", "-C", tmp_path, "-xzf", DIST / "fss-exporter-assets.tar.gz"], check=True)
    rules = sorted((tmp_path / "assets/rules").glob("*.yml"))
    subprocess.run(["promtool", "check", "rules", *rules], check=True, capture_output=True)
    titles = re.findall(r"^### (\w+)$", (tmp_path / "assets/docs/runbook.md").read_text(), re.MULTILINE)
    alerts = re.findall(r"- alert: (\w+)", "".join(path.read_text() for path in rules))
    assert set(alerts) == set(titles)


def test_the_bill_of_the_poller_names_the_copies_inside_the_oci_sdk_and_the_openssl_inside_a_wheel() -> None:
    bill = json.loads((DIST / "fss-exporter-poller.cdx.json").read_text())
    assert {"oci/_vendor/requests", "cryptography/openssl"} <= {part["bom-ref"] for part in bill["components"]}


def test_every_file_of_the_release_has_its_checksum() -> None:
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=DIST, check=True)
    listed = {line.split()[-1] for line in (DIST / "SHA256SUMS").read_text().splitlines()}
    assert listed | {"SHA256SUMS"} == {path.name for path in DIST.iterdir()}
