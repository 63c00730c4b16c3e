"""Incidents and non-incidents of change: maintenance, upgrades, restarts, clients that come and go, pollers that OCI refuses.

Importing this module adds them to `INCIDENTS`.
"""

from tests.rules.fleets import born, relabelled, stall
from tests.rules.incidents import MT, clients, dead, hanging, incident, region
from tests.rules.lateness import late
from tests.rules.simulator import START, Client, MountTarget, OfMinute, Poller, World, after
from tests.rules.stores import estimated

EVERYTHING = (
    "MountTargetIOPS MountTargetConnections MountTargetReadThroughput MountTargetWriteThroughput MountTargetHealth "
    "FileSystemReadRequestsbySize FileSystemWriteRequestsbySize MetadataIOPS MetadataRequestAverageLatency"
).split()


def begun_again(world: World, minute: int, *names: str) -> World:
    """The world with the counters of some targets, or of all, beginning again at 0 in one minute."""
    for name, values in world.series.items():
        if "_total{" in name and (not names or any(f'instance="{one}' in name for one in names)):
            base = values[minute] or 0
            world.series[name] = [v if m < minute or v is None else v - base for m, v in enumerate(values)]
    return world


# Maintenance.


@incident("false", "a mount target is taken out of service for 20 minutes after its clients left", quiet=True)
def _() -> World:
    away = after(None, 1.0, minutes=20)
    none = after(0, 300, minutes=20)
    load = {"iops": none, "requests": none, "read_bytes": none, "write_bytes": none, "connections": none}
    state = lambda m: "UPDATING" if START <= m < START + 20 else "ACTIVE"  # noqa: E731  # one expression
    world = region(
        {**load, "success": away, "latency": after(None, 0.004, minutes=20), "state": state}, minutes=START + 60
    )
    world.add("fss_mount_target_info", {**MT, "address": "10.0.0.1", "state": "UPDATING"}, after(1, None, minutes=20))
    return world


@incident("false", "all hosts are patched within ten minutes, each away for four", lasting=30)
def _() -> World:
    world = region(minutes=START + 60)
    for number in range(20):
        begin = START + number // 2
        there = lambda m, begin=begin: None if begin <= m < begin + 4 else 1  # noqa: E731  # one expression
        Client(world, f"web-{number}", scraped=there).add()
    return begun_again(world, START + 14)


@incident("false", "the only client of a mount target reboots for four minutes", quiet=True)
def _() -> World:
    return clients(region(), 1, scraped=lambda m: None if START <= m < START + 4 else 1)


@incident("false", "the only client of a mount target sees 60 ms for three minutes", quiet=True)
def _() -> World:
    return clients(region(), 1, rtt=after(0.06, 0.003, minutes=3))


@incident("more", "the only client of a mount target sees twice the objective, and OCI does not", page_by=10)
def _() -> World:
    return clients(region(), 1, rtt=after(0.045, 0.003))


@incident("silent", "the network between Prometheus and all agents is cut, and OCI is polled", ticket_by=12, tickets=1)
def _() -> World:
    return clients(region(), 10, scraped=dead)


# Upgrades and restarts.


@incident("false", "all agents restart in one minute, at 60 % of the ceiling by their estimates", quiet=True)
def _() -> World:
    return begun_again(estimated(clients(region(), 10, iops=3_000)), START)


@incident("more", "all agents restart in one minute while they see twice the objective", page_by=12)
def _() -> World:
    return begun_again(clients(region(), 10, rtt=after(0.045, 0.003)), START + 4)


@incident("noise", "all agents restart in a stall of all clients, and begin to count their wait again", page_by=8)
def _() -> World:
    wait = lambda m: max(0, m - (START if m < START + 2 else START + 2)) * 60  # noqa: E731  # one expression
    return clients(region(), 6, operations=after(0, 50), unanswered=wait)


@incident("false", "half of the agents have a version with one more label on each mount", quiet=True)
def _() -> World:
    world = clients(region(minutes=START + 60), 6, iops=2_500)
    newer = clients(World(START + 60), 6, 6, iops=2_500)
    world.series |= relabelled(newer, lambda name: f'{name[:-1]},nfs_version="3"}}', "fss_client_").series
    return estimated(world)


@incident("more", "half of the agents have a version with one more label, and a third of the clients hang", page_by=6)
def _() -> World:
    world = hanging(clients(region(), 4), 2, 4)
    newer = hanging(clients(World(), 4, 6), 2, 10)
    world.series |= relabelled(newer, lambda name: f'{name[:-1]},nfs_version="3"}}', "fss_client_").series
    return world


@incident("silent", "a poller restarts in a loop and never ends a poll", page_by=15)
def _() -> World:
    world = region(scraped=lambda m: None if m >= START and m % 2 else 1)
    own = tuple(one for one in world.series if not one.startswith(("up{", "fss_exporter_build_info", "fss_collector")))
    for name in own:
        world.series[name] = [value if m < START else None for m, value in enumerate(world.series[name])]
    return world


@incident("more", "a poller restarts every five minutes and polls between, and a mount target is full", ticket_by=16)
def _() -> World:
    return region(
        {"iops": after(49_500, 10_000)}, scraped=lambda m: None if m >= START and m % 5 == 0 else 1, minutes=START + 40
    )


@incident("more", "a poller restarts every five minutes and polls between, and a mount target is slow", page_by=16)
def _() -> World:
    return region(
        {"latency": after(0.05, 0.004)}, scraped=lambda m: None if m >= START and m % 5 == 0 else 1, minutes=START + 40
    )


# Clients that come and go.


@incident("false", "autoscaling adds 90 clients to ten within five minutes", quiet=True)
def _() -> World:
    world = clients(region({"iops": after(35_000, 5_000), "connections": after(900, 100)}), 10)
    for number in range(10, 100):
        Client(world, f"web-{number}", operations=10, scraped=born(START + number % 5), gone=True).add()
    return world


@incident("false", "autoscaling ends 60 of 80 clients, and discovery keeps them for four minutes", quiet=True)
def _() -> World:
    world = clients(region(), 20, operations=10)
    clients(world, 60, 20, operations=10, scraped=dead)
    for number in range(20, 80):
        (up,) = (one for one in world.series if one.startswith("up{") and f'"web-{number}:' in one)
        world.series[up] = [None if m >= START + 4 else value for m, value in enumerate(world.series[up])]
    return world


@incident("noise", "6 of 200 clients hang", ticket_by=10, tickets=1)
def _() -> World:
    return hanging(clients(region(), 194, operations=10), 6, 194)


@incident("silent", "60 of 200 clients hang", page_by=6)
def _() -> World:
    return hanging(clients(region(), 140, operations=10), 60, 140)


@incident("noise", "three of twenty clients hang for twelve minutes and come back", ticket_by=10, lasting=13, tickets=1)
def _() -> World:
    back = after(0, 50, minutes=12)
    return clients(clients(region(minutes=START + 45), 17), 3, 17, operations=back, unanswered=stall(12))


@incident("false", "six of twenty clients hang for 90 seconds and come back", quiet=True)
def _() -> World:
    return clients(clients(region(), 14), 6, 14, unanswered=lambda m: 60 if m == START + 1 else 0)


@incident("noise", "all clients hang, and half of their agents with them", page_by=6)
def _() -> World:
    world = hanging(region(), 5)
    return hanging(world, 5, 5, scraped=lambda m: 1 if m < START + 2 else None)


# Pollers that OCI refuses, clocks that jump, data that come back.


@incident("silent", "OCI refuses every request of a tenancy with 429 for 40 minutes", page_by=30, ticket_by=25)
def _() -> World:
    world = region(
        failing=lambda m: EVERYTHING if START <= m < START + 40 else (),
        arrived=lambda m: START - 1 if START <= m < START + 40 else m - 1,
        minutes=START + 60,
    )
    poller = {"job": "fss", "instance": "poller-1:10949", "region": "eu-1", "operation": "SummarizeMetricsData"}
    world.count("fss_oci_api_requests_total", {**poller, "outcome": "throttled"}, after(2, minutes=40))
    world.count("fss_oci_api_requests_total", {**poller, "outcome": "ok"}, after(0, 0.5, minutes=40))
    return world


@incident("false", "the clock of a poller is two minutes behind for three minutes", quiet=True)
def _() -> World:
    return region(clock=after(-120, 0, minutes=3))


@incident("silent", "the clock of a poller jumps an hour ahead, and OCI has no data of then", page_by=30, ticket_by=12)
def _() -> World:
    return region(clock=after(3600), arrived=lambda m: min(m - 1, START), minutes=START + 45)


@incident("false", "data of ten minutes come at once, at 79 % of the ceiling", tickets=1)
def _() -> World:
    return region(
        {"iops": 39_500, "read_bytes": 7.8e8},
        arrived=lambda m: START - 1 if START <= m < START + 10 else m - 1,
        minutes=START + 45,
    )


@incident("false", "data come back six minutes old after a gap, at 79 % of the ceiling", tickets=1)
def _() -> World:
    def arrived(minute: int) -> int:
        if minute < START or minute > START + 30:
            return minute - 1
        return max(START - 1, minute - 6)

    return region({"iops": 39_500, "read_bytes": 7.8e8}, arrived=arrived, minutes=START + 60)


@incident("more", "latency at twice the objective, with data that are five minutes old, and agents see it", page_by=10)
def _() -> World:
    slow = after(0.04, 0.004)
    return clients(region({"latency": slow}, arrived=late(5)), 3, rtt=after(0.04, 0.003))


@incident("noise", "two regions lose three mount targets each: one page for each region", page_by=6, pages=2)
def _() -> World:
    world = World()
    for number, name in enumerate(("eu-1", "us-1")):
        poller = Poller(world, region=name, instance=f"poller-{number}:10949").add()
        for one in range(3):
            MountTarget(poller, f"mt-{name}-{one}", f"10.{number}.0.{one}", success=after(0.0, 1.0)).add()
    return world


@incident("false", "a new mount target is put into use, and its poller learns of it after ten minutes", quiet=True)
def _() -> World:
    world = region({}, {"name": "mt-b", "address": "10.0.0.2", "known": born(START + 10)}, minutes=START + 40)
    return clients(world, 4, address="10.0.0.2", scraped=born(START), gone=True)


@incident("noise", "OCI loses a region: four mount targets hang, and Monitoring answers nothing: one page", page_by=6)
def _() -> World:
    mount_targets: list[dict[str, object]] = [{"name": f"mt-{n}", "address": f"10.0.1.{n}"} for n in range(4)]
    world = region(
        *mount_targets,
        failing=lambda m: EVERYTHING if m >= START else (),
        arrived=lambda m: min(m - 1, START),
        minutes=START + 45,
    )
    for number in range(4):
        hanging(world, 3, 3 * number, address=f"10.0.1.{number}")
    return world


@incident("noise", "four NFS servers that are no mount targets hang, where OCI is not polled: one page", page_by=6)
def _() -> World:
    world = World(START + 45)
    for number in range(4):
        hanging(world, 3, 3 * number, address=f"10.0.1.{number}")
    return world


@incident("false", "a mount target fails while it is made, and no client uses it", ticket_by=65)
def _() -> World:
    world = region(minutes=START + 80)
    new = {**MT, "mount_target": "new", "mount_target_id": "ocid1.mounttarget.new", "address": "10.0.0.9"}
    world.add("fss_mount_target_info", {**new, "state": "CREATING"}, after(1, None, minutes=3))
    world.add("fss_mount_target_info", {**new, "state": "FAILED"}, after(1, None, start=START + 3))
    return world


@incident("more", "a mount target that idle clients mount has FAILED", page_by=3)
def _() -> World:
    state = lambda m: "ACTIVE" if m < START else "FAILED"  # noqa: E731  # one expression
    return clients(region({"state": state, "requests": 0, "iops": 0, "connections": None}), 3, operations=0)


@incident("false", "the clients of a mount target leave, and an hour later OCI publishes nothing about it")
def _() -> World:
    def left(value: float) -> OfMinute:
        return lambda m: value if m < START else 0 if m < START + 60 else None

    load = {"iops": left(5_000), "requests": left(300), "connections": left(200), "read_bytes": left(1e8)}
    return region({}, {"name": "mt-b", "address": "10.0.0.2", **load, "write_bytes": left(1e8)}, minutes=START + 100)
