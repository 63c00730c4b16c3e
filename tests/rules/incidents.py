"""Incidents and non-incidents: what happens, and what the person on call wants to hear of it.

`page_by` and `ticket_by` are minutes after the start of the incident (minute `START`). OCI's data are one minute old unless an incident
says otherwise. Without `page_by` no page may come, without `ticket_by` a ticket may come unless `quiet`.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tests.rules.simulator import START, Client, MountTarget, Poller, Value, World, after


@dataclass(frozen=True)
class Incident:
    """One case.

    Attributes:
        kind: silent, false, noise, delay (the lists of the expectations) or more.
        name: what happens, in one line.
        build: the series.
        page_by: minutes until the page; exactly one page comes, and none after it.
        ticket_by: minutes until a ticket.
        quiet: neither page nor ticket at any time.
        lasting: minute after the start when all is well again; no message may begin after it, and no page fires ten minutes later.
        pages: so many pages where `page_by` says that one comes.
        tickets: so many tickets at most.
    """

    kind: str
    name: str
    build: Callable[[], World]
    page_by: int | None = None
    ticket_by: int | None = None
    quiet: bool = False
    lasting: int | None = None
    pages: int = 1
    tickets: int | None = None

    @property
    def expected(self) -> str:
        """In words."""
        said = [
            f"page within {self.page_by} min" if self.page_by is not None else "",
            f"ticket within {self.ticket_by} min" if self.ticket_by is not None else "",
        ]
        return " and ".join(filter(None, said)) or ("quiet" if self.quiet else "no page")


INCIDENTS: list[Incident] = []


def incident(
    kind: str,
    name: str,
    *,
    page_by: int | None = None,
    ticket_by: int | None = None,
    quiet: bool = False,
    lasting: int | None = None,
    pages: int = 1,
    tickets: int | None = None,
) -> Callable[[Callable[[], World]], Callable[[], World]]:
    """Enter a function that builds the series into the table."""

    def enter(build: Callable[[], World]) -> Callable[[], World]:
        INCIDENTS.append(Incident(kind, name, build, page_by, ticket_by, quiet, lasting, pages, tickets))
        return build

    return enter


def region(*mount_targets: dict[str, object], minutes: int = START + 30, **poller: object) -> World:
    """A poller and its mount targets."""
    watching = Poller(World(minutes), **poller).add()  # type: ignore[arg-type]  # a table of arguments
    for one in mount_targets or ({},):
        MountTarget(watching, **one).add()  # type: ignore[arg-type]  # a table of arguments
    return watching.world


def clients(world: World, count: int, start: int = 0, **how: object) -> World:
    """So many clients alike."""
    for number in range(start, start + count):
        Client(world, f"web-{number}", **how).add()  # type: ignore[arg-type]  # a table of arguments
    return world


def waiting(minute: int) -> float:
    """Seconds without a reply since the start of the incident."""
    return max(0, minute - START) * 60


def dead(minute: int) -> float | None:
    """Scraped until the start of the incident."""
    return 1 if minute < START else None


def hanging(world: World, count: int, start: int = 0, **how: object) -> World:
    """So many clients that hang from the start of the incident."""
    return clients(world, count, start, operations=after(0, 50), unanswered=waiting, **how)


def rising(value: float, before: float) -> Value:
    """A value that changes at the start of the incident and stays."""
    return after(value, before)


# What was silent and must alert.


@incident("silent", "the poller of a region dies, in the job of the agents", page_by=13)
def _() -> World:
    world = region(scraped=dead)
    Poller(world, region="us-1", instance="poller-2:10949").add()
    return clients(world, 20)


@incident("silent", "the poller of a region is gone from service discovery", page_by=13)
def _() -> World:
    world = region(scraped=dead, gone=True)
    Poller(world, region="us-1", instance="poller-2:10949").add()
    return clients(world, 20)


@incident("silent", "a poller hangs and is still scraped", page_by=13)
def _() -> World:
    return region(polled=lambda minute: min(minute, START))


@incident("silent", "OCI data come 8 minutes late while a mount target saturates", ticket_by=18)
def _() -> World:
    return region({"iops": after(49_000, 10_000)}, arrived=lambda minute: minute - (1 if minute < START else 8))


@incident("silent", "the clock of a poller is 6 minutes ahead while a mount target saturates", ticket_by=12)
def _() -> World:
    return region(
        {"iops": after(49_000, 10_000)}, clock=after(360), arrived=lambda minute: minute - (1 if minute < START else 2)
    )


@incident("silent", "one metric stops: the share of good requests", ticket_by=26)
def _() -> World:
    world = region({"success": after(None, 1.0)}, silent=("MountTargetHealth",))
    return clients(world, 5)


@incident("silent", "one metric stops: connections", ticket_by=26)
def _() -> World:
    return region(silent=("MountTargetConnections",))


@incident("silent", "the policy of one compartment is lost", page_by=22, ticket_by=14)
def _() -> World:
    world = region(
        {}, {"name": "mt-b", "address": "10.0.0.2"}, failing=lambda m: ("MountTargetIOPS",) if m >= START else ()
    )
    for name in [one for one in world.series if "mt-b" in one and "_info" not in one and "_limit" not in one]:
        world.series[name] = [value if minute < START else None for minute, value in enumerate(world.series[name])]
    return world


@incident("silent", "half of the clients hang", page_by=6)
def _() -> World:
    return hanging(clients(region(), 10), 10, 10)


@incident("silent", "a third of the clients hang", page_by=6)
def _() -> World:
    return hanging(clients(region(), 20), 10, 20)


@incident("silent", "the only client of a mount target hangs", page_by=6)
def _() -> World:
    return hanging(region(), 1)


@incident("silent", "encrypted clients behind 192.168.255.2 hang", page_by=6)
def _() -> World:
    return hanging(clients(region(), 10, address="192.168.255.2"), 4, 10, address="192.168.255.2")


@incident("silent", "two regions with one address plan: the clients of one hang", page_by=6)
def _() -> World:
    world = region()
    MountTarget(Poller(world, region="us-1", instance="poller-2:10949").add(), name="mt-us").add()
    return hanging(clients(world, 20), 4, 20)


@incident("silent", "the clients of an NFSv4 server hang", page_by=6)
def _() -> World:
    return hanging(region(), 5, address="10.9.9.9", service="")


@incident("silent", "the clients of an unknown service hang", page_by=6)
def _() -> World:
    return hanging(
        clients(region(), 3, address="10.9.9.9", service="apsara-nas"), 3, 3, address="10.9.9.9", service="apsara-nas"
    )


@incident("silent", "one file system is slow at 5 % of the requests of a mount target", page_by=12)
def _() -> World:
    return region({"file_systems": {"fs-1": 0.95, "fs-2": 0.05}, "slow": {"fs-2": after(0.06, 0.004)}})


@incident("silent", "ESTALE on open at all clients", page_by=8)
def _() -> World:
    return clients(region(), 4, failing=after(40))


@incident("silent", "ESTALE on open at one client of ten", ticket_by=16)
def _() -> World:
    return clients(clients(region(), 9), 1, 9, failing=after(15))


@incident("silent", "7 % of the agents are dead for good", ticket_by=75)
def _() -> World:
    world = region(minutes=START + 90)
    return clients(clients(world, 26), 2, 26, scraped=dead)


@incident("silent", "two pollers, one with an old and larger ceiling", ticket_by=8)
def _() -> World:
    world = region({"iops": after(48_000, 10_000), "limit": 100_000})
    MountTarget(Poller(world, instance="poller-2:10949").add(), iops=after(48_000, 10_000)).add()
    return world


@incident("silent", "minutes of 70 and 98 % in turn that arrive in pairs", ticket_by=10)
def _() -> World:
    return region(
        {"iops": lambda m: 10_000 if m < START else (49_000 if m % 2 else 35_000)}, arrived=lambda m: m - 1 - m % 2
    )


@incident("silent", "minutes of 70 and 98 % in turn that arrive in pairs, without the age of the data", ticket_by=10)
def _() -> World:
    world = region(
        {"iops": lambda m: 10_000 if m < START else (49_000 if m % 2 else 35_000)}, arrived=lambda m: m - 2 + m % 2
    )
    for name in [one for one in world.series if one.startswith("fss_oci_datapoint_age")]:
        del world.series[name]
    return world


@incident("silent", "agents are scraped every six minutes", ticket_by=30)
def _() -> World:
    return clients(region(minutes=START + 60), 5, every=6)


@incident("silent", "agents are scraped every six minutes and their mount target hangs", page_by=15)
def _() -> World:
    return hanging(region(minutes=START + 40), 5, every=6)


# What was false and must be quiet, or a ticket at most.


@incident("false", "a backup at 95.5 % with good latency")
def _() -> World:
    return clients(region({"iops": after(47_750, 10_000)}), 4)


@incident("false", "3 requests a minute at 12 to 25 ms", quiet=True)
def _() -> World:
    return region({"requests": 0.05, "iops": 0.2, "latency": lambda m: 0.012 if m % 2 else 0.025})


@incident("false", "3 requests a minute at 12 to 25 ms, as a client sees them", quiet=True)
def _() -> World:
    return clients(World(), 1, operations=0.05, rtt=0.025)


@incident("false", "1 of 12 requests a minute fails", quiet=True)
def _() -> World:
    return region({"requests": 0.2, "iops": 0.4, "success": 11 / 12})


@incident("false", "an idle client sends 1 of 5 requests again", quiet=True)
def _() -> World:
    return clients(region(), 1, operations=0.01, retransmitted=0.01)


@incident("false", "6 READs a minute, and one fails", quiet=True)
def _() -> World:
    return clients(region(), 1, operations=0.1, failing=1 / 60)


@incident("false", "agent and node_exporter on the same hosts at half of the ceiling", quiet=True)
def _() -> World:
    world = World()
    watching = Poller(world).add()
    MountTarget(watching, iops=None, read_bytes=None, requests=None, write_bytes=None, latency=None).add()
    for name in [
        one for one in world.series if one.startswith(("fss_mount_target_iops{", "fss_mount_target_io_operations"))
    ]:
        del world.series[name]
    clients(world, 5, iops=5_000)
    for number in range(5):
        node = {
            "job": "node",
            "instance": f"web-{number}:9100",
            "export": "10.0.0.1:/data",
            "protocol": "tcp",
            "mountaddr": "10.0.0.1",
        }
        for operation in ("GETATTR", "READ", "WRITE"):
            world.count(
                "node_mountstats_nfs_operations_requests_total",
                {**node, "operation": operation},
                5_000 if operation == "GETATTR" else 0,
            )
        for kind in ("read", "write"):
            world.count(f"node_mountstats_nfs_total_{kind}_bytes_total", node, 0)
    return world


def _weeks(load: Callable[[int], float], days: int) -> World:
    world = World(days * 1440, step=30)
    labels = {
        "job": "fss",
        "instance": "poller-1:10949",
        "region": "eu-1",
        "mount_target_id": "ocid1.mounttarget.mt-a",
        "mount_target": "mt-a",
    }
    world.add("fss_mount_target_info", {**labels, "address": "10.0.0.1", "state": "ACTIVE"}, 1)
    world.add("fss_mount_target_iops_limit", labels, 50_000)
    world.add("fss_mount_target_read_bytes_per_second_limit", labels, 1e9)
    world.add("fss_mount_target_write_bytes_per_second_limit", labels, 1e9)
    world.add("fss_mount_target_connections", labels, 100)
    world.add("fss_mount_target_iops", labels, load)
    return world


@incident("false", "a pattern of weekdays and weekends is no forecast", quiet=True)
def _() -> World:
    return _weeks(lambda m: 5_000 if m // 1440 % 7 >= 5 else 15_000 + 20_000 * (8 <= m // 60 % 24 < 18), 23)


@incident("false", "day two of an installation is no forecast", quiet=True)
def _() -> World:
    return _weeks(lambda m: 5_000 + 12_000 * (m // 1440), 3)


@incident("false", "scale to zero each night", quiet=True)
def _() -> World:
    world = World(2 * 1440 + 600, step=2)
    return clients(world, 2, scraped=lambda m: 1 if 6 <= m // 60 % 24 < 22 else None, gone=True)


@incident("false", "one LDAP typo, counted by two pollers", quiet=True)
def _() -> World:
    world = World()
    for number in (1, 2):
        poller = Poller(world, instance=f"poller-{number}:10949").add()
        MountTarget(poller).add()
        labels = {
            **poller.labels,
            "region": "eu-1",
            "mount_target_id": "ocid1.mounttarget.mt-a",
            "mount_target": "mt-a",
            "outbound_connector": "ldap",
        }
        world.count("fss_ldap_requests_total", {**labels, "request_type": "user"}, 1)
        world.count(
            "fss_ldap_request_errors_total",
            {**labels, "request_type": "user", "error_type": "not_found"},
            after(1 / 60, minutes=1),
        )
    return world


@incident("false", "the first copy of a replication")
def _() -> World:
    world = region(minutes=START + 240)
    labels = {
        "job": "fss",
        "instance": "poller-1:10949",
        "region": "eu-1",
        "replication_id": "ocid1.replication.r",
        "replication": "r",
    }
    world.add("fss_replication_interval_seconds", labels, 3600)
    world.add("fss_replication_recovery_point_age_seconds", labels, lambda m: m * 60)
    return world


@incident("false", "a mount target is renamed while it is slow: one page", page_by=11)
def _() -> World:
    world = World(START + 40)
    watching = Poller(world).add()
    for name, known in (
        ("mt-a", lambda m: 1 if m < START + 18 else None),
        ("mt-new", lambda m: 1 if m >= START + 18 else None),
    ):
        MountTarget(watching, name=name, known=known, oci_id="ocid1.mounttarget.one", latency=after(0.05, 0.004)).add()
    return world


@incident("false", "five bursts of 8 minutes at ten times the objective")
def _() -> World:
    burst = lambda m: 0.2 if m >= START and (m - START) % 40 < 8 and m < START + 200 else 0.004  # noqa: E731  # one expression
    return clients(region({"latency": burst}, minutes=START + 240), 3, rtt=burst)


@incident("false", "a stall of 90 seconds while a mount target moves", quiet=True)
def _() -> World:
    return clients(region(), 10, unanswered=lambda m: 60 if m == START + 1 else 0)


# Noise.


@incident(
    "noise",
    "99 % of the IOPS and everything slow: one page, nothing after recovery",
    page_by=11,
    ticket_by=8,
    lasting=30,
)
def _() -> World:
    slow = after(0.05, 0.004, minutes=30)
    world = region({"iops": after(49_500, 10_000, minutes=30), "latency": slow}, minutes=START + 90)
    return clients(world, 5, rtt=slow)


@incident("noise", "failover: a mount target fails and its clients move to another", page_by=6)
def _() -> World:
    world = region(
        {
            "state": lambda m: "ACTIVE" if m < START + 2 else "FAILED",
            "success": after(None, 1.0),
            "requests": after(0, 300),
            "iops": after(0, 20_000),
        },
        {"name": "mt-b", "address": "10.0.0.2", "iops": after(30_000, 10_000)},
        minutes=START + 40,
    )
    clients(world, 10, operations=after(0, 50), unanswered=lambda m: waiting(m) if m < START + 8 else 0)
    return clients(world, 10, 10, address="10.0.0.2", operations=lambda m: 50 if m >= START + 8 else 0)


@incident("noise", "20 mount targets of a region are down", page_by=6)
def _() -> World:
    return region(*({"name": f"mt-{n}", "address": f"10.0.1.{n}", "success": after(0.0, 1.0)} for n in range(20)))


@incident("noise", "20 mount targets of a region are slow", page_by=11)
def _() -> World:
    return region(*({"name": f"mt-{n}", "address": f"10.0.1.{n}", "latency": after(0.05, 0.004)} for n in range(20)))


# Delay.


@incident("delay", "total outage: all requests fail", page_by=6)
def _() -> World:
    return region({"success": after(0.0, 1.0)})


@incident("delay", "total stall: all clients hang", page_by=6)
def _() -> World:
    return hanging(region(), 10)


@incident("delay", "10 % of the requests fail", page_by=8)
def _() -> World:
    return region({"success": after(0.9, 1.0)})


@incident("delay", "latency at twice the objective", page_by=10)
def _() -> World:
    return region({"latency": after(0.04, 0.004)})


@incident("delay", "clients see twice the objective, OCI does not", page_by=10)
def _() -> World:
    return clients(region(), 5, rtt=after(0.045, 0.003))


@incident("delay", "a full ceiling", ticket_by=8)
def _() -> World:
    return region({"iops": after(49_500, 10_000)})


@incident("delay", "a full read bandwidth", ticket_by=8)
def _() -> World:
    return region({"read_bytes": after(9.8e8, 1e8)})


# More.


@incident("more", "everything is well", quiet=True)
def _() -> World:
    return clients(region(minutes=START + 60), 10)


@incident("more", "everything is well, in an installation without a poller", quiet=True)
def _() -> World:
    return clients(World(START + 60), 10)


@incident("more", "one client of fifty hangs", ticket_by=10)
def _() -> World:
    return hanging(clients(region(), 49), 1, 49)


@incident("more", "a mount of a switched off NFSv4 server on one host", ticket_by=10)
def _() -> World:
    return hanging(clients(region(), 5), 1, 5, address="10.9.9.9", service="")


@incident("more", "two pollers of one region, and one dies")
def _() -> World:
    world = region()
    MountTarget(Poller(world, instance="poller-2:10949", scraped=dead).add()).add()
    return world


@incident("more", "a region leaves the configuration of a poller", quiet=True)
def _() -> World:
    world = region(gone=True)
    Poller(world, region="us-1").add()
    for name in [one for one in world.series if 'region="us-1"' in one]:
        world.series[name] = [value if minute < START else None for minute, value in enumerate(world.series[name])]
    return world


@incident("more", "a mount target is FAILED", page_by=3)
def _() -> World:
    return region({"state": lambda m: "ACTIVE" if m < START else "FAILED"})


@incident("more", "total outage, recovered after 15 minutes: one page, nothing after", page_by=6, lasting=15)
def _() -> World:
    world = region({"success": after(0.0, 1.0, minutes=15)}, minutes=START + 90)
    return clients(
        world, 10, operations=after(0, 50, minutes=15), unanswered=lambda m: waiting(m) if m < START + 15 else 0
    )


@incident("more", "2 % of the requests fail for half an hour", ticket_by=20)
def _() -> World:
    return region({"success": after(0.98, 1.0)})


@incident("more", "OCI publishes nothing for an hour, then all at once", ticket_by=12)
def _() -> World:
    return region(
        {"iops": 25_000}, minutes=START + 90, arrived=lambda m: m - 1 if m < START or m > START + 15 else START - 1
    )


@incident("more", "a restart of the poller", quiet=True)
def _() -> World:
    world = region(scraped=lambda m: None if START <= m < START + 3 else 1)
    for name, values in world.series.items():
        if "_total{" in name and "fss_mount_target" in name:
            world.series[name] = [v if m < START or v is None else v - 1 for m, v in enumerate(values)]
    return world


@incident("more", "a retransmitting client", ticket_by=16)
def _() -> World:
    return clients(clients(region(), 9), 1, 9, retransmitted=after(10))


@incident("more", "alternating minutes of good and bad latency", page_by=40)
def _() -> World:
    return region({"latency": lambda m: 0.05 if m >= START and m % 3 else 0.004}, minutes=START + 60)


@incident("more", "one client of three hangs", page_by=6)
def _() -> World:
    return hanging(clients(region(), 2), 1, 2)


@incident("more", "total outage that ends all requests, without agents", page_by=7)
def _() -> World:
    return region({"success": after(0.0, 1.0), "requests": after(0.0, 300), "iops": after(0.0, 5000)})


@incident("more", "a poller without counters: a full ceiling", ticket_by=8)
def _() -> World:
    world = region({"iops": after(49_500, 10_000)})
    for name in [one for one in world.series if "_total{" in one or "datapoint_age" in one]:
        del world.series[name]
    return world


@incident("more", "10 % of the requests fail, with data that are three minutes old", page_by=10)
def _() -> World:
    return region({"success": after(0.9, 1.0)}, arrived=lambda minute: minute - 3)


@incident("more", "a new mount target that no client uses", quiet=True)
def _() -> World:
    world = region(minutes=START + 60)
    labels = {
        "job": "fss",
        "instance": "poller-1:10949",
        "region": "eu-1",
        "mount_target_id": "ocid1.mounttarget.new",
        "mount_target": "new",
    }
    world.add("fss_mount_target_info", {**labels, "address": "10.0.0.9", "state": "ACTIVE"}, after(1, None))
    return world


@incident("more", "a roll-out restarts all agents one after another", quiet=True)
def _() -> World:
    world = region()
    for number in range(20):
        Client(world, f"web-{number}", scraped=lambda m, n=number: None if m == START + n else 1).add()  # type: ignore[misc]  # the number of this client
    return world


@incident("more", "connections at 95 %", ticket_by=10)
def _() -> World:
    return region({"connections": after(96_000, 200)})


@incident("more", "all queries of a poller are refused", page_by=25)
def _() -> World:
    everything = "MountTargetIOPS MountTargetConnections MountTargetReadThroughput MountTargetWriteThroughput MountTargetHealth FileSystemReadRequestsbySize FileSystemWriteRequestsbySize MetadataIOPS MetadataRequestAverageLatency".split()
    return region(failing=lambda m: everything if m >= START else (), arrived=lambda m: min(m - 1, START))


MT = {
    "job": "fss",
    "instance": "poller-1:10949",
    "region": "eu-1",
    "mount_target_id": "ocid1.mounttarget.mt-a",
    "mount_target": "mt-a",
}
FS = {
    "job": "fss",
    "instance": "poller-1:10949",
    "region": "eu-1",
    "file_system_id": "ocid1.filesystem.f",
    "file_system": "f",
}


@incident("more", "the LDAP server does not answer", ticket_by=15)
def _() -> World:
    world = region()
    world.count(
        "fss_ldap_connection_errors_total", {**MT, "outbound_connector": "ldap", "error_type": "timeout"}, after(0.1)
    )
    return world


@incident("more", "a third of the LDAP lookups fail", ticket_by=20)
def _() -> World:
    world = region()
    world.count("fss_ldap_requests_total", {**MT, "outbound_connector": "ldap", "request_type": "user"}, 0.1)
    failed = {**MT, "outbound_connector": "ldap", "request_type": "user", "error_type": "bind"}
    world.count("fss_ldap_request_errors_total", failed, after(0.03))
    return world


@incident("more", "the keytab of a mount target is old", ticket_by=15)
def _() -> World:
    world = region()
    world.count("fss_kerberos_errors_total", {**MT, "error_type": "key_version"}, after(0.1))
    return world


@incident("more", "writes fail at a hard quota", ticket_by=10)
def _() -> World:
    world = region()
    world.count("fss_file_system_hard_quota_violations_total", FS, after(1))
    return world


@incident("more", "writes pass a soft quota", quiet=True)
def _() -> World:
    world = region()
    world.count("fss_file_system_soft_quota_violations_total", FS, after(1))
    return world


@incident("more", "a replication publishes no age", ticket_by=1500)
def _() -> World:
    world = World(1600, step=10)
    world.add("fss_replication_interval_seconds", {"region": "eu-1", "replication_id": "r", "replication": "r"}, 3600)
    return world


@incident("more", "the busiest minutes grow by a tenth of the ceiling each week", ticket_by=24_000)
def _() -> World:
    return _weeks(lambda m: 20_000 + 5_000 * (m / 10_080) * (8 <= m // 60 % 24 < 18), 17)


@incident("more", "all load of a file system is on one of two mount targets", ticket_by=40)
def _() -> World:
    world = region(
        {"iops": after(30_000, 5_000)}, {"name": "mt-b", "address": "10.0.0.2", "iops": 1_000}, minutes=START + 60
    )
    for name in ("mt-a", "mt-b"):
        export = {**FS, "mount_target_id": f"ocid1.mounttarget.{name}", "mount_target": name, "state": "ACTIVE"}
        world.add("fss_export_info", export, 1)
    return world


@incident("more", "a mount target stays in UPDATING", ticket_by=65)
def _() -> World:
    world = region(minutes=START + 70)
    world.add("fss_mount_target_info", {**MT, "state": "UPDATING"}, after(1, None))
    return world


@incident("more", "OCI throttles the poller", ticket_by=25)
def _() -> World:
    world = region()
    poller = {"job": "fss", "instance": "poller-1:10949", "region": "eu-1", "operation": "SummarizeMetricsData"}
    world.count("fss_oci_api_requests_total", {**poller, "outcome": "throttled"}, after(0.2))
    world.count("fss_oci_api_requests_total", {**poller, "outcome": "ok"}, 0.5)
    return world


@incident("more", "the inventory of a region fails", ticket_by=35)
def _() -> World:
    world = region(minutes=START + 40)
    call = {"job": "fss", "instance": "poller-1:10949", "region": "eu-1", "operation": "ListSubnets"}
    world.add("fss_oci_inventory_success", call, after(0, 1))
    return world


@incident("more", "no exporter answers, where OCI is not polled", page_by=12)
def _() -> World:
    return clients(World(), 5, scraped=dead)


@incident("more", "a tenth of the agents cannot read mountstats after a roll-out", ticket_by=12)
def _() -> World:
    world = clients(region(), 9)
    broken = {"job": "fss", "instance": "web-9:10949"}
    world.add("fss_collector_success", {**broken, "collector": "nfs"}, after(0, 1))
    return world


@incident("more", "a background loop stands still", ticket_by=30)
def _() -> World:
    world = clients(region(minutes=START + 40), 3)
    labels = {"job": "fss", "instance": "web-0:10949", "collector": "nfs"}
    world.add("fss_collector_last_success_timestamp_seconds", labels, lambda m: min(m, START) * 60)
    return world


@incident("more", "agents skip records of a new kernel", ticket_by=25)
def _() -> World:
    world = clients(region(), 3)
    world.count(
        "fss_nfs_records_skipped_total", {"job": "fss", "instance": "web-0:10949", "reason": "malformed"}, after(1)
    )
    return world


@incident("more", "agents are gone from service discovery by day", ticket_by=1500)
def _() -> World:
    return clients(World(1500 + 60, step=2), 2, scraped=lambda m: 1 if m < 1500 else None, gone=True)


@incident("more", "writes use 95 % of the bandwidth", ticket_by=8)
def _() -> World:
    return region({"write_bytes": after(9.5e8, 1e8)})


@incident("more", "a client peaks for single seconds", quiet=True)
def _() -> World:
    world = clients(region(), 2)
    world.add(
        "fss_client_peak_estimated_iops",
        {"job": "fss", "instance": "web-0:10949", "address": "10.0.0.1"},
        after(49_000, 5_000),
    )
    return world


@incident("more", "mounts with small transfers, and clients of an unknown address", quiet=True)
def _() -> World:
    world = clients(clients(region(minutes=START + 60), 2), 1, 2, address="10.7.7.7")
    mount = {
        "job": "fss",
        "instance": "web-0:10949",
        "address": "10.0.0.1",
        "protocol": "tcp",
        "rsize": "65536",
        "wsize": "65536",
    }
    world.add("fss_client_mount_info", mount, 1)
    return world


@incident("more", "a service of another provider is at 90 % of its bandwidth", ticket_by=15)
def _() -> World:
    world = clients(World(), 1, address="10.8.8.8", service="apsara-nas", operations=after(8_000, 100))
    world.add(
        "fss_client_bytes_per_second_limit", {"job": "fss", "instance": "web-0:10949", "address": "10.8.8.8"}, 5.6e8
    )
    return world


@incident("more", "a block volume is full of work and throttled", ticket_by=10)
def _() -> World:
    world = region()
    volume = {"region": "eu-1", "service": "block-volume", "resource_id": "ocid1.volume.v", "resource": "v"}
    world.add("fss_service_read_operations_per_second", volume, after(24_000, 1_000))
    world.add("fss_service_write_operations_per_second", volume, 0)
    world.add("fss_service_iops_limit", volume, 25_000)
    world.count("fss_service_throttled_operations_total", volume, after(50))
    return world


@incident(
    "more", "a block volume is at its ceiling, and one of two pollers states a ceiling twice as high", ticket_by=25
)
def _() -> World:
    world = region()
    volume = {"region": "eu-1", "service": "block-volume", "resource_id": "ocid1.volume.v", "resource": "v"}
    for poller, ceiling in (("a:10949", 25_000), ("b:10949", 50_000)):
        world.add("fss_service_read_operations_per_second", {**volume, "instance": poller}, after(24_500, 1_000))
        world.add("fss_service_iops_limit", {**volume, "instance": poller}, ceiling)
    return world


@incident("more", "node_exporter cannot parse mountstats", ticket_by=12)
def _() -> World:
    world = region()
    node = {"job": "node", "instance": "web-0:9100", "collector": "mountstats"}
    world.add("node_scrape_collector_success", node, after(0, 1))
    return world


@incident("more", "all clients hang, seen by node_exporter alone", page_by=16)
def _() -> World:
    world = region()
    for number in range(4):
        node = {
            "job": "node",
            "instance": f"web-{number}:9100",
            "export": "10.0.0.1:/data",
            "protocol": "tcp",
            "mountaddr": "10.0.0.1",
        }
        for operation in ("GETATTR", "READ", "WRITE"):
            labels = {**node, "operation": operation}
            world.count("node_mountstats_nfs_operations_requests_total", labels, after(0, 50))
            world.count("node_mountstats_nfs_operations_response_time_seconds_total", labels, after(0, 0.1))
        for kind in ("read", "write"):
            world.count(f"node_mountstats_nfs_total_{kind}_bytes_total", node, after(0, 1e6))
        world.count("node_mountstats_nfs_event_inode_revalidate_total", node, 1)
        for what, rate in (("sends", 1), ("connect", 0), ("receives", after(0, 150))):
            world.count(f"node_mountstats_nfs_transport_{what}_total", {**node, "transport": "0"}, rate)
    return world


@incident("more", "40 ms where the objective of the mount target is 50 ms", quiet=True)
def _() -> World:
    world = clients(region({"latency": after(0.04, 0.004)}), 3, rtt=after(0.04, 0.003))
    for kind, size in (("read", "8KiB_to_64KiB"), ("write", "8KiB_to_64KiB"), ("metadata", "")):
        world.add("fss_mount_target_latency_objective_seconds", {**MT, "kind": kind, "size": size}, 0.05)
    return world


@incident("more", "40 ms where the agents have an objective of 50 ms for an address", quiet=True)
def _() -> World:
    world = clients(region(), 3, rtt=after(0.04, 0.003))
    for kind in ("read", "write", "metadata_read", "metadata_write"):
        labels = {"job": "fss", "instance": "web-0:10949", "address": "10.0.0.1", "class": kind}
        world.add("fss_client_latency_objective_seconds", labels, 0.05)
    return world


@incident("more", "5 % of the requests are slow while the mean is good, in exact mode", page_by=13)
def _() -> World:
    world = clients(region(), 2)
    for number in range(2):
        labels = {"job": "fss", "instance": f"web-{number}:10949", "address": "10.0.0.1", "class": "read"}
        for bound, before, later in (
            ("0.004096", 50, 47.5),
            ("0.016384", 50, 47.5),
            ("0.131072", 50, 50),
            ("+Inf", 50, 50),
        ):
            world.count("fss_client_request_duration_seconds_bucket", {**labels, "le": bound}, after(later, before))
        world.count("fss_client_request_duration_seconds_count", labels, 50)
    return world


@incident("more", "another NFS server that answers in 15 ms", quiet=True)
def _() -> World:
    return clients(region(), 3, address="10.9.9.9", service="", rtt=0.015)


@incident("more", "1 % of the minutes bad for days: the budget is spent slowly", ticket_by=4000)
def _() -> World:
    world = World(3 * 1440, step=2)
    labels = {
        "region": "eu-1",
        "mount_target_id": "ocid1.mounttarget.mt-a",
        "mount_target": "mt-a",
        "job": "fss",
        "instance": "p:1",
    }
    world.add("fss_mount_target_success_ratio", labels, lambda m: 0.97 if m >= START and m % 50 == 0 else 1.0)
    world.add("fss_mount_target_iops", labels, 5_000)
    return world
