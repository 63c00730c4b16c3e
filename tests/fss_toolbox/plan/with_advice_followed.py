"""The ranked list of the demo's history is followed in the demo, and the share of the mount target falls as predicted."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.clock import NOW
from tests.fss_toolbox.calibrate.simulated_client import FastClock
from tests.fss_toolbox.plan.demo_history import recorded
from tests.prompt import ask
from tests.region import Region

CEILING = 50_000


def test_the_share_falls_as_the_first_advice_predicts(
    regions: Callable[..., Region], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = FastClock(NOW + 20)
    region = regions(now=clock)
    with recorded(region, clock, tmp_path, monkeypatch) as server:
        answer = ask("plan", "--prometheus", server.url, "--advice", "--output", "json")
    assert answer.code == 0, answer.err
    advice = json.loads(answer.out)["advice"][0]
    words = re.fullmatch(
        r"move (\d+)% of the load of projects from mt-home to mt-home-b.*:"
        r" mt-home falls from (\d+)% to (\d+)%, mt-home-b rises from (\d+)% to (\d+)%",
        advice["text"],
    )
    assert words, advice
    share, full, full_after, free, free_after = (int(word) / 100 for word in words.groups())
    before = [ratio(region, name, clock.time) for name in ("mt-home", "mt-home-b")]
    region.move("projects", "mt-home", "mt-home-b", share)
    after = [ratio(region, name, clock.time) for name in ("mt-home", "mt-home-b")]
    # The prediction is for the busiest five minutes, and the demand of the demo swings by 4 %.
    assert [before[0], before[1]] == pytest.approx([full, free], abs=0.04)
    changes = [now - then for now, then in zip(after, before, strict=True)]
    assert changes == pytest.approx([full_after - full, free_after - free], abs=0.02)
    assert advice["saves_iops"] == pytest.approx((before[0] - after[0]) * CEILING, rel=0.1)


def ratio(region: Region, mount_target: str, now: float) -> float:
    """Share of the IOPS ceiling in a minute."""
    iops = region.truth("MountTargetIOPS", mount_target, int(now // 60))
    assert iops is not None
    return iops / CEILING
