"""What the Ansible role does on a host, without Ansible. `make test-systemd` runs the role itself."""

import re
from pathlib import Path

TASKS = Path(__file__).parents[2] / "deploy/ansible/roles/fss_exporter/tasks"


def test_only_root_can_change_the_package_before_it_is_installed() -> None:
    folders = re.findall(r"(?:dest|deb|name): (/\S+)/\{\{ fss_exporter_package", (TASKS / "install.yml").read_text())

    assert folders == ["/var/cache"] * 3
