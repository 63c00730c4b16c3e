"""The flags that lead to the region, an operator of its alarms, and what keeps this machine out of `doctor`."""

import time
from pathlib import Path
from typing import Any

import pytest
from tests.fss_toolbox.cli.alarms_operator import Operator
from tests.prompt import call_without_pause
from tests.region import Region, shared_account, small

from fss_toolbox.doctor import client_checks


@pytest.fixture
def region_options(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Commands ask what the time is, and call regions from this process without a pause."""
    call_without_pause(monkeypatch)
    return {"now": time.time}


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """An SDK configuration file with the account's key."""
    return shared_account().write_config(tmp_path, small().region)


@pytest.fixture
def account_flags(region: Region, keys: Path) -> tuple[str, ...]:
    """The flags of a command that asks the region."""
    return ("--oci.endpoint", region.url, "--oci.config-file", str(keys))


@pytest.fixture
def operator(region: Region, tmp_path: Path) -> Operator:
    """With an account of the region."""
    return Operator(region, tmp_path)


@pytest.fixture
def nobody_at_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No credentials of whoever runs the tests."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture
def near(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine, loopback is near."""
    monkeypatch.setattr(client_checks, "distance", lambda _: None)
