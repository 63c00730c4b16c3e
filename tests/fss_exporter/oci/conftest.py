"""An exporter and the region that it polls, for each test."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.clock import Clock
from tests.fss_exporter.oci.world import START, World
from tests.region import Region, Tenancy


@pytest.fixture
def world_clock(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The time of worlds. The SDK's circuit breakers have the same clock."""
    clock.now = START
    monkeypatch.setattr("circuitbreaker.monotonic", clock)
    return clock


@pytest.fixture
def worlds(regions_in_memory: Callable[..., Region], world_clock: Clock, tmp_path: Path) -> Callable[..., World]:
    """Makes an exporter and the region it polls without sockets; keywords are settings below `oci`."""

    def make(tenancy: Tenancy | None = None, *, region: dict[str, Any] | None = None, **settings: Any) -> World:
        return World(regions_in_memory(tenancy, **(region or {})), world_clock, tmp_path, **settings)

    return make


@pytest.fixture
def world(worlds: Callable[..., World]) -> World:
    return worlds()


@pytest.fixture
def worlds_over_http(regions: Callable[..., Region], world_clock: Clock, tmp_path: Path) -> Callable[..., World]:
    """Makes an exporter that polls a listening region with signed requests, for faults of HTTP and keys."""

    def make(**settings: Any) -> World:
        return World(regions(), world_clock, tmp_path, **settings)

    return make


@pytest.fixture
def world_over_http(worlds_over_http: Callable[..., World]) -> World:
    return worlds_over_http()
