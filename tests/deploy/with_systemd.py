"""`make test-systemd`: packages and the Ansible role on a Debian with a running systemd.

Needs root and debootstrap. `make verify` runs it.
"""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.deploy.booted_host import BootedHost, booted
from tests.deploy.built_packages import build
from tests.deploy.debian_trees import debian_tree
from tests.fss_exporter.web.certificates import Authority, Pair
from tests.processes import wait_for

import fss_exporter

ROOT = Path(__file__).parents[2]
VERSION = fss_exporter.__version__
AGENT, POLLER = "fss-exporter-agent", "fss-exporter-poller"
DEBIAN = "python3,python3-apt,systemd,systemd-sysv,dbus,ca-certificates,openssh-server,dnf,rpm"
COST = "cost_model: {operations: {LOOKUP: {io_operations: 2, date: 2026-11-01, source: test}}}\n"
USER = "basic_auth_users:\n  me: $2b$04$nIEjzBPwmMlcaTTmFjw5aeTGsyWx8hJtXqibmKpPXc2Wjt.kaqsfO\n"  # secret


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages of agent and poller."""
    return build(tmp_path_factory.mktemp("source"), "agent", "poller")


@pytest.fixture
def host(tmp_path: Path) -> Iterator[BootedHost]:
    """A fresh Debian with a running systemd."""
    with booted(debian_tree("host", "bookworm", DEBIAN, tmp_path), tmp_path / "systemd.log") as running:
        yield running


def take(host: BootedHost, package: Path) -> str:
    """Copy a package to the host, and return its path there."""
    target = host.root / "root" / package.name
    target.write_bytes(package.read_bytes())
    return f"/root/{package.name}"


def install(host: BootedHost, packages: Path, edition: str) -> subprocess.CompletedProcess[str]:
    """Install the deb of an edition."""
    return host.tried("dpkg", "--install", take(host, packages / f"fss-exporter-{edition}_{VERSION}_amd64.deb"))


class TestPackages:
    """What systemd makes of the packages."""

    def test_a_taken_port_leaves_the_package_installed_and_says_what_to_do(
        self, host: BootedHost, packages: Path
    ) -> None:
        listen = "import socket, time; taken = socket.create_server(('', 10949)); time.sleep(3600)"
        with subprocess.Popen(host.near("python3", "-c", listen)) as other:
            try:
                wait_for(lambda: ":2AC5 " in host.run("cat", "/proc/net/tcp"), "the other program")
                done = install(host, packages, "agent")
            finally:
                other.kill()
        assert done.returncode == 0, done.stderr
        assert "fss-exporter-agent does not run. Look at: journalctl --unit 'fss-exporter-agent.*'" in done.stderr
        assert host.run("dpkg-query", "--show", "--showformat=${db:Status-Abbrev}", AGENT) == "ii "
        assert "Address already in use" in host.run("journalctl", "--no-pager", "--unit", "fss-exporter-agent.*")

        host.run("systemctl", "restart", AGENT)
        assert wait_for(host.page, "the agent")

    def test_the_journal_knows_errors_and_a_refused_reload_shows_in_a_metric(
        self, host: BootedHost, packages: Path
    ) -> None:
        host.write("/etc/fss-exporter/agent.yml", COST)
        host.write("/etc/fstab", "10.0.0.1:/a /mnt/gone nfs nofail 0 0\n")
        assert install(host, packages, "agent").returncode == 0
        page = wait_for(host.page, "the agent")
        assert "fss_cost_model_info{" in page, "agent.yml is read"
        assert 'fss_nfs_fstab_missing_mounts{mount_point="/mnt/gone"} 1' in page

        host.write("/etc/fss-exporter/agent.yml", "rubbish: 1\n")
        host.run("systemctl", "reload", AGENT)
        wait_for(lambda: "fss_exporter_config_last_reload_successful 0" in host.page(), "the refused reload")
        errors = host.journal(AGENT, "--priority", "err")
        assert "kept the old configuration: /etc/fss-exporter/agent.yml" in errors
        assert "listening on" not in errors
        assert "listening on" in host.journal(AGENT, "--priority", "info")

        host.write("/etc/fss-exporter/agent.yml", COST)
        host.run("systemctl", "reload", AGENT)
        wait_for(lambda: "fss_exporter_config_last_reload_successful 1" in host.page(), "the reload")

        host.write("/etc/fss-exporter/agent.yml", "rubbish: 1\n")
        host.run("systemctl", "restart", AGENT)
        wait_for(
            lambda: "fss-exporter: /etc/fss-exporter/agent.yml: " in host.journal(AGENT, "--priority", "err"),
            "an error of the start",
        )

    def test_an_agent_is_off_only_without_its_socket(self, host: BootedHost, packages: Path) -> None:
        assert install(host, packages, "agent").returncode == 0
        host.run("systemctl", "stop", f"{AGENT}.service")
        assert wait_for(host.page, "the agent that a scrape starts")

        (command,) = re.findall(
            r"^sudo (systemctl disable --now .*)$", (ROOT / "docs/install.md").read_text(), re.MULTILINE
        )
        host.run(*command.split())
        assert not host.page()
        assert not host.is_active(f"{AGENT}.service")
        assert not host.is_enabled(f"{AGENT}.socket")

        assert install(host, packages, "agent").returncode == 0
        assert not host.page(), "an upgrade leaves it off"

    def test_a_poller_reads_a_renewed_certificate_of_its_group_without_a_restart(
        self, host: BootedHost, packages: Path, tmp_path: Path
    ) -> None:
        assert install(host, packages, "poller").returncode == 0
        authority = Authority(tmp_path)
        first, second = authority.sign("first"), authority.sign("second")
        page = (ROOT / "docs/install.md").read_text()
        host.run("groupadd", "--system", "fss-exporter")
        host.write(
            f"/etc/systemd/system/{POLLER}.service.d/group.conf", "[Service]\nSupplementaryGroups=fss-exporter\n"
        )
        assert "[Service]\nSupplementaryGroups=fss-exporter\n" in page
        host.write("/etc/fss-exporter/fss-exporter.yml", "oci: {}\n")
        host.write("/etc/fss-exporter/web.yml", "tls_server_config: {cert_file: web.crt, key_file: web.key}\n", 0o640)
        host.write(f"/etc/default/{POLLER}", 'OPTIONS="--web.config.file=/etc/fss-exporter/web.yml"\n')
        put(host, first)
        host.run("systemctl", "daemon-reload")
        host.run("systemctl", "start", POLLER)
        started = wait_for(lambda: of_start(host, tmp_path), "the poller")

        put(host, second)
        wait_for(lambda: "certificate changed and was read again" in host.journal(POLLER), "the renewed certificate")
        served = host.near("openssl", "s_client", "-connect", "127.0.0.1:10949")
        shown = subprocess.run(served, input="", capture_output=True, text=True, check=False).stdout
        assert "CN = second" in shown or "CN=second" in shown
        assert of_start(host, tmp_path) == started

    def test_a_purge_of_the_poller_takes_what_it_counted_and_no_folder_of_another_file_system(
        self, host: BootedHost, packages: Path
    ) -> None:
        """A folder that two pollers share is mounted there, and the other poller still counts in it."""
        state = host.root / "var/lib/private/fss-exporter"
        assert install(host, packages, "poller").returncode == 0
        host.write("/etc/fss-exporter/fss-exporter.yml", "oci: {}\n")
        host.run("systemctl", "start", POLLER)
        wait_for(state.is_dir, "the folder of the unit")
        host.run("dpkg", "--remove", POLLER)
        assert state.is_dir()

        host.run("mount", "-t", "tmpfs", "tmpfs", "/var/lib/private/fss-exporter")
        host.run("touch", "/var/lib/private/fss-exporter/of-another-poller")
        host.run("dpkg", "--purge", POLLER)
        assert host.run("ls", "/var/lib/private/fss-exporter") == "of-another-poller\n"

        host.run("umount", "/var/lib/private/fss-exporter")
        assert install(host, packages, "poller").returncode == 0
        host.run("dpkg", "--purge", POLLER)
        assert not state.exists()
        assert not (host.root / "var/lib/fss-exporter").is_symlink()

    def test_a_port_that_the_unit_refuses_is_named_with_the_line_that_opens_it(
        self, host: BootedHost, packages: Path
    ) -> None:
        """A filter of system calls refuses as SocketBindDeny= does, also in a kernel without BPF for control groups."""
        assert install(host, packages, "poller").returncode == 0
        host.write("/etc/fss-exporter/fss-exporter.yml", "oci: {}\n")
        host.write(f"/etc/default/{POLLER}", 'OPTIONS="--web.listen-address=:10950"\n')
        host.write(f"/etc/systemd/system/{POLLER}.service.d/deny.conf", "[Service]\nSystemCallFilter=~bind\n")
        host.run("systemctl", "daemon-reload")
        host.run("systemctl", "start", POLLER)
        wait_for(lambda: "add SocketBindAllow=tcp:10950" in host.journal(POLLER, "--priority", "err"), "the refusal")


def put(host: BootedHost, pair: Pair) -> None:
    """Put a certificate and its key in place, readable for the group."""
    host.write("/etc/fss-exporter/web.crt", pair.certificate.read_text())
    host.write("/etc/fss-exporter/web.key", pair.key.read_text(), 0o640)
    host.run("chgrp", "fss-exporter", "/etc/fss-exporter/web.key", "/etc/fss-exporter/web.yml")


def of_start(host: BootedHost, certificates: Path) -> list[str]:
    """Return the line with the time of the exporter's start. Empty if it does not answer."""
    page = host.page("https://127.0.0.1:10949/metrics", "--cacert", str(certificates / "ca.crt"))
    return re.findall(r"^process_start_time_seconds .*$", page, re.MULTILINE)


@dataclass(frozen=True)
class Play:
    """How a play ended: counts by `ok`, `changed`, `failed` and so on, and the output."""

    counts: dict[str, int]
    output: str


@dataclass(frozen=True)
class Role:
    """The role, over SSH on a host."""

    host: BootedHost
    folder: Path
    playbook: str  # program of an Ansible

    def play(self, *flags: str, **variables: object) -> Play:
        """Run the role with variables, named without `fss_exporter_`."""
        role = {"role": "fss_exporter", "vars": {f"fss_exporter_{name}": value for name, value in variables.items()}}
        # Ansible takes a Debian with dnf for a host of apt.
        play = {"hosts": "all", "module_defaults": {"ansible.builtin.dnf": {"use_backend": "dnf4"}}, "roles": [role]}
        (self.folder / "site.yml").write_text(json.dumps([play]))
        (self.folder / "hosts.json").write_text(
            json.dumps(
                {
                    "all": {
                        "hosts": {"debian": {}},
                        "vars": {
                            "ansible_host": "127.0.0.1",
                            "ansible_user": "root",
                            "ansible_python_interpreter": "/usr/bin/python3",
                            "ansible_ssh_private_key_file": str(self.folder / "key"),
                            "ansible_ssh_common_args": "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null",
                        },
                    }
                }
            )
        )
        environment = os.environ | {
            "ANSIBLE_ROLES_PATH": str(ROOT / "deploy/ansible/roles"),
            "ANSIBLE_SSH_ARGS": "-o ControlMaster=no",  # the path of its socket would be too long
            "ANSIBLE_HOME": str(self.folder / "ansible"),
            "HOME": str(self.folder),
        }
        done = subprocess.run(
            self.host.near(self.playbook, "--inventory", self.folder / "hosts.json", *flags, self.folder / "site.yml"),
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        output = done.stdout + done.stderr
        recap = re.search(r"^debian +: (.*)$", done.stdout, re.MULTILINE)
        assert recap, output
        return Play({name: int(count) for name, count in re.findall(r"(\w+)=(\d+)", recap[1])}, output)

    def works(self, *flags: str, **variables: object) -> int:
        """Run the role, which must not fail. Return the number of changes."""
        play = self.play(*flags, **variables)
        assert play.counts["failed"] == 0, play.output
        assert play.counts["unreachable"] == 0, play.output
        return play.counts["changed"]


@pytest.fixture(params=os.environ.get("ANSIBLE_PLAYBOOKS", "").split(), ids=lambda path: Path(path).parts[-3])
def role(request: pytest.FixtureRequest, host: BootedHost, tmp_path: Path) -> Role:
    """The role with each Ansible that the target installs, and a host that takes its key."""
    folder = tmp_path / "control"
    folder.mkdir()
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "key"], check=True)
    host.write("/root/.ssh/authorized_keys", (folder / "key.pub").read_text(), 0o600)
    host.run("systemctl", "start", "systemd-user-sessions", "ssh")
    return Role(host, folder, request.param)


class TestRole:
    """The Ansible role, from a first run to the removal."""

    def test_an_agent_from_a_check_of_a_fresh_host_to_its_removal(self, role: Role, packages: Path) -> None:
        host, package = role.host, packages / f"{AGENT}_{VERSION}_amd64.deb"
        assert role.works("--check", package=str(package)) > 0
        assert not (host.root / "usr/bin/fss-exporter").exists()

        assert role.works(package=str(package), config=COST, web_config=USER) > 0
        assert host.is_enabled(f"{AGENT}.service")
        wait_for(lambda: "fss_cost_model_info{" in host.page(URL, "--user", "me:secret"), "agent.yml and the user")
        assert role.works(package=str(package), config=COST, web_config=USER) == 0
        assert role.works("--check", package=str(package), config=COST, web_config=USER) == 0

        wrong = role.play(package=str(package), config="rubbish: 1\n", web_config=USER)
        assert wrong.counts["failed"] == 1
        assert "unknown key" in wrong.output
        wrong = role.play(package=str(package), config=COST, web_config="tls_server_config: {cert_file: none.crt}\n")
        assert wrong.counts["failed"] == 1
        assert "key_file (or key) is missing" in wrong.output
        assert (host.root / "etc/fss-exporter/web.yml").read_text() == USER
        assert "fss_cost_model_info{" in host.page(URL, "--user", "me:secret")

        host.run("systemctl", "disable", "--now", f"{AGENT}.service", f"{AGENT}.socket")
        newer = newer_deb(package, role.folder)
        assert role.works(package=str(newer), options="--log.level=debug") > 0
        assert host.run("dpkg-query", "--show", "--showformat=${Version}", AGENT) == "9.0"
        assert not host.is_active(f"{AGENT}.service")
        assert not host.is_enabled(f"{AGENT}.service")
        assert not host.page(), "where the agent was switched off, it stays off"
        assert role.works(package=str(package), options="--log.level=debug") > 0
        assert host.run("dpkg-query", "--show", "--showformat=${Version}", AGENT) == VERSION, "back to the old one"

        assert role.works(state="absent") == 1
        assert not (host.root / "usr/bin/fss-exporter").exists()
        assert (host.root / "etc/fss-exporter/agent.yml").exists()

    def test_a_poller_reads_its_web_configuration_and_a_second_run_with_a_mistake_leaves_it_running(
        self, role: Role, packages: Path
    ) -> None:
        host, package = role.host, str(packages / f"{POLLER}_{VERSION}_amd64.deb")
        poller = {"package": package, "edition": "poller", "web_config": USER}
        wrong = role.play(**poller, config="oci: {rubbish: 1}\n")
        assert wrong.counts["failed"] == 1
        assert not host.is_enabled(f"{POLLER}.service")

        assert role.works(**poller, config="oci: {}\n") > 0
        assert host.is_enabled(f"{POLLER}.service")
        wait_for(lambda: "fss_exporter_build_info" in host.page(URL, "--user", "me:secret"), "the poller")
        assert not host.page(), "without a password nothing is served"
        assert role.works(**poller, config="oci: {}\n") == 0

    def test_an_rpm_is_installed_with_dnf(self, role: Role, packages: Path) -> None:
        host = role.host
        stub = "Name: stub\nVersion: 1\nRelease: 1\nSummary: stub\nLicense: none\nBuildArch: noarch\nProvides: /bin/sh python3.11 python3.12\n%description\nstub\n%files\n"
        host.write("/root/stub.spec", stub)
        host.run("rpmbuild", "-bb", "--quiet", "/root/stub.spec")
        host.run("sh", "-c", "rpm --install --nodeps /root/rpmbuild/RPMS/noarch/stub-1-1.noarch.rpm")
        package = str(packages / f"{AGENT}-{VERSION}-1.x86_64.rpm")
        assert role.works("--check", package=package) > 0
        assert role.works(package=package, config=COST) > 0
        assert host.is_enabled(f"{AGENT}.service")
        wait_for(lambda: "fss_cost_model_info{" in host.page(), "the agent")
        assert role.works(package=package, config=COST) == 0

    def test_enterprise_linux_8_needs_an_older_ansible(self, role: Role, packages: Path) -> None:
        facts = {"ansible_facts": {"os_family": "RedHat", "distribution_major_version": "8"}}
        play = role.play(
            "--check", "--extra-vars", json.dumps(facts), package=str(packages / f"{AGENT}_{VERSION}_amd64.deb")
        )
        is_old = (
            "[core 2.16."
            in subprocess.run([role.playbook, "--version"], capture_output=True, text=True, check=True).stdout
        )
        assert ("with ansible-core 2.16" in play.output) is not is_old


URL = "http://127.0.0.1:10949/metrics"


def newer_deb(package: Path, folder: Path) -> Path:
    """Return the same deb as version 9.0."""
    tree, newer = folder / "newer", folder / f"{AGENT}_9.0_amd64.deb"
    subprocess.run(["dpkg-deb", "--raw-extract", package, tree], check=True)
    control = tree / "DEBIAN/control"
    control.write_text(re.sub(r"^Version: .*$", "Version: 9.0", control.read_text(), flags=re.MULTILINE))
    subprocess.run(["dpkg-deb", "-Znone", "--build", tree, newer], check=True, capture_output=True)
    return newer
