"""A world per test; one key for all, for keys take time."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.clock import Clock
from tests.oci.world import START, World
from tests.region import Account, Region, Tenancy, small


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """One clock for region, exporter and the SDK's circuit breakers."""
    turned = Clock(START)
    monkeypatch.setattr("circuitbreaker.monotonic", turned)
    return turned


@pytest.fixture
def regions(account: Account, clock: Clock) -> Iterator[Callable[..., Region]]:
    """Starts regions on the test's clock; they stop with the test."""
    with ExitStack() as running:

        def start(tenancy: Tenancy | None = None, **options: Any) -> Region:
            chosen = tenancy or small()
            key = Account(chosen.id, account.user_id, account.key)
            fixed: dict[str, Any] = {"account": key, "now": clock, "calls_per_second": {}}
            return running.enter_context(Region(chosen, **(fixed | options)))

        yield start


@pytest.fixture
def worlds(regions: Callable[..., Region], clock: Clock, tmp_path: Path) -> Callable[..., World]:
    """Makes an exporter and the region it polls; keywords are settings below `oci`."""

    def make(tenancy: Tenancy | None = None, *, region: dict[str, Any] | None = None, **settings: Any) -> World:
        return World(regions(tenancy, **(region or {})), clock, tmp_path, **settings)

    return make


@pytest.fixture
def world(worlds: Callable[..., World]) -> World:
    return worlds()
