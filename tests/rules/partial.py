"""Incidents and non-incidents of trouble that returns each hour, of data that OCI publishes in part, and of unusual objectives.

Importing this module adds them to `INCIDENTS`.
"""

from tests.rules.incidents import MT, clients, dead, incident, region
from tests.rules.simulator import START, MountTarget, OfMinute, Poller, World, after
from tests.rules.variants import without

POLLER = {"job": "fss", "instance": "poller-1:10949", "region": "eu-1"}
VOLUME = {**POLLER, "service": "oci-block", "resource_id": "ocid1.volume.v", "resource": "vol"}


def each(minutes: int, count: int = 1) -> OfMinute:
    """A counter that grows at once, each so many minutes."""
    return lambda m: 0 if m < START else ((m - START) // minutes + 1) * count


# Trouble that returns.


@incident("noise", "a job hits its hard quota each 30 minutes for two hours: one ticket", ticket_by=10, tickets=1)
def _() -> World:
    world = region(minutes=START + 120)
    file_system = {**POLLER, "file_system_id": "fs-1", "file_system": "fs-1"}
    world.add("fss_file_system_hard_quota_violations_total", file_system, each(30))
    return world


@incident("noise", "an hourly job has an old keytab: one ticket", ticket_by=15, tickets=1)
def _() -> World:
    world = region(minutes=START + 150)
    world.add("fss_kerberos_errors_total", {**MT, "error_type": "KEYTAB"}, each(60, 5))
    return world


@incident("noise", "each copy of an hourly replication needs 80 minutes: one ticket", ticket_by=60, tickets=1)
def _() -> World:
    world = region(minutes=START + 300)
    replication = {**POLLER, "replication_id": "r-1", "replication": "r"}
    world.add("fss_replication_interval_seconds", replication, 3600)
    world.add(
        "fss_replication_recovery_point_age_seconds",
        {**replication, "side": "source"},
        lambda m: 1800 + m % 60 * 60 if m < START else 4800 + (m - START) % 80 * 60,
    )
    return world


# Other services of OCI.


@incident("silent", "a volume is at 95 % of its IOPS with writes alone, and OCI publishes no reads", ticket_by=10)
def _() -> World:
    world = region()
    world.add("fss_service_write_operations_per_second", VOLUME, after(23_750, 1_000))
    world.add("fss_service_iops_limit", VOLUME, 25_000)
    return world


@incident("false", "one operation of a million waits each eight minutes on a block volume", quiet=True)
def _() -> World:
    world = region(minutes=START + 60)
    world.add("fss_service_throttled_operations_total", VOLUME, each(8))
    return world


# Data in part.


@incident("silent", "two pollers list a compartment each of one region, and one dies among 60 agents", page_by=13)
def _() -> World:
    world = region(scraped=dead)
    MountTarget(Poller(world, instance="poller-2:10949").add(), name="mt-b", address="10.0.0.2").add()
    return clients(world, 60)


@incident(
    "noise",
    "two pollers list a compartment each, one dies, and its clients see 40 ms where its objective is 50 ms: one page",
    page_by=13,
)
def _() -> World:
    world = region(scraped=dead, minutes=START + 40)
    MountTarget(Poller(world, instance="poller-2:10949").add(), name="mt-b", address="10.0.0.2").add()
    for kind, size in (("read", "8KiB_to_64KiB"), ("write", "8KiB_to_64KiB"), ("metadata", "")):
        configured = {**MT, "kind": kind, "size": size}
        world.add("fss_mount_target_latency_objective_seconds", configured, lambda m: 0.05 if m < START else None)
    return clients(world, 30, rtt=0.04)


@incident("false", "a mount target without a byte and without published requests: each of three checks a minute fails")
def _() -> World:
    world = region({"success": after(0.0, 1.0), "connections": 2, "read_bytes": 0, "write_bytes": 0})
    return without(world, "fss_mount_target_iops{", "fss_mount_target_io_operations", "fss_file_system_")


@incident("silent", "the estimates of OCI are 70 and 98 % in turn, without MountTargetIOPS", ticket_by=12)
def _() -> World:
    world = without(region(), "fss_mount_target_iops{", "fss_mount_target_io_operations")
    load = lambda m: 10_000 if m < START else (49_000 if m % 2 else 35_000)  # noqa: E731  # one expression
    world.add("fss_mount_target_estimated_iops", MT, load)
    return world


# Objectives of good minutes.


@incident("silent", "90 % of good minutes are promised, and each request takes five times the objective", page_by=50)
def _() -> World:
    world = region({"latency": after(0.1, 0.004)}, minutes=START + 60)
    world.add("fss_mount_target_slo_objective_ratio", {**MT, "slo": "latency"}, 0.9)
    return world


@incident("false", "99.9 % of good minutes are promised, and two minutes are slow")
def _() -> World:
    world = region({"latency": after(0.1, 0.004, minutes=2)}, minutes=START + 40)
    world.add("fss_mount_target_slo_objective_ratio", {**MT, "slo": "latency"}, 0.999)
    return world
