"""Incidents and non-incidents of fleets: roll-outs, scrapes and labels.

Importing this module adds them to `INCIDENTS`.
"""

from collections.abc import Callable

from tests.rules.incidents import clients, dead, hanging, incident, region, waiting
from tests.rules.simulator import START, Client, MountTarget, Poller, World, after


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
    world = hanging(region(), 6, version="0.2.0", scraped=gone(START + 5), gone=True)
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
        Client(world, f"web-{number}", version="0.2.0", scraped=gone(START + number), gone=True, iops=2_500).add()
        Client(world, f"web-{number}", job="new", scraped=born(START + number), gone=True, iops=2_500).add()
    return world


@incident("false", "agents are put back to the version before", quiet=True)
def _() -> World:
    world = region()
    for number in range(8):
        Client(world, f"web-{number}", scraped=gone(START + number), gone=True).add()
        Client(world, f"web-{number}", job="old", version="0.2.0", scraped=born(START + number), gone=True).add()
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
