"""The ranked list of the demo's history is followed in the demo, and the share of the mount target falls as predicted."""

import json
import re
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests import processes
from tests.clock import NOW
from tests.exposition_text import written
from tests.fss_exporter.oci.polled_region import PolledRegion
from tests.fss_exporter.oci.world import reach
from tests.fss_toolbox.calibrate.simulated_client import FastClock
from tests.fss_toolbox.demo.sdk import clients
from tests.prompt import ask
from tests.region import Region

from fss_exporter.oci.calls import CallBudget, SelfMetrics
from fss_exporter.oci.client import Credentials, SdkClient, Session
from fss_exporter.oci.polling.account import Account
from fss_exporter.oci.snapshot_collector import OciCollector
from fss_exporter.settings import Endpoints, Settings
from fss_toolbox.plan import prometheus_api

MINUTES = 15
CEILING = 50_000


def polled(region: Region) -> PolledRegion:
    """The product's poller of a region, before its first poll."""
    held = clients(region).config
    signer = clients(region).monitoring.base_client.signer
    credentials = Credentials(held, signer, region.tenancy.id, region.tenancy.region, "config_file")
    where = reach(dict.fromkeys(Endpoints.model_fields, region.url))
    budget = CallBudget(1000, clock=lambda: 0.0, wait=lambda _: False)
    session = Session(credentials, region.tenancy.region, where, budget=budget, jitter=lambda: 0.0)
    return PolledRegion(cloud=SdkClient(session), now=NOW + 20)  # type: ignore[arg-type]


def history(poller: PolledRegion, clock: FastClock) -> Iterator[str]:
    """The gauges of the product's own /metrics in each minute, as OpenMetrics with times."""
    account = Account(Settings(), SelfMetrics())
    account.board, account.polls = poller.board, poller.polls
    collector = OciCollector(lambda: [account], now=poller.clock)
    lines: dict[str, list[str]] = defaultdict(list)
    for _ in range(MINUTES):
        clock.time = poller.now + 60
        poller.minute()
        for line in written(collector.collect()).splitlines():
            name = re.split(r"[{ ]", line)[0]
            if line and not line.startswith("#") and not name.endswith("_total"):
                lines[name].append(f"{line} {poller.now}\n")
    for name, samples in lines.items():
        yield f"# TYPE {name} gauge\n"
        yield from samples
    yield "# EOF\n"


def test_the_share_falls_as_the_first_advice_predicts(
    regions: Callable[..., Region], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # HTTP has the time of this host, and the region another.
    monkeypatch.setattr(Session, "_note_clock", lambda *_: None)
    clock = FastClock(NOW + 20)
    region = regions(now=clock)
    poller = polled(region)
    (tmp_path / "history.om").write_text("".join(history(poller, clock)))
    promtool = processes.require("promtool", "prometheus")
    subprocess.run(
        [promtool, "tsdb", "create-blocks-from", "openmetrics", tmp_path / "history.om", tmp_path / "data"],
        check=True,
        capture_output=True,
    )
    monkeypatch.setattr(prometheus_api, "time", SimpleNamespace(time=lambda: poller.now))
    with processes.prometheus("global: {}\n", tmp_path, "--storage.tsdb.retention.time=100y") as server:
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
