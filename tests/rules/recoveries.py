"""Incidents and non-incidents of identities, replications and idle systems; several causes, recoveries, and trouble that comes again.

Importing this module adds them to `INCIDENTS`.
"""

from tests.rules.fleets import born, gone, stall
from tests.rules.incidents import FS, MT, clients, dead, hanging, incident, region, waiting
from tests.rules.simulator import START, Client, MountTarget, OfMinute, Poller, World, after
from tests.rules.variants import node_client, without

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
    "noise", "three mount targets of a region are down, and recover one after another: one page", page_by=6, lasting=31
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


# Trouble that comes again.


def each(period: int, minutes: int, value: float) -> OfMinute:
    """A value in the first minutes of each period from the start of the incident, else 0."""
    return lambda m: value if m >= START and (m - START) % period < minutes else 0


@incident("noise", "a job of one host fails for 15 minutes of each hour: one ticket", ticket_by=16, tickets=1)
def _() -> World:
    return clients(clients(region(minutes=START + 200), 9), 1, 9, failing=each(60, 15, 20))


@incident("noise", "an hourly job fills the network card of a host for 12 minutes: one ticket", ticket_by=12, tickets=1)
def _() -> World:
    world = clients(region(minutes=START + 200), 3)
    host = {"job": "fss", "instance": "web-0:10949"}
    world.add("fss_client_network_bytes_per_second_limit", host, 1.25e8)
    world.count("fss_nfs_received_bytes_total", host, each(60, 12, 1.2e8))
    world.count("fss_nfs_sent_bytes_total", host, 1e6)
    return world


@incident("noise", "one host of ten hangs for 8 of each 12 minutes, for two hours: one ticket", ticket_by=10, tickets=1)
def _() -> World:
    def waits(minute: int) -> float:
        since = minute - START
        return since % 12 * 60 if 0 <= since < 120 and since % 12 < 8 else 0

    return clients(clients(region(minutes=START + 140), 9), 1, 9, unanswered=waits)


@incident("false", "encrypted nodes are replaced one after another, and each hangs for its last minutes")
def _() -> World:
    world = clients(region(minutes=START + 45), 20, address="192.168.255.2")
    for number in range(10):
        end = START + 3 * number + 3
        waits = lambda m, end=end: 130 if m == end - 1 else 0  # noqa: E731  # one expression
        old = Client(world, f"old-{number}", "192.168.255.2", unanswered=waits, scraped=gone(end), gone=True)
        old.add()
        Client(world, f"new-{number}", "192.168.255.2", scraped=born(end), gone=True).add()
    return world


@incident("noise", "requests are slow for ten of each fifteen minutes: one page", page_by=10)
def _() -> World:
    return region({"latency": lambda m: 0.05 if m >= START and (m - START) % 15 < 10 else 0.004}, minutes=START + 90)


@incident("noise", "most requests fail for five of each fifteen minutes: the second page stays", page_by=6, pages=2)
def _() -> World:
    down = each(15, 5, 1)
    return region({"success": lambda m: 1 - (down(m) or 0)}, minutes=START + 120)


@incident("noise", "an outage of eight minutes comes again 40 minutes later: two pages", page_by=6, lasting=49, pages=2)
def _() -> World:
    return region(
        {"success": lambda m: 0.0 if 0 <= m - START < 48 and (m - START) % 40 < 8 else 1.0}, minutes=START + 70
    )


@incident("noise", "a tenth of the requests fails for eight of each fourteen minutes: one page", page_by=8)
def _() -> World:
    failing = each(14, 8, 0.1)
    return region({"success": lambda m: 1 - (failing(m) or 0)}, minutes=START + 120)


@incident("noise", "one far client of ten sees 80 ms for ten minutes of each hour: one ticket", ticket_by=70, tickets=1)
def _() -> World:
    slow = each(60, 10, 0.077)
    world = clients(region(minutes=START + 130), 9)
    return clients(world, 1, 9, rtt=lambda m: 0.003 + (slow(m) or 0))
