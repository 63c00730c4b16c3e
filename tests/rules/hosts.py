"""Incidents and non-incidents of clients: several kinds of agents, topologies, hosts that come and go, lost packets.

Importing this module adds them to `INCIDENTS`.
"""

from tests.rules.fleets import born, gone, stall
from tests.rules.incidents import clients, hanging, incident, region, waiting
from tests.rules.simulator import START, Client, MountTarget, Poller, World, after
from tests.rules.variants import node_client

# Clients of several kinds.


@incident("more", "of a fleet with agents on ten hosts and node_exporter on twenty others, ten hang", page_by=6)
def _() -> World:
    world = hanging(region(), 10)
    for number in range(10, 30):
        node_client(world, f"web-{number}")
    return world


@incident("more", "of a fleet with agents on ten hosts and node_exporter on twenty others, three hang", ticket_by=10)
def _() -> World:
    world = hanging(clients(region(), 7), 3, 7)
    for number in range(10, 30):
        node_client(world, f"web-{number}")
    return world


@incident("more", "agent and node_exporter on the same hosts, and one of ten hangs", ticket_by=10)
def _() -> World:
    world = hanging(clients(region(), 9), 1, 9)
    for number in range(10):
        node_client(world, f"web-{number}", hangs=number == 9)
    return world


@incident("more", "agent and node_exporter on the same hosts, and three of nine hang", page_by=6)
def _() -> World:
    world = hanging(clients(region(), 6), 3, 6)
    for number in range(9):
        node_client(world, f"web-{number}", hangs=number >= 6)
    return world


@incident("false", "agent and node_exporter on the same IPv6 hosts at half of the ceiling", quiet=True)
def _() -> World:
    world = World()
    for number in range(4):
        Client(world, f"[fd00::{number}]", iops=6_250).add()
        node_client(world, f"[fd00::{number}]")
    MountTarget(Poller(world).add(), iops=None, requests=None, latency=None).add()
    for name in [one for one in world.series if one.startswith(("fss_mount_target_iops{", "fss_mount_target_io_op"))]:
        del world.series[name]
    return world


@incident("more", "clients with nconnect=16 hang, seen by node_exporter alone", page_by=16)
def _() -> World:
    world = region()
    for number in range(3):
        node_client(world, f"web-{number}", hangs=True)
    for name, values in list(world.series.items()):
        if 'transport="0"' in name:
            world.series |= {name.replace('transport="0"', f'transport="{n}"'): values for n in range(1, 16)}
    return world


@incident("more", "the RTT of clients is twice the objective, seen by node_exporter alone", page_by=14)
def _() -> World:
    world = World()
    for number in range(3):
        node_client(world, f"web-{number}")
    for name, values in world.series.items():
        if "response_time" in name:
            slow, rise = 0.0, []
            for minute, value in enumerate(values):
                rise.append((value or 0) + slow)
                slow += 0.045 * 50 * 60 if minute >= START else 0
            world.series[name] = list(rise)
    return world


@incident("false", "a host with node_exporter reboots", quiet=True)
def _() -> World:
    world = region()
    for number in range(3):
        node_client(world, f"web-{number}")
    for name, values in world.series.items():
        if "web-0:9100" in name:
            base = values[START + 3] or 0
            world.series[name] = [
                value if m < START else None if m < START + 3 or value is None else value - base
                for m, value in enumerate(values)
            ]
    return world


@incident("false", "hosts mount an unknown server that answers in 15 ms, seen by node_exporter alone", quiet=True)
def _() -> World:
    world = region()
    for number in range(5):
        node_client(world, f"web-{number}")
        node_client(world, f"web-{number}", address="10.9.9.9")
    for name, values in world.series.items():
        if "response_time" in name and "10.9.9.9" in name:
            world.series[name] = [(value or 0) * 7.5 for value in values]
    return world


# Topologies.


@incident("more", "two mount targets behind one DNS name, and one of them hangs", page_by=6)
def _() -> World:
    world = region({}, {"name": "mt-b", "address": "10.0.0.2"})
    return hanging(clients(world, 6), 6, 6, address="10.0.0.2")


@incident("more", "each host mounts four mount targets, and all hang on one", page_by=6)
def _() -> World:
    world = region(*({"name": f"mt-{n}", "address": f"10.0.0.{n}", "iops": 5_000} for n in range(1, 5)))
    for number in range(1, 4):
        clients(world, 4, address=f"10.0.0.{number}")
    return hanging(world, 4, address="10.0.0.4")


@incident("more", "each host mounts two mount targets, and one host hangs on one", ticket_by=10)
def _() -> World:
    world = region({}, {"name": "mt-b", "address": "10.0.0.2"})
    clients(world, 8)
    return hanging(clients(world, 7, address="10.0.0.2"), 1, 7, address="10.0.0.2")


@incident("more", "three clients of 150 hang: one ticket", ticket_by=10, tickets=1)
def _() -> World:
    return hanging(clients(region(minutes=START + 15), 147), 3, 147)


@incident("more", "clients of NFSv4 alone, at 8 ms", quiet=True)
def _() -> World:
    return clients(World(), 5, address="10.9.9.9", service="", rtt=0.008)


@incident("more", "a host with NFSv3 and NFSv4, and one of ten hangs on the NFSv4 server", ticket_by=10)
def _() -> World:
    world = clients(region(), 10)
    return hanging(clients(world, 9, address="10.9.9.9", service=""), 1, 9, address="10.9.9.9", service="")


@incident("more", "an NFSv4 server with a stated objective of 20 ms takes 45 ms", page_by=10)
def _() -> World:
    world = clients(World(), 3, address="10.9.9.9", service="", rtt=after(0.045, 0.003))
    for number in range(3):
        for kind in ("read", "write", "metadata_read", "metadata_write"):
            labels = {"job": "fss", "instance": f"web-{number}:10949", "address": "10.9.9.9", "class": kind}
            world.add("fss_client_latency_objective_seconds", labels, 0.02)
    return world


@incident("false", "one host of twenty has a bad network card and sees 100 ms")
def _() -> World:
    return clients(clients(region(), 19), 1, 19, rtt=after(0.1, 0.003))


@incident("false", "creating files is rare and takes 500 ms", quiet=True)
def _() -> World:
    world = clients(region(), 3)
    for name in [one for one in world.series if 'class="metadata_write"' in one]:
        calls = 0.05 if "requests_total" in name else 0.025
        world.series[name] = [max(0, m - START) * 60 * calls for m in range(world.minutes + 1)]
    return world


# Clients that come and go.


@incident("false", "all clients wait for 90 seconds after a failover with hard mounts", quiet=True)
def _() -> World:
    return clients(
        region(), 8, operations=lambda m: 0 if m == START else 50, unanswered=lambda m: 90 if m == START + 1 else 0
    )


@incident("noise", "clients hang, and their hosts are replaced", page_by=6, lasting=17)
def _() -> World:
    world = hanging(region(minutes=START + 45), 5, scraped=gone(START + 12), gone=True)
    return clients(world, 5, 5, scraped=born(START + 13), gone=True)


@incident("silent", "new clients hang from their first minute", page_by=8)
def _() -> World:
    world = World()
    MountTarget(Poller(world).add()).add()
    return clients(world, 3, operations=0, unanswered=waiting, scraped=born(START + 1), gone=True)


@incident("noise", "one client of five hangs, and is rebooted after six minutes: nothing after", lasting=12)
def _() -> World:
    world = clients(region(minutes=START + 40), 4)
    there = lambda m: None if START + 6 <= m < START + 9 else 1  # noqa: E731  # one expression
    Client(world, "web-4", operations=after(0, 50, minutes=9), unanswered=stall(6), scraped=there).add()
    return world


@incident("false", "an export is mounted again, and its counters begin again", quiet=True)
def _() -> World:
    world = clients(region(), 3, iops=3_000)
    for name, values in world.series.items():
        if "_total{" in name and "web-" in name:
            base = values[START] or 0
            world.series[name] = [
                value if m < START or value is None else value - base for m, value in enumerate(values)
            ]
    return world


@incident("false", "the clocks of all agents are 20 minutes behind")
def _() -> World:
    world = clients(region(minutes=START + 40), 3)
    for number in range(3):
        labels = {"job": "fss", "instance": f"web-{number}:10949", "collector": "nfs"}
        world.add("fss_collector_last_success_timestamp_seconds", labels, lambda m: m * 60 - 1200)
    return world


@incident("silent", "no agent can read mountstats, where OCI is not polled", page_by=15)
def _() -> World:
    world = clients(World(), 5)
    for name in [one for one in world.series if one.startswith("fss_c")]:
        values = world.series[name]
        lost = 0 if "collector_success" in name else None
        world.series[name] = [value if m < START else lost for m, value in enumerate(values)]
    return world


# Packets that get lost.


@incident("false", "one packet of a thousand is lost at all clients", quiet=True)
def _() -> World:
    return clients(region(), 5, retransmitted=after(0.2))


@incident("false", "one packet of a hundred is lost at all clients")
def _() -> World:
    return clients(region(), 5, retransmitted=after(2))


@incident("more", "five packets of a hundred are lost at all clients: one ticket", ticket_by=16, tickets=1)
def _() -> World:
    return clients(region(), 5, retransmitted=after(10))


@incident("noise", "five packets of a hundred are lost, and requests take three times the objective", page_by=10)
def _() -> World:
    return clients(region(), 5, retransmitted=after(10), rtt=after(0.06, 0.003))
