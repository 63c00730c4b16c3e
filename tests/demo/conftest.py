"""A demo region per test, with a clock that is turned by hand; one key for all, for keys take time."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from tests.clock import Clock
from tests.demo.sdk import Clients, clients
from tests.region import Account, Region, Tenancy, small


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def start(account: Account, clock: Clock) -> Iterator[Callable[..., Region]]:
    """Starts regions that stop with the test."""
    with ExitStack() as running:

        def begin(tenancy: Tenancy | None = None, **options: Any) -> Region:
            options = {"calls_per_second": {}, "now": clock, **options}
            chosen = tenancy or small()
            key = account if chosen.id == account.tenancy_id else Account(chosen.id, account.user_id, account.key)
            return running.enter_context(Region(chosen, **({"account": key} | options)))

        yield begin


@pytest.fixture
def region(start: Callable[..., Region]) -> Region:
    return start()


@pytest.fixture
def sdk(region: Region) -> Clients:
    return clients(region)
