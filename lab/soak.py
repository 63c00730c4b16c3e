"""`make soak`: a day of polls, a minute each, and a day of an agent, 86,400 ticks with a scrape every five minutes.

Minutes of work, and so not among the default tests. `with_memory.py` has the shorter forms.
"""

from pathlib import Path

import pytest
from tests.e2e.polling import POLLS_A_SAMPLE, poll
from tests.e2e.with_memory import ticked

A_DAY_MIN = 1440

# What the last half of the day of polls, or the last nine tenths of the ticks, may add to resident memory.
BOUND_BYTES = 1 << 20


@pytest.mark.timeout(3600)
def test_a_day_of_polls_and_scrapes_adds_nothing(tmp_path: Path) -> None:
    used = poll(tmp_path, A_DAY_MIN)
    print()
    for at in (0, 6, 36, 72, 108, len(used) - 1):
        minutes = (at + 1) * POLLS_A_SAMPLE
        print(f"after {minutes:5} polls  {used[at].resident_bytes / (1 << 20):6.1f} MiB")

    half = len(used) // 2
    assert used[-1].resident_bytes - used[half].resident_bytes < BOUND_BYTES


@pytest.mark.timeout(3600)
def test_a_day_of_ticks_and_scrapes_adds_nothing(tmp_path: Path) -> None:
    sizes = ticked(tmp_path, 24)

    assert sizes[-1][0] - sizes[1][0] < BOUND_BYTES, sizes
