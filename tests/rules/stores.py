"""Incidents and non-incidents of Prometheus: replicas, external labels, federations, gaps between scrapes, evaluation intervals.

Importing this module adds them to `INCIDENTS`.
"""

from tests.rules.fleets import born, relabelled, twice
from tests.rules.incidents import clients, dead, hanging, incident, region, waiting
from tests.rules.simulator import START, Client, MountTarget, Poller, World, after
from tests.rules.variants import without


def estimated(world: World) -> World:
    """The world of a tenancy where OCI does not publish IOPS, so that the estimate of clients counts."""
    return without(world, "fss_mount_target_iops{", "fss_mount_target_io_operations_total")


def labelled(world: World, **labels: str) -> World:
    """The world with further labels on every series, as a scrape configuration adds."""
    added = "".join(f',{label}="{value}"' for label, value in labels.items())
    return relabelled(world, lambda name: f"{name[:-1]}{added}}}")


def gaps(world: World, every: int = 5) -> World:
    """The world with one of so many scrapes failing on each target: at another minute on each."""
    targets = sorted({name.partition('instance="')[2].partition('"')[0] for name in world.series})
    for name, values in world.series.items():
        shift = targets.index(name.partition('instance="')[2].partition('"')[0])
        missing = 0 if name.startswith("up{") else None
        world.series[name] = [missing if (m + shift) % every == 0 else value for m, value in enumerate(values)]
    return world


def evaluated(world: World, seconds: int) -> World:
    """The world with another interval between evaluations."""
    world.evaluated = seconds
    return world


# Replicas and external labels.


@incident("false", "two replicas of Prometheus write to one store: clients cause half of the ceiling", quiet=True)
def _() -> World:
    return twice(estimated(clients(region(), 5, iops=5_000)), "replica", "b")


@incident("noise", "two replicas of Prometheus write to one store, and a quarter of the clients hang", page_by=6)
def _() -> World:
    return twice(hanging(clients(region(), 9), 3, 9), "prometheus_replica", "b")


@incident(
    "more", "two replicas of Prometheus write to one store, and one client of five hangs", ticket_by=10, tickets=1
)
def _() -> World:
    return twice(hanging(clients(region(), 4), 1, 4), "replica", "b")


@incident("noise", "two replicas of Prometheus write to one store, and latency is twice the objective", page_by=10)
def _() -> World:
    slow = after(0.04, 0.004)
    return twice(clients(region({"latency": slow}), 4, rtt=slow), "replica", "b")


@incident("false", "one of two replicas of Prometheus that write to one store is away for ten minutes", quiet=True)
def _() -> World:
    world = twice(clients(region(minutes=START + 40), 6), "replica", "b")
    for name, values in world.series.items():
        if 'replica="b"' in name:
            world.series[name] = [None if START <= m < START + 10 else value for m, value in enumerate(values)]
    return world


@incident(
    "noise",
    "all series have labels of a cluster and a namespace: a full and slow mount target",
    page_by=10,
    ticket_by=8,
)
def _() -> World:
    slow = after(0.05, 0.004)
    world = clients(region({"iops": after(49_500, 10_000), "latency": slow}), 4, rtt=slow)
    return labelled(world, cluster="c1", namespace="storage")


@incident(
    "false", "two clusters share a mount target, each at 35 % of the ceiling by the estimates of clients", quiet=True
)
def _() -> World:
    world = World()
    MountTarget(Poller(world).add()).add()
    for cluster in ("c1", "c2"):
        world.series |= labelled(clients(World(), 4, iops=4_375), cluster=cluster).series
    return estimated(world)


@incident("silent", "two clusters have pollers of the same name for two regions, and one is gone", page_by=13)
def _() -> World:
    world = labelled(region(scraped=dead, gone=True), cluster="c1")
    other = World()
    MountTarget(Poller(other, region="us-1").add(), name="mt-us", address="10.1.0.1").add()
    world.series |= labelled(other, cluster="c2").series
    return world


# Federations.


@incident("false", "agents behind a federation that forwards no up", quiet=True)
def _() -> World:
    return without(clients(region(minutes=START + 60), 6), "up{")


@incident("silent", "agents behind a federation that forwards no up, and a third of the clients hang", page_by=6)
def _() -> World:
    return without(hanging(clients(region(), 6), 3, 6), "up{")


@incident("silent", "agents behind a federation of every two minutes see twice the objective", page_by=12)
def _() -> World:
    return without(clients(region(), 4, rtt=after(0.045, 0.003), every=2), "up{")


@incident("more", "Prometheus starts for the first time while a mount target is slow", page_by=12)
def _() -> World:
    slow = after(0.05, 0.05)
    there = born(START)
    return clients(region({"latency": slow}, scraped=there, gone=True), 4, rtt=0.05, scraped=there, gone=True)


@incident("silent", "agents are installed in a stall of all clients, without a poller", page_by=6)
def _() -> World:
    return clients(World(), 4, operations=0, unanswered=waiting, scraped=born(START), gone=True)


# Gaps between scrapes.


@incident("false", "one of five scrapes fails on every target", quiet=True)
def _() -> World:
    return gaps(clients(region(minutes=START + 60), 6))


@incident("more", "one of five scrapes fails on every target, and latency is twice the objective", page_by=12)
def _() -> World:
    slow = after(0.04, 0.004)
    return gaps(clients(region({"latency": slow}), 4, rtt=slow))


@incident("more", "one of five scrapes fails on the poller, and latency is twice the objective", page_by=12)
def _() -> World:
    return gaps(region({"latency": after(0.04, 0.004)}))


@incident("more", "one of five scrapes fails on every target, and a mount target is full", ticket_by=10, tickets=1)
def _() -> World:
    return gaps(clients(region({"iops": after(49_500, 10_000)}, minutes=START + 60), 4))


@incident("more", "one of five scrapes fails on every target, and a third of the clients hang", page_by=7)
def _() -> World:
    return gaps(hanging(clients(region(), 6), 3, 6))


@incident("more", "one of five scrapes fails on the poller, and 10 % of the requests fail", page_by=10)
def _() -> World:
    return gaps(region({"success": after(0.9, 1.0)}))


# Evaluation intervals.


@incident("more", "evaluated each 30 seconds: latency at twice the objective", page_by=10)
def _() -> World:
    return evaluated(region({"latency": after(0.04, 0.004)}), 30)


@incident("false", "scraped and evaluated each 30 seconds: one burst of 8 minutes at ten times the objective")
def _() -> World:
    burst = after(0.2, 0.004, minutes=8)
    return evaluated(clients(region({"latency": burst}), 3, rtt=burst).halved(), 30)


@incident("more", "scraped and evaluated each 30 seconds: 10 % of the requests fail", page_by=8)
def _() -> World:
    return evaluated(region({"success": after(0.9, 1.0)}, minutes=START + 15).halved(), 30)


@incident("more", "scraped and evaluated each 30 seconds: a third of the clients hang", page_by=6)
def _() -> World:
    return evaluated(hanging(clients(region(minutes=START + 15), 6), 3, 6).halved(), 30)


@incident("false", "evaluated each two minutes: everything is well", quiet=True)
def _() -> World:
    return evaluated(clients(region(minutes=START + 60), 6), 120)


@incident("more", "evaluated each two minutes: latency at twice the objective", page_by=12)
def _() -> World:
    return evaluated(region({"latency": after(0.04, 0.004)}), 120)


@incident("more", "evaluated each two minutes: 10 % of the requests fail", page_by=10)
def _() -> World:
    return evaluated(region({"success": after(0.9, 1.0)}), 120)


@incident("more", "evaluated each two minutes: all requests fail", page_by=8)
def _() -> World:
    return evaluated(region({"success": after(0.0, 1.0)}), 120)


@incident("more", "evaluated each two minutes: a full ceiling", ticket_by=10)
def _() -> World:
    return evaluated(region({"iops": after(49_500, 10_000)}), 120)


@incident("false", "evaluated each two minutes: one burst of 8 minutes at ten times the objective")
def _() -> World:
    return evaluated(region({"latency": after(0.2, 0.004, minutes=8)}, minutes=START + 60), 120)


@incident("noise", "evaluated each two minutes: the poller dies", page_by=14)
def _() -> World:
    return evaluated(clients(region(scraped=dead), 10), 120)


@incident("false", "one host has a new address each ten minutes, because its pods are spot instances", quiet=True)
def _() -> World:
    world = clients(region(minutes=START + 60), 6)
    for number in range(6):
        begin, end = START + 10 * number, START + 10 * number + 10
        there = lambda m, begin=begin, end=end: 1 if begin <= m < end else None  # noqa: E731  # one expression
        Client(world, f"spot-{number}", scraped=there, gone=True).add()
    return world
