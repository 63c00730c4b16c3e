"""A Prometheus with the history of a demo region, as the product's own poller saw it."""

import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
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
from tests.region import Region

from fss_exporter.oci.calls import CallBudget, SelfMetrics
from fss_exporter.oci.client import Credentials, SdkClient, Session
from fss_exporter.oci.polling.account import Account
from fss_exporter.oci.snapshot_collector import OciCollector
from fss_exporter.settings import Endpoints, Settings
from fss_toolbox.plan import prometheus_api

MINUTES = 15


def polled(region: Region) -> PolledRegion:
    """The product's poller of a region, before its first poll."""
    held = clients(region).config
    signer = clients(region).monitoring.base_client.signer
    credentials = Credentials(held, signer, region.tenancy.id, region.tenancy.region, "config_file")
    where = reach(dict.fromkeys(Endpoints.model_fields, region.url))
    budget = CallBudget(1000, clock=lambda: 0.0, wait=lambda _: False)
    session = Session(credentials, region.tenancy.region, where, budget=budget, jitter=lambda: 0.0)
    return PolledRegion(cloud=SdkClient(session), now=NOW + 20)  # type: ignore[arg-type]


def history(poller: PolledRegion, clock: FastClock, minutes: int = MINUTES) -> Iterator[str]:
    """The gauges of the product's own /metrics in each minute, as OpenMetrics with times."""
    account = Account(Settings(), SelfMetrics())
    account.board, account.polls = poller.board, poller.polls
    collector = OciCollector(lambda: [account], now=poller.clock)
    lines: dict[str, list[str]] = defaultdict(list)
    for _ in range(minutes):
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


@contextmanager
def recorded(
    region: Region, clock: FastClock, folder: Path, monkeypatch: pytest.MonkeyPatch, minutes: int = MINUTES
) -> Iterator[processes.Prometheus]:
    """Poll a region for some minutes of its clock, and serve what /metrics showed."""
    # HTTP has the time of this host, and the region another.
    monkeypatch.setattr(Session, "_note_clock", lambda *_: None)
    poller = polled(region)
    lines = list(history(poller, clock, minutes))
    monkeypatch.setattr(prometheus_api, "time", SimpleNamespace(time=lambda: poller.now))
    with processes.prometheus_of(lines, folder) as server:
        yield server
