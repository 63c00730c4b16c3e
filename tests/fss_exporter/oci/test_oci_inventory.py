"""From listings to an inventory: bad rows cost themselves, tags choose, names never decide what belongs together."""

from dataclasses import replace
from typing import Any

import pytest

from fss_exporter.addresses import NetworkAddress
from fss_exporter.model.limits import STANDARD, Limits
from fss_exporter.oci.client import listed_records
from fss_exporter.oci.cloud_client import Compartment, Scope
from fss_exporter.oci.inventory.inventory_refresh import scopes_of
from fss_exporter.oci.inventory.mount_target_settings import limits_of
from fss_exporter.oci.inventory.oci_inventory import Inventory, join
from fss_exporter.oci.inventory.selection import ROOT, CompartmentTree, InventorySelection, TagFilter
from fss_exporter.oci.rows.inventory_rows import inventory_rows, joined_places
from fss_exporter.settings import Settings, load

MAKERS = {
    "mount_targets": listed_records.mount_target,
    "file_systems": listed_records.file_system,
    "exports": listed_records.export,
    "export_sets": listed_records.export_set,
    "replications": listed_records.replication,
}
TENANCY = "ocid1.tenancy.oc1..t"


def row(identity: str, **more: Any) -> dict[str, Any]:
    return {
        "id": identity,
        "displayName": f"name of {identity}",
        "compartmentId": "ocid1.compartment.oc1..a",
        "availabilityDomain": "AD-1",
        "lifecycleState": "ACTIVE",
        **more,
    }


def target(identity: str, **more: Any) -> dict[str, Any]:
    facts = {"exportSetId": f"set-{identity}", "subnetId": "subnet", "privateIpIds": [f"ip-{identity}"]}
    return row(identity, **(facts | more))


def rows_of(inventory: Inventory, settings: Settings, metric: str) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Labels behind the region and the tags, and the values of the rows, of a metric."""
    places = joined_places([("here", inventory, settings)])
    made = inventory_rows("here", inventory, places, settings, {})
    return [(row.tags, labels[1:]) for row in made if row.metric == metric for labels, _ in row.rows]


def test_chosen_tags_are_labels_of_resources_that_have_one_of_them() -> None:
    settings = load(None, {"oci.tags_as_labels": ["team", "CostCenter.unit"]})
    hostile = "\ud800\n{evil} 1"
    inventory, _ = built(
        mount_targets=[
            target("mt", freeformTags={"team": "storage"}, definedTags={"costcenter": {"Unit": 42}}),
            target("odd", freeformTags={"team": hostile}),
            target("none", freeformTags={"Team": "x"}),
        ],
        export_sets=[row(f"set-{name}", vcnId="v") for name in ("mt", "odd", "none")],
        file_systems=[row("fs", freeformTags={"team": "batch"})],
    )
    tags = ("tag_team", "tag_costcenter_unit")
    assert rows_of(inventory, settings, "fss_mount_target_tags_info") == [
        (tags, ("mt", "name of mt", "storage", "42")),
        (tags, ("odd", "name of odd", "?\n{evil} 1", "")),
    ]
    assert rows_of(inventory, settings, "fss_file_system_tags_info") == [(tags, ("fs", "name of fs", "batch", ""))]
    assert rows_of(inventory, load(None), "fss_mount_target_tags_info") == []


def export(identity: str, mount_target: str, file_system: str, path: str = "/a") -> dict[str, Any]:
    return row(identity, exportSetId=f"set-{mount_target}", fileSystemId=file_system, path=path)


def built(tags: TagFilter | None = None, **listings: list[Any]) -> tuple[Inventory, int]:
    by_kind = {kind: listed_records.listing(MAKERS[kind], rows) for kind, rows in listings.items()}
    listed = [record for row in by_kind.values() for record in row.records]
    inventory = join(listed, tags or TagFilter(), compartments={"ocid1.compartment.oc1..a": "storage"})
    return inventory, sum(len(row.broken) for row in by_kind.values())


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"id": "mt"},
        row("mt"),
        target("mt", exportSetId=None),
        target("mt", id=5),
        target("mt", displayName=["x"]),
        target("mt", observedThroughput="fast"),
        target("mt", observedThroughput=True),
        target("mt", compartmentId=None),
    ],
    ids=repr,
)
def test_a_mount_target_that_is_not_as_documented_costs_only_itself(broken: dict[str, Any]) -> None:
    inventory, count = built(mount_targets=[broken, target("good")])
    assert (list(inventory.mount_targets), count) == (["good"], 1)


@pytest.mark.parametrize("moment", ["yesterday", 17, "2026-13-45T00:00:00Z", "2026-09-05T12:00:00"])
def test_a_replication_with_a_broken_time_costs_only_itself(moment: Any) -> None:
    rows = [row("bad", recoveryPointTime=moment), row("good", replicationInterval=60)]
    inventory, count = built(replications=rows)
    assert (list(inventory.replications), count) == (["good"], 1)
    assert inventory.replications["good"].interval_seconds == 3600


def test_what_is_gone_is_not_there_and_not_broken() -> None:
    inventory, count = built(
        mount_targets=[target("mt", lifecycleState="DELETED")],
        file_systems=[row("deleted", lifecycleState="DELETED"), row("failed", lifecycleState="FAILED")],
    )
    assert (dict(inventory.mount_targets), dict(inventory.file_systems), count) == ({}, {}, 0)


def test_a_mount_target_that_has_failed_is_there_with_its_state_because_it_can_have_clients() -> None:
    inventory, count = built(mount_targets=[target("mt", lifecycleState="FAILED")])
    assert (inventory.mount_targets["mt"].state, count) == ("FAILED", 0)


@pytest.mark.parametrize("observed", [None, 0, 1, 20])
def test_observed_throughput_is_kept_unchanged(observed: int | None) -> None:
    inventory, _ = built(mount_targets=[target("mt", observedThroughput=observed)])
    assert inventory.mount_targets["mt"].observed_throughput_gbps == observed


def test_a_resource_without_a_name_goes_by_its_ocid_and_an_address_may_be_missing() -> None:
    inventory, _ = built(mount_targets=[target("mt", displayName=None, privateIpIds=[])])
    assert (inventory.mount_targets["mt"].name, inventory.mount_targets["mt"].private_ip_id) == ("mt", "")


def test_exports_of_unknown_mount_targets_or_file_systems_are_left_out() -> None:
    exports = [export("a", "mt", "fs"), export("b", "other", "fs"), export("c", "mt", "other")]
    inventory, count = built(mount_targets=[target("mt")], file_systems=[row("fs")], exports=exports)
    assert ([export.id for export in inventory.exports], count) == (["a"], 0)


def test_a_resource_that_moves_while_it_is_listed_counts_once() -> None:
    moved = target("mt-1", compartmentId="ocid1.compartment.oc1..b")
    exports = [export("e-1", "mt-1", "fs-1")] * 2
    inventory, _ = built(mount_targets=[target("mt-1"), moved], file_systems=[row("fs-1")], exports=exports)
    assert inventory.counts == {"mount_targets": {"AD-1": 1}, "file_systems": {"AD-1": 1}}
    assert len(inventory.exports) == 1
    assert inventory.mount_targets["mt-1"].compartment_id == "ocid1.compartment.oc1..b"


def test_tags_include_a_mount_target_with_what_is_behind_it_and_exclude_anything() -> None:
    tags = TagFilter({"team": "st*", "ops.tier": "gold"}, {"monitoring": "off"})
    wanted = {"freeformTags": {"team": "storage"}, "definedTags": {"ops": {"tier": "gold"}}}
    inventory, _ = built(
        tags,
        mount_targets=[
            target("in", **wanted),
            target("half", freeformTags={"team": "storage"}),
            target("off", **(wanted | {"freeformTags": {"team": "storage", "monitoring": "off"}})),
            target("none", freeformTags=None, definedTags=None),
        ],
        file_systems=[
            row("behind"),
            row("quiet", freeformTags={"monitoring": "off"}),
            row("own", **wanted),
            row("not"),
        ],
        exports=[export("a", "in", "behind"), export("b", "in", "quiet"), export("c", "half", "not")],
    )
    assert set(inventory.mount_targets) == {"in"}
    assert set(inventory.file_systems) == {"behind", "own"}
    assert [export.id for export in inventory.exports] == ["a"]


def located(**addresses: str) -> Inventory:
    inventory, _ = built(mount_targets=[target(name) for name in addresses])
    targets = {
        name: replace(mount_target, address=addresses[name]) for name, mount_target in inventory.mount_targets.items()
    }
    return replace(inventory, mount_targets=targets)


def test_mount_targets_that_share_an_address_are_left_out_of_the_join_and_counted() -> None:
    here = located(a="10.0.0.1", b="10.0.0.2", unknown="", c="10.0.0.1")
    places = joined_places([("eu", here, Settings())])
    addresses = {name: place.address for name, (place,) in places.items()}
    assert addresses == {"a": "", "b": "10.0.0.2", "unknown": "", "c": ""}
    rows = {of.metric: of.rows for of in inventory_rows("eu", here, places, Settings(), {})}
    assert list(rows["fss_oci_ambiguous_addresses"]) == [(("eu",), 2)]


def test_equal_addresses_in_two_regions_are_two_places() -> None:
    places = joined_places([("eu", located(a="10.0.0.1"), Settings()), ("us", located(b="10.0.0.1"), Settings())])
    assert places == {"a": (NetworkAddress("eu", "10.0.0.1"),), "b": (NetworkAddress("us", "10.0.0.1"),)}


def test_equal_addresses_in_two_tenancies_are_two_places_where_an_account_names_its_network() -> None:
    named = Settings.model_validate({"oci": {"network": "office"}})
    mine, theirs = located(a="10.0.0.1"), located(b="10.0.0.1")
    places = joined_places([("eu", mine, Settings()), ("eu", theirs, named)])
    assert places == {"a": (NetworkAddress("eu", "10.0.0.1"),), "b": (NetworkAddress("office", "10.0.0.1"),)}
    unnamed = joined_places([("eu", mine, Settings()), ("eu", theirs, Settings())])
    assert {place.address for (place,) in unnamed.values()} == {""}


def in_vcns(**vcns: str) -> Inventory:
    inventory = located(**dict.fromkeys(vcns, "10.0.0.1"))
    targets = {name: replace(mount_target, vcn_id=vcns[name]) for name, mount_target in inventory.mount_targets.items()}
    return replace(inventory, mount_targets=targets)


def test_the_configuration_tells_the_vcns_of_a_region_apart() -> None:
    named = Settings.model_validate({"oci": {"networks": {"ocid1.vcn.oc1..b": "lab"}}})
    inventory = in_vcns(a="ocid1.vcn.oc1..a", b="ocid1.vcn.oc1..b")
    assert joined_places([("eu", inventory, named)]) == {
        "a": (NetworkAddress("eu", "10.0.0.1"),),
        "b": (NetworkAddress("lab", "10.0.0.1"),),
    }


def test_a_mount_target_of_an_unknown_vcn_is_joined_with_nothing_where_vcns_are_told_apart() -> None:
    named = Settings.model_validate({"oci": {"networks": {"ocid1.vcn.oc1..b": "lab"}}})
    places = joined_places([("eu", in_vcns(a="", b="ocid1.vcn.oc1..b"), named)])
    assert places == {"a": (NetworkAddress("eu", ""),), "b": (NetworkAddress("lab", "10.0.0.1"),)}


def test_the_configuration_can_give_a_mount_target_the_address_that_its_clients_mount() -> None:
    given = Settings(addresses={"ocid1.mounttarget.oc1..b": "192.0.2.7"})
    inventory = located(**{"a": "10.0.0.1", "ocid1.mounttarget.oc1..b": "10.0.0.1"})
    addresses = {name: place.address for name, (place,) in joined_places([("eu", inventory, given)]).items()}
    assert addresses == {"a": "10.0.0.1", "ocid1.mounttarget.oc1..b": "192.0.2.7"}


def test_each_address_of_a_mount_target_has_a_series_and_one_that_two_share_has_none() -> None:
    inventory = located(a="10.0.0.1", b="10.0.0.2")
    v6 = {"a": ("2001:db8::a", "2001:db8::c"), "b": ("2001:db8::c",)}
    targets = {name: replace(one, further_addresses=v6[name]) for name, one in inventory.mount_targets.items()}
    inventory = replace(inventory, mount_targets=targets)
    named_rows = inventory_rows("eu", inventory, joined_places([("eu", inventory, Settings())]), Settings(), {})
    rows = {of.metric: of.rows for of in named_rows}
    of = {(labels[1], labels[-1]) for labels, _ in rows["fss_mount_target_address_info"]}
    assert of == {("a", "10.0.0.1"), ("a", "2001:db8::a"), ("b", "10.0.0.2")}
    assert list(rows["fss_oci_ambiguous_addresses"]) == [(("eu",), 2)]


def test_an_unknown_fact_has_no_series() -> None:
    inventory, _ = built(
        file_systems=[row("fs")], replications=[row("r")], mount_targets=[target("mt", observedThroughput=40)]
    )
    named_rows = inventory_rows("eu", inventory, joined_places([("eu", inventory, Settings())]), Settings(), {})
    rows = {of.metric: [row for row in of.rows if row[1] is not None] for of in named_rows}
    assert rows["fss_file_system_metered_bytes"] == []
    assert rows["fss_replication_interval_seconds"] == []
    assert rows["fss_mount_target_iops_limit"] == [], "unpublished for this shape"
    assert [value for _, value in rows["fss_mount_target_read_bytes_per_second_limit"]] == [5e9]


def test_two_exports_that_look_alike_are_one_series() -> None:
    """An export that is deleted and made anew is listed twice for a while."""
    exports = [export("old", "mt", "fs"), export("new", "mt", "fs")]
    inventory, _ = built(mount_targets=[target("mt")], file_systems=[row("fs")], exports=exports)
    named_rows = inventory_rows("eu", inventory, joined_places([("eu", inventory, Settings())]), Settings(), {})
    rows = {of.metric: of.rows for of in named_rows}
    assert len(list(rows["fss_export_info"])) == 1


def test_ceilings_of_a_mount_target_win_over_those_of_its_shape_and_null_takes_one_away() -> None:
    inventory, _ = built(mount_targets=[target("mt")])
    limits = {
        "shapes": {"standard": {"iops": 1.0, "connections": 2.0}},
        "mount_targets": {"name of mt": {"iops": 3.0, "read_bytes_per_second": None}, "mt": {"iops": 4.0}},
    }
    expected = Limits(4.0, None, STANDARD.limits.write_bytes_per_second, 2.0, 4096)
    assert limits_of(inventory.mount_targets["mt"], load(None, {"limits": limits})) == expected


def test_an_observed_ceiling_wins_over_that_of_the_shape_where_the_configuration_says_so() -> None:
    inventory, _ = built(mount_targets=[target("mt")])
    limits = {"shapes": {"standard": {"iops": 1.0}}, "mount_targets": {"mt": {"read_bytes_per_second": 3.0}}}
    seen = {"iops": 43_000.0, "read_bytes_per_second": 7e8}

    def of(**further: bool) -> Limits:
        return limits_of(inventory.mount_targets["mt"], load(None, {"limits": limits | further}), seen)

    assert of().iops == 1.0
    assert of(observed=True).iops == 43_000.0
    assert of(observed=True).read_bytes_per_second == 3.0


A, B, BELOW_A, DEEP = (f"ocid1.compartment.oc1..{name}" for name in ("a", "b", "ab", "abc"))
TREE = CompartmentTree(
    TENANCY,
    [
        Compartment(A, "a", TENANCY),
        Compartment(B, "b", TENANCY),
        Compartment(BELOW_A, "b", A),
        Compartment(DEEP, "c", BELOW_A),
    ],
)


def test_nothing_wanted_is_the_whole_tenancy_in_one_query() -> None:
    names, _ = TREE.choose(())
    assert names[TENANCY] == ROOT
    assert len(names) == 5
    assert scopes_of(InventorySelection(), TENANCY, names) == (Scope(TENANCY, subtree=True),)


def test_compartments_are_wanted_by_name_or_ocid_and_asked_one_by_one() -> None:
    wanted = ("a", "ocid1.compartment.oc1..unseen")
    names, _ = TREE.choose(wanted)
    assert dict(names) == {A: "a", wanted[1]: wanted[1]}
    assert scopes_of(InventorySelection(wanted), TENANCY, names) == (Scope(A), Scope(wanted[1]))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("d", "no compartment is called 'd'"),
        ("b:a", "no compartment is called 'b:a'"),
        ("b:c", "no compartment is called 'b:c'"),
        ("b", "2 compartments are called 'b': root:a:b, root:b. Give the path or the OCID"),
    ],
)
def test_a_name_that_means_none_or_several_is_a_mistake_and_never_everything(name: str, says: str) -> None:
    names, mistakes = TREE.choose((name,))
    assert (dict(names), len(mistakes)) == ({}, 1)
    assert says in mistakes[0]


@pytest.mark.parametrize(
    ("path", "ocid"),
    [("a:b", BELOW_A), ("root:b", B), ("a:b:c", DEEP), ("root:a:b", BELOW_A), ("c", DEEP), ("root", TENANCY)],
)
def test_a_path_begins_at_the_root_and_tells_equal_names_apart(path: str, ocid: str) -> None:
    names, mistakes = TREE.choose((path,))
    assert (set(names), mistakes) == ({ocid}, [])


@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [
        (("a",), {A, BELOW_A, DEEP}),
        (("root:b",), {B}),
        ((BELOW_A, "root:b"), {B, BELOW_A, DEEP}),
        ((TENANCY,), {TENANCY, A, B, BELOW_A, DEEP}),
        ((), {TENANCY, A, B, BELOW_A, DEEP}),
        (("d",), set()),
    ],
)
def test_in_the_subtree_all_compartments_below_are_wanted_too(wanted: tuple[str, ...], chosen: set[str]) -> None:
    names, _ = TREE.choose(wanted, in_subtree=True)
    assert set(names) == chosen
    whole = scopes_of(InventorySelection(wanted, in_subtree=True), TENANCY, names)
    assert whole == ((Scope(TENANCY, subtree=True),) if TENANCY in chosen else tuple(map(Scope, names)))


def test_a_circle_of_compartments_ends() -> None:
    tree = CompartmentTree(TENANCY, [Compartment("x", "x", "y"), Compartment("y", "y", "x")])
    assert set(tree.choose(("x",), in_subtree=True)[0]) == {"x", "y"}
