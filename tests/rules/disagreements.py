"""Incidents and non-incidents of sources that disagree or are missing, of changes to a mount target, and of Prometheus itself.

Importing this module adds them to `INCIDENTS`.
"""

from tests.rules.budgets import limited, objectives
from tests.rules.fleets import away, born, gone
from tests.rules.incidents import MT, clients, dead, hanging, incident, region, waiting
from tests.rules.lateness import bursts, late
from tests.rules.simulator import START, Client, MountTarget, OfMinute, Poller, World, after
from tests.rules.stores import estimated, gaps
from tests.rules.upgrades import begun_again
from tests.rules.variants import without


def rolled_out(world: World, count: int, **how: object) -> World:
    """Clients whose agents restart one after another from the start of the incident, each away for a minute."""
    for number in range(count):
        begin = START + 1 + number
        there = lambda m, begin=begin: None if m == begin else 1  # noqa: E731  # one expression
        Client(world, f"web-{number}", scraped=there, **how).add()  # type: ignore[arg-type]  # a table of arguments
        begun_again(world, begin + 1, f"web-{number}:")
    return world


def poller_away(minutes: int) -> OfMinute:
    """A poller that is not scraped for some minutes."""
    return lambda m: None if START <= m < START + minutes else 1


# The poller is silent.


@incident("silent", "the poller dies, and ten minutes later agents see the full ceiling", page_by=13, ticket_by=25)
def _() -> World:
    world = estimated(region(scraped=dead, minutes=START + 40))
    return clients(world, 10, iops=after(4_950, 1_000, start=START + 10))


@incident("noise", "the poller dies where an objective is 50 ms, and clients see 40 ms all day: one page", page_by=13)
def _() -> World:
    world = region({"latency": 0.04}, scraped=dead, minutes=START + 60)
    objectives(world, 0.05)
    for name in [one for one in world.series if "objective" in one]:
        world.series[name] = [value if m < START else None for m, value in enumerate(world.series[name])]
    return clients(world, 4, rtt=0.04)


@incident("false", "a poller is away for nine minutes where an objective is 50 ms, and clients see 40 ms", quiet=True)
def _() -> World:
    there = poller_away(9)
    world = region({"latency": 0.04}, scraped=there, minutes=START + 60)
    objectives(world, 0.05)
    for name in [one for one in world.series if "objective" in one]:
        world.series[name] = [value if there(m) else None for m, value in enumerate(world.series[name])]
    return clients(world, 4, rtt=0.04)


@incident("noise", "the poller dies, and 15 minutes later all clients hang: two pages", page_by=13, pages=2)
def _() -> World:
    world = region(scraped=dead, minutes=START + 40)
    later = START + 15
    return clients(world, 5, operations=after(0, 50, start=later), unanswered=lambda m: max(0, m - later) * 60)


@incident("more", "a poller answers one scrape in four for an hour", ticket_by=45)
def _() -> World:
    return clients(region(scraped=lambda m: 1 if m < START or m % 4 == 0 else None, minutes=START + 60), 4)


@incident("noise", "the poller dies, and clients hang from then on for two hours: two pages", page_by=6, pages=2)
def _() -> World:
    return hanging(region(scraped=dead, minutes=START + 130), 4)


# OCI's data are late.


@incident("more", "OCI data are 20 minutes late, and 10 % of the requests fail", page_by=30, ticket_by=12)
def _() -> World:
    return region({"success": after(0.9, 1.0)}, arrived=lambda m: min(m - 1, START - 1) if m < START + 20 else m - 20)


@incident("more", "OCI data are 40 minutes late, and agents see twice the objective: two pages", page_by=10, pages=2)
def _() -> World:
    slow = after(0.045, 0.003)
    stopped = lambda m: min(m - 1, START - 1) if m < START + 39 else m - 40  # noqa: E731  # one expression
    return clients(region(arrived=stopped, minutes=START + 50), 4, rtt=slow)


@incident("false", "OCI data are 10 minutes late since long, and a burst of 8 slow minutes is over", ticket_by=0)
def _() -> World:
    return region({"latency": after(0.2, 0.004, minutes=8)}, arrived=late(10), minutes=START + 60)


@incident("more", "requests are slow for 15 minutes, and OCI publishes nothing after: two pages", page_by=10, pages=2)
def _() -> World:
    return region({"latency": after(0.05, 0.004)}, arrived=lambda m: min(m - 1, START + 15), minutes=START + 60)


@incident("delay", "latency at twice the objective, with data that are three to five minutes old in turn", page_by=14)
def _() -> World:
    return region({"latency": after(0.04, 0.004)}, arrived=lambda m: m - 3 - (0, 1, 2, 1)[m % 4])


@incident("delay", "10 % of the requests fail, with data that are three to five minutes old in turn", page_by=13)
def _() -> World:
    return region({"success": after(0.9, 1.0)}, arrived=lambda m: m - 3 - (0, 1, 2, 1)[m % 4])


@incident("false", "one burst of 8 slow minutes, with data in bursts of three minutes")
def _() -> World:
    return region({"latency": after(0.2, 0.004, minutes=8)}, arrived=bursts(3), minutes=START + 40)


@incident("silent", "an outage ends the requests, and OCI publishes no share of good requests after", page_by=6)
def _() -> World:
    none = after(0, 300, start=START + 2)
    return region({"success": after(0.0, 1.0), "requests": none, "iops": none}, silent=("MountTargetHealth",))


@incident("silent", "the last minute before OCI publishes nothing shows a total outage: two pages", page_by=7, pages=2)
def _() -> World:
    world = region({"success": after(0.0, 1.0)}, arrived=lambda m: min(m - 1, START), minutes=START + 40)
    # The poller forgets data of six minutes ago.
    for name in [one for one in world.series if one.startswith("fss_mount_target_success")]:
        world.series[name] = [value if m <= START + 6 else None for m, value in enumerate(world.series[name])]
    return world


# OCI and the agents disagree.


@incident("false", "agents estimate 130 % of the ceiling, and OCI measures 60 %", quiet=True)
def _() -> World:
    return clients(region({"iops": 30_000}, minutes=START + 60), 10, iops=6_500)


@incident("more", "OCI measures 97 % of the ceiling, and agents account for a tenth", ticket_by=8, tickets=1)
def _() -> World:
    return clients(region({"iops": after(48_500, 10_000)}, minutes=START + 60), 2, iops=2_400)


@incident("more", "OCI measures twice the objective, and the clients with agents see good latency", page_by=10)
def _() -> World:
    return clients(region({"latency": after(0.04, 0.004)}), 3)


@incident("more", "OCI counts no failed request, and clients get errors for a tenth", page_by=8)
def _() -> World:
    return clients(region({"success": 1.0}), 4, failing=after(20))


@incident("more", "OCI counts 10 % failed requests, and the clients with agents get no error", page_by=8)
def _() -> World:
    return clients(region({"success": after(0.9, 1.0)}), 4)


@incident(
    "more", "clients hang behind a firewall rule, and OCI counts the requests of other clients as good", page_by=6
)
def _() -> World:
    return hanging(region({"success": 1.0, "requests": 300}), 6)


# A mount target changes.


@incident(
    "noise",
    "a slow and full mount target gets a higher shape after 30 minutes: one page, nothing after",
    page_by=11,
    ticket_by=8,
    lasting=33,
    tickets=1,
)
def _() -> World:
    slow = after(0.05, 0.004, minutes=30)
    load = lambda m: 10_000 if m < START else 49_500 if m < START + 30 else 120_000  # noqa: E731  # one expression
    world = region({"iops": load, "latency": slow}, minutes=START + 90)
    for resource in ("iops", "write_bytes_per_second"):
        limited(world, resource, lambda m: 50_000 if m < START + 31 else None)  # a shape without a published ceiling
    limited(world, "read_bytes_per_second", lambda m: 1e9 if m < START + 31 else 2.5e9)
    limited(world, "write_bytes_per_second", lambda m: 1e9 if m < START + 31 else None)
    return clients(world, 5, rtt=slow)


@incident("false", "a mount target is deleted and made again with its name and another address", quiet=True)
def _() -> World:
    world = region(
        {
            "known": gone(START + 3),
            "oci_id": "ocid1.mounttarget.old",
            "requests": after(0, 300),
            "iops": after(0, 5000),
        },
        minutes=START + 60,
    )
    MountTarget(Poller(world), address="10.0.0.2", known=born(START + 6), oci_id="ocid1.mounttarget.new").add()
    clients(world, 4, scraped=gone(START + 3), gone=True)
    return clients(world, 4, 4, address="10.0.0.2", scraped=born(START + 8), gone=True)


@incident(
    "more", "a full mount target is deleted, and its successor with the same name is full", ticket_by=8, tickets=2
)
def _() -> World:
    world = region(
        {"iops": after(49_500, 10_000), "known": gone(START + 20), "oci_id": "ocid1.mounttarget.old"},
        minutes=START + 60,
    )
    MountTarget(Poller(world), iops=49_500, known=born(START + 23), oci_id="ocid1.mounttarget.new").add()
    return world


# Agents are rolled out in the middle of an incident.


@incident("noise", "the agents are rolled out while clients get errors for a tenth of their requests", page_by=10)
def _() -> World:
    return rolled_out(region(minutes=START + 40), 12, failing=after(20))


@incident("noise", "the agents are rolled out while clients see twice the objective", page_by=12)
def _() -> World:
    return rolled_out(region(minutes=START + 40), 12, rtt=after(0.045, 0.003))


@incident("noise", "the agents are rolled out while a third of the clients hang", page_by=8)
def _() -> World:
    world = rolled_out(region(minutes=START + 40), 8)
    for number in range(8, 12):
        begin = START + 1 + number
        there = lambda m, begin=begin: None if m == begin else 1  # noqa: E731  # one expression
        Client(world, f"web-{number}", operations=after(0, 50), unanswered=waiting, scraped=there).add()
    return world


# A restart loses about a minute of five of a client's estimate, so twelve restarts in twelve minutes delay the ticket. A rule that
# counts a restarted client with its newest minute is in time at 7, but costs every evaluation 6 % more.
@incident("more", "the agents are rolled out while their estimates are at 90 % of the ceiling", ticket_by=18, tickets=1)
def _() -> World:
    return rolled_out(estimated(region(minutes=START + 60)), 12, iops=after(3_750, 500))


# Prometheus itself.


@incident("more", "Prometheus restarts in the middle of the delay of a ticket on LDAP", ticket_by=16, tickets=1)
def _() -> World:
    world = region(minutes=START + 40)
    world.count(
        "fss_ldap_connection_errors_total", {**MT, "outbound_connector": "ldap", "error_type": "timeout"}, after(0.1)
    )
    return away(world, START + 4, 3)


@incident("more", "Prometheus restarts twice while 10 % of the requests fail", page_by=14)
def _() -> World:
    world = away(region({"success": after(0.9, 1.0)}, minutes=START + 40), START + 2, 2)
    return away(world, START + 7, 2)


@incident("more", "Prometheus restarts twice while clients see twice the objective", page_by=16)
def _() -> World:
    world = away(clients(region(minutes=START + 40), 4, rtt=after(0.045, 0.003)), START + 3, 2)
    return away(world, START + 9, 2)


@incident("noise", "Prometheus is away for four minutes while a page fires: no second page", page_by=6, lasting=25)
def _() -> World:
    world = region({"success": after(0.0, 1.0, minutes=24)}, minutes=START + 60)
    return away(world, START + 12, 4)


@incident("noise", "one of three scrapes fails on every target while 10 % of the requests fail", page_by=12)
def _() -> World:
    return gaps(clients(region({"success": after(0.9, 1.0)}, minutes=START + 60), 4, failing=after(20)), 3)


# Calendars.


def by_day(begin: int, end: int, moved: int, hours: int) -> World:
    """Clients that are there by day. On the second day their hours are moved by some minutes, because the clocks change."""

    def there(minute: int) -> float | None:
        local = minute - (moved if minute >= 1440 else 0)
        return 1 if begin * 60 <= local % 1440 < end * 60 else None

    return without(clients(World(1440 + hours * 60, step=3), 1, scraped=there, gone=True), "up{")


@incident("false", "the fleet starts an hour later, because the clocks change to winter time", quiet=True)
def _() -> World:
    return by_day(5, 24, 60, 8)


@incident("false", "the fleet stops an hour earlier, because the clocks change to summer time", quiet=True)
def _() -> World:
    return by_day(6, 20, -60, 22)
