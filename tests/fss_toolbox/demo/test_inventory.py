"""What the region lists, through the SDK's own models: who is where, and how the parts join."""

from tests.clock import Clock
from tests.fss_toolbox.demo.sdk import Clients, refused
from tests.region import Region, small

TENANCY = small()
STORAGE, BATCH = TENANCY.compartments[1].id, TENANCY.compartments[2].id
ZONE_1, ZONE_2 = TENANCY.availability_domains


def test_mount_targets_are_listed_by_compartment_and_availability_domain(sdk: Clients) -> None:
    def names(compartment: str, zone: str) -> set[str]:
        return {
            mount_target.display_name for mount_target in sdk.file_storage.list_mount_targets(compartment, zone).data
        }

    assert names(STORAGE, ZONE_1) == {"mt-home", "mt-home-b", "mt-media"}
    assert names(BATCH, ZONE_2) == {"mt-scratch", "mt-idle"}
    assert names(STORAGE, ZONE_2) == names(BATCH, ZONE_1) == names(TENANCY.id, ZONE_1) == set()


def test_a_standard_mount_target_reports_its_throughput_in_each_of_the_ways_no_document_settles(sdk: Clients) -> None:
    listed = [
        *sdk.file_storage.list_mount_targets(STORAGE, ZONE_1).data,
        *sdk.file_storage.list_mount_targets(BATCH, ZONE_2).data,
    ]
    observed = {row.display_name: row.observed_throughput for row in listed}
    assert observed == {"mt-home": None, "mt-home-b": 1, "mt-scratch": 1, "mt-media": 20, "mt-idle": 0}


def test_exports_join_file_systems_to_mount_targets_by_the_export_set(sdk: Clients) -> None:
    sets = {
        mount_target.export_set_id: mount_target.display_name
        for mount_target in sdk.file_storage.list_mount_targets(STORAGE, ZONE_1).data
    }
    systems = {
        file_system.id: file_system.display_name
        for file_system in sdk.file_storage.list_file_systems(STORAGE, ZONE_1).data
    }
    exports = sdk.file_storage.list_exports(compartment_id=STORAGE).data
    assert {(sets[export.export_set_id], export.path, systems[export.file_system_id]) for export in exports} == {
        ("mt-home", "/export/a", "homes"),
        ("mt-home", "/export/b", "projects"),
        ("mt-home-b", "/export/b", "projects"),
        ("mt-media", "/export/a", "masters"),
    }


def test_exports_can_be_listed_by_export_set_and_by_file_system(sdk: Clients) -> None:
    projects = TENANCY.named("projects")
    home = TENANCY.mount_targets[0].export_set_id
    assert len(sdk.file_storage.list_exports(file_system_id=projects).data) == 2
    assert len(sdk.file_storage.list_exports(export_set_id=home).data) == 2
    assert len(sdk.file_storage.list_exports(export_set_id=home, file_system_id=projects).data) == 1
    assert sdk.file_storage.list_exports(export_set_id="ocid1.exportset.oc1.x.y").data == []


def test_the_address_is_that_of_the_private_ip_in_the_network_compartment(sdk: Clients) -> None:
    addresses = {}
    for target in sdk.file_storage.list_mount_targets(STORAGE, ZONE_1).data:
        private_ip = sdk.network.get_private_ip(target.private_ip_ids[0]).data
        subnet = sdk.network.get_subnet(private_ip.subnet_id).data
        assert private_ip.compartment_id == subnet.compartment_id == TENANCY.compartments[0].id
        addresses[target.display_name] = (private_ip.ip_address, private_ip.hostname_label, subnet.subnet_domain_name)
    assert addresses == {
        "mt-home": ("10.80.1.10", "mt-home", "office.fssdemo.oraclevcn.com"),
        "mt-home-b": ("10.80.1.11", "mt-home-b", "office.fssdemo.oraclevcn.com"),
        "mt-media": ("10.80.3.30", None, None),
    }


def test_lists_filter_by_name_state_and_id(sdk: Clients) -> None:
    find = sdk.file_storage.list_mount_targets
    home = TENANCY.named("mt-home")
    assert [row.id for row in find(STORAGE, ZONE_1, display_name="mt-home").data] == [home]
    assert [row.id for row in find(STORAGE, ZONE_1, id=home).data] == [home]
    assert find(STORAGE, ZONE_1, lifecycle_state="DELETED").data == []
    assert len(find(STORAGE, ZONE_1, lifecycle_state="ACTIVE").data) == 3


def test_compartments_are_listed_one_level_deep_and_whole_only_from_the_tenancy(sdk: Clients) -> None:
    assert {compartment.name for compartment in sdk.identity.list_compartments(TENANCY.id).data} == {
        "network",
        "storage",
        "batch",
    }
    assert sdk.identity.list_compartments(STORAGE).data == []
    assert [compartment.name for compartment in sdk.identity.list_compartments(TENANCY.id, name="batch").data] == [
        "batch"
    ]
    with refused(400, "InvalidParameter", "compartmentIdInSubtree"):
        sdk.identity.list_compartments(STORAGE, compartment_id_in_subtree=True)


def test_the_tenancy_subscribes_to_its_home_region(sdk: Clients) -> None:
    (subscription,) = sdk.identity.list_region_subscriptions(TENANCY.id).data
    assert (subscription.region_key, subscription.region_name, subscription.is_home_region) == (
        "FRA",
        "eu-frankfurt-1",
        True,
    )


def test_a_deleted_mount_target_takes_its_exports_export_set_and_address_with_it(region: Region, sdk: Clients) -> None:
    idle = next(target for target in TENANCY.mount_targets if target.name == "mt-idle")
    region.delete("mt-idle")

    assert [mount_target.display_name for mount_target in sdk.file_storage.list_mount_targets(BATCH, ZONE_2).data] == [
        "mt-scratch"
    ]
    assert len(sdk.file_storage.list_exports(compartment_id=BATCH).data) == 2
    assert len(sdk.file_storage.list_export_sets(BATCH, ZONE_2).data) == 1
    with refused(404, "NotAuthorizedOrNotFound"):
        sdk.file_storage.get_mount_target(idle.id)
    with refused(404, "NotAuthorizedOrNotFound"):
        sdk.network.get_private_ip(idle.private_ip_id)


def test_single_resources_bear_an_etag(sdk: Clients) -> None:
    assert sdk.file_storage.get_mount_target(TENANCY.named("mt-home")).headers["etag"]


def test_the_two_largest_models_agree_with_their_summaries(sdk: Clients) -> None:
    for summary in sdk.file_storage.list_file_systems(STORAGE, ZONE_1).data:
        whole = sdk.file_storage.get_file_system(summary.id).data
        assert (whole.display_name, whole.metered_bytes) == (summary.display_name, summary.metered_bytes)


def test_a_recovery_point_stands_still_between_snapshots(sdk: Clients, clock: Clock) -> None:
    seen = []
    for _ in range(240):
        clock.now += 30
        (replication,) = sdk.file_storage.list_replications(STORAGE, ZONE_1).data
        seen.append(replication.recovery_point_time.timestamp())
    assert len(set(seen)) in (2, 3), "two hours with an interval of one"
    assert sorted(seen) == seen
    assert all(moment % 3600 == 0 for moment in seen)
