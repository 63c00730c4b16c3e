"""Incidents and non-incidents of mounts: encryption, IPv6, NFS versions, stale handles, idle mounts, soft mounts.

Importing this module adds them to `INCIDENTS`.
"""

from tests.rules.fleets import born
from tests.rules.incidents import MT, clients, hanging, incident, region, waiting
from tests.rules.lateness import late
from tests.rules.simulator import START, Client, MountTarget, Poller, World, after
from tests.rules.variants import node_client

SLOW = after(0.045, 0.003)


# Encryption.


@incident("silent", "three of ten clients behind stunnel on 127.0.0.1 hang", page_by=6)
def _() -> World:
    return hanging(clients(region(), 7, address="127.0.0.1"), 3, 7, address="127.0.0.1")


@incident("silent", "clients behind stunnel on 127.0.0.1 see twice the objective", page_by=10)
def _() -> World:
    return clients(region(), 6, address="127.0.0.1", rtt=SLOW)


@incident(
    "noise",
    "a mount target is slow for its clients and for clients behind a forwarder that address_map does not resolve: two pages",
    page_by=10,
    pages=2,
)
def _() -> World:
    world = clients(region({"latency": after(0.045, 0.004)}), 4, rtt=SLOW)
    return clients(world, 4, 4, address="192.168.255.2", rtt=SLOW)


@incident(
    "noise",
    "a mount target hangs for its clients and for clients behind a forwarder that address_map does not resolve: two pages",
    page_by=6,
    pages=2,
)
def _() -> World:
    return hanging(hanging(region(), 4), 4, 4, address="192.168.255.2")


@incident("silent", "encrypted clients hang while another mount target is slow: two pages", page_by=6, pages=2)
def _() -> World:
    world = clients(region({"latency": after(0.045, 0.004)}), 4, rtt=SLOW)
    return hanging(clients(world, 4, 4, address="192.168.255.2"), 4, 8, address="192.168.255.2")


@incident("more", "encrypted clients of two mount targets fill the ceiling of one", ticket_by=10, tickets=1)
def _() -> World:
    world = region({}, {"name": "mt-b", "address": "10.0.0.2"})
    for name in ("mt-a", "mt-b"):
        place = {**MT, "mount_target": name, "mount_target_id": f"ocid1.mounttarget.{name}"}
        world.add("fss_mount_target_encrypted_connections_limit", place, 20)
    for number in range(30):
        mount = {"job": "fss", "instance": f"web-{number}:10949", "encrypted": "true"}
        address = "10.0.0.1" if number < 17 else "10.0.0.2"
        world.add("fss_client_mount_info", {**mount, "address": address}, after(1, 1 if number >= 17 else None))
    return world


@incident("false", "each host has four encrypted mounts of a mount target, at 60 % of the ceiling", quiet=True)
def _() -> World:
    world = region()
    world.add("fss_mount_target_encrypted_connections_limit", MT, 20)
    for number in range(48):
        mount = {"job": "fss", "instance": f"web-{number // 4}:10949", "address": "10.0.0.1", "encrypted": "true"}
        world.add("fss_client_mount_info", {**mount, "mount_point": f"/data/{number % 4}"}, 1)
    return world


# Addresses and versions.


@incident("silent", "all clients of an IPv6 mount target hang", page_by=6)
def _() -> World:
    return hanging(region({"address": "fd00:c1::5"}), 4, address="fd00:c1::5")


@incident("more", "an IPv6 mount target is slow, seen by agents and node_exporter: one page", page_by=10)
def _() -> World:
    world = clients(
        region({"address": "fd00:c1::5", "latency": after(0.045, 0.004)}), 4, address="fd00:c1::5", rtt=SLOW
    )
    for number in range(4, 8):
        node_client(world, f"web-{number}", address="fd00:c1::5")
    return world


@incident("noise", "a mount target has an IPv4 and an IPv6 address, and the clients of both hang: one page", page_by=6)
def _() -> World:
    world = region()
    world.add("fss_mount_target_info", {**MT, "address": "fd00:c1::5", "state": "ACTIVE"}, 1)
    return hanging(hanging(world, 4), 4, 4, address="fd00:c1::5")


@incident(
    "more",
    "a mount target has an IPv4 and an IPv6 address, and the clients of both fill the ceiling",
    ticket_by=12,
    tickets=1,
)
def _() -> World:
    world = region({"iops": 0})
    world.series = {
        name: v
        for name, v in world.series.items()
        if not name.startswith(("fss_mount_target_iops{", "fss_mount_target_io_op"))
    }
    world.add("fss_mount_target_info", {**MT, "address": "fd00:c1::5", "state": "ACTIVE"}, 1)
    load = after(8_000, 1_000)
    return clients(clients(world, 3, iops=load), 3, 3, address="fd00:c1::5", iops=load)


def _with_hanging_server(world: World, hosts: int) -> World:
    """Let an NFSv4.1 server hang that the hosts of a world mount as well."""
    for number in range(hosts):
        own = World()
        Client(own, f"web-{number}", address="10.9.9.9", service="", operations=after(0, 50), unanswered=waiting).add()
        world.series = own.series | world.series
    return world


@incident("silent", "hosts mount NFSv3 and NFSv4.1, and the NFSv4.1 server hangs for all: one page", page_by=6)
def _() -> World:
    return _with_hanging_server(clients(region(), 5), 5)


@incident("noise", "a mount target and an NFSv4.1 server hang at the same hosts: two pages", page_by=6, pages=2)
def _() -> World:
    return _with_hanging_server(hanging(region(), 4), 4)


# Stale handles, idle and soft mounts.


@incident("silent", "an export is deleted under ten clients that send 4 requests a second together", page_by=8)
def _() -> World:
    return clients(region(), 10, operations=0.1, failing=after(0.3))


@incident("silent", "an export is deleted under its clients, which give up after seven minutes", page_by=8)
def _() -> World:
    gone = START + 7
    return clients(region(), 4, operations=lambda m: 50 if m < gone else 0.01, failing=after(60, minutes=7))


@incident("more", "one of two exports is deleted under a tenth of the clients", ticket_by=16)
def _() -> World:
    return clients(clients(region(), 18), 2, 18, failing=after(50))


@incident("silent", "soft mounts: all requests end with an error after a minute without a reply", page_by=8)
def _() -> World:
    return clients(region(), 4, operations=after(0.3, 50), failing=after(1.2), unanswered=waiting)


@incident("false", "a mount of 400 requests an hour answers in 300 ms", quiet=True)
def _() -> World:
    world = region({"requests": 0.11, "iops": 0.3, "latency": 0.3}, minutes=START + 60)
    return clients(world, 3, operations=0.01, rtt=0.3)


@incident("false", "an idle client among busy clients needs 200 ms for its rare requests", quiet=True)
def _() -> World:
    return clients(clients(region(), 5), 1, 5, operations=0.05, rtt=0.2)


@incident("more", "199 idle clients, and one busy client of them hangs", ticket_by=10)
def _() -> World:
    return hanging(clients(region(), 20, operations=0), 1, 20)


@incident("false", "clients with an address that the poller has not yet seen are slow for five minutes", lasting=15)
def _() -> World:
    return clients(
        region(minutes=START + 40),
        3,
        address="10.0.0.77",
        scraped=born(START),
        gone=True,
        rtt=after(0.06, 0.003, minutes=5),
    )


@incident("more", "10 % of the clients see 300 ms behind a bad switch", page_by=10)
def _() -> World:
    return clients(clients(region(), 18), 2, 18, rtt=after(0.3, 0.003))


@incident("more", "clients hang, with data that are five minutes old and a share of failed requests later", page_by=6)
def _() -> World:
    return hanging(region({"success": after(0.1, 1.0)}, arrived=late(5)), 4)


@incident("noise", "a mount target of one address moves to another while its clients hang: one page", page_by=6)
def _() -> World:
    world = World(START + 40)
    poller = Poller(world).add()
    MountTarget(poller, known=lambda m: 1 if m < START + 10 else None, oci_id="ocid1.mounttarget.one").add()
    MountTarget(poller, address="10.0.0.9", known=born(START + 10), oci_id="ocid1.mounttarget.one").add()
    return hanging(world, 4)


@incident("silent", "30 % of the requests of all clients of an NFSv4.1 server fail", page_by=10)
def _() -> World:
    return clients(World(), 5, address="10.9.9.9", service="", failing=after(60))


@incident("false", "an NFSv4.1 server refuses half of all requests in its grace period of two minutes", quiet=True)
def _() -> World:
    return clients(World(START + 60), 6, address="10.9.9.9", service="", failing=after(100, minutes=2))


@incident("noise", "all requests of all clients fail for 25 minutes: nothing after recovery", page_by=8, lasting=25)
def _() -> World:
    return clients(region(minutes=START + 60), 5, failing=after(200, minutes=25))
