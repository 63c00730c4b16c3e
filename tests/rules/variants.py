"""Variants of the incidents: other numbers of clients, other scrape intervals, other resources, repeats and recoveries.

Importing this module adds them to `INCIDENTS`.
"""

from tests.rules.incidents import MT, clients, dead, hanging, incident, region, waiting
from tests.rules.simulator import START, Client, MountTarget, Poller, World, after


def without(world: World, *beginnings: str, start: int = 0, end: int = 10**6) -> World:
    """The world without the series whose names begin so, between two minutes."""
    for name in [one for one in world.series if one.startswith(beginnings)]:
        kept = [None if start <= minute < end else value for minute, value in enumerate(world.series[name])]
        if any(value is not None for value in kept):
            world.series[name] = kept
        else:
            del world.series[name]
    return world


def node_client(world: World, name: str, hangs: bool = False, address: str = "10.0.0.1") -> None:
    """A client that node_exporter reports."""
    node = {
        "job": "node",
        "instance": f"{name}:9100",
        "export": f"{address}:/data",
        "protocol": "tcp",
        "mountaddr": address,
    }

    def done(minute: int) -> float:
        return 0 if hangs and minute >= START else 50

    for operation in ("GETATTR", "READ", "WRITE"):
        labels = {**node, "operation": operation}
        world.count("node_mountstats_nfs_operations_requests_total", labels, done)
        world.count("node_mountstats_nfs_operations_transmissions_total", labels, done)
        world.count("node_mountstats_nfs_operations_response_time_seconds_total", labels, lambda m: done(m) * 0.002)
    for kind in ("read", "write"):
        world.count(f"node_mountstats_nfs_total_{kind}_bytes_total", node, lambda m: done(m) * 32_768)
    world.count("node_mountstats_nfs_event_inode_revalidate_total", node, 1)
    for what, rate in (("sends", 1), ("connect", 0), ("receives", done)):
        world.count(f"node_mountstats_nfs_transport_{what}_total", {**node, "transport": "0"}, rate)


# Pollers and their data.


@incident("silent", "a poller of two regions loses one of them", page_by=13)
def _() -> World:
    world = region()
    other = Poller(world, region="us-1", polled=lambda minute: min(minute, START)).add()
    MountTarget(other, name="mt-us", address="10.1.0.1").add()
    return world


@incident("silent", "the only poller is gone from service discovery and comes back after 25 minutes", page_by=13)
def _() -> World:
    there = lambda m: None if START <= m < START + 25 else 1  # noqa: E731  # one expression
    return clients(region(scraped=there, gone=True, minutes=START + 60), 10)


@incident("silent", "OCI data come 8 minutes late while 10 % of the requests fail", page_by=20)
def _() -> World:
    return region({"success": after(0.9, 1.0)}, arrived=lambda m: m - (1 if m < START else 8))


@incident("silent", "the clock of a poller is 6 minutes ahead while a mount target is slow", page_by=14, ticket_by=12)
def _() -> World:
    return region({"latency": after(0.04, 0.004)}, clock=after(360))


@incident("silent", "the clock of a poller is 6 minutes behind", ticket_by=15)
def _() -> World:
    return region(clock=after(-360), arrived=lambda m: m - (1 if m < START else 7))


@incident("silent", "one metric stops: the latency of metadata", ticket_by=26)
def _() -> World:
    world = region(silent=("MetadataRequestAverageLatency",))
    return without(world, "fss_file_system_metadata_latency_seconds", start=START)


@incident("silent", "one metric stops: read throughput", ticket_by=26)
def _() -> World:
    return region(silent=("MountTargetReadThroughput",))


@incident("false", "no client writes at night, and OCI publishes no writes", quiet=True)
def _() -> World:
    world = region({"write_bytes": after(0, 1e8)}, silent=("FileSystemWriteRequestsbySize",), minutes=START + 60)
    return without(world, "fss_file_system_write", start=START)


@incident("silent", "the policy of one compartment is lost while its clients report", ticket_by=14)
def _() -> World:
    world = clients(
        region(
            {}, {"name": "mt-b", "address": "10.0.0.2"}, failing=lambda m: ("MountTargetIOPS",) if m >= START else ()
        ),
        3,
        address="10.0.0.2",
    )
    for name in [one for one in world.series if "mt-b" in one and "_info" not in one and "_limit" not in one]:
        world.series[name] = [value if minute < START else None for minute, value in enumerate(world.series[name])]
    return world


@incident("noise", "OCI Monitoring publishes nothing for a region for 40 minutes", page_by=30, ticket_by=12)
def _() -> World:
    return region(arrived=lambda m: min(m - 1, START), minutes=START + 45)


@incident("noise", "everything is missing for 8 minutes, because Prometheus scrapes nothing", quiet=True)
def _() -> World:
    world = clients(region(minutes=START + 40), 10)
    for name, values in world.series.items():
        world.series[name] = [None if START <= m < START + 8 else value for m, value in enumerate(values)]
    return world


@incident("more", "two pollers of one region, and one restarts", quiet=True)
def _() -> World:
    world = region()
    again = lambda m: None if START <= m < START + 3 else 1  # noqa: E731  # one expression
    MountTarget(Poller(world, instance="poller-2:10949", scraped=again).add()).add()
    return world


@incident("more", "the counters of a poller begin again while a mount target is full", ticket_by=8)
def _() -> World:
    world = region({"iops": after(49_500, 10_000)})
    for name, values in world.series.items():
        if "_total{" in name and "fss_mount_target" in name:
            base = values[START + 12] or 0
            world.series[name] = [
                value if minute < START + 12 or value is None else value - base for minute, value in enumerate(values)
            ]
    return world


@incident("more", "the first inventory of a poller never ends", ticket_by=15)
def _() -> World:
    world = World()
    poller = Poller(world).add()
    world.add("fss_oci_poll_success", {**poller.labels, "region": "eu-1"}, 1)
    world.add("fss_collector_success", {**poller.labels, "collector": "oci_inventory"}, after(0, None))
    return world


@incident(
    "more",
    "a poller is taken out of service for good: one page, and a ticket after three hours",
    page_by=13,
    ticket_by=215,
)
def _() -> World:
    return region(scraped=dead, gone=True, minutes=START + 230)


# Clients that hang.


@incident("silent", "one client of two hangs", page_by=6)
def _() -> World:
    return hanging(clients(region(), 1), 1, 1)


@incident("more", "one client of five hangs", ticket_by=10)
def _() -> World:
    return hanging(clients(region(), 4), 1, 4)


@incident("silent", "five clients of twenty hang", page_by=6)
def _() -> World:
    return hanging(clients(region(), 15), 5, 15)


@incident("more", "two clients of twenty hang", ticket_by=10)
def _() -> World:
    return hanging(clients(region(), 18), 2, 18)


@incident("silent", "ten clients hang one after another, one a minute", page_by=8)
def _() -> World:
    world = region()
    for number in range(10):
        begin = START + number
        Client(
            world,
            f"web-{number}",
            operations=after(0, 50, start=begin),
            unanswered=lambda m, begin=begin: max(0, m - begin) * 60,  # type: ignore[misc]  # the minute of this client
        ).add()
    return world


@incident("silent", "clients hang and nothing else is known: no poller", page_by=6)
def _() -> World:
    return hanging(clients(World(), 4), 4, 4)


@incident("silent", "both clients of an NFSv4 server hang", page_by=6)
def _() -> World:
    return hanging(region(), 2, address="10.9.9.9", service="")


@incident("silent", "idle clients hang: only their attribute requests wait", page_by=6)
def _() -> World:
    return clients(region(), 5, operations=0, unanswered=waiting)


@incident("more", "agents are scraped every two minutes, and all clients hang", page_by=8)
def _() -> World:
    return hanging(region(), 5, every=2)


@incident("more", "agents are scraped every two minutes", quiet=True)
def _() -> World:
    return clients(region(minutes=START + 60), 5, every=2)


@incident("silent", "agents are scraped every five minutes and their mount target hangs", page_by=15, ticket_by=30)
def _() -> World:
    return hanging(region(minutes=START + 40), 5, every=5)


@incident("more", "one client of ten hangs, seen by node_exporter alone", ticket_by=25)
def _() -> World:
    world = region()
    for number in range(10):
        node_client(world, f"web-{number}", hangs=number == 0)
    return world


@incident("more", "agent and node_exporter on the same hosts, and all clients hang", page_by=6)
def _() -> World:
    world = hanging(region(), 5)
    for number in range(5):
        node_client(world, f"web-{number}", hangs=True)
    return world


@incident("more", "a client hangs for a week on a server that is switched off", ticket_by=10)
def _() -> World:
    return clients(clients(region(), 5), 1, 5, address="10.9.9.9", service="", operations=0, unanswered=waiting)


# Agents of the version before, in a fleet that is upgraded.


@incident("more", "agents of the version before: everything is well", quiet=True)
def _() -> World:
    return clients(clients(region(minutes=START + 60), 5, version="0.2.0"), 5, 5)


@incident("more", "agents of the version before: a third of the clients hang", page_by=6)
def _() -> World:
    return hanging(clients(clients(region(), 10, version="0.2.0"), 10, 10), 10, 20, version="0.2.0")


@incident("more", "agents of the version before: two clients of twenty hang", ticket_by=10)
def _() -> World:
    return hanging(clients(region(), 18, version="0.2.0"), 2, 18, version="0.2.0")


@incident("more", "agents of the version before: clients see twice the objective", page_by=10)
def _() -> World:
    return clients(region(), 5, rtt=after(0.045, 0.003), version="0.2.0")


@incident("more", "agents of the version before: a retransmitting client", ticket_by=16)
def _() -> World:
    return clients(clients(region(), 4, version="0.2.0"), 1, 4, retransmitted=after(10), version="0.2.0")


@incident("more", "agents of the version before and after: estimated load at 90 % of the ceiling", ticket_by=12)
def _() -> World:
    world = without(region({"iops": 0}), "fss_mount_target_iops{", "fss_mount_target_io_operations_total")
    return clients(clients(world, 5, iops=after(4_500, 500), version="0.2.0"), 5, 5, iops=after(4_500, 500))


@incident("false", "agents of the version before: a client unmounts one of two exports", quiet=True)
def _() -> World:
    world = without(region({"iops": 0}), "fss_mount_target_iops{", "fss_mount_target_io_operations_total")
    Client(world, "web-0", iops=5_000, version="0.2.0").add()
    mount = {"job": "fss", "instance": "web-0:10949", "address": "10.0.0.1", "server": "10.0.0.1", "service": "oci-fss"}
    world.count("fss_client_estimated_io_operations_total", {**mount, "export": "/b", "class": "read"}, 5_000, dead)
    return clients(world, 3, 1)


@incident("more", "agents of the first version report to the rules of today", ticket_by=17)
def _() -> World:
    return clients(clients(region(), 3, version="0.1.0", scraped=after(1, None), gone=True), 3, 3)


@incident("false", "agents of the version before run on hosts without NFS mounts", quiet=True)
def _() -> World:
    world = region()
    for number in range(3):
        labels = {"job": "fss", "instance": f"idle-{number}:10949"}
        world.add("up", labels, 1)
        world.add("fss_exporter_build_info", {**labels, "version": "0.2.0"}, 1)
        world.add("fss_collector_success", {**labels, "collector": "nfs"}, 1)
    return clients(world, 3)


# Requests that fail or are slow.


@incident("silent", "ESTALE on open at one client of two", page_by=8)
def _() -> World:
    return clients(clients(region(), 1), 1, 1, failing=after(100))


@incident("delay", "10 % of the requests fail, as the clients count", page_by=8)
def _() -> World:
    return clients(World(), 4, failing=after(20))


@incident("delay", "60 % of the requests fail", page_by=6)
def _() -> World:
    return region({"success": after(0.4, 1.0)})


@incident("delay", "writes take twice the objective, reads do not", page_by=10)
def _() -> World:
    world = region()
    for name, values in world.series.items():
        if name.startswith("fss_file_system_write_latency"):
            world.series[name] = [0.045 if minute > START else value for minute, value in enumerate(values)]
    return world


@incident("delay", "metadata takes twice the objective", page_by=10)
def _() -> World:
    world = region()
    for name, values in world.series.items():
        if name.startswith("fss_file_system_metadata_latency"):
            world.series[name] = [0.02 if minute > START else value for minute, value in enumerate(values)]
    return world


@incident("noise", "total outage for 10 minutes, then slow for 15 minutes: one page", page_by=6)
def _() -> World:
    late = after(0.05, 0.004, start=START + 10, minutes=15)
    world = region({"success": after(0.0, 1.0, minutes=10), "latency": late}, minutes=START + 90)
    return clients(
        world,
        10,
        operations=after(0, 50, minutes=10),
        unanswered=lambda m: waiting(m) if m < START + 10 else 0,
        rtt=late,
    )


@incident("noise", "requests fail and are slow at the same time: one page", page_by=8)
def _() -> World:
    return region({"success": after(0.85, 1.0), "latency": after(0.06, 0.004)})


@incident("noise", "an outage comes and goes every five minutes: one page", page_by=6)
def _() -> World:
    flaps = lambda m: 0.0 if m >= START and (m - START) % 10 < 5 else 1.0  # noqa: E731  # one expression
    return region({"success": flaps}, minutes=START + 60)


@incident(
    "noise", "20 mount targets of a region are down for 20 minutes: one page, nothing after", page_by=6, lasting=21
)
def _() -> World:
    down = after(0.0, 1.0, minutes=20)
    return region(
        *({"name": f"mt-{n}", "address": f"10.0.1.{n}", "success": down} for n in range(20)), minutes=START + 90
    )


@incident("false", "a single slow minute", quiet=True)
def _() -> World:
    return clients(region({"latency": after(0.2, 0.004, minutes=1)}), 3, rtt=after(0.2, 0.003, minutes=1))


@incident("false", "one burst of 8 minutes at ten times the objective: nothing after recovery", lasting=20)
def _() -> World:
    return region({"latency": after(0.2, 0.004, minutes=8)}, minutes=START + 60)


@incident("false", "one request a minute, and every request fails", quiet=True)
def _() -> World:
    return region({"requests": 0.02, "iops": 0.04, "success": 0.0})


@incident("false", "0.4 % of the requests fail for an hour", quiet=True)
def _() -> World:
    return region({"success": after(0.996, 1.0)}, minutes=START + 60)


@incident("false", "a burst of retransmissions of one minute", quiet=True)
def _() -> World:
    return clients(clients(region(), 4), 1, 4, retransmitted=after(20, minutes=1))


# Ceilings.


@incident("false", "an hour at 99.5 % of the IOPS with good latency", ticket_by=8)
def _() -> World:
    return clients(region({"iops": after(49_750, 10_000)}, minutes=START + 60), 4)


@incident("false", "90 seconds at 85 % of the IOPS", quiet=True)
def _() -> World:
    return region({"iops": after(42_500, 10_000, minutes=1)})


@incident("silent", "minutes of 70 and 98 % of the read bandwidth in turn that arrive in pairs", ticket_by=10)
def _() -> World:
    return region(
        {"read_bytes": lambda m: 1e8 if m < START else (9.8e8 if m % 2 else 7e8)}, arrived=lambda m: m - 1 - m % 2
    )


@incident("silent", "two pollers, one with an old and larger read bandwidth", ticket_by=8)
def _() -> World:
    world = region({"read_bytes": after(9.5e8, 1e8)})
    for name, values in world.series.items():
        if name.startswith("fss_mount_target_read_bytes_per_second_limit"):
            world.series[name] = [2.5e9 for _ in values]
    MountTarget(Poller(world, instance="poller-2:10949").add(), read_bytes=after(9.5e8, 1e8)).add()
    return world


@incident("more", "a high performance mount target without a known IOPS ceiling reads at its bandwidth", ticket_by=8)
def _() -> World:
    world = without(region({"read_bytes": after(2.4e9, 1e8)}), "fss_mount_target_iops_limit")
    for name, values in world.series.items():
        if name.startswith("fss_mount_target_read_bytes_per_second_limit"):
            world.series[name] = [2.5e9 for _ in values]
    return world


@incident("more", "a high performance mount target without known ceilings is slow", page_by=10)
def _() -> World:
    limits = ("fss_mount_target_iops_limit", "fss_mount_target_write_bytes_per_second_limit")
    return without(region({"latency": after(0.05, 0.004)}), *limits)


@incident("more", "encrypted clients near the ceiling of encrypted connections", ticket_by=10)
def _() -> World:
    world = region()
    world.add("fss_mount_target_encrypted_connections_limit", MT, 64)
    for number in range(60):
        mount = {"job": "fss", "instance": f"web-{number}:10949", "address": "10.0.0.1", "encrypted": "true"}
        world.add("fss_client_mount_info", mount, 1 if number < 20 else after(1, None))
    return world


def at_the_limit(world: World) -> World:
    """Two mount targets where the limit is two."""
    for name in ("fss_oci_mount_targets", "fss_oci_mount_targets_limit"):
        place = {"job": "fss", "instance": "poller-1:10949", "region": "eu-1", "availability_domain": "AD-1"}
        world.add(name, place, 2)
    return world


@incident("false", "as many mount targets as the service limit allows, without need for another", quiet=True)
def _() -> World:
    return at_the_limit(region())


@incident("more", "as many mount targets as the service limit allows, and a mount target is full", ticket_by=25)
def _() -> World:
    return at_the_limit(region({"iops": after(49_500, 10_000)}))


@incident("more", "NFS fills the network card of a client", ticket_by=12)
def _() -> World:
    world = clients(region(), 3)
    host = {"job": "fss", "instance": "web-0:10949"}
    world.add("fss_client_network_bytes_per_second_limit", host, 1.25e8)
    world.count("fss_nfs_received_bytes_total", host, after(1.18e8, 1e6))
    world.count("fss_nfs_sent_bytes_total", host, 1e6)
    return world


# Changes on purpose.


@incident("false", "ten of fifty agents leave service discovery", quiet=True)
def _() -> World:
    return clients(clients(region(minutes=START + 60), 10), 3, 10, scraped=dead, gone=True)


@incident("silent", "one agent of twenty is dead for good", ticket_by=75)
def _() -> World:
    return clients(clients(region(minutes=START + 90), 18), 1, 18, scraped=dead)


@incident("false", "a mount target is deleted, and its clients left before", quiet=True)
def _() -> World:
    left = after(None, 1)
    return region(
        {}, {"name": "mt-b", "address": "10.0.0.2", "known": left, "iops": 0, "requests": 0}, minutes=START + 60
    )


@incident("false", "a mount target is renamed while it is full", ticket_by=8)
def _() -> World:
    world = World(START + 40)
    watching = Poller(world).add()
    for name, known in (
        ("mt-a", lambda m: 1 if m < START + 18 else None),
        ("mt-new", lambda m: 1 if m >= START + 18 else None),
    ):
        MountTarget(watching, name=name, known=known, oci_id="ocid1.mounttarget.one", iops=after(49_500, 10_000)).add()
    return world
