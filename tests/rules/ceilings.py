"""Incidents and non-incidents of mount targets and of OCI's data: ramps, late data, changed ceilings, several causes, recoveries.

Importing this module adds them to `INCIDENTS`.
"""

from collections.abc import Callable

from tests.rules.fleets import stall
from tests.rules.incidents import FS, MT, clients, dead, hanging, incident, region, waiting
from tests.rules.simulator import START, Client, MountTarget, OfMinute, Poller, World, after
from tests.rules.variants import node_client, without


def ramp(before: float, later: float, minutes: int, start: int = START) -> OfMinute:
    """A value that moves in so many minutes, and stays."""
    return lambda m: before + (later - before) * min(1.0, max(0, m - start) / minutes)


def each_quarter(value: float, before: float, minutes: int) -> OfMinute:
    """A value in the first minutes of each quarter of an hour."""
    return lambda m: value if m >= START and (m - START) % 15 < minutes else before


def bursts(every: int) -> Callable[[int], int]:
    """Data that arrive in bursts: the newest minute known."""
    return lambda m: (m - 1) // every * every


def late(minutes: int) -> Callable[[int], int]:
    """Data that are some minutes old: the newest minute known."""
    return lambda m: m - minutes


# Ramps and saws.


@incident("more", "load grows from 50 to 100 % of the ceiling in two hours", ticket_by=82, tickets=1)
def _() -> World:
    return region({"iops": ramp(25_000, 50_000, 120)}, minutes=START + 130)


@incident("false", "load grows from 40 to 75 % of the ceiling in two hours", quiet=True)
def _() -> World:
    return region({"iops": ramp(20_000, 37_500, 120)}, minutes=START + 130)


@incident("more", "load grows to the ceiling in an hour, and requests become slow at 97 %", page_by=66, ticket_by=44)
def _() -> World:
    return region({"iops": ramp(25_000, 50_000, 60), "latency": ramp(0.004, 0.06, 12, START + 50)}, minutes=START + 80)


@incident("more", "connections grow from 20 to 98 % in an hour", ticket_by=60, tickets=1)
def _() -> World:
    return region({"connections": ramp(20_000, 98_000, 60)}, minutes=START + 70)


@incident(
    "false", "a cron job reads at 90 % of the IOPS for three minutes each quarter of an hour: no flapping", tickets=1
)
def _() -> World:
    return region({"iops": each_quarter(45_000, 10_000, 3)}, minutes=START + 120)


@incident("false", "a cron job fills the bandwidth for six minutes each quarter of an hour: no flapping", tickets=1)
def _() -> World:
    return region({"read_bytes": each_quarter(9.9e8, 1e8, 6)}, minutes=START + 120)


@incident("more", "a cron job makes requests slow for three minutes each quarter of an hour", ticket_by=120, tickets=2)
def _() -> World:
    return region({"latency": each_quarter(0.05, 0.004, 3)}, minutes=START + 120)


@incident("more", "a cron job fails for one minute each quarter of an hour", tickets=1)
def _() -> World:
    return region({"success": each_quarter(0.95, 1.0, 1)}, minutes=START + 120)


@incident("false", "four minutes at 90 % of the ceiling during a deploy", lasting=8)
def _() -> World:
    return region({"iops": after(45_000, 20_000, minutes=4)}, minutes=START + 40)


@incident("false", "requests fail for two minutes", lasting=6)
def _() -> World:
    return region({"success": after(0.95, 1.0, minutes=2)}, minutes=START + 40)


# What a mount target is full of.


@incident("more", "writes fill the bandwidth, and only writes are slow", page_by=10, ticket_by=8)
def _() -> World:
    world = region({"write_bytes": after(9.8e8, 1e8)})
    for name, values in world.series.items():
        if name.startswith("fss_file_system_write_latency"):
            world.series[name] = [0.06 if m > START else value for m, value in enumerate(values)]
    return world


@incident("more", "reads fill the bandwidth, and only reads are slow", page_by=10, ticket_by=8)
def _() -> World:
    world = region({"read_bytes": after(9.8e8, 1e8)})
    for name, values in world.series.items():
        if name.startswith("fss_file_system_read_latency"):
            world.series[name] = [0.06 if m > START else value for m, value in enumerate(values)]
    return world


@incident("more", "metadata fills the IOPS and is slow", page_by=10, ticket_by=8)
def _() -> World:
    world = region({"iops": after(49_500, 10_000)})
    for name, values in world.series.items():
        if name.startswith("fss_file_system_metadata_latency"):
            world.series[name] = [0.03 if m > START else value for m, value in enumerate(values)]
    return world


@incident("more", "the IOPS are at 96 %, and latency is a third over the objective", page_by=15, ticket_by=8)
def _() -> World:
    return region({"iops": after(48_000, 10_000), "latency": after(0.027, 0.004)})


@incident("more", "the IOPS are at 99 %, and one client of five hangs", page_by=10, ticket_by=8)
def _() -> World:
    return hanging(clients(region({"iops": after(49_500, 10_000)}), 4), 1, 4)


# Ceilings and objectives that change.


@incident("more", "a full mount target becomes a high performance mount target", ticket_by=8, lasting=20, tickets=1)
def _() -> World:
    world = region({"iops": after(49_500, 10_000)}, minutes=START + 50)
    for name, values in world.series.items():
        if "_limit{" in name:
            world.series[name] = [5 * (value or 0) if m >= START + 15 else value for m, value in enumerate(values)]
    return world


@incident("more", "a high performance mount target becomes a standard one under its load", ticket_by=8)
def _() -> World:
    world = region({"iops": 45_000, "limit": 50_000})
    for name, values in world.series.items():
        if "_limit{" in name:
            world.series[name] = [5 * (value or 0) if m < START else value for m, value in enumerate(values)]
    return world


@incident("more", "the configuration states a ceiling of 20,000 IOPS", ticket_by=8)
def _() -> World:
    return region({"iops": after(18_000, 5_000), "limit": 20_000})


@incident("false", "the configuration states a ceiling of 500,000 IOPS", quiet=True)
def _() -> World:
    return region({"iops": after(60_000, 5_000), "limit": 500_000})


@incident("more", "the configuration states an objective of 2 ms, and requests take 5 ms", page_by=10)
def _() -> World:
    world = region({"latency": after(0.005, 0.001)})
    for kind, size in (("read", "8KiB_to_64KiB"), ("write", "8KiB_to_64KiB"), ("metadata", "")):
        world.add("fss_mount_target_latency_objective_seconds", {**MT, "kind": kind, "size": size}, 0.002)
    return world


@incident("false", "the configuration promises 90 % of good minutes, and one of 15 fails", quiet=True)
def _() -> World:
    world = region({"success": each_quarter(0.98, 1.0, 1)}, minutes=START + 90)
    for slo in ("availability", "latency"):
        world.add("fss_mount_target_slo_objective_ratio", {**MT, "slo": slo}, 0.9)
    return world


# OCI's data come late.


@incident("false", "OCI data are 3 minutes old", quiet=True)
def _() -> World:
    return region(arrived=late(3))


@incident("false", "OCI data are 5 minutes old", quiet=True)
def _() -> World:
    return region(arrived=late(5))


@incident("more", "OCI data are 10 minutes old", ticket_by=20)
def _() -> World:
    return region(arrived=lambda m: m - (1 if m < START else 10), minutes=START + 40)


@incident("false", "OCI data arrive in bursts of five minutes", quiet=True)
def _() -> World:
    return region(arrived=bursts(5))


@incident("delay", "latency at twice the objective, with data that are two minutes old", page_by=10)
def _() -> World:
    return region({"latency": after(0.04, 0.004)}, arrived=late(2))


@incident("delay", "latency at twice the objective, with data that are three minutes old", page_by=11)
def _() -> World:
    return region({"latency": after(0.04, 0.004)}, arrived=late(3))


@incident("delay", "latency at twice the objective, with data that are five minutes old", page_by=13)
def _() -> World:
    return region({"latency": after(0.04, 0.004)}, arrived=late(5))


@incident("delay", "latency at twice the objective, with data in bursts of five minutes", page_by=14)
def _() -> World:
    return region({"latency": after(0.04, 0.004)}, arrived=bursts(5))


@incident("delay", "a full ceiling, with data in bursts of five minutes", ticket_by=12)
def _() -> World:
    return region({"iops": after(49_500, 10_000)}, arrived=bursts(5))


@incident("delay", "a full ceiling, with data that are three minutes old", ticket_by=9)
def _() -> World:
    return region({"iops": after(49_500, 10_000)}, arrived=late(3))


@incident("delay", "total outage, with data that are three minutes old", page_by=8)
def _() -> World:
    return region({"success": after(0.0, 1.0)}, arrived=late(3))


@incident("delay", "10 % of the requests fail, with data in bursts of five minutes", page_by=13)
def _() -> World:
    return region({"success": after(0.9, 1.0)}, arrived=bursts(5))


@incident("false", "one burst of 3 slow minutes, with data in bursts of five minutes", lasting=12)
def _() -> World:
    return region({"latency": after(0.05, 0.004, minutes=3)}, arrived=bursts(5), minutes=START + 40)


@incident("false", "OCI Monitoring publishes nothing for five minutes", quiet=True)
def _() -> World:
    return region(arrived=lambda m: START - 1 if START <= m < START + 5 else m - 1)


@incident("false", "OCI publishes no share of good requests at night, when nobody asks", quiet=True)
def _() -> World:
    night = after(None, 1.0)
    idle = after(0, 300)
    world = region(
        {"success": night, "requests": idle, "iops": idle, "latency": after(None, 0.004)}, minutes=START + 60
    )
    return clients(world, 3, operations=after(0, 50))


# The poller and the inventory.


@incident("more", "OCI throttles the poller, and data are 7 minutes old", ticket_by=25)
def _() -> World:
    world = region(arrived=lambda m: m - (1 if m < START else 7), minutes=START + 40)
    call = {"job": "fss", "instance": "poller-1:10949", "region": "eu-1", "operation": "SummarizeMetricsData"}
    world.count("fss_oci_api_requests_total", {**call, "outcome": "throttled"}, after(0.5))
    world.count("fss_oci_api_requests_total", {**call, "outcome": "ok"}, 0.3)
    return world


@incident("false", "OCI throttles the poller for three minutes", quiet=True)
def _() -> World:
    world = region()
    call = {"job": "fss", "instance": "poller-1:10949", "region": "eu-1", "operation": "SummarizeMetricsData"}
    world.count("fss_oci_api_requests_total", {**call, "outcome": "throttled"}, after(0.2, minutes=3))
    world.count("fss_oci_api_requests_total", {**call, "outcome": "ok"}, 0.5)
    return world


@incident("false", "one inventory call fails for ten minutes", quiet=True)
def _() -> World:
    world = region()
    call = {"job": "fss", "instance": "poller-1:10949", "region": "eu-1", "operation": "ListSubnets"}
    world.add("fss_oci_inventory_success", call, after(0, 1, minutes=10))
    return world


@incident("false", "the clock of a poller is 45 seconds ahead", quiet=True)
def _() -> World:
    return region(clock=45)


@incident("false", "a poller is replaced by another host", quiet=True)
def _() -> World:
    world = region(scraped=dead, gone=True, minutes=START + 40)
    begun: OfMinute = lambda m: 1 if m >= START + 2 else None  # noqa: E731  # one expression
    MountTarget(Poller(world, instance="poller-9:10949", scraped=begun, gone=True).add()).add()
    return world


@incident("more", "the pod of the poller moves while a mount target is full", ticket_by=11, tickets=1)
def _() -> World:
    world = region({"iops": after(49_500, 10_000)}, scraped=lambda m: 1 if m < START + 12 else None, gone=True)
    begun: OfMinute = lambda m: 1 if m >= START + 14 else None  # noqa: E731  # one expression
    other = Poller(world, instance="10.244.0.7:10949", scraped=begun, gone=True).add()
    MountTarget(other, iops=after(49_500, 10_000)).add()
    return world


@incident("noise", "both pollers of a region die", page_by=13)
def _() -> World:
    world = region(scraped=dead)
    MountTarget(Poller(world, instance="poller-2:10949", scraped=dead).add()).add()
    return world


@incident("noise", "a poller dies, comes back after 20 minutes and is refused for ten: one page", page_by=13)
def _() -> World:
    everything = [
        *"MountTargetIOPS MountTargetConnections MountTargetReadThroughput MountTargetWriteThroughput".split(),
        *"MountTargetHealth FileSystemReadRequestsbySize FileSystemWriteRequestsbySize".split(),
        *"MetadataIOPS MetadataRequestAverageLatency".split(),
    ]
    return region(
        scraped=lambda m: None if START <= m < START + 20 else 1,
        failing=lambda m: everything if START + 20 <= m < START + 30 else (),
        minutes=START + 60,
    )


# Mount targets that come and go.


@incident("more", "a new mount target is full with its first load", ticket_by=20)
def _() -> World:
    new: OfMinute = lambda m: 1 if m >= START else None  # noqa: E731  # one expression
    load: OfMinute = lambda m: 49_500 if m >= START + 10 else 0  # noqa: E731  # one expression
    return region({}, {"name": "mt-new", "address": "10.0.0.2", "known": new, "iops": load})


@incident("false", "a mount target is being made for five minutes, and then deleted", quiet=True)
def _() -> World:
    world = region()
    for state, start, minutes in (("CREATING", START, 5), ("DELETING", START + 15, 5)):
        info = {
            **MT,
            "mount_target_id": "ocid1.mounttarget.new",
            "mount_target": "new",
            "address": "10.0.0.9",
            "state": state,
        }
        world.add("fss_mount_target_info", info, after(1, None, start=start, minutes=minutes))
    return world


@incident("silent", "a mount target is deleted while its clients use it", page_by=8)
def _() -> World:
    world = region({}, {"name": "mt-b", "address": "10.0.0.2", "known": after(None, 1)})
    return hanging(world, 4, address="10.0.0.2")


@incident("false", "a mount target is deleted and made again with the same address", quiet=True)
def _() -> World:
    world = region({"known": lambda m: 1 if m < START else None, "oci_id": "ocid1.mounttarget.old"}, minutes=START + 40)
    watching = Poller(world)
    MountTarget(watching, oci_id="ocid1.mounttarget.new", known=lambda m: 1 if m >= START + 3 else None).add()
    return clients(world, 3)


# Identities, replications and quotas.


@incident("more", "a fifth of the LDAP lookups time out", ticket_by=30)
def _() -> World:
    world = region()
    world.count("fss_ldap_requests_total", {**MT, "outbound_connector": "ldap", "request_type": "user"}, 1)
    failed = {**MT, "outbound_connector": "ldap", "request_type": "user", "error_type": "timeout"}
    world.count("fss_ldap_request_errors_total", failed, after(0.2))
    return world


@incident("noise", "the KDC is down, and a tenth of the requests fails: one page", page_by=8, ticket_by=15)
def _() -> World:
    world = region({"success": after(0.9, 1.0)})
    world.count("fss_kerberos_errors_total", {**MT, "error_type": "clock_skew"}, after(2))
    return world


@incident("false", "one Kerberos error", quiet=True)
def _() -> World:
    world = region()
    world.count("fss_kerberos_errors_total", {**MT, "error_type": "clock_skew"}, after(1 / 60, minutes=1))
    return world


@incident("false", "a single write over a hard quota")
def _() -> World:
    world = region()
    world.count("fss_file_system_hard_quota_violations_total", FS, after(1 / 60, minutes=1))
    return world


def replicated(age: OfMinute, minutes: int) -> World:
    """A replication with an interval of an hour."""
    world = region(minutes=minutes)
    one = {
        "job": "fss",
        "instance": "poller-1:10949",
        "region": "eu-1",
        "replication_id": "ocid1.replication.r",
        "replication": "r",
    }
    world.add("fss_replication_interval_seconds", one, 3600)
    world.add("fss_replication_recovery_point_age_seconds", one, age)
    return world


@incident("more", "a replication stops", ticket_by=150)
def _() -> World:
    return replicated(lambda m: 1800 + max(0, m - START) * 60, START + 160)


@incident("false", "the age of a replication's copy goes up and down with its interval", quiet=True)
def _() -> World:
    return replicated(lambda m: 1500 + m % 60 * 60, START + 150)


# Idle systems.


@incident("false", "one request a minute that takes 300 ms, at OCI and at the client", quiet=True)
def _() -> World:
    world = region({"requests": 0.017, "iops": 0.03, "latency": 0.3}, minutes=START + 60)
    return clients(world, 1, operations=0.004, rtt=0.3)


@incident("silent", "the single client of an idle mount target hangs", page_by=6)
def _() -> World:
    world = region({"requests": 0.017, "iops": 0.03, "success": None})
    return clients(world, 1, operations=after(0, 0.02), unanswered=waiting)


# Several causes, and recoveries.


@incident(
    "noise", "one mount target is full and another hangs: one page, one ticket", page_by=6, ticket_by=8, tickets=1
)
def _() -> World:
    world = region({"iops": after(49_500, 10_000)}, {"name": "mt-b", "address": "10.0.0.2"})
    return hanging(world, 4, address="10.0.0.2")


@incident("noise", "a mount target is slow, and the poller of another region dies: two pages", page_by=11, pages=2)
def _() -> World:
    world = region({"latency": after(0.05, 0.004)})
    MountTarget(
        Poller(world, region="us-1", instance="p-2:1", scraped=dead).add(), name="mt-us", address="10.1.0.1"
    ).add()
    return world


@incident("noise", "a mount target hangs, fails at OCI and is FAILED in the inventory: one page", page_by=6)
def _() -> World:
    world = region({"success": after(0.2, 1.0), "state": lambda m: "ACTIVE" if m < START + 8 else "FAILED"})
    return hanging(world, 5)


@incident("noise", "all clients hang for 20 minutes: nothing after recovery", page_by=6, lasting=21)
def _() -> World:
    back = after(0, 50, minutes=20)
    return clients(region(minutes=START + 45), 4, operations=back, unanswered=stall(20))


@incident("noise", "10 % of the requests fail for 20 minutes: nothing after recovery", page_by=8, lasting=21)
def _() -> World:
    return region({"success": after(0.9, 1.0, minutes=20)}, minutes=START + 60)


@incident("noise", "requests are slow for 20 minutes: nothing after recovery", page_by=10, lasting=21)
def _() -> World:
    return region({"latency": after(0.05, 0.004, minutes=20)}, minutes=START + 60)


@incident("noise", "clients are slow for 20 minutes, and OCI is not: nothing after recovery", page_by=10, lasting=21)
def _() -> World:
    return clients(region(minutes=START + 60), 3, rtt=after(0.05, 0.003, minutes=20))


@incident("noise", "a mount target is full for 20 minutes: nothing after recovery", ticket_by=8, lasting=21, tickets=1)
def _() -> World:
    return region({"iops": after(49_500, 10_000, minutes=20)}, minutes=START + 60)


@incident(
    "noise", "three mount targets of a region are down, and recover one after another: one page", page_by=6, lasting=30
)
def _() -> World:
    mount_targets = (
        {"name": f"mt-{n}", "address": f"10.0.1.{n}", "success": after(0.0, 1.0, minutes=10 * n)} for n in (1, 2, 3)
    )
    return region(*mount_targets, minutes=START + 60)


@incident("noise", "a mount target is down, and is slow for three minutes more: one page", page_by=6, lasting=18)
def _() -> World:
    return region(
        {"success": after(0.0, 1.0, minutes=12), "latency": after(0.06, 0.004, minutes=15)}, minutes=START + 50
    )


@incident("noise", "clients of one mount target hang, and node_exporter sees the same: one page", page_by=6, lasting=16)
def _() -> World:
    world = clients(region(minutes=START + 40), 3, operations=after(0, 50, minutes=15), unanswered=stall(15))
    Client(world, "web-9").add()
    node_client(world, "web-9")
    return world


@incident("noise", "a region without agents: all requests end for 20 minutes", page_by=7, lasting=24)
def _() -> World:
    no = after(0.0, 300, minutes=20)
    return without(
        region({"success": after(0.0, 1.0, minutes=20), "requests": no, "iops": no}, minutes=START + 60), "fss_client"
    )
