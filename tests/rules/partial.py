"""Incidents and non-incidents of trouble that returns each hour, of data that OCI publishes in part, and of unusual objectives.

Importing this module adds them to `INCIDENTS`.
"""

from collections.abc import Callable

from tests.rules.fleets import twice
from tests.rules.incidents import MT, clients, dead, hanging, incident, region
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


# Data of one mount target, and mount targets that leave the listing.


def another(world: World, arrived: Callable[[int], int], **how: object) -> World:
    """The world with a second mount target, whose data arrive apart from those of the first."""
    MountTarget(Poller(world, arrived=arrived), name="mt-b", address="10.0.0.2", **how).add()  # type: ignore[arg-type]  # a table of arguments
    return world


@incident("false", "the data of one mount target come six minutes at once, at 60 % of its ceiling", quiet=True)
def _() -> World:
    return another(
        region(minutes=START + 40), lambda m: START - 2 if START - 1 <= m < START + 5 else m - 1, iops=30_000
    )


@incident(
    "false",
    "the estimate of OCI stands still at 95 %, because no data arrive: no ticket about IOPS",
    page_by=30,
    ticket_by=12,
    tickets=1,
)
def _() -> World:
    world = without(region(arrived=lambda m: min(m - 1, START)), "fss_mount_target_iops{", "fss_mount_target_io_oper")
    world.add("fss_mount_target_estimated_iops", MT, after(47_500, 20_000))
    return world


# Copies of a client, and addresses of one host.


@incident("false", "two replicas of Prometheus write to one store: 0.6 requests a second take 100 ms", quiet=True)
def _() -> World:
    slow = after(0.1, 0.003)
    return twice(
        clients(region({"requests": 0.6, "iops": 1}, minutes=START + 60), 1, operations=0.6, rtt=slow), "replica"
    )


@incident("noise", "one host with six encryption forwarders of its own loses its network: no region", page_by=6)
def _() -> World:
    world = clients(region(), 3)
    for number in range(6):
        hanging(world, 1, 3, address=f"192.168.{number}.2")
    return world


# Pollers that return.


@incident("false", "the only poller has a new instance name after each of four restarts", quiet=True)
def _() -> World:
    world = World(START + 90)
    for number in range(4):
        there = lambda m, n=number: 1 if 30 * n <= m < 30 * n + 27 else None  # noqa: E731  # one expression
        MountTarget(Poller(world, instance=f"poller-{number}:10949", scraped=there, gone=True).add()).add()
    return world


@incident("noise", "OCI throttles the poller for five minutes of each hour: one ticket", tickets=1)
def _() -> World:
    world = region(minutes=START + 200)
    call = {**POLLER, "operation": "SummarizeMetricsData"}
    throttled: OfMinute = lambda m: 0.4 if m >= START and (m - START) % 60 < 5 else 0  # noqa: E731  # one expression
    world.count("fss_oci_api_requests_total", {**call, "outcome": "throttled"}, throttled)
    world.count("fss_oci_api_requests_total", {**call, "outcome": "ok"}, 1)
    return world


@incident(
    "silent", "a mount target moves to a compartment without a policy, and its clients use it", ticket_by=60, tickets=1
)
def _() -> World:
    moved = {"name": "mt-b", "address": "10.0.0.2", "known": dead}
    return clients(region({}, moved, minutes=START + 150), 4, address="10.0.0.2")


@incident("silent", "OCI publishes nothing about a mount target for 30 hours: one page", page_by=20, tickets=0)
def _() -> World:
    world = region({}, {"name": "mt-b", "address": "10.0.0.2"}, minutes=START + 1800)
    gone = [name for name in world.series if "mt-b" in name and "_info" not in name and "_limit" not in name]
    return without(world, *gone, start=START)
