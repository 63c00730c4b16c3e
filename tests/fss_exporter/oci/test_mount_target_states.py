"""The state of a mount target by what OCI says, from polled minutes."""

from dataclasses import replace

import pytest
from tests.fss_exporter.oci.fake_cloud import mount_target
from tests.fss_exporter.oci.test_minute_judge import Figures, spoilt

from fss_exporter.model.knowledge import FRESH_SECONDS
from fss_exporter.model.limits import STANDARD
from fss_exporter.model.minute_verdict import RequestKind
from fss_exporter.model.state import Judgement, State
from fss_exporter.model.thresholds import WARNING_RATIO
from fss_exporter.oci.inventory.inventory_snapshot import InventorySnapshot
from fss_exporter.oci.inventory.oci_inventory import FileSystem, Inventory, MountTarget
from fss_exporter.oci.minutes.resource_loads import ResourceLoad
from fss_exporter.oci.minutes.target_figures import Judged, TargetFigures
from fss_exporter.oci.rows.minute_rows import minute_rows
from fss_exporter.oci.rows.mount_target_states import StateTimes, Subjects, judge_mount_target
from fss_exporter.oci.snapshot import PollSnapshot, RegionSnapshot
from fss_exporter.settings import Settings

LIMITS = replace(STANDARD.limits, connections=None)
ALL = range(60)


def judgement(
    figures: Figures, *, later: float = 0.0, near: float = WARNING_RATIO, target: MountTarget | None = None
) -> Judgement:
    """Judge after twelve minutes, and some seconds later."""
    figures.run(12)
    now = figures.poll.now + later
    target = target or mount_target("a")
    return judge_mount_target(target, figures.seen, LIMITS, Subjects.near_at(near), now, lambda ocid: ocid)


def test_a_healthy_mount_target_is_fine() -> None:
    assert judgement(Figures()).state is State.FINE


def test_figures_that_stopped_are_not_known_and_not_fine() -> None:
    assert judgement(Figures(), later=FRESH_SECONDS).state is State.NOT_KNOWN


@pytest.mark.parametrize("metric", ["MountTargetReadThroughput", "MountTargetHealth", "MetadataRequestAverageLatency"])
def test_fine_needs_a_figure_of_every_part(metric: str) -> None:
    assert judgement(Figures(spoilt(ALL, **{metric: None}))).state is State.NOT_KNOWN


@pytest.mark.parametrize(
    ("metric", "value", "state", "text"),
    [
        ("MountTargetIOPS", 39_999.0, State.FINE, ""),
        ("MountTargetIOPS", 40_000.0, State.NEAR, "IOPS at 80 % of the ceiling in the largest of five minutes"),
        ("MountTargetReadThroughput", 0.9e9, State.NEAR, "read bandwidth at 90 % of the ceiling in five minutes"),
        ("MetadataRequestAverageLatency", 0.008, State.NEAR, "latency of metadata at 80 % of the objective"),
        ("MetadataRequestAverageLatency", 0.030, State.SLOW, "latency of metadata at 300 % of the objective"),
        ("MountTargetHealth", 98.0, State.FAILING, "2.0 % of requests fail"),
    ],
)
def test_a_figure_beyond_a_limit_is_the_state_with_the_figure_as_its_reason(
    metric: str, value: float, state: State, text: str
) -> None:
    judged = judgement(Figures(spoilt(ALL, **{metric: value})))
    assert judged.state is state
    assert not text or text in {reason.text for reason in judged.reasons}


@pytest.mark.parametrize(("success", "state"), [(0.0, State.FAILING), (1.0, State.FINE), (None, State.NOT_KNOWN)])
def test_three_requests_in_a_minute_of_which_none_succeeds_fail(success: float | None, state: State) -> None:
    few = {"FileSystemReadRequestsbySize": 0.0, "MetadataIOPS": 0.05, "MountTargetHealth": success}
    assert judgement(Figures(spoilt(range(-100, 60), **few))).state is state


@pytest.mark.parametrize(
    ("metric", "value", "text"),
    [
        ("MountTargetIOPS", 35_000.0, "IOPS at 70 % of the ceiling in the largest of five minutes"),
        ("MetadataRequestAverageLatency", 0.007, "latency of metadata at 70 % of the objective"),
    ],
)
def test_what_is_near_at_70_percent_by_the_configuration_is_fine_by_the_default(
    metric: str, value: float, text: str
) -> None:
    seen = spoilt(ALL, **{metric: value})
    assert judgement(Figures(seen)).state is State.FINE
    judged = judgement(Figures(seen), near=0.7)
    assert judged.state is State.NEAR
    assert text in {reason.text for reason in judged.reasons}


def test_a_busy_minute_at_the_ceiling_is_near_as_the_alert_says_though_the_mean_is_not() -> None:
    assert judgement(Figures(spoilt(range(9, 10), MountTargetIOPS=45_000.0))).state is State.NEAR


def test_an_estimate_at_the_ceiling_is_near_too() -> None:
    figures = Figures().run(12)
    estimated = ResourceLoad("iops", "oci", int(figures.poll.now) - 60, 45_000.0, 45_000.0, 45_000.0)
    seen = replace(figures.seen, loads=(estimated,))
    judged = judge_mount_target(mount_target("a"), seen, LIMITS, Subjects.near_at(0.8), figures.poll.now, str)
    assert judged.state is State.NEAR


def test_a_mount_target_that_failed_in_oci_hangs() -> None:
    failed = replace(mount_target("a"), state="FAILED")
    assert judgement(Figures(), target=failed).state is State.HANGING


def test_a_state_lasts_until_another_comes() -> None:
    times = StateTimes()
    assert [times.seconds("a", State.SLOW, now) for now in (100.0, 160.0)] == [0.0, 60.0]
    assert times.seconds("a", State.FINE, 170.0) == 0.0


def test_the_age_of_a_state_counts_from_the_poll_that_found_it_and_not_from_a_scrape() -> None:
    figures, times = Figures(spoilt(ALL, MountTargetHealth=98.0)), StateTimes()
    figures.run(12)
    (region,) = figures.poll.board.regions
    assert region.poll is not None
    times.note(region, Settings())
    assert times.seconds(mount_target("a").id, State.FAILING, region.poll.ended + 600.0) == 600.0


@pytest.mark.parametrize("name", ["data", None], ids=["one name", "not listed"])
def test_file_systems_that_no_label_tells_apart_have_one_series_with_the_largest_ratio(name: str | None) -> None:
    """Prometheus refuses a page that has a series twice."""
    target = mount_target("a")
    systems = {
        ocid: FileSystem(id=ocid, name=name, compartment_id="c", availability_domain="AD-1", state="ACTIVE")
        for ocid in ("fs-1", "fs-2")
        if name
    }
    inventory = Inventory(mount_targets={target.id: target}, file_systems=systems)
    ratios = {RequestKind(ocid, "read", "0B_to_8KiB"): ratio for ocid, ratio in (("fs-1", 2.5), ("fs-2", 1.5))}
    figures = TargetFigures({}, Judged(600, 2.5, ratios, 1.0))
    region = RegionSnapshot("eu", InventorySnapshot(inventory), PollSnapshot(targets={target.id: figures}))
    families = {
        rows.metric: list(rows.rows) for rows in minute_rows(region, inventory, Settings(), 700.0, StateTimes())
    }
    of_reads = [
        ratio for labels, ratio in families["fss_mount_target_state_evidence_ratio"] if "read up to 8 KiB" in labels
    ]
    assert of_reads == [2.5]
