"""The clock of a calibration in a simulated region."""

from typing import Any

import pytest
from tests.clock import NOW
from tests.fss_toolbox.calibrate.simulated_client import FastClock


@pytest.fixture
def fast_clock() -> FastClock:
    """A clock that only waiting turns, 17 seconds into a minute."""
    return FastClock(NOW + 17)


@pytest.fixture
def region_options(fast_clock: FastClock) -> dict[str, Any]:
    """The region goes by the same clock."""
    return {"now": fast_clock}
