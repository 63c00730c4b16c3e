"""The poller image holds a few services of the SDK. Everything a poll needs must be among them."""

import re
import runpy
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.processes import exporter, get, wait_for
from tests.region import Region, shared_account

from fss_exporter.oci.client.service_clients import _CLIENTS as CLIENTS

ROOT = Path(__file__).parents[2]
PRUNE: dict[str, Any] = runpy.run_path(str(ROOT / "tools/release/prune_sdk.py"))


def installed_sdk() -> Path:
    spec = find_spec("oci")
    assert spec
    assert spec.origin
    return Path(spec.origin).parent


@pytest.fixture
def pruned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`oci` is what the image keeps, for every process the test starts: links to the installed one, without the rest."""
    sdk = installed_sdk()
    package = tmp_path / "site/oci"
    package.mkdir(parents=True)
    left_out = set(PRUNE["unused"](sdk))
    for entry in sdk.iterdir():
        if entry not in left_out:
            (package / entry.name).symlink_to(entry)
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")


def test_almost_every_service_of_the_sdk_goes_and_what_is_not_a_service_stays() -> None:
    names = {folder.name for folder in PRUNE["unused"](installed_sdk())}
    assert len(names) > 100
    assert not names & {"identity", "monitoring", "auth", "_vendor", "retry", "pagination"}


def test_the_clients_that_the_poller_opens_stay() -> None:
    assert {package for package, _ in CLIENTS.values()} == {f"oci.{name}" for name in PRUNE["OPENED"]}


def test_another_layout_of_the_sdk_is_refused_rather_than_pruned(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").write_text("__all__ = ['database']")
    (tmp_path / "database").mkdir()
    (tmp_path / "database" / "database_client.py").touch()
    with pytest.raises(SystemExit, match="has the SDK changed its layout"):
        PRUNE["unused"](tmp_path)


@pytest.mark.usefixtures("pruned")
def test_the_environment_of_these_tests_has_the_pruned_sdk() -> None:
    """Else the test below would prove nothing."""
    command = (sys.executable, "-c", "import oci.monitoring, oci.database")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "No module named 'oci.database'" in done.stderr


@pytest.mark.usefixtures("pruned")
def test_a_poll_needs_nothing_that_was_pruned(tmp_path: Path) -> None:
    with Region(account=shared_account()) as region:
        configuration = tmp_path / "fss-exporter.yml"
        configuration.write_text(f"""oci:
  endpoint: {region.url}
  config_file: {region.account.write_config(tmp_path, region.tenancy.region)}
  calls_per_second: 9.9
""")
        flags = ("--no-collector.nfs", "--collector.oci", f"--config.file={configuration}")
        with exporter(tmp_path, *flags) as url:
            metrics = wait_for(lambda: polled(get(f"{url}/metrics")), "the first poll")
    assert "fss_mount_target_connections{" in metrics


def polled(metrics: str) -> str:
    """The metrics once every call of a poll was answered and addresses were looked up, empty before."""
    well = re.search(r"^fss_oci_poll_success\{.*\} 1\.0$", metrics, flags=re.MULTILINE)
    return metrics if well and 'fss_mount_target_info{address="10.' in metrics else ""
