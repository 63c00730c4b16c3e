"""Incidents and non-incidents of fleets: roll-outs, scrapes, labels, topologies and clients of several kinds.

Importing this module adds them to `INCIDENTS`.
"""

from collections.abc import Callable

from tests.rules.incidents import clients, dead, hanging, incident, region, waiting
from tests.rules.simulator import START, Client, MountTarget, Poller, World, after
from tests.rules.variants import node_client


def away(world: World, start: int, minutes: int) -> World:
    """The world as a Prometheus has it that was away for some minutes."""
    world.stale = False
    for name, values in world.series.items():
        world.series[name] = [None if start <= m < start + minutes else value for m, value in enumerate(values)]
    return world


def relabelled(world: World, change: Callable[[str], str], *beginnings: str) -> World:
    """The world with the names of some series changed; of two with one name the first stays, as in a scrape."""
    series: dict[str, list[float | None]] = {}
    for name, values in world.series.items():
        series.setdefault(change(name) if name.startswith(beginnings or ("",)) else name, values)
    world.series = series
    return world


def without_label(label: str) -> Callable[[str], str]:
    """A change of names that drops a label."""

    def change(name: str) -> str:
        metric, _, labels = name.rstrip("}").partition("{")
        return f"{metric}{{{','.join(one for one in labels.split(',') if not one.startswith(f'{label}='))}}}"

    return change


def twice(world: World, label: str = "job", value: str = "fss-again") -> World:
    """Every target scraped by a second job, or every series written by a second Prometheus."""
    for name, values in list(world.series.items()):
        metric, _, labels = name.rstrip("}").partition("{")
        kept = ",".join(one for one in labels.split(",") if not one.startswith(f"{label}="))
        world.series[f'{metric}{{{kept},{label}="{value}"}}'] = values
    return world


def born(minute: int) -> Callable[[int], float | None]:
    """Scraped from a minute on."""
    return lambda m: 1 if m >= minute else None


def gone(minute: int) -> Callable[[int], float | None]:
    """Scraped until a minute."""
    return lambda m: 1 if m < minute else None


def stall(minutes: int) -> Callable[[int], float]:
    """Seconds without a reply, in a stall of some minutes."""
    return lambda m: waiting(m) if m < START + minutes else 0


# Roll-outs.


@incident("false", "clients double for ten minutes during a deploy", quiet=True)
def _() -> World:
    load = after(36_000, 18_000, minutes=10)
    world = region({"iops": load, "connections": after(400, 200, minutes=10)})
    clients(world, 6)
    for number in range(6, 12):
        Client(world, f"web-{number}", scraped=after(1, None, minutes=10), gone=True).add()
    return world


@incident("false", "a DaemonSet rolls out, and every agent has a new address", quiet=True)
def _() -> World:
    world = region()
    for number in range(12):
        Client(world, f"old-{number}", scraped=gone(START + number), gone=True).add()
        Client(world, f"new-{number}", scraped=born(START + number + 1), gone=True).add()
    return world


@incident("false", "a DaemonSet rolls out, and every agent is away for three minutes", quiet=True)
def _() -> World:
    world = region()
    for number in range(12):
        there = lambda m, n=number: None if START + 2 * n // 2 <= m < START + 3 + n else 1  # noqa: E731  # one expression
        Client(world, f"web-{number}", scraped=there).add()
    return world


@incident("noise", "half of the clients hang while a DaemonSet rolls out", page_by=7)
def _() -> World:
    world = region()
    for number in range(12):
        there = lambda m, n=number: None if m in (START + n, START + n + 1) else 1  # noqa: E731  # one expression
        hangs = {"operations": after(0, 50), "unanswered": waiting} if number % 2 else {}
        Client(world, f"web-{number}", scraped=there, **hangs).add()  # type: ignore[arg-type]  # a table of arguments
    return world


@incident("silent", "a broken version of the agent: half of the fleet is down for good", ticket_by=20)
def _() -> World:
    return clients(clients(region(), 6), 6, 6, scraped=dead)


@incident("silent", "half of the agents crash every other minute", ticket_by=40)
def _() -> World:
    world = clients(region(minutes=START + 45), 5)
    return clients(world, 5, 5, scraped=lambda m: None if m >= START and m % 2 else 1)


@incident("noise", "agents are upgraded from the version before while all clients hang", page_by=6)
def _() -> World:
    world = hanging(region(), 6, older=True, scraped=gone(START + 5), gone=True)
    for number in range(6):
        Client(
            world,
            f"web-{number}",
            job="new",
            operations=after(0, 50),
            unanswered=waiting,
            scraped=born(START + 5),
            gone=True,
        ).add()
    return world


@incident("false", "agents are upgraded from the version before", quiet=True)
def _() -> World:
    world = region()
    for number in range(8):
        Client(world, f"web-{number}", older=True, scraped=gone(START + number), gone=True, iops=2_500).add()
        Client(world, f"web-{number}", job="new", scraped=born(START + number), gone=True, iops=2_500).add()
    return world


@incident("false", "agents are put back to the version before", quiet=True)
def _() -> World:
    world = region()
    for number in range(8):
        Client(world, f"web-{number}", scraped=gone(START + number), gone=True).add()
        Client(world, f"web-{number}", job="old", older=True, scraped=born(START + number), gone=True).add()
    return world


# Scrapes.


@incident("false", "scrapes of one agent fail for six minutes", quiet=True)
def _() -> World:
    return clients(clients(region(), 5), 1, 5, scraped=lambda m: None if START <= m < START + 6 else 1)


@incident("noise", "Prometheus restarts for three minutes in a stall of all clients", page_by=6)
def _() -> World:
    return away(hanging(region(), 5), START + 5, 3)


@incident("noise", "Prometheus is away for seven minutes in a stall of all clients", page_by=6)
def _() -> World:
    return away(hanging(region(minutes=START + 40), 5), START + 5, 7)


@incident("noise", "Prometheus restarts while a mount target is slow", page_by=13)
def _() -> World:
    return away(region({"latency": after(0.05, 0.004)}), START + 5, 3)


@incident("noise", "Prometheus restarts while a mount target is full", ticket_by=11, tickets=1)
def _() -> World:
    return away(region({"iops": after(49_500, 10_000)}, minutes=START + 40), START + 12, 4)


@incident("false", "every other scrape of the only poller fails", lasting=25)
def _() -> World:
    return region(scraped=lambda m: None if START <= m < START + 20 and m % 2 else 1, minutes=START + 40)


@incident("silent", "agents are scraped every three minutes, and a third of the clients hang", page_by=10)
def _() -> World:
    return hanging(clients(region(), 6, every=3), 3, 6, every=3)


# Labels.


@incident(
    "false", "every target is scraped by two jobs, at half of the ceiling by the estimates of clients", quiet=True
)
def _() -> World:
    world = clients(World(), 5, iops=5_000)
    MountTarget(Poller(world).add(), iops=None, requests=None, latency=None).add()
    for name in [one for one in world.series if one.startswith(("fss_mount_target_iops{", "fss_mount_target_io_op"))]:
        del world.series[name]
    return twice(world)


@incident("noise", "every target is scraped by two jobs, and a third of the clients hang", page_by=6)
def _() -> World:
    return twice(hanging(clients(region(), 6), 3, 6))


@incident("more", "every target is scraped by two jobs, and one client of ten hangs", ticket_by=10, tickets=1)
def _() -> World:
    return twice(hanging(clients(region(), 9), 1, 9))


@incident("noise", "two replicas of Prometheus write to one store, and a mount target is full", ticket_by=8, tickets=1)
def _() -> World:
    return twice(region({"iops": after(49_500, 10_000)}), "replica", "b")


@incident("noise", "two replicas of Prometheus write to one store, and the poller dies", page_by=13)
def _() -> World:
    return twice(region(scraped=dead), "replica", "b")


@incident("more", "a federation drops the job of every series, and all clients hang", page_by=6)
def _() -> World:
    return relabelled(hanging(region(), 5), without_label("job"))


@incident("silent", "a federation drops the job of every series, and the poller dies", page_by=13)
def _() -> World:
    return relabelled(region(scraped=dead), without_label("job"))


@incident("more", "a relabelling drops the class of the clients' series, and all clients hang", page_by=6)
def _() -> World:
    return relabelled(hanging(region(), 5), without_label("class"), "fss_client_")


@incident("false", "a relabelling drops the class of the clients' series", quiet=True)
def _() -> World:
    return relabelled(clients(region(), 5), without_label("class"), "fss_client_")


@incident("more", "a relabelling drops the names of mount targets, and one is full", ticket_by=8)
def _() -> World:
    return relabelled(region({"iops": after(49_500, 10_000)}), without_label("mount_target"))


@incident("noise", "all series have labels of a cluster and of a pod that restarts in a stall", page_by=6)
def _() -> World:
    world = World()
    MountTarget(Poller(world).add()).add()
    for pod, there in (("a", gone(START + 6)), ("b", born(START + 6))):
        part = hanging(World(), 4, scraped=there, gone=True)
        world.series |= relabelled(part, lambda name, pod=pod: f'{name[:-1]},cluster="c1",pod="agent-{pod}"}}').series  # type: ignore[misc]  # the pod of this part
    return world


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


# Topologies.


@incident("more", "two mount targets behind one DNS name, and one of them hangs", page_by=6)
def _() -> World:
    world = region({}, {"name": "mt-b", "address": "10.0.0.2"})
    return hanging(clients(world, 6), 6, 6, address="10.0.0.2")


@incident("more", "each host mounts four mount targets, and all hang on one", page_by=6)
def _() -> World:
    world = region(*({"name": f"mt-{n}", "address": f"10.0.0.{n}"} for n in range(1, 5)))
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
    world = clients(World(), 5, scraped=1)
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
