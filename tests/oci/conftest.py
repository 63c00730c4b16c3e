"""An exporter and the region that it polls, for each test."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.clock import Clock
from tests.oci.world import START, World
from tests.region import Region, Tenancy


@pytest.fixture
def worlds(
    regions: Callable[..., Region], clock: Clock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., World]:
    """Makes an exporter and the region it polls; keywords are settings below `oci`. The SDK's circuit breakers have the same clock."""
    clock.now = START
    monkeypatch.setattr("circuitbreaker.monotonic", clock)

    def make(tenancy: Tenancy | None = None, *, region: dict[str, Any] | None = None, **settings: Any) -> World:
        return World(regions(tenancy, **(region or {})), clock, tmp_path, **settings)

    return make


@pytest.fixture
def world(worlds: Callable[..., World]) -> World:
    return worlds()
