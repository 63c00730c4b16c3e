"""The inventory of a region: addresses, the first publication, and listings that fail in part. In memory."""

import logging
import threading
from dataclasses import replace
from functools import partial

import pytest
from tests.clock import Clock
from tests.fss_exporter.oci.fake_cloud import FakeCloud, mount_target
from tests.fss_exporter.oci.polled_region import PolledRegion
from tests.processes import PROMPT_S

from fss_exporter.errors import CloudError, LateAnswer, NotAuthorized, Unreachable
from fss_exporter.oci.calls import CallsInFlight
from fss_exporter.oci.cloud_client import Compartment, Listing, PrivateIp
from fss_exporter.oci.inventory.address_lookup import AddressLookup
from fss_exporter.oci.inventory.inventory_refresh import InventoryRefresh
from fss_exporter.oci.inventory.selection import InventorySelection
from fss_exporter.settings import load


def test_many_addresses_of_one_subnet_are_one_listing_and_few_are_looked_up_one_by_one() -> None:
    few, many = (
        FakeCloud([mount_target(str(at)) for at in range(3)]),
        FakeCloud([mount_target(str(at)) for at in range(300)]),
    )
    for cloud in (few, many):
        lookup = AddressLookup(cloud, CallsInFlight(), lambda *_: None)
        lookup.look_up(cloud.targets, lambda: None)
        assert all(lookup.located(target).address for target in cloud.targets)
    assert few.calls == ["GetSubnet", "GetPrivateIp", "GetPrivateIp", "GetPrivateIp"]
    assert many.calls == ["GetSubnet", "ListPrivateIps"]


def test_a_mount_target_that_is_being_deleted_does_not_hide_the_addresses_of_its_subnet() -> None:
    class WithoutAddress(FakeCloud):
        def private_ip(self, ocid: str) -> PrivateIp:
            if ocid == "ip-going":
                raise NotAuthorized("not found", operation="GetPrivateIp", status=404)
            return super().private_ip(ocid)

    targets = [replace(mount_target("going"), state="DELETING"), mount_target("a"), mount_target("b")]
    lookup = AddressLookup(WithoutAddress(targets), CallsInFlight(), lambda *_: None)
    lookup.look_up(targets, lambda: None)
    assert [bool(lookup.located(target).address) for target in targets] == [False, True, True]


def test_a_mount_target_has_its_ipv6_addresses_behind_that_of_ipv4_or_alone() -> None:
    both = replace(mount_target("both"), ipv6_ids=("1", "2"))
    alone = replace(mount_target("alone"), private_ip_id="", ipv6_ids=("3",))
    cloud = FakeCloud([both, alone])
    lookup = AddressLookup(cloud, CallsInFlight(), lambda *_: None)
    lookup.look_up(cloud.targets, lambda: None)
    first, second = map(lookup.located, cloud.targets)
    assert first.address.startswith("10.")
    assert first.further_addresses == ("2001:db8::1", "2001:db8::2")
    assert (second.address, second.further_addresses) == ("2001:db8::3", ())


def test_a_refused_look_up_of_ipv6_is_reported_and_leaves_the_addresses_of_ipv4() -> None:
    class WithoutIpv6(FakeCloud):
        def ipv6(self, ocid: str) -> PrivateIp:
            raise NotAuthorized(f"{ocid} not found", operation="GetIpv6", status=404)

    targets = [replace(mount_target(name), ipv6_ids=(name,)) for name in "ab"]
    failed: list[str] = []
    lookup = AddressLookup(
        WithoutIpv6(targets), CallsInFlight(), lambda operation, error: failed.extend([operation] if error else [])
    )
    lookup.look_up(targets, lambda: None)
    assert [bool(lookup.located(target).address) for target in targets] == [True, True]
    assert failed == ["GetIpv6"]


def test_the_first_inventory_shows_mount_targets_with_addresses_before_it_lists_the_rest() -> None:
    poll = PolledRegion(FakeCloud([mount_target(str(at)) for at in range(20)]))
    seen: list[tuple[int, int]] = []

    def look(operation: str) -> None:
        inventory = poll.inventory.snapshot.inventory
        targets = inventory.mount_targets.values() if inventory else ()
        if operation == "ListFileSystems":
            seen.append((len(targets), sum(not target.pending and bool(target.address) for target in targets)))

    poll.cloud.refuse = look
    poll.inventories.run_round()
    assert seen == [(20, 20)]
    assert poll.cloud.calls.count("ListMountTargets") == 1, "listed once"
    assert poll.inventory.listed.is_set()


def test_a_compartment_of_an_odd_form_fails_the_listing_and_costs_only_itself() -> None:
    storage, other = (
        Compartment("ocid1.compartment.oc1..s", "storage"),
        Compartment("ocid1.compartment.oc1..o", "other"),
    )
    poll = PolledRegion()
    watched, succeeded = [], []
    for tree in (Listing((storage,), ("",)), Listing((storage, other)), Listing((other,), ("",)), Listing((other,))):
        poll.cloud.tree = tree
        poll.inventory.run()
        snapshot = poll.inventory.snapshot
        assert snapshot.inventory
        watched.append(snapshot.inventory.compartments.keys() - {poll.cloud.tenancy_id})
        succeeded.append(snapshot.succeeded["ListCompartments"])
    assert watched == [{storage.id}, {storage.id, other.id}, {storage.id, other.id}, {other.id}]
    assert succeeded == [False, True, False, True]


class OddRow(FakeCloud):
    """One listing has a row that cannot be read."""

    odd = "ListMountTargets"

    def resources(self, operation: str, compartment_id: str, availability_domain: str = "") -> Listing:
        listing = super().resources(operation, compartment_id, availability_domain)
        return replace(listing, broken=("",)) if operation == self.odd else listing


def test_a_mount_target_of_an_odd_form_fails_the_listing_and_its_compartment_is_not_wholly_seen(
    caplog: pytest.LogCaptureFixture,
) -> None:
    poll = PolledRegion(OddRow([mount_target("a")]))
    for _ in range(3):
        poll.minute(11)
    snapshot = poll.inventory.snapshot
    assert snapshot.inventory is not None
    assert [target.name for target in snapshot.inventory.mount_targets.values()] == ["a"]
    assert not snapshot.succeeded["ListMountTargets"]
    assert snapshot.failed_calls == {("ListMountTargets", "broken answer"): 1}
    assert (snapshot.compartments_expected, snapshot.compartments_seen) == (1, 0)
    assert [message for message in caplog.messages if "as documented" in message] == [
        "eu: ListMountTargets in eu-frankfurt-1: 1 rows are not as documented. Their last records stay"
    ]


def test_a_row_of_an_odd_form_leaves_the_age_of_the_last_records() -> None:
    cloud = OddRow([mount_target("a")])
    poll = PolledRegion(cloud)
    ages = []
    for cloud.odd in ("", "ListMountTargets", "ListMountTargets", ""):
        poll.now += 600.0
        poll.inventory.run()
        ages.append(poll.now - (poll.inventory.snapshot.listed_at or 0.0))
    assert ages == [0.0, 600.0, 1200.0, 0.0]


def test_rows_of_an_odd_form_are_told_of_a_service_that_was_not_asked_for() -> None:
    cloud = OddRow()
    cloud.odd = "ListLustreFileSystems"
    selection = InventorySelection(services=("lustre",), optional_services=("lustre",))
    inventory = InventoryRefresh(cloud, selection, now=Clock(), report=lambda *_: None)
    inventory.run()
    assert inventory.snapshot.broken_rows[cloud.odd] == 1
    assert not inventory.snapshot.succeeded[cloud.odd]


@pytest.mark.parametrize("names_the_row", [True, False])
def test_a_row_of_an_odd_form_keeps_its_earlier_record_and_is_counted(names_the_row: bool) -> None:
    class Spoilt(FakeCloud):
        spoilt: tuple[str, ...] = ()

        def resources(self, operation: str, compartment_id: str, availability_domain: str = "") -> Listing:
            listing = super().resources(operation, compartment_id, availability_domain)
            if operation != "ListMountTargets":
                return listing
            broken = tuple(record.id for record in listing.records if record.name in self.spoilt)
            records = tuple(record for record in listing.records if record.id not in broken)
            return Listing(records, broken if names_the_row else ("",) * len(broken))

    cloud = Spoilt([mount_target("a"), mount_target("b"), mount_target("c")])
    poll = PolledRegion(cloud)
    seen = []
    for spoilt, unlisted in (((), ()), (("a",), ()), (("a", "b", "c"), ()), (("a",), ("b",)), ((), ("b",))):
        cloud.spoilt, cloud.unlisted = spoilt, unlisted
        poll.inventory.run()
        snapshot = poll.inventory.snapshot
        assert snapshot.inventory
        names = {target.name for target in snapshot.inventory.mount_targets.values()}
        seen.append(("".join(sorted(names)), snapshot.broken_rows["ListMountTargets"]))
    # a row that cannot be read may be that of the deleted "b"
    assert seen == [("abc", 0), ("abc", 1), ("abc", 3), ("ac" if names_the_row else "abc", 1), ("ac", 0)]


def in_many_compartments(count: int) -> PolledRegion:
    """Mount targets and file systems in the tenancy itself, and empty compartments below."""

    class InTheRoot(FakeCloud):
        def resources(self, operation: str, compartment_id: str, availability_domain: str = "") -> Listing:
            listing = super().resources(operation, compartment_id, availability_domain)
            return listing if compartment_id == self.tenancy_id else Listing(())

    poll = PolledRegion(InTheRoot([mount_target("a"), mount_target("b")], has_file_systems=True))
    poll.cloud.tree = Listing(tuple(Compartment(f"ocid1.compartment.oc1..{at}", f"c{at}") for at in range(count)))
    return poll


def test_an_empty_compartment_is_listed_once_an_hour_or_where_something_new_may_be() -> None:
    poll = in_many_compartments(50)
    calls = []
    for everywhere in (True, False, False, True, False, False, False):
        poll.cloud.calls.clear()
        poll.inventory.run(everywhere=everywhere)
        calls.append(poll.cloud.calls.count("ListMountTargets"))
        snapshot = poll.inventory.snapshot
        assert (snapshot.compartments_expected, snapshot.compartments_seen) == (51, 51)
        assert all(snapshot.succeeded.values())
        assert snapshot.listed_at == poll.now
        poll.now += 600.0
    assert calls == [51, 1, 1, 51, 1, 51, 1], "the sixth of all"


def test_a_first_inventory_that_takes_long_shows_figures_before_all_compartments_are_listed() -> None:
    poll = in_many_compartments(50)
    seen: list[tuple[int, bool]] = []
    whole: list[bool] = []

    def a_second(operation: str) -> None:
        if operation.startswith("List") and operation not in ("ListMetrics", "ListPrivateIps"):
            poll.now += 1.0
            snapshot = poll.inventory.snapshot
            if snapshot.scopes and not whole:
                whole.append(snapshot.is_whole)
                polled = poll.polls._poll
                polled(poll.regions[0])
                (region,) = poll.board.regions
                assert region.poll
                seen.append((len(region.poll.points["fss_mount_target_connections"]), bool(region.poll.targets)))

    poll.cloud.refuse = a_second
    poll.inventories.run_round()
    assert whole == [False]
    assert seen == [(1, False)], "gauges, and no verdict without the file systems behind a mount target"
    assert poll.inventory.snapshot.is_whole
    poll.cloud.refuse = lambda _: None
    poll.minute()
    poll.minute()
    (region,) = poll.board.regions
    assert region.poll
    assert region.poll.targets


def time_out(poll: PolledRegion, operation: str) -> CloudError:
    """The error of a call after its time-out."""
    poll.now += 10.0
    return LateAnswer("timed out", operation=operation)


def test_a_region_that_does_not_answer_is_asked_a_few_times_and_keeps_its_resources() -> None:
    """Each call takes its whole time-out. The inventories of all other regions, and the health check, would wait for hundreds."""
    poll = PolledRegion()
    poll.cloud.tree = Listing(tuple(Compartment(f"ocid1.compartment.oc1..{at}", f"c{at}") for at in range(30)))
    poll.inventory.run()
    before = poll.inventory.snapshot.inventory
    assert before is not None
    poll.cloud.calls.clear()
    poll.cloud.refuse = partial(time_out, poll)
    poll.inventory.run()
    snapshot = poll.inventory.snapshot
    assert len(poll.cloud.calls) < 6
    assert snapshot.inventory == before
    assert not any(succeeded for operation, succeeded in snapshot.succeeded.items() if operation.startswith("List"))
    assert snapshot.compartments_seen == 0

    poll.cloud.refuse = lambda _: None
    poll.inventory.run()
    assert all(poll.inventory.snapshot.succeeded.values())


def test_an_operation_that_hangs_costs_no_other_operation() -> None:
    poll = PolledRegion()
    poll.cloud.tree = Listing(tuple(Compartment(f"ocid1.compartment.oc1..{at}", f"c{at}") for at in range(9)))
    poll.cloud.refuse = lambda name: time_out(poll, name) if name == "ListReplications" else None
    poll.inventory.run()
    failed = [operation for operation, succeeded in poll.inventory.snapshot.succeeded.items() if not succeeded]
    assert failed == ["ListReplications"]


def test_an_operation_that_hangs_in_every_call_under_way_costs_no_other_operation() -> None:
    """The others end at once, so soon all eight calls under way are those that hang."""
    poll = PolledRegion(in_flight=8)
    poll.cloud.tree = Listing(tuple(Compartment(f"ocid1.compartment.oc1..{at}", f"c{at}") for at in range(39)))
    together = threading.Barrier(8, lambda: setattr(poll, "now", poll.now + 10.0), timeout=PROMPT_S)

    def hang(operation: str) -> CloudError | None:
        if operation != "ListReplications":
            return None
        together.wait()
        return LateAnswer("timed out", operation=operation)

    poll.cloud.refuse = hang
    poll.inventory.run()
    failed = [operation for operation, succeeded in poll.inventory.snapshot.succeeded.items() if not succeeded]
    assert failed == ["ListReplications"]


@pytest.mark.parametrize("operation", ["ListMountTargets", "ListReplications", "GetCompartment"])
def test_eight_calls_of_an_inventory_are_under_way_at_once(operation: str) -> None:
    compartments = tuple(Compartment(f"ocid1.compartment.oc1..{at}", f"c{at}") for at in range(8))
    selection = InventorySelection(compartments=tuple(record.id for record in compartments))
    cloud, together = FakeCloud(tree=Listing(compartments)), threading.Barrier(8, timeout=PROMPT_S)

    def wait(called: str) -> None:
        if called == operation:
            together.wait()

    cloud.refuse = wait
    inventory = InventoryRefresh(cloud, selection, now=Clock(), report=lambda *_: None)
    inventory.run()
    assert cloud.calls.count(operation) == 8
    assert all(inventory.snapshot.succeeded.values())


def test_calls_that_fail_at_once_keep_no_other_call_from_being_made() -> None:
    """A network that is back after a second costs a few listings, not the inventory."""
    poll = PolledRegion()
    poll.cloud.tree = Listing(tuple(Compartment(f"ocid1.compartment.oc1..{at}", f"c{at}") for at in range(9)))
    poll.cloud.refuse = lambda name: Unreachable("refused", operation=name) if name.startswith("ListE") else None
    poll.inventory.run()
    assert poll.cloud.calls.count("ListExports") == 10


def test_a_clock_of_the_host_that_is_set_an_hour_ahead_makes_no_region_a_silent_one() -> None:
    """The time without an answer is measured, and not read from the clock of the host."""
    cloud, host = FakeCloud(), Clock()
    cloud.tree = Listing(tuple(Compartment(f"ocid1.compartment.oc1..{at}", f"c{at}") for at in range(9)))

    def refuse(name: str) -> Unreachable | None:
        host.now += 3600.0
        return Unreachable("refused", operation=name) if name == "ListExports" else None

    cloud.refuse = refuse
    InventoryRefresh(cloud, InventorySelection(), now=host, report=lambda *_: None).run()
    assert cloud.calls.count("ListExports") == 10


def test_addresses_of_a_service_that_does_not_answer_are_asked_for_once_in_each_subnet() -> None:
    cloud = FakeCloud([mount_target(str(at)) for at in range(5)])
    cloud.refuse = lambda operation: LateAnswer("timed out", operation=operation)
    AddressLookup(cloud, CallsInFlight(), lambda *_: None).look_up(cloud.targets, lambda: None)
    assert cloud.calls == ["GetSubnet", "GetPrivateIp"]


def test_a_limit_that_may_not_be_read_is_no_failure_and_one_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    poll = PolledRegion()
    denied = NotAuthorized("no", operation="ListLimitValues", status=404)
    poll.cloud.refuse = lambda operation: denied if operation == "ListLimitValues" else None
    for _ in range(25):
        poll.minute()
    snapshot = poll.inventory.snapshot
    assert snapshot.inventory
    assert (dict(snapshot.inventory.service_limits), all(snapshot.succeeded.values())) == ({}, True)
    assert snapshot.inventory.counts["mount_targets"] == {"AD-1": 2}
    assert caplog.text.count("service limits of mount targets and file systems are not watched") == 1
    poll.cloud.refuse = lambda _: None
    poll.minute(11)
    assert poll.inventory.snapshot.inventory
    assert poll.inventory.snapshot.inventory.service_limits == {"mount_targets": {"AD-1": 2.0}}


def test_a_limit_of_a_mount_target_that_is_not_there_is_warned_about_once(caplog: pytest.LogCaptureFixture) -> None:
    limits = {"mount_targets": {"a": {"iops": 1.0}, "mt-tpyo": {"iops": 2.0}}}
    shares = {"mount_targets": {"b": {"latency": 0.9}, "gone": {"latency": 0.9}}}
    poll = PolledRegion(settings=load(None, {"limits": limits, "slo_objectives": shares}))
    poll.cloud.refuse = lambda operation: (
        CloudError("away", operation=operation) if operation == "ListMountTargets" else None
    )
    poll.minute()
    assert "is not listed" not in caplog.text, "the inventory is not complete"
    poll.cloud.refuse = lambda _: None
    for _ in range(3):
        poll.minute(11)
    warned = [message for message in caplog.messages if "is not listed" in message]
    assert [message.partition(" mount target ")[2].partition(",")[0] for message in warned] == ["gone", "mt-tpyo"]
