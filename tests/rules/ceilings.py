"""Incidents and non-incidents of ceilings: ramps, saws, what a mount target is full of, changed ceilings.

Importing this module adds them to `INCIDENTS`.
"""

from tests.rules.incidents import MT, clients, hanging, incident, region
from tests.rules.simulator import START, OfMinute, World, after


def ramp(before: float, later: float, minutes: int, start: int = START) -> OfMinute:
    """A value that moves in so many minutes, and stays."""
    return lambda m: before + (later - before) * min(1.0, max(0, m - start) / minutes)


def each_quarter(value: float, before: float, minutes: int) -> OfMinute:
    """A value in the first minutes of each quarter of an hour."""
    return lambda m: value if m >= START and (m - START) % 15 < minutes else before


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
