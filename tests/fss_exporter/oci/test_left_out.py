"""Each limit and refusal of the poller in the table bites here, and its metric, its word of doctor and its alert say so."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.clock import Clock
from tests.exposition_text import collected
from tests.region import Region
from tests.rules.pack import expressions_of
from tools.generate import left_out_page

from fss_exporter.oci.client import SdkClient
from fss_exporter.oci.cloud_client import Listing, MetricRequest, Point, Stream
from fss_exporter.oci.polling.poller import Poller
from fss_exporter.oci.snapshot_collector import OciCollector
from fss_exporter.samples import Samples
from fss_exporter.sealed_json import seal, unseal
from fss_exporter.settings import load
from fss_exporter.web.collecting import Collectors
from fss_toolbox.doctor.findings import texts
from fss_toolbox.doctor.left_out import LeftOut, rows
from fss_toolbox.doctor.running_exporter import check_samples


class Played:
    """A poller of a demo region."""

    def __init__(self, region: Region, clock: Clock, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.region, self.clock, self.patch = region, clock, patch
        self.kept = folder / "kept"
        self.kept.mkdir()
        config = region.account.write_config(folder, region.tenancy.region)
        flags = {
            "config_file": str(config),
            "endpoint": region.url,
            "ledger_directory": str(self.kept),
            "standby": True,
        }
        self._settings = load(None, {f"oci.{name}": value for name, value in flags.items()} | {"oci.services": ()})
        self.start()

    def start(self) -> None:
        """Start the poller, or another one after it."""
        clock = self.clock
        self.poller = Poller(lambda: self._settings, now=clock, clock=clock, wait=clock.wait)
        source = OciCollector(self.poller.accounts, now=clock, lease=self.poller.lease)
        self._collectors = Collectors({"oci": source}, self.poller.loops, clock)

    def poll(self) -> Samples:
        """One round of each loop, ten minutes later."""
        self.clock.now += 600.0
        for loop in self.poller.loops:
            loop.run_once()
        return Samples(collected(self._collectors))


def cut_poll(played: Played) -> None:
    played.region.add_fault("503:SummarizeMetricsData")
    played.patch.setattr("fss_exporter.oci.polling.rounds._LEAST_POLL_SECONDS", -1.0)
    played.patch.setattr("fss_exporter.oci.polling.rounds._POLL_SHARE", -1.0)


def broken_row(played: Played) -> None:
    listed = SdkClient.resources

    def spoilt(client: SdkClient, *where: str) -> Listing:
        return replace(listed(client, *where), broken=("",))

    played.patch.setattr(SdkClient, "resources", spoilt)


def broken_stream(played: Played) -> None:
    def spoilt(_: SdkClient, request: MetricRequest) -> list[Stream | None]:
        del request
        return [None]

    played.patch.setattr(SdkClient, "summarize", spoilt)


def spoilt_points(played: Played, point: Point) -> None:
    def spoilt(_: SdkClient, request: MetricRequest) -> list[Stream | None]:
        del request
        target = played.region.tenancy.named("mt-home")
        return [Stream({"resourceId": target, "mountTargetId": target}, (point,))]

    played.patch.setattr(SdkClient, "summarize", spoilt)


def broken_point(played: Played) -> None:
    spoilt_points(played, Point("2026-11-20T12:00:00Z", -1.0))


def future_point(played: Played) -> None:
    spoilt_points(played, Point("2036-11-20T12:00:00Z", 1.0))


def unlisted(played: Played) -> None:
    played.region.add_fault("empty:ListMountTargets")
    for _ in range(3):
        played.poll()


def permission(played: Played) -> None:
    played.region.add_fault("deny:ListReplications")


def ledger(played: Played) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    played.patch.setattr("os.fsync", full)


def refused_ledger(played: Played) -> None:
    (path,) = played.kept.glob("*.ledger.json")
    path.write_bytes(path.read_bytes()[:-1])
    (leader,) = played.kept.glob("*.leader")
    leader.unlink()
    played.start()
    played.poll()  # takes the lease


def other_writer(played: Played) -> None:
    (path,) = played.kept.glob("*.ledger.json")
    document = json.loads(unseal(path.read_bytes())) | {"writer": "another:1"}
    path.write_bytes(seal(json.dumps(document).encode()))


def lease(played: Played) -> None:
    (path,) = played.kept.glob("*.leader")
    path.unlink()
    path.mkdir()


PLAYS: dict[str, Callable[[Played], None]] = {
    "cut-poll": cut_poll,
    "broken-row": broken_row,
    "broken-stream": broken_stream,
    "broken-point": broken_point,
    "future-point": future_point,
    "unlisted": unlisted,
    "permission": permission,
    "ledger": ledger,
    "refused-ledger": refused_ledger,
    "other-writer": other_writer,
    "lease": lease,
}


def sees_less(samples: Samples) -> bool:
    seen = samples.by("fss_coverage_seen", "region", "part")
    return any(seen[key] < expected for key, expected in samples.by("fss_coverage_expected", "region", "part").items())


# What makes an alert pending, and the metrics that its rule reads for that.
ALERTS: dict[str, tuple[Callable[[Samples], bool], tuple[str, ...]]] = {
    "FssCoverageIncomplete": (sees_less, ("fss_coverage_expected", "fss_coverage_seen")),
    "FssCollectorFailing": (
        lambda samples: 0.0 in samples.by("fss_collector_success", "collector").values(),
        ("fss_collector_success",),
    ),
}


@pytest.fixture
def played(
    regions_in_memory: Callable[..., Region], clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Played:
    monkeypatch.setattr("circuitbreaker.monotonic", clock)
    return Played(regions_in_memory(), clock, tmp_path, monkeypatch)


ROWS = [row for row in rows() if row.of == "poller"]


def test_each_row_has_a_play() -> None:
    assert PLAYS.keys() == {row.name for row in ROWS}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_is_left_out_is_said_by_metric_doctor_and_alert(row: LeftOut, played: Played) -> None:
    check, case = row.doctor.split(".")
    message = re.compile(re.sub(r"\\{.*?\\}", ".*", re.escape(texts()[check][case]["message"])))
    is_pending, read = ALERTS[row.alert]

    def said(samples: Samples) -> tuple[bool, bool, bool]:
        subjects = {subject for subject, _, _ in row.bitten(samples)}
        words = [found for found in check_samples(samples) if message.fullmatch(found.message)]
        return bool(subjects), any(found.subject in subjects for found in words), is_pending(samples)

    played.poll()
    assert said(played.poll()) == (False, False, False), "nothing is left out yet"
    PLAYS[row.name](played)
    assert said(played.poll()) == (True, True, True)
    assert [name for name in read if name not in expressions_of(row.alert)] == []


def test_the_page_is_that_of_the_table() -> None:
    assert left_out_page.PAGE.read_text("utf-8") == left_out_page.page(), "run: make metrics"
