"""One metric's answers, good and bad, in any order: what is shown, and what adds up."""

import json
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import pytest
from hypothesis import given, strategies as st
from tests.clock import NOON

from fss_exporter.oci.client.service_clients import decode_streams
from fss_exporter.oci.inventory.oci_inventory import Connector, Export, FileSystem, Inventory, MountTarget, Replication
from fss_exporter.oci.ledger import MINUTE, Ledger
from fss_exporter.oci.metric_table import METRICS
from fss_exporter.oci.metrics.answers import AnswerSummary
from fss_exporter.oci.metrics.labels import RegionLabels
from fss_exporter.oci.metrics.series_store import MinuteStamps, SeriesStore
from fss_exporter.shard import Shard

HOME = "ocid1.mounttarget.oc1..home"
PROJECTS = "ocid1.filesystem.oc1..projects"
OWNERS: WeakKeyDictionary[SeriesStore, RegionLabels] = WeakKeyDictionary()


def stamp(minute: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(minute, UTC).isoformat().replace("+00:00", "Z")


def stream(points: dict[int, Any], **dimensions: Any) -> dict[str, Any]:
    return {
        "name": "as OCI spells it",
        "dimensions": dimensions,
        "aggregatedDatapoints": [
            {"timestamp": stamp(NOON + at * MINUTE), "value": value} for at, value in points.items()
        ],
    }


def inventory(mount_target: str = "mt-home") -> Inventory:
    where: dict[str, Any] = {
        "compartment_id": "ocid1.compartment.oc1..a",
        "availability_domain": "AD-1",
        "state": "ACTIVE",
    }
    target = MountTarget(id=HOME, name=mount_target, **where)
    system = FileSystem(id=PROJECTS, name="projects", **where)
    export = Export(
        id="e", path="/a", state="ACTIVE", file_system_id=PROJECTS, export_set_id="set", mount_target_id=HOME
    )
    replication = Replication(id="ocid1.replication.oc1..r", name="to-zurich", **where)
    return Inventory(
        {HOME: target},
        {PROJECTS: system},
        (export,),
        {replication.id: replication},
        {"c": Connector(id="c", name="ldap", **where)},
    )


def store(metric: str, *, start: int = NOON - 100 * MINUTE) -> SeriesStore:
    owners = RegionLabels("tenancy", "eu-frankfurt-1")
    owners.use(inventory())
    made = SeriesStore(METRICS[metric], owners, ledger=Ledger(start), stamps=MinuteStamps())
    OWNERS[made] = owners
    return made


def use(made: SeriesStore, changed: Inventory) -> None:
    OWNERS[made].use(changed)
    made.relabel()


def take(made: SeriesStore, *streams: Any, before: AnswerSummary | None = None) -> dict[str, int]:
    made.release_held_back()
    answer = decode_streams(json.dumps(streams).encode())
    return dict(made.take(answer, NOON, before or AnswerSummary()).skipped)


def shown(made: SeriesStore) -> dict[tuple[str, ...], tuple[int, float]]:
    """Label values behind region and owner's OCIDs, to minutes before noon and value."""
    return {
        series.labels: ((minute - NOON) // MINUTE, value)
        for minute, column in made.points
        for series, value in zip(column.series, column.values, strict=True)
    }


def added(made: SeriesStore) -> list[float]:
    made.release_held_back()  # what was held back counts
    return list(made.sums.values)


GOOD = stream({-1: 7.0}, resourceId=HOME)


def test_a_point_that_lies_in_the_future_is_left_out_and_counted() -> None:
    made = store("MountTargetIOPS")
    assert take(made, stream({-1: 7.0, 2: 9.0, 600: 9.0}, resourceId=HOME)) == {"future_point": 1}
    assert [value for _, value in shown(made).values()] == [7.0]


def test_the_running_minute_waits_for_the_next_poll_and_is_not_counted_as_left_out() -> None:
    assert take(store("MountTargetIOPS"), stream({-1: 7.0, 1: 9.0}, resourceId=HOME)) == {}


def test_an_answer_with_points_of_the_future_alone_is_no_answer() -> None:
    answer = decode_streams(json.dumps([stream({600: 9.0}, resourceId=HOME)]).encode())
    assert store("MountTargetIOPS").take(answer, NOON, AnswerSummary()).is_unreadable


@pytest.mark.parametrize(
    "broken",
    [
        None,
        stream({-1: 1.0}, mountTargetId=HOME),
        stream({-1: 1.0}, resourceId=["a", "list"]),
        stream({-1: 1.0}, resourceId=17),
    ],
    ids=repr,
)
def test_a_stream_that_is_not_as_documented_is_counted_and_costs_no_other(broken: Any) -> None:
    made = store("MountTargetConnections")
    assert take(made, broken, GOOD) == {"broken": 1}
    assert shown(made) == {("tenancy", "eu-frankfurt-1", HOME, "mt-home"): (-1, 7.0)}


@pytest.mark.parametrize(
    "broken",
    [
        {"dimensions": {"resourceId": HOME}, "aggregatedDatapoints": [{"timestamp": "noon", "value": 1.0}]},
        {"dimensions": {"resourceId": HOME}, "aggregatedDatapoints": [{"timestamp": "2026-11-20", "value": 1.0}]},
        {"dimensions": {"resourceId": HOME}, "aggregatedDatapoints": [{"timestamp": stamp(NOON + 7), "value": 1.0}]},
        stream({-1: None}, resourceId=HOME),
    ],
    ids=repr,
)
def test_a_point_that_is_not_as_documented_is_counted_and_costs_no_other(broken: Any) -> None:
    made = store("MountTargetConnections")
    broken["aggregatedDatapoints"].insert(0, stream({-1: 7.0}, resourceId=HOME)["aggregatedDatapoints"][0])
    assert take(made, broken) == {"broken_point": 1}
    assert shown(made) == {("tenancy", "eu-frankfurt-1", HOME, "mt-home"): (-1, 7.0)}


def test_a_negative_or_impossible_value_neither_lowers_a_counter_nor_makes_it_infinite() -> None:
    made = store("MountTargetReadThroughput")
    take(made, stream({-5: 1.0}, resourceId=HOME))
    assert added(made) == [60.0]
    assert take(made, stream({-4: -100.0, -3: 1.7e308, -2: 2.0}, resourceId=HOME)) == {"broken_point": 1}
    assert added(made) == [180.0]
    take(made, stream({-4: 3.0, -3: 4.0}, resourceId=HOME))
    assert added(made) == [600.0], "a minute that was no data is taken when it comes again"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), -1.0, 1.7e308])
def test_what_is_no_number_is_no_point(value: float) -> None:
    made = store("MountTargetConnections")
    assert take(made, stream({-2: 5.0, -1: value}, resourceId=HOME)) == {"broken_point": 1}
    assert shown(made) == {("tenancy", "eu-frankfurt-1", HOME, "mt-home"): (-2, 5.0)}


def test_a_minute_that_is_not_over_is_not_taken() -> None:
    made = store("MountTargetConnections")
    take(made, stream({0: 5.0, 1: 6.0}, resourceId=HOME))
    assert shown(made) == {("tenancy", "eu-frankfurt-1", HOME, "mt-home"): (0, 5.0)}


def test_a_stream_without_points_is_no_series() -> None:
    made = store("MountTargetReadThroughput")
    assert take(made, stream({}, resourceId=HOME)) == {}
    assert (shown(made), added(made)) == ({}, [])


def test_an_answer_without_a_series_leaves_its_point() -> None:
    made = store("MountTargetConnections")
    take(made, GOOD)
    take(made)
    assert shown(made) == {("tenancy", "eu-frankfurt-1", HOME, "mt-home"): (-1, 7.0)}
    made.forget(NOON + 5 * MINUTE, 360)
    assert shown(made) != {}
    made.forget(NOON + 6 * MINUTE, 360)
    assert shown(made) == {}


def test_an_older_answer_does_not_replace_a_newer_point_and_a_corrected_one_does() -> None:
    made = store("MountTargetConnections")
    take(made, stream({-1: 5.0}, resourceId=HOME))
    take(made, stream({-3: 9.0}, resourceId=HOME))
    assert list(shown(made).values()) == [(-1, 5.0)]
    take(made, stream({-1: 6.0}, resourceId=HOME))
    assert list(shown(made).values()) == [(-1, 6.0)]


def test_units_are_converted() -> None:
    health, locks = store("MountTargetHealth"), store("retentionLockDuration")
    take(health, stream({-1: 97.5}, resourceId=HOME, healthItem="SuccessRate"))
    take(locks, stream({-1: 30}, lockMode="GOVERNANCE"))
    assert list(shown(health).values()) == [(-1, 0.975)]
    assert shown(locks) == {("tenancy", "eu-frankfurt-1", "GOVERNANCE"): (-1, 30 * 86_400.0)}


def test_labels_stand_in_the_catalogues_order() -> None:
    made = store("FileSystemReadRequestsbySize")
    take(made, stream({-1: 3.0}, size="0B_to_8KiB", resourceId=PROJECTS, mountTargetId=HOME))
    labels = ("tenancy", "eu-frankfurt-1", HOME, "mt-home", PROJECTS, "projects", "0B_to_8KiB")
    assert shown(made) == {labels: (-1, 3.0)}
    (series,) = dict(made.points)[NOON - MINUTE].series
    assert series.text.startswith('fss_file_system_read_requests_per_second{file_system="projects",')


def test_a_replication_target_goes_by_the_name_monitoring_gives_it() -> None:
    made = store("ReplicationRecoveryPointAge")
    take(
        made,
        stream({-1: 60.0}, resourceId="ocid1.replication.oc1..r", resourceName="old name", resourceType="replication"),
        stream({-1: 90.0}, resourceId="ocid1.replicationtarget.oc1..t", resourceName="copy", resourceType="target"),
        stream({-1: 90.0}, resourceId="ocid1.replication.oc1..gone", resourceName="gone", resourceType="replication"),
    )
    assert {labels[3:] for labels in shown(made)} == {("to-zurich", "source"), ("copy", "target")}


def test_a_renamed_replication_stays_one_series_with_the_points_of_both_names() -> None:
    source, target = "ocid1.replication.oc1..r", "ocid1.replicationtarget.oc1..t"
    made = store("ReplicationEgressThroughput")
    before = stream({-3: 5.0}, resourceId=source, resourceName="old name")
    after = stream({-2: 7.0}, resourceId=source, resourceName="to-zurich")
    copy = stream({-2: 1.0}, resourceId=target, resourceName="copy")
    assert take(made, before) == {}
    assert take(made, before, after, copy) == {}
    assert take(made, after) == {}
    assert sorted(added(made)) == [1.0, 12.0]
    assert [series.labels[3] for series in made.sums.series] == ["to-zurich", "copy"]
    use(made, inventory())
    assert take(made, after) == {}
    assert sorted(added(made)) == [1.0, 12.0]


def test_unknown_owners_successes_and_doubles_are_counted_and_left_out() -> None:
    kerberos = store("KerberosErrors")
    skipped = take(
        kerberos,
        stream({-1: 1.0}, resourceId=HOME, errorType="Keytab Load Success"),
        stream({-1: 1.0}, resourceId="ocid1.mounttarget.oc1..other", errorType="Clock Skew"),
        stream({-1: 1.0}, resourceId=HOME, errorType="Clock Skew", added="a"),
        stream({-1: 2.0}, resourceId=HOME, errorType="Clock Skew", added="b"),
    )
    assert skipped == {"success_event": 1, "unknown_resource": 1, "duplicate": 1}
    assert added(kerberos) == [1.0]


def test_the_twins_of_ldap_metrics_are_no_doubles() -> None:
    made = store("LdapRequestThroughput")
    common = {"mountTargetId": HOME, "obcResourceName": "ldap", "requestType": "UserId-by-UserName"}
    assert take(made, stream({-1: 9.0}, resourceId=HOME, **common), stream({-1: 9.0}, resourceId="c", **common)) == {}
    assert added(made) == [9.0]


def test_a_renamed_owner_renames_its_series_and_keeps_its_sum() -> None:
    made = store("MountTargetReadThroughput")
    take(made, stream({-1: 2.0}, resourceId=HOME))
    use(made, inventory("mt-renamed"))
    assert {labels[3] for labels in shown(made)} == {"mt-renamed"}
    assert added(made) == [120.0]
    assert [series.labels[3] for series in made.sums.series] == ["mt-renamed"]


def test_an_owner_that_is_gone_takes_everything_with_it() -> None:
    made = store("MountTargetReadThroughput")
    take(made, stream({-1: 2.0}, resourceId=HOME))
    use(made, Inventory())
    assert (shown(made), added(made), made.unlisted) == ({}, [], {})
    assert take(made, stream({-1: 2.0}, resourceId=HOME)) == {"unknown_resource": 1}
    assert made.unlisted == {(HOME,): NOON - MINUTE}


def test_a_silent_counter_lives_until_its_owner_has_been_gone_for_three_hours() -> None:
    made = store("MountTargetReadThroughput")
    take(made, GOOD)
    for hours, listed in (3.1, Inventory()), (6.0, inventory()), (6.1, Inventory()), (9.1, Inventory()):
        use(made, listed)
        made.forget(NOON + int(hours * 60) * MINUTE, 360.0)
    use(made, inventory())
    assert added(made) == [420.0], "gone for three hours, and no longer"
    use(made, Inventory())
    made.forget(NOON + 10 * 60 * MINUTE, 360.0)
    made.forget(NOON + 13 * 60 * MINUTE + MINUTE, 360.0)
    use(made, inventory())
    assert added(made) == []


def test_a_resource_that_lived_between_two_listings_is_forgotten() -> None:
    made = store("MountTargetReadThroughput")
    use(made, Inventory())
    take(made, GOOD)
    made.forget(NOON + 179 * MINUTE, 360.0)
    assert len(made.unlisted) == 1
    made.forget(NOON + 180 * MINUTE, 360.0)
    assert made.unlisted == {}


def test_what_is_listed_and_left_out_is_not_called_unlisted() -> None:
    made = store("MountTargetReadThroughput")
    use(made, Inventory(not_selected=frozenset({HOME})))
    assert take(made, stream({-1: 2.0}, resourceId=HOME)) == {"not_selected": 1}
    use(made, Inventory(shard=next(shard for shard in (Shard(1, 2), Shard(2, 2)) if not shard.holds(HOME))))
    assert take(made, stream({-1: 2.0}, resourceId=HOME)) == {"other_shard": 1}
    assert made.unlisted == {}


def test_what_a_first_answer_brings_is_seen_at_zero_first() -> None:
    made = store("UserHardQuotaViolations")
    take(made, stream({-1: 4.0}, resourceId=PROJECTS))
    assert made.sums.values == (0.0,)
    take(made, stream({0: 3.0}, resourceId=PROJECTS))
    assert made.sums.values == (7.0,)


def test_what_a_first_answer_brings_in_two_streams_is_seen_at_zero_first() -> None:
    made = store("ReplicationEgressThroughput")
    names = [stream({at: 4.0}, resourceId="ocid1.replication.oc1..r", resourceName=f"at {at}") for at in (-1, 0)]
    take(made, *names)
    assert made.sums.values == (0.0,)
    assert added(made) == [8.0]


def test_minutes_before_the_exporter_started_do_not_count() -> None:
    made = store("MountTargetReadThroughput", start=NOON - 2 * MINUTE)
    take(made, stream({-3: 100.0, -2: 100.0, -1: 1.0, 0: 2.0}, resourceId=HOME))
    assert added(made) == [180.0]


@given(st.data(), st.dictionaries(st.integers(-60, 0), st.integers(0, 1 << 40).map(float), min_size=1))
def test_a_counter_adds_every_minute_once_in_whatever_pieces_and_order_it_comes(
    data: st.DataObject, points: dict[int, float]
) -> None:
    """Pieces overlap, repeat, come late and in pairs; some polls bring nothing."""
    made = store("MountTargetReadThroughput")
    pieces = data.draw(st.lists(st.lists(st.sampled_from(sorted(points))), max_size=20))
    for piece in (*pieces, list(points)):
        take(made, stream({at: points[at] for at in piece}, resourceId=HOME))
    assert added(made) == [sum(points.values()) * 60]


@given(st.lists(st.dictionaries(st.integers(-60, 3), st.floats(0, 1e12), max_size=4), max_size=10))
def test_a_counter_never_goes_down_and_a_gauge_never_back(answers: list[dict[int, float]]) -> None:
    made = store("MountTargetReadThroughput")
    total, newest = 0.0, -1_000
    for points in answers:
        take(made, stream(points, resourceId=HOME))
        for value in made.sums.values:
            assert value >= total
            total = value
        for minute, _ in shown(made).values():
            assert newest <= minute <= 0
            newest = minute


@pytest.mark.parametrize("name", METRICS)
def test_labels_in_another_order_than_those_of_the_owner_start_no_poller(name: str) -> None:
    """Else a metric whose row of the catalogue says `mount_target, mount_target_id` shows the OCID as name."""
    metric = METRICS[name]
    declared = metric.gauge or metric.counter
    assert declared
    mixed_up = replace(metric, gauge=replace(declared, labels=declared.labels[::-1]))
    with pytest.raises(ValueError, match=f"{declared.name}: values of"):
        SeriesStore(mixed_up, RegionLabels("tenancy", "r"), ledger=Ledger(NOON), stamps=MinuteStamps())


def test_a_resource_that_comes_into_view_counts_from_then_on() -> None:
    """Its last quarter of an hour came at once, and looked like fifteen times the load."""
    late = inventory()
    received: list[int] = []
    made = store("MountTargetReadThroughput")
    made._receive = lambda _, points: received.extend(points)
    use(made, replace(late, mount_targets={}))
    seen = dict.fromkeys(range(-14, 1), 60.0)
    take(made, stream(seen, resourceId=HOME))
    use(made, late)
    made.release_held_back()
    made.take(
        decode_streams(json.dumps([stream(seen | {1: 60.0}, resourceId=HOME)]).encode()), NOON + MINUTE, AnswerSummary()
    )

    assert added(made) == [60.0 * 60]
    assert received == [NOON + MINUTE]
    assert [value for _, value in shown(made).values()] == [60.0]
