"""What the poller should see, what it sees, and the name of each permission that is missing."""

from collections.abc import Callable

import pytest
from tests.fss_exporter.oci.world import World

from fss_exporter.oci.iam import NEEDS


def less(world: World) -> set[str | tuple[str, ...]]:
    """Parts of which the poller sees less than it should."""
    expected, seen = world.values("fss_coverage_expected", "part"), world.values("fss_coverage_seen", "part")
    assert (
        expected.keys()
        == seen.keys()
        == {
            "regions",
            "compartments",
            "metrics",
            "permissions",
            "mount_targets",
            "file_systems",
        }
    )
    assert all(seen[part] <= expected[part] for part in expected)
    return {part for part in expected if seen[part] < expected[part]}


def missing(world: World) -> set[str | tuple[str, ...]]:
    return set(world.values("fss_oci_permission_missing", "permission"))


def test_a_poller_that_sees_everything_sees_what_it_expects(world: World) -> None:
    world.poll()
    assert less(world) == missing(world) == set()
    expected = world.values("fss_coverage_expected", "part")
    assert (expected["regions"], expected["compartments"]) == (1, 4)
    assert expected["metrics"] >= 20


@pytest.mark.parametrize(
    ("operation", "parts"),
    [
        ("ListLimitValues", {"permissions"}),
        ("GetPrivateIp", {"permissions"}),
        ("ListReplications", {"permissions", "compartments"}),
        ("SummarizeMetricsData", {"permissions", "metrics", "regions"}),
    ],
)
def test_a_missing_permission_is_named_and_what_it_hides_is_missing(
    world: World, operation: str, parts: set[str]
) -> None:
    world.region.add_fault(f"deny:{operation}")
    world.poll()
    assert less(world) == parts
    assert missing(world) == {NEEDS[operation].permission}
    world.region.clear_faults()
    world.pass_minutes(11)
    world.poll()
    assert less(world) == missing(world) == set()


def test_refused_credentials_are_no_missing_permission(world: World) -> None:
    world.region.add_fault("401:")
    world.poll()
    assert missing(world) == set()
    assert "permissions" not in less(world)


def test_one_metric_that_fails_is_one_metric_less(world: World) -> None:
    world.region.add_fault("500:SummarizeMetricsData,match=MountTargetConnections")
    world.poll()
    assert less(world) == {"metrics"}
    expected, seen = (world.values(name, "part")["metrics"] for name in ("fss_coverage_expected", "fss_coverage_seen"))
    assert expected - seen == 1


def test_a_service_that_no_setting_names_is_named_but_not_expected(worlds: Callable[..., World]) -> None:
    world = worlds(services=None)
    world.region.add_fault("deny:ListLustreFileSystems")
    world.poll()
    assert less(world) == set()
    assert missing(world) == {"inspect lustre-file-system"}


def test_a_service_that_a_setting_names_is_expected(worlds: Callable[..., World]) -> None:
    world = worlds(services=("lustre",))
    world.region.add_fault("deny:ListLustreFileSystems")
    world.poll()
    assert less(world) == {"permissions", "compartments"}


@pytest.mark.parametrize(
    ("operation", "part"), [("ListMountTargets", "mount_targets"), ("ListFileSystems", "file_systems")]
)
def test_what_monitoring_has_and_no_listing_has_is_told_after_twenty_minutes(
    world: World, operation: str, part: str
) -> None:
    world.poll()
    listed = world.values("fss_coverage_expected", "part")[part]
    world.region.add_fault(f"empty:{operation}")
    for polls, parts in ((14, set()), (2, {part})):  # an inventory each ten minutes, and twenty minutes
        for _ in range(polls):
            world.pass_minutes(2)
            world.poll()
        assert less(world) == parts
    assert world.value("fss_oci_unlisted_resources", kind=part.removesuffix("s")) == listed
    assert (world.values("fss_coverage_seen", "part")[part], world.values("fss_coverage_expected", "part")[part]) == (
        0,
        listed,
    )
    world.region.clear_faults()
    world.pass_minutes(11)
    world.poll()
    assert less(world) == set()


def test_without_an_answer_nothing_is_seen(world: World) -> None:
    world.region.add_fault("500:*")
    world.poll()
    assert "compartments" not in less(world), "nothing is known to be expected"
    assert world.values("fss_coverage_seen", "part")["regions"] == 0


def test_a_region_without_an_answer_is_not_seen_whatever_was_answered_an_hour_ago(world: World) -> None:
    world.poll()
    world.region.add_fault("503:SummarizeMetricsData")
    world.pass_minutes(2)
    world.poll()
    assert less(world) == {"metrics", "regions"}
