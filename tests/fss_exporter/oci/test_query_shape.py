"""What is asked: names as found, one query where one will do, and never more than an answer may hold."""

import json
import logging
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest
from hypothesis import given, strategies as st
from tests.clock import NOON

from fss_exporter.errors import CloudError, TooMuchData
from fss_exporter.oci.calls import FailureLog, SelfMetrics
from fss_exporter.oci.client.service_clients import decode_streams
from fss_exporter.oci.cloud_client import CloudClient, MetricRequest, Scope, Stream
from fss_exporter.oci.inventory.oci_inventory import Export, FileSystem, Inventory, MountTarget
from fss_exporter.oci.ledger import Ledger
from fss_exporter.oci.metric_table import METRICS, MOST_POINTS, MOST_STREAMS
from fss_exporter.oci.metrics.metric_queries import MetricQueries
from fss_exporter.oci.metrics.query_parts import QueryParts
from fss_exporter.shard import Shard
from fss_toolbox import mql

ROOT = Scope("ocid1.tenancy.oc1..t", subtree=True)
READS = METRICS["FileSystemReadRequestsbySize"]


def tenancy(mount_targets: int, file_systems_each: int = 4) -> Inventory:
    where: dict[str, Any] = {
        "compartment_id": "ocid1.compartment.oc1..a",
        "availability_domain": "AD-1",
        "state": "ACTIVE",
    }
    targets = {
        f"ocid1.mounttarget.oc1..{at:05}": MountTarget(id=f"ocid1.mounttarget.oc1..{at:05}", name=f"mt-{at}", **where)
        for at in range(mount_targets)
    }
    systems = {}
    exports = []
    for target in targets:
        for at in range(file_systems_each):
            ocid = f"ocid1.filesystem.oc1..{target[-5:]}{at}"
            systems[ocid] = FileSystem(id=ocid, name=ocid[-6:], **where)
            export_set = f"set-{target}"
            exports.append(
                Export(
                    id=f"{ocid}-export",
                    path="/a",
                    state="ACTIVE",
                    file_system_id=ocid,
                    export_set_id=export_set,
                    mount_target_id=target,
                )
            )
    return Inventory(targets, systems, tuple(exports))


class Monitoring:
    """Answers every query with one point for each stream it selects, and refuses what is too much."""

    region = "eu-frankfurt-1"
    tenancy = tenancy_id = ROOT.compartment_id

    def __init__(self, inventory: Inventory, longest: int | None = None, status: int = 413) -> None:
        self.inventory = inventory
        self.rows: dict[str, list[dict[str, Any]]] = {}
        self.asked: list[mql.QueriedMetric] = []
        self.lengths: list[int] = []
        self.longest = longest
        kind = TooMuchData if status == 413 else CloudError
        self.refusal = kind("HTTP refused", operation="SummarizeMetricsData", status=status)

    def metric_names(self, _: Scope, __: str) -> tuple[str, ...]:
        return tuple(METRICS)

    def summarize(self, request: MetricRequest) -> list[Stream | None]:
        self.lengths.append(len(request.query))
        if self.longest is not None and len(request.query) > self.longest:
            raise self.refusal
        asked = metric_of(request.query)
        self.asked.append(asked)
        chosen = _selection(asked)
        if asked.name not in self.rows:
            self.rows[asked.name] = list(self.streams(asked.name))
        rows = [row for row in self.rows[asked.name] if chosen(row["dimensions"])]
        if len(rows) > MOST_STREAMS:
            raise TooMuchData("too many metric streams", operation="SummarizeMetricsData", status=400)
        return decode_streams(json.dumps(rows).encode())

    def streams(self, name: str) -> Iterator[dict[str, Any]]:
        metric = METRICS[name]
        if metric.owner == "mount_target":
            owners: list[dict[str, str]] = [{"resourceId": target} for target in self.inventory.mount_targets]
        elif metric.owner == "behind":
            owners = [
                {"resourceId": export.file_system_id, "mountTargetId": export.mount_target_id}
                for export in self.inventory.exports
            ]
        else:
            owners = []
        values = {"size": ("s", "m", "l"), "operation": tuple("CGSR"), "errorType": ("Clock Skew",)}
        for owner in owners:
            for value in values.get(metric.dimensions[0], ("",)) if metric.dimensions else ("",):
                dimensions = owner | ({metric.dimensions[0]: value} if metric.dimensions else {})
                yield {
                    "dimensions": dimensions | dict(metric.where),
                    "aggregatedDatapoints": [{"timestamp": "2026-11-18T12:00:00Z", "value": 1.0}],
                }


def metric_of(text: str) -> mql.QueriedMetric:
    query = mql.parse(text)
    assert isinstance(query, mql.Query)
    assert isinstance(query.source, mql.QueriedMetric)
    return query.source


def _selection(asked: mql.QueriedMetric) -> Callable[[dict[str, str]], bool]:
    wanted = {
        selector.dimension: set(selector.value.split("|") if selector.operator == "=~" else [selector.value])
        for selector in asked.selectors
    }
    return lambda dimensions: all(dimensions.get(dimension) in values for dimension, values in wanted.items())


def polled(inventory: Inventory, longest: int | None = None, status: int = 413) -> tuple[MetricQueries, Monitoring]:
    monitoring = Monitoring(inventory, longest, status)
    queries = MetricQueries(
        cast("CloudClient", monitoring),
        ledger=Ledger(NOON),
        now=lambda: NOON + 20.0,
        self_metrics=SelfMetrics(),
        failures=FailureLog("eu-frankfurt-1", logging.getLogger()),
    )
    queries.use(inventory)
    queries.learn_names([ROOT])
    assert not queries.names_are_due
    queries.query_all([ROOT], lambda: False)
    return queries, monitoring


@pytest.mark.parametrize("mount_targets", [3, 1000])
def test_calls_do_not_grow_with_mount_targets(mount_targets: int) -> None:
    """At most one a metric and scope, but for the few whose answer would be larger than an answer may be."""
    queries, monitoring = polled(tenancy(mount_targets, 1))
    calls = {name: sum(asked.name == name for asked in monitoring.asked) for name in METRICS}
    large = {name for name, metric in METRICS.items() if metric.dimensions in {("size",), ("operation",)}}
    assert {name: number for name, number in calls.items() if number > 1 and name not in large} == {}
    if mount_targets < 500:
        assert len(monitoring.asked) == len(METRICS)
    else:
        assert all(calls[name] <= 3 for name in large)
    assert all(asked.success for asked in queries.snapshots.values())


@pytest.mark.parametrize("status", [400, 413])
def test_a_query_that_is_refused_for_its_length_is_halved_until_it_is_short_enough(status: int) -> None:
    queries, monitoring = polled(tenancy(200, 4), longest=1_000, status=status)
    assert max(monitoring.lengths) > 1_000
    assert all(metric.success for metric in queries.snapshots.values())
    assert queries.snapshots[READS.name].streams == 2_400
    assert 500 < queries.snapshots[READS.name].query_bytes <= 1_000, "the length of the longest query that was answered"
    monitoring.lengths.clear()
    queries.query_all([ROOT], lambda: False)
    assert max(monitoring.lengths) <= 1_000, "the length is remembered"


def test_a_shard_remembers_the_length_although_its_streams_fit_into_one_answer() -> None:
    queries, monitoring = polled(tenancy(100, 1).of_shard(Shard.parse("1/2")), longest=1_000)
    assert max(monitoring.lengths) > 1_000
    assert all(metric.success for metric in queries.snapshots.values())
    monitoring.lengths.clear()
    queries.query_all([ROOT], lambda: False)
    assert max(monitoring.lengths) <= 1_000


def test_a_query_that_is_refused_however_short_it_is_costs_only_its_metric(caplog: pytest.LogCaptureFixture) -> None:
    queries, monitoring = polled(tenancy(1000, 4), longest=100, status=400)
    assert not queries.snapshots[READS.name].success
    assert queries.snapshots["MountTargetConnections"].success
    assert len(monitoring.lengths) < 200
    queries.failures.end_round()
    assert "HTTP refused" in caplog.text


def test_a_thousand_mount_targets_with_four_thousand_file_systems_are_few_calls_and_all_series() -> None:
    queries, monitoring = polled(tenancy(1000, 4))
    assert len(monitoring.asked) <= 80, "16 s at five calls a second"
    store = queries.stores["FileSystemReadRequestsbySize"]
    assert sum(len(column.series) for _, column in store.points) == 12_000
    assert queries.self_metrics.sums()["fss_oci_query_splits_total"]["eu-frankfurt-1", READS.name] == 6


@given(st.integers(0, 3000), st.integers(0, 5), st.integers(1, 180), st.sampled_from(sorted(METRICS)))
def test_parts_cover_everything_once_and_fit_into_an_answer(
    mount_targets: int, each: int, minutes: int, name: str
) -> None:
    metric, inventory = METRICS[name], tenancy(min(mount_targets, 600), each)
    parts = QueryParts(metric).parts(inventory, minutes)
    if parts == [()]:
        return
    ids = [ocid for part in parts for ocid in part]
    everything = inventory.file_systems if metric.owner == "file_system" else inventory.mount_targets
    assert sorted(ids) == sorted(everything)
    weight = each * {"size": 3, "operation": 4}.get("".join(metric.dimensions), 1) if metric.owner == "behind" else 1
    for part in parts:
        assert len(part) * weight <= MOST_STREAMS or len(part) == 1
        assert len(part) * weight * minutes <= MOST_POINTS or len(part) == 1


def test_an_answer_that_was_too_large_is_asked_again_in_more_parts_and_later_in_fewer() -> None:
    shards, inventory = QueryParts(READS), tenancy(10)
    assert shards.parts(inventory, 5) == [()]
    assert shards.refused(1)
    assert len(shards.parts(inventory, 5)) == 2
    assert shards.refused(2)
    assert len(shards.parts(inventory, 5)) == 4
    shards.answered(120)
    assert shards.parts(inventory, 5) == [()]


def test_a_mount_target_with_more_streams_than_an_answer_holds_costs_one_query() -> None:
    queries, monitoring = polled(tenancy(1, 1000))
    assert not queries.snapshots[READS.name].success
    assert [asked.name for asked in monitoring.asked].count(READS.name) == 1


def test_a_query_that_no_number_of_parts_helps_begins_anew_unless_the_answer_is_too_large() -> None:
    inventory = tenancy(10)
    for error, parts in (CloudError("", operation="O", status=400), 1), (TooMuchData("", operation="O"), 4):
        shards = QueryParts(READS)
        for tried in (1, 2):
            shards.parts(inventory, 5)
            assert shards.refused(tried)
        shards.failed(error)
        assert len(shards.parts(inventory, 5)) == parts


def test_a_metric_that_cannot_be_split_says_so() -> None:
    assert not QueryParts(METRICS["snapshotsGovernanceMode"]).refused(1)


def test_every_query_parses() -> None:
    for metric in METRICS.values():
        ids = ("ocid1.a", "ocid1.b") if metric.split_by else ()
        asked = metric_of(metric.query(metric.name, ids))
        assert (asked.name, asked.interval_minutes) == (metric.name, 1)


def test_the_table_has_every_documented_metric_with_what_becomes_of_it() -> None:
    assert [name for name, metric in METRICS.items() if metric.discovered_only] == ["MountTargetIOPS"]
    for metric in METRICS.values():
        assert metric.gauge or metric.counter, metric.name
        for exported in (metric.gauge, metric.counter):
            assert exported is None or metric.name in exported.origin, f"HELP of {exported} names {metric.name}"
