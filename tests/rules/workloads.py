"""Incidents and non-incidents of workloads: bursts in late data, slow single hosts, flapping, jobs by the hour, rare requests, readers.

Importing this module adds them to `INCIDENTS`.
"""

from tests.rules.incidents import _weeks, clients, hanging, incident, region
from tests.rules.lateness import bursts
from tests.rules.simulator import START, OfMinute, World, after


def shifted(every: int, by: int) -> OfMinute:
    """Data that arrive in bursts, so many minutes after the burst of `bursts`: the newest minute known."""
    return lambda m: bursts(every)(m - by) + by


def numbered(count: int) -> list[dict[str, object]]:
    """So many mount targets, from 10.0.0.1 on."""
    return [{"name": f"mt-{number}", "address": f"10.0.0.{number}"} for number in range(1, count + 1)]


def by_the_hour(value: float, before: float, minutes: int) -> OfMinute:
    """A value in the first minutes of each hour."""
    return lambda m: value if m >= START and (m - START) % 60 < minutes else before


def readers(world: World, count: int, rtt: OfMinute | float = 0.003) -> World:
    """Clients that never write."""
    clients(world, count, rtt=rtt)
    for name, values in world.series.items():
        if 'class="write"' in name or 'class="metadata_write"' in name or "written_bytes" in name:
            world.series[name] = [0 if value is not None else None for value in values]
    return world


def exact(
    world: World, name: str, slow: float, start: int = START, minutes: int = 10**6, mean: float | None = None
) -> World:
    """The durations of the reads of a client in exact mode: a share of 50 requests a second is slow for some minutes.

    `mean` is the mean duration in those minutes, in seconds.
    """
    labels = {"job": "fss", "instance": f"{name}:10949", "address": "10.0.0.1", "class": "read"}
    for bound, share in (("0.004096", 1 - slow), ("0.016384", 1 - slow), ("0.131072", 1.0), ("+Inf", 1.0)):
        rate = after(50 * share, 50, start=start, minutes=minutes)
        world.count("fss_client_request_duration_seconds_bucket", {**labels, "le": bound}, rate)
    world.count("fss_client_request_duration_seconds_count", labels, 50)
    if mean is not None:
        rate = after(50 * mean, 50 * 0.003, start=start, minutes=minutes)
        world.count("fss_client_request_duration_seconds_sum", labels, rate)
    return world


# Bursts whose data arrive at once.


@incident("false", "one burst of 8 slow minutes, with data in bursts of five minutes")
def _() -> World:
    return region({"latency": after(0.2, 0.004, minutes=8)}, arrived=bursts(5), minutes=START + 60)


@incident("false", "one burst of 8 slow minutes, with data in bursts of five minutes, two minutes later")
def _() -> World:
    slow = after(0.2, 0.004, minutes=8)
    return region({"latency": slow}, arrived=shifted(5, 2), minutes=START + 60)


@incident("false", "a tenth of the requests fails in one minute, with data in bursts of five minutes")
def _() -> World:
    return region({"success": after(0.9, 1.0, minutes=1)}, arrived=bursts(5), minutes=START + 40)


@incident("false", "all requests fail in one minute of a failover, with data in bursts of five minutes")
def _() -> World:
    return region({"success": after(0.0, 1.0, minutes=1)}, arrived=bursts(5), minutes=START + 40)


@incident("delay", "total outage, with data in bursts of five minutes", page_by=11)
def _() -> World:
    return region({"success": after(0.0, 1.0)}, arrived=bursts(5), minutes=START + 40)


@incident("delay", "total outage, with data in bursts of three minutes", page_by=8)
def _() -> World:
    return region({"success": after(0.0, 1.0)}, arrived=bursts(3), minutes=START + 40)


# One slow host.


@incident(
    "more", "one host of forty has a sick network card: each of its requests takes 80 ms", ticket_by=30, tickets=1
)
def _() -> World:
    return clients(clients(region(minutes=START + 60), 39), 1, 39, rtt=after(0.08, 0.003))


@incident("false", "one host of forty reads 1 MiB at a time, and each read takes 45 ms", quiet=True)
def _() -> World:
    world = clients(region(minutes=START + 60), 40)
    for name, values in world.series.items():
        if "web-0:" in name and "rtt_seconds" in name and 'class="read"' in name:
            world.series[name] = [50 * 60 * 0.045 * minute for minute in range(len(values))]
        elif "web-0:" in name and "read_bytes" in name:
            world.series[name] = [32 * (value or 0) for value in values]
    return world


@incident("false", "one host of forty sees 80 ms for ten minutes during its own backup", quiet=True)
def _() -> World:
    return clients(clients(region(minutes=START + 60), 39), 1, 39, rtt=after(0.08, 0.003, minutes=10))


@incident("noise", "all of five hosts see 80 ms: one page, and no ticket for each host", page_by=10, tickets=0)
def _() -> World:
    return clients(region(minutes=START + 60), 5, rtt=after(0.08, 0.003))


# Loads at the edge of a ceiling, and jobs.


@incident("noise", "79 and 81 % of the IOPS in turn, each for 25 minutes, for six hours: one ticket", tickets=1)
def _() -> World:
    edge = lambda m: 10_000 if m < START else 40_500 if (m - START) // 25 % 2 == 0 else 39_500  # noqa: E731  # one expression
    return region({"iops": edge}, minutes=START + 360)


@incident("noise", "an hourly job fills the IOPS for seven minutes, all night: one ticket", ticket_by=8, tickets=1)
def _() -> World:
    return region({"iops": by_the_hour(49_500, 10_000, 7)}, minutes=START + 480)


@incident("noise", "an hourly job fills the read bandwidth for seven minutes, all night: one ticket", tickets=1)
def _() -> World:
    return region({"read_bytes": by_the_hour(9.9e8, 1e8, 7)}, minutes=START + 480)


@incident("noise", "connections rise over 80 % each hour for ten minutes, all night: one ticket", tickets=1)
def _() -> World:
    return region({"connections": by_the_hour(85_000, 70_000, 10)}, minutes=START + 480)


@incident("false", "a weekly backup of 20 minutes at 95 % of the ceiling", tickets=4)
def _() -> World:
    # Samples each 30 minutes show the backup for half an hour.
    return _weeks(lambda m: 47_500 if m // 1440 % 7 == 6 and m % 1440 < 30 else 10_000, 23)


@incident("false", "a backup of 20 minutes at 95 % brings latency to 90 % of the objective", ticket_by=8, tickets=1)
def _() -> World:
    slower = after(0.009, 0.004, minutes=20)
    return clients(region({"iops": after(47_500, 10_000, minutes=20), "latency": slower}, minutes=START + 60), 4)


@incident(
    "false", "month-end: three hours at 97 % of the ceiling with good latency", ticket_by=8, tickets=1, lasting=20
)
def _() -> World:
    return clients(region({"iops": after(48_500, 10_000, minutes=180)}, minutes=START + 240), 4)


@incident("more", "month-end: three hours at 99 % of the ceiling, slow in the second hour", page_by=70, ticket_by=8)
def _() -> World:
    slow = after(0.03, 0.006, start=START + 60, minutes=60)
    world = region({"iops": after(49_500, 10_000, minutes=180), "latency": slow}, minutes=START + 240)
    return clients(world, 4, rtt=slow)


# Few requests, and readers.


@incident("false", "a test mount target with three requests an hour, and one takes 90 seconds", quiet=True)
def _() -> World:
    few = {"requests": 0.001, "iops": 0.002, "latency": after(90.0, 0.004, minutes=3), "success": 1.0}
    world = region(few, minutes=START + 60)
    wait = lambda m: 60 if m == START + 1 else 0  # noqa: E731  # one expression
    return clients(world, 1, operations=0.0003, rtt=after(30.0, 0.004), unanswered=wait)


@incident("false", "a test mount target with three requests an hour, and one fails", quiet=True)
def _() -> World:
    few = {"requests": 0.001, "iops": 0.002, "success": after(0.0, 1.0, minutes=1)}
    return clients(region(few, minutes=START + 60), 1, operations=0.0003, failing=after(0.02, minutes=1))


@incident("more", "a mount target with two requests a second, and a tenth fails for 20 minutes", page_by=8, lasting=25)
def _() -> World:
    return region({"requests": 2, "iops": 4, "success": after(0.9, 1.0, minutes=20)}, minutes=START + 60)


@incident("false", "clients that only read: everything is well", quiet=True)
def _() -> World:
    return readers(region({"write_bytes": 0}, minutes=START + 60), 4)


@incident("more", "clients that only read see twice the objective", page_by=10)
def _() -> World:
    return readers(region({"write_bytes": 0}), 4, after(0.04, 0.003))


def with_500_mounts(world: World) -> World:
    """Repeat the series of each mount for 499 further exports."""
    for name, values in list(world.series.items()):
        if 'export="/data"' in name:
            world.series |= {name.replace('"/data"', f'"/data-{n}"'): values for n in range(499)}
    return world


@incident("more", "a client with 500 mounts of one mount target hangs", page_by=6)
def _() -> World:
    return with_500_mounts(hanging(region(minutes=START + 15), 1))


@incident("more", "a client with 500 mounts of one mount target is slow on all", page_by=10)
def _() -> World:
    return with_500_mounts(clients(region(minutes=START + 15), 1, operations=1, rtt=after(0.045, 0.003)))


@incident("noise", "the only host with an agent mounts twelve mount targets and hangs on all: one page", page_by=6)
def _() -> World:
    world = region(*numbered(12), minutes=START + 20)
    for number in range(1, 13):
        hanging(world, 1, address=f"10.0.0.{number}")
    return world


@incident(
    "noise", "one host of ten mounts eight mount targets and loses its network: one ticket", ticket_by=10, tickets=1
)
def _() -> World:
    world = region(*numbered(8), minutes=START + 20)
    for number in range(1, 9):
        hanging(clients(world, 9, address=f"10.0.0.{number}"), 1, 9, address=f"10.0.0.{number}")
    return world


# Exact mode on some hosts.


@incident(
    "silent", "one host of ten is in exact mode and reads fast, the reads of the nine others take 45 ms", page_by=10
)
def _() -> World:
    world = clients(region(), 10)
    for name, values in world.series.items():
        if "rtt_seconds" in name and 'class="read"' in name and "web-0:" not in name:
            world.series[name] = [9.0 * m + 126.0 * max(0, m - START) for m in range(len(values))]
    return exact(world, "web-0", 0.0)


@incident("false", "one host of twenty is in exact mode, and 5 % of its requests are slow")
def _() -> World:
    return exact(clients(region(minutes=START + 60), 20), "web-0", 0.05)


@incident("false", "exact mode: 5 % of the requests are slow for three minutes", quiet=True)
def _() -> World:
    world = clients(region(minutes=START + 60), 2)
    return exact(exact(world, "web-0", 0.05, minutes=3), "web-1", 0.05, minutes=3)


@incident("false", "exact mode: one request of 200 is slow", quiet=True)
def _() -> World:
    return exact(exact(clients(region(minutes=START + 60), 2), "web-0", 0.005), "web-1", 0.005)


@incident(
    "false", "exact mode: reads of large files wait for each other in the clients, and their round trips are good"
)
def _() -> World:
    world = clients(region(minutes=START + 40), 2)
    return exact(exact(world, "web-0", 0.95, mean=0.1), "web-1", 0.95, mean=0.1)


@incident("silent", "exact mode: 5 % of the requests are slow, as their round trips are", page_by=13)
def _() -> World:
    world = clients(region(), 2, rtt=after(0.008, 0.003))
    return exact(exact(world, "web-0", 0.05, mean=0.009), "web-1", 0.05, mean=0.009)
