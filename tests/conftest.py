"""What holds for every test: the project's own command on PATH, no leaking environment or terminal width, patient properties; regions of the demo."""

import gc
import os
import sysconfig
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from tests.clock import Clock
from tests.scheduling import LongestFirst, turn

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from tests.fss_toolbox.demo.sdk import Clients
    from tests.region import Account, Region, Tenancy
    from tests.region.in_memory import InMemoryRegion

PATIENT: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("patient", **PATIENT)
settings.register_profile("many", **PATIENT, max_examples=500)  # make test-properties
settings.load_profile("patient")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> "Generator[None, object, object]":
    """Collect without the garbage collector, which takes a third of the time. Tests stay until the end, and none is garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


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
    """The account of demo regions. One key for all, because keys take time."""
    from tests.region import shared_account  # most tests need no region

    return shared_account()


@pytest.fixture
def clock() -> Clock:
    """The time of regions, which a test turns by hand."""
    return Clock()


@pytest.fixture
def region_options(clock: Clock) -> dict[str, Any]:
    """What regions of a test have in common. Folders and files whose regions need other options define the fixture anew."""
    return {"now": clock}


@pytest.fixture
def regions(account: "Account", region_options: dict[str, Any]) -> "Iterator[Callable[..., Region]]":
    """Starts regions, which stop with the test."""
    from tests.region import Account, Region, small

    with ExitStack() as running:

        def start(tenancy: "Tenancy | None" = None, kind: type[Region] = Region, **options: Any) -> Region:
            chosen = tenancy or small()
            key = account if chosen.id == account.tenancy_id else Account(chosen.id, account.user_id, account.key)
            fixed = {"account": key, "calls_per_second": {}, **region_options}
            return running.enter_context(kind(chosen, **(fixed | options)))

        yield start


@pytest.fixture
def regions_in_memory(
    regions: "Callable[..., Region]", monkeypatch: pytest.MonkeyPatch
) -> "Callable[..., InMemoryRegion]":
    """Makes regions that the SDK asks in this process, without sockets and signatures."""
    from tests.region.in_memory import InMemoryRegion, InMemoryRegions

    in_memory = InMemoryRegions()
    monkeypatch.setattr("fss_exporter.oci.client.session.read_environment_once", in_memory.connect)

    def make(tenancy: "Tenancy | None" = None, **options: Any) -> InMemoryRegion:
        made = regions(tenancy, kind=InMemoryRegion, **options)
        assert isinstance(made, InMemoryRegion)
        in_memory.add(made)
        return made

    return make


@pytest.fixture
def region(regions: "Callable[..., Region]") -> "Region":
    """A region with the small tenancy."""
    return regions()


@pytest.fixture
def sdk(region: "Region") -> "Clients":
    """The SDK's clients of the region."""
    from tests.fss_toolbox.demo.sdk import clients

    return clients(region)
