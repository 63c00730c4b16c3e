"""A loopback OCI region and the flags that lead to it."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from fss_exporter.cli import account_options
from fss_exporter.demo.region import Account, Region, small
from fss_exporter.oci.budget import Budget


@cache
def _account() -> Account:
    return Account.generate(small().id)


@pytest.fixture
def region() -> Iterator[Region]:
    with Region(account=_account(), calls_per_second={}) as running:
        yield running


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """An SDK configuration file with the account's key."""
    return _account().write_config(tmp_path, small().region)


@pytest.fixture
def account(region: Region, keys: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """The flags of a command that asks the region; in this process it does not wait for its turn."""
    monkeypatch.setattr(
        account_options, "Budget", lambda *_, **__: Budget(1e6, clock=lambda: 0.0, wait=lambda _: False)
    )
    return ("--oci.endpoint", region.url, "--oci.config-file", str(keys))
