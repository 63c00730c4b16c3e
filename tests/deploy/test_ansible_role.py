"""What the Ansible role does on a host, without Ansible. `make test-systemd` runs the role itself."""

import re
import shlex
import subprocess
from pathlib import Path

import yaml
from tests.fss_exporter.web.certificates import Authority
from tests.processes import require

TASKS = Path(__file__).parents[2] / "deploy/ansible/roles/fss_exporter/tasks"


def test_only_root_can_change_the_package_before_it_is_installed() -> None:
    folders = re.findall(r"(?:dest|deb|name): (/\S+)/\{\{ fss_exporter_package", (TASKS / "install.yml").read_text())

    assert folders == ["/var/cache"] * 3


def test_a_web_configuration_is_checked_beside_its_place_before_it_comes_there(tmp_path: Path) -> None:
    steps = yaml.safe_load((TASKS / "settings.yml").read_text())
    check = next(step for step in steps if step["name"] == "Write the web configuration")["ansible.builtin.copy"]
    command = check["validate"].replace("/etc/fss-exporter", str(tmp_path))
    command = command.replace("/usr/bin/fss-exporter", require("fss-exporter", "this project"))
    copied = tmp_path / "copied by Ansible"
    copied.write_text("tls_server_config: {cert_file: server.crt, key_file: server.key}\n")

    def answer() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            shlex.split(command % shlex.quote(str(copied))), capture_output=True, text=True, check=False
        )

    refused = answer()
    assert refused.returncode == 2
    assert "cannot read" in refused.stderr
    Authority(tmp_path).sign("server")
    assert answer().returncode == 0
    assert not list(tmp_path.glob("web.yml*"))


def test_the_flags_are_written_after_what_can_be_wrong() -> None:
    steps = [step["name"] for step in yaml.safe_load((TASKS / "settings.yml").read_text())]

    assert steps.index("Write the flags") > max(
        map(steps.index, ("Write the web configuration", "Write the configuration"))
    )
