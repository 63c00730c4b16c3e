"""What holds for every test: the project's own command on PATH, no leaking environment or terminal width, patient properties."""

import os
import sysconfig
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from tests.scheduling import LongestFirst, turn

if TYPE_CHECKING:
    from tests.region import Account

settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=False)
settings.load_profile("patient")


@pytest.hookimpl(trylast=True)  # After the plugin that shuffles.
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files that take long first."""
    items.sort(key=lambda item: turn(item.nodeid.partition("::")[0]))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LongestFirst:
    """Keep that order with several workers."""
    config.option.loadscopereorder = False  # Else the files with the most tests begin, and few of them take long.
    return LongestFirst(config, log)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command installed beside this Python comes first; nothing of the developer's cloud account leaks in."""
    monkeypatch.setenv("PATH", os.pathsep.join((sysconfig.get_path("scripts"), os.environ["PATH"])))
    for name in ("COLUMNS", "LINES"):  # of the developer's terminal, or set by pytest-xdist
        monkeypatch.delenv(name, raising=False)
    for name in os.environ:
        if name.startswith(("OCI_", "PROMETHEUS_")):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def account() -> "Account":
    """The account of demo regions."""
    from tests.region import shared_account  # most tests need no region

    return shared_account()
