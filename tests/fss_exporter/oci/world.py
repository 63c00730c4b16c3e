"""A demo region and an exporter that polls it with the real SDK, on one clock that is turned by hand."""

from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from prometheus_client.core import Metric
from tests.clock import NOW, Clock
from tests.exposition_text import collected, declaration
from tests.region import Region

from fss_exporter.errors import FssError
from fss_exporter.oci.calls import SelfMetrics
from fss_exporter.oci.polling.account import Account
from fss_exporter.oci.snapshot_collector import OciCollector
from fss_exporter.settings import Oci, load

START = NOW + 20.0  # seconds into a minute at which worlds begin
_NUMBERS = count()
MOUNT_TARGETS = ("mt-home", "mt-home-b", "mt-scratch", "mt-media", "mt-idle")


class World:
    """The region, the exporter, and what a scrape sees. OCI File Storage alone, unless `services` says otherwise."""

    def __init__(self, region: Region, clock: Clock, folder: Path, **settings: Any) -> None:
        self.region = region
        self.clock = clock
        self.self_metrics = SelfMetrics()
        config = region.account.write_config(folder, region.tenancy.region)
        flags = {"oci.config_file": str(config), "oci.endpoint": region.url, "oci.services": ()}
        self.settings = load(None, flags | {f"oci.{name}": value for name, value in settings.items()})
        writer = f"world:{next(_NUMBERS)}"  # each world is another process
        self.account = Account(self.settings, self.self_metrics, now=clock, clock=clock, wait=clock.wait, writer=writer)
        self.polls, self.budget, self.board = self.account.polls, self.account.budget, self.account.board
        self.collector = OciCollector(lambda: [self.account], now=clock)

    @property
    def minute(self) -> int:
        """The region's minute."""
        return int(self.clock.now // 60)

    def poll(self) -> None:
        """The inventories that are due, and one poll."""
        with suppress(FssError):
            self.account.inventories.run_round()
        with suppress(FssError):
            self.polls.run_round()

    def pass_minutes(self, minutes: int = 1) -> None:
        """Time passes."""
        self.clock.now += 60.0 * minutes

    def families(self) -> dict[str, Metric]:
        """What a scrape gets, by exported name."""
        return {declaration(family).name: family for family in collected(self.collector)}

    def values(self, metric: str, *by: str) -> dict[str | tuple[str, ...], float]:
        """Values of one metric by some of its labels; one label is a plain string."""
        family = self.families().get(metric)
        if family is None:
            return {}
        keys = [tuple(sample.labels[name] for name in by) for sample in family.samples]
        values = [sample.value for sample in family.samples]
        return dict(zip([key[0] if len(key) == 1 else key for key in keys], values, strict=True))

    def value(self, metric: str, **labels: str) -> float | None:
        """The one value with these labels; None where there is none."""
        values = [
            value
            for key, value in self.values(metric, *labels).items()
            if key == (next(iter(labels.values())) if len(labels) == 1 else tuple(labels.values()))
        ]
        return values[0] if values else None

    def requests(self, operation: str) -> float:
        """Requests the exporter says it sent, whatever came of them."""
        asked = self.self_metrics.sums()["fss_oci_api_requests_total"]
        return sum(number for (_, name, _), number in asked.items() if name == operation)


def reach(endpoints: Mapping[str, str] | None = None, **seconds: float) -> Oci:
    """Endpoints and time-outs of a session; time-outs are short enough for tests unless `seconds` says otherwise."""
    times = {"connect_timeout": 60.0, "read_timeout": 60.0, "answer_timeout": 60.0}
    return Oci.model_validate({"endpoints": dict(endpoints or {}), **times, **seconds})
