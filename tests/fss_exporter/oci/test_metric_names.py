"""The names of metrics, in the spelling of the tenancy."""

from dataclasses import replace

from tests.fss_exporter.oci.polled_region import PolledRegion

from fss_exporter.errors import NotAuthorized
from fss_exporter.oci.cloud_client import Scope
from fss_exporter.oci.inventory.inventory_snapshot import InventorySnapshot
from fss_exporter.oci.inventory.oci_inventory import Inventory, ServiceResource
from fss_exporter.oci.ledger import newest_complete
from fss_exporter.oci.metric_table import METRICS, MetricNames

ROOT = Scope("ocid1.tenancy.oc1..root")
READS = METRICS["FileSystemReadRequestsbySize"]


def test_names_are_matched_without_regard_to_case_and_sent_as_found() -> None:
    names = MetricNames()
    assert names.spelling(READS) == READS.name
    assert names.spelling(METRICS["MountTargetIOPS"]) is None, "never asked for before it is found"
    names.learn(["FileSystemReadRequestsBySize", "mounttargetiops", "SomethingNew"])
    assert names.spelling(READS) == "FileSystemReadRequestsBySize"
    assert names.spelling(METRICS["MountTargetIOPS"]) == "mounttargetiops"
    assert names.spelling(METRICS["KerberosErrors"]) is None, "the tenancy does not have it"


def test_of_two_spellings_the_one_that_works_is_kept_and_the_silent_one_gives_way() -> None:
    names = MetricNames()
    names.learn(["FileSystemReadRequestsBySize", "FileSystemReadRequestsbySize"])
    first = names.spelling(READS)
    names.fell_silent(READS)
    second = names.spelling(READS)
    assert {first, second} == {"FileSystemReadRequestsBySize", "FileSystemReadRequestsbySize"}
    names.learn(["FileSystemReadRequestsBySize", "FileSystemReadRequestsbySize"])
    assert names.spelling(READS) == second
    names.learn([str(first)])
    assert names.spelling(READS) == first


def test_one_spelling_stays_however_silent_it_is() -> None:
    names = MetricNames()
    names.learn([READS.name])
    names.fell_silent(READS)
    assert names.spelling(READS) == READS.name


def test_names_of_metrics_of_one_compartment_are_learned_though_another_refuses() -> None:
    poll = PolledRegion()
    refused = Scope("ocid1.compartment.oc1..refused")
    poll.cloud.names = ("MountTargetIOPS", "FileSystemReadRequestsBySize")
    poll.cloud.refuse_scope = lambda scope: (
        NotAuthorized("no", operation="ListMetrics", status=404) if scope == refused else None
    )
    scopes = [refused, Scope("ocid1.compartment.oc1..open")]
    poll.queries.learn_names(scopes)
    assert poll.queries.names_are_due, "listed again soon"
    poll.queries.query_all(scopes[1:], lambda: False)
    assert {
        "MountTargetIOPS",
        "FileSystemReadRequestsbySize",
        "MountTargetConnections",
    } <= poll.queries.snapshots.keys()


def test_a_spelling_that_brings_data_in_the_first_poll_stays_in_use() -> None:
    poll = PolledRegion()
    poll.cloud.names = ("MountTargetReadThroughput", "MountTargetreadThroughput")
    poll.cloud.figure = lambda metric, _, __: 1.0 if metric == "MountTargetReadThroughput" else None
    ages = []
    for _ in range(3):
        poll.minute()
        (region,) = poll.board.regions
        assert region.poll
        newest = region.poll.metrics["MountTargetReadThroughput"].newest
        assert newest
        ages.append(newest_complete(poll.now) - newest)
    assert ages == [0, 0, 0]


def test_names_of_a_service_that_the_rest_of_the_first_inventory_brings_are_listed_in_the_next_poll() -> None:
    region = PolledRegion()
    (polls,) = (listed.polls for listed in region.regions)
    targets = Inventory(mount_targets={target.id: target for target in region.cloud.targets})
    lustre = ServiceResource(
        id="ocid1.lustrefilesystem.oc1..a",
        name="a",
        compartment_id="c",
        availability_domain="z",
        state="ACTIVE",
        service="lustre",
        kind="mbps-per-tb-125",
        capacity_bytes=1e12,
    )
    whole = replace(targets, service_resources={lustre.id: lustre})

    polls.poll(InventorySnapshot(targets, (ROOT,), is_whole=False), 60.0)
    region.now += 15.0
    region.cloud.calls.clear()
    polls.poll(InventorySnapshot(whole, (ROOT,)), 60.0)
    assert region.cloud.calls.count("ListMetrics") == 1
    region.now += 15.0
    polls.poll(InventorySnapshot(whole, (ROOT,)), 60.0)
    assert region.cloud.calls.count("ListMetrics") == 1, "no more until the names are due"
