"""Incidents and non-incidents of OCI's data, of pollers, and of mount targets that come and go.

Importing this module adds them to `INCIDENTS`.
"""

from collections.abc import Callable

from tests.rules.incidents import MT, clients, dead, hanging, incident, region
from tests.rules.simulator import START, MountTarget, OfMinute, Poller, World, after


def bursts(every: int) -> Callable[[int], int]:
    """Data that arrive in bursts: the newest minute known."""
    return lambda m: (m - 1) // every * every


def late(minutes: int) -> Callable[[int], int]:
    """Data that are some minutes old: the newest minute known."""
    return lambda m: m - minutes


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


@incident(
    "false", "one burst of 8 minutes at ten times the objective, with data that are three minutes old", lasting=20
)
def _() -> World:
    return region({"latency": after(0.2, 0.004, minutes=8)}, arrived=late(3), minutes=START + 40)


@incident("false", "OCI Monitoring publishes nothing for five minutes", quiet=True)
def _() -> World:
    return region(arrived=lambda m: START - 1 if START <= m < START + 5 else m - 1)


@incident("false", "OCI publishes no share of good requests at night, when no client sends requests", quiet=True)
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


def pair(world: World) -> World:
    """The world with a second poller of the region that is well."""
    MountTarget(Poller(world, instance="poller-2:10949").add()).add()
    return world


@incident("silent", "two pollers of one region are in the job of 50 agents, and one dies", ticket_by=40)
def _() -> World:
    return clients(pair(region(scraped=dead, minutes=START + 45)), 50)


@incident("silent", "two pollers watch one region, and the queries of one are refused", ticket_by=15)
def _() -> World:
    return pair(region(failing=lambda m: ("MountTargetIOPS", "MountTargetHealth") if m >= START else ()))


@incident("false", "the clock of a poller jumps an hour back for three minutes")
def _() -> World:
    return region(clock=after(-3600, minutes=3))


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
