"""`make test-cli`: the real OCI CLI takes the rendered files, and the provisioner takes over what it made.

Not among the default tests: the CLI brings an environment of half a gigabyte (`.venv-cli`).
"""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.clock import Clock
from tests.prompt import ROOT, ask
from tests.region import Region, small

OCI = ROOT / ".venv-cli" / "bin" / "oci"
STORAGE = next(compartment.id for compartment in small().compartments if compartment.name == "storage")
TOPIC = small().topics[0]


class Shell:
    """An operator with the OCI CLI and an account in the demo region."""

    def __init__(self, region: Region, directory: Path) -> None:
        self.region = region
        self.key_file = region.account.write_config(directory, region.tenancy.region)

    def oci(self, *arguments: str) -> Any:
        command = [str(OCI), "--config-file", str(self.key_file), "--endpoint", self.region.url, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"HOME": "/"}, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["data"] if done.stdout else None

    def alarms(self, command: str, *more: str) -> Any:
        account = ("--oci.config-file", str(self.key_file), "--oci.endpoint", self.region.url)
        return ask("alarms", command, *account, "--compartment", STORAGE, "--topic", TOPIC, *more)


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with Region(small(), calls_per_second={}, now=Clock(), wall=time.time) as region:
        yield Shell(region, tmp_path)


def test_the_cli_creates_every_alarm_from_its_rendered_file(shell: Shell, tmp_path: Path) -> None:
    rendered = tmp_path / "alarms"
    assert shell.alarms("render", "--from-inventory", "--output", "cli", "--out", str(rendered)).code == 0
    for file in sorted(rendered.iterdir()):
        created = shell.oci("monitoring", "alarm", "create", "--from-json", f"file://{file}")
        wanted = json.loads(file.read_text())
        assert created["query"] == wanted["queryText"]
        assert created["display-name"] == wanted["displayName"] == file.stem
        assert [rule["query"] for rule in created["overrides"]] == [rule["query"] for rule in wanted["overrides"]]
    planned = shell.alarms("plan")  # the provisioner knows by the tags what the CLI made
    assert planned.out == f"Plan: 0 to create, 0 to update, 0 to delete, {len(list(rendered.iterdir()))} unchanged.\n"


def test_the_file_of_the_api_is_refused_by_the_cli_because_of_the_name_of_the_query(
    shell: Shell, tmp_path: Path
) -> None:
    ask("alarms", "render", "--output", "json", "--compartment", STORAGE, "--topic", TOPIC, "--out", tmp_path / "api")
    file = tmp_path / "api" / "fss-mount-target-iops-peak-standard.json"
    with pytest.raises(AssertionError, match="query-text"):
        shell.oci("monitoring", "alarm", "create", "--from-json", f"file://{file}")
