"""Incidents and non-incidents of objectives, budgets and ceilings: flapping, ramps, batches, shapes, replications.

Importing this module adds them to `INCIDENTS`.
"""

from tests.rules.ceilings import ramp
from tests.rules.incidents import FS, MT, _weeks, clients, incident, region
from tests.rules.lateness import late
from tests.rules.recoveries import replicated
from tests.rules.simulator import START, MountTarget, OfMinute, Poller, World, after
from tests.rules.variants import at_the_limit

WEEK = 10_080


def objectives(world: World, seconds: float, name: str = "mt-a", kinds: str = "read write metadata") -> World:
    """The world with a latency objective of a mount target."""
    place = {**MT, "mount_target": name, "mount_target_id": f"ocid1.mounttarget.{name}"}
    for kind in kinds.split():
        size = "" if kind == "metadata" else "8KiB_to_64KiB"
        world.add("fss_mount_target_latency_objective_seconds", {**place, "kind": kind, "size": size}, seconds)
    return world


def limited(world: World, metric: str, value: OfMinute) -> World:
    """The world with another ceiling."""
    for name, values in world.series.items():
        if name.startswith(f"fss_mount_target_{metric}_limit{{"):
            world.series[name] = [value(minute) for minute in range(len(values))]
    return world


def in_turn(high: float, low: float, minutes: int, before: float) -> OfMinute:
    """A value that changes each few minutes."""
    return lambda m: before if m < START else high if (m - START) // minutes % 2 == 0 else low


# Objectives.


@incident("more", "two mount targets take 40 ms, and one of them has an objective of 50 ms: one page", page_by=10)
def _() -> World:
    slow = after(0.04, 0.004)
    return objectives(region({"latency": slow}, {"name": "mt-b", "address": "10.0.0.2", "latency": slow}), 0.05)


@incident("false", "reads take 40 ms where the objective of reads alone is 50 ms", quiet=True)
def _() -> World:
    world = region(minutes=START + 60)
    for name, values in world.series.items():
        if name.startswith("fss_file_system_read_latency"):
            world.series[name] = [0.04 if m > START else value for m, value in enumerate(values)]
    return objectives(world, 0.05, kinds="read")


@incident("false", "latency is at 97 % of the objective for two hours", quiet=True)
def _() -> World:
    return clients(region({"latency": after(0.0097, 0.004)}, minutes=START + 120), 3, rtt=after(0.0097, 0.003))


@incident("more", "the objective is raised in the configuration while its page fires", page_by=10, lasting=40)
def _() -> World:
    world = clients(region({"latency": after(0.04, 0.004)}, minutes=START + 90), 3)
    lenient = lambda m: 0.05 if m >= START + 20 else None  # noqa: E731  # one expression
    for kind, size in (("read", "8KiB_to_64KiB"), ("write", "8KiB_to_64KiB"), ("metadata", "")):
        world.add("fss_mount_target_latency_objective_seconds", {**MT, "kind": kind, "size": size}, lenient)
    return world


@incident("more", "5 % of a mount target's requests go to a file system that fails wholly", page_by=10)
def _() -> World:
    return region({"success": after(0.945, 1.0)})


# Error budgets.


@incident(
    "more", "the budget is spent by an outage, and two days later 2 % fail for an hour", page_by=10, ticket_by=2945
)
def _() -> World:
    world = World(START + 2 * 1440 + 180, step=2)
    later = START + 2 * 1440

    def success(minute: int) -> float:
        return 0.0 if START <= minute < START + 30 else 0.98 if later <= minute < later + 60 else 1.0

    world.add("fss_mount_target_success_ratio", MT, success)
    world.add("fss_mount_target_iops", MT, 5_000)
    return world


@incident("more", "two outages of 20 minutes, three hours apart: two pages", page_by=6, pages=2, lasting=203)
def _() -> World:
    down = lambda m: 0.0 if START <= m < START + 20 or START + 180 <= m < START + 200 else 1.0  # noqa: E731  # one expression
    return region({"success": down}, minutes=START + 260)


@incident("false", "3 % of the requests fail for four minutes in each hour of a night")
def _() -> World:
    return region({"success": lambda m: 0.97 if m >= START and (m - START) % 60 < 4 else 1.0}, minutes=START + 480)


@incident("more", "every hour has six minutes at three times the objective", ticket_by=500)
def _() -> World:
    slow = lambda m: 0.05 if m >= START and (m - START) % 60 < 6 else 0.004  # noqa: E731  # one expression
    return region({"latency": slow}, minutes=START + 500)


# Ramps, batches, flapping.


@incident("false", "Monday morning: from 5 to 75 % of the ceiling within ten minutes", quiet=True)
def _() -> World:
    return clients(region({"iops": ramp(2_500, 37_500, 10), "connections": ramp(50, 4_000, 10)}, minutes=START + 60), 4)


@incident("more", "Monday morning: an hour at 88 % of the ceiling with good latency", ticket_by=12, tickets=1)
def _() -> World:
    return region({"iops": lambda m: ramp(2_500, 44_000, 5)(m) if m < START + 65 else 25_000}, minutes=START + 120)


@incident("more", "a monthly batch of four hours at 92 % of the ceiling", ticket_by=8, tickets=1)
def _() -> World:
    return region({"iops": after(46_000, 5_000, minutes=240)}, minutes=START + 300)


@incident("false", "a monthly batch of five hours at 75 % of the ceiling is no forecast", quiet=True)
def _() -> World:
    return _weeks(lambda m: 37_500 if 26 * 1440 <= m < 26 * 1440 + 300 else 10_000, 33)


@incident("false", "the load doubles once from 20 to 40 % of the ceiling and stays: no forecast", quiet=True)
def _() -> World:
    return _weeks(lambda m: 10_000 if m < 3 * WEEK else 20_000, 36)


@incident("more", "IOPS of 79 and 82 % of the ceiling, each for four minutes in turn", tickets=1)
def _() -> World:
    return region({"iops": in_turn(41_000, 39_500, 4, 10_000)}, minutes=START + 120)


@incident("more", "connections of 79 and 81 % of the ceiling, each for three minutes in turn", tickets=1)
def _() -> World:
    return region({"connections": in_turn(81_000, 79_000, 3, 200)}, minutes=START + 120)


@incident("more", "latency goes over the objective for four minutes of each twelve: one page", page_by=60)
def _() -> World:
    return region({"latency": lambda m: 0.03 if m >= START and (m - START) % 12 < 4 else 0.004}, minutes=START + 120)


@incident("more", "latency goes over the objective for eight minutes of each twenty: one page", page_by=60)
def _() -> World:
    return region({"latency": lambda m: 0.05 if m >= START and (m - START) % 20 < 8 else 0.004}, minutes=START + 180)


@incident("more", "latency goes over the objective for four minutes of each thirteen: one page", page_by=90)
def _() -> World:
    return region({"latency": lambda m: 0.03 if m >= START and (m - START) % 13 < 4 else 0.004}, minutes=START + 180)


@incident("more", "a tenth of the requests fails for two minutes of each twelve", ticket_by=90)
def _() -> World:
    return region({"success": lambda m: 0.9 if m >= START and (m - START) % 12 < 2 else 1.0}, minutes=START + 180)


@incident("more", "a new file system is filled at the write bandwidth with good latency", ticket_by=8, tickets=1)
def _() -> World:
    world = World(START + 60)
    poller = Poller(world).add()
    load = after(9.9e8, 1e7)
    MountTarget(poller, write_bytes=load, file_systems={"fs-1": 0.1, "fs-new": 0.9}).add()
    world.series = {
        name: [None if m < START else v for m, v in enumerate(values)] if "fs-new" in name else values
        for name, values in world.series.items()
    }
    return world


# Ceilings and shapes.


@incident(
    "more",
    "a mount target gets a larger shape, and its poller knows the old ceiling for 30 minutes",
    ticket_by=8,
    tickets=1,
)
def _() -> World:
    world = region({"read_bytes": after(2.3e9, 5e8)}, minutes=START + 90)
    return limited(world, "read_bytes_per_second", lambda m: 1e9 if m < START + 30 else 5e9)


@incident("more", "the ceiling is lowered in the configuration while its ticket is open", ticket_by=8, tickets=1)
def _() -> World:
    world = region({"iops": after(45_000, 10_000)}, minutes=START + 60)
    return limited(world, "iops", lambda m: 50_000 if m < START + 20 else 46_000)


@incident("false", "a ceiling of 0 in the configuration is no ceiling", quiet=True)
def _() -> World:
    return limited(clients(region({"iops": after(60_000, 5_000)}), 2), "iops", lambda _: 0)


@incident("more", "a high performance mount target of 80 Gbit/s writes at 97 % of a stated ceiling", ticket_by=8)
def _() -> World:
    return limited(region({"write_bytes": after(9.7e9, 1e9)}), "write_bytes_per_second", lambda _: 1e10)


@incident("more", "nconnect goes from 1 to 16 at 230 clients, with a stated ceiling of 4,096 connections", ticket_by=8)
def _() -> World:
    return limited(region({"connections": after(3_680, 230)}), "connections", lambda _: 4_096)


@incident("more", "one mount target fewer than the service limit, and a mount target is full", ticket_by=8, tickets=1)
def _() -> World:
    world = at_the_limit(region({"iops": after(49_500, 10_000)}))
    for name in world.series:
        if name.startswith("fss_oci_mount_targets{"):
            world.series[name] = [1 for _ in world.series[name]]
    return world


@incident("more", "a full ceiling, with data that are five minutes old", ticket_by=12)
def _() -> World:
    return region({"iops": after(49_500, 10_000)}, arrived=late(5))


@incident("more", "the IOPS and both bandwidths are full, with good latency", ticket_by=8, tickets=3)
def _() -> World:
    full: dict[str, object] = {
        "iops": after(49_500, 10_000),
        "read_bytes": after(9.9e8, 1e8),
        "write_bytes": after(9.9e8, 1e8),
    }
    return region(full, minutes=START + 60)


# Replications.


@incident("false", "the interval of a replication goes from four hours to one: the next copy ends after 80 minutes")
def _() -> World:
    world = replicated(lambda m: (m + 60) % 140 * 60, START + 150)
    for name in world.series:
        if name.startswith("fss_replication_interval"):
            world.series[name] = [14_400 if m < START else 3_600 for m in range(START + 151)]
    return world


@incident("false", "the target of a replication has a mount target that no client uses", quiet=True)
def _() -> World:
    idle = {"name": "mt-target", "address": "10.0.0.2", "iops": 0, "read_bytes": 0, "write_bytes": 5e7, "requests": 0.2}
    world = region({}, {**idle, "success": None, "latency": None, "connections": 0}, minutes=START + 90)
    world.add(
        "fss_export_info",
        {**FS, "mount_target_id": "ocid1.mounttarget.mt-target", "mount_target": "mt-target", "state": "ACTIVE"},
        1,
    )
    return world


@incident("more", "a replication is deleted after it was behind", ticket_by=135, lasting=190)
def _() -> World:
    age = lambda m: (m - START + 30) * 60 if START <= m < START + 160 else None if m >= START + 160 else 1800  # noqa: E731  # one expression
    world = replicated(age, START + 220)
    for name in world.series:
        if name.startswith("fss_replication_interval"):
            world.series[name] = [3_600 if m < START + 160 else None for m in range(START + 221)]
    return world
