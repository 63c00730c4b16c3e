"""Incidents and non-incidents of calendars, of growth, of short stalls, and of scrapes each 15 and 30 seconds.

Importing this module adds them to `INCIDENTS`.
"""

from tests.rules.incidents import FS, _weeks, clients, hanging, incident, region
from tests.rules.simulator import START, World, after
from tests.rules.stores import evaluated


@incident("false", "the clock changes to winter time in a pattern of weekdays", quiet=True)
def _() -> World:
    def load(minute: int) -> float:
        local = minute + (60 if minute > 16 * 1440 else 0)
        return 5_000 if local // 1440 % 7 >= 5 else 15_000 + 20_000 * (8 <= local // 60 % 24 < 18)

    return _weeks(load, 23)


@incident("false", "a backup each Sunday at 95 % of the ceiling is no forecast", tickets=4)
def _() -> World:
    return _weeks(lambda m: 47_500 if m // 1440 % 7 == 6 and m // 60 % 24 < 3 else 10_000, 23)


@incident("false", "a file system and its locked snapshots grow", quiet=True)
def _() -> World:
    world = region()
    world.add("fss_file_system_used_bytes", FS, lambda m: 1e12 * (1 + m / 10))
    place = {"job": "fss", "instance": "poller-1:10949", "region": "eu-1", "tenancy_id": "ocid1.tenancy.t"}
    world.add("fss_compliance_snapshots", place, lambda m: m)
    return world


@incident("more", "estimated load is at 90 % while half of the hosts reboot", ticket_by=12, tickets=1)
def _() -> World:
    world = clients(region({"iops": 0}), 8, iops=after(5_700, 500))
    for name, values in list(world.series.items()):
        if name.startswith(("fss_mount_target_iops{", "fss_mount_target_io_operations_total")):
            del world.series[name]
        elif "_total{" in name and any(f"web-{n}:" in name for n in range(4)):
            base = values[START + 15] or 0
            world.series[name] = [
                value if m < START + 15 or value is None else value - base for m, value in enumerate(values)
            ]
    return world


@incident("more", "scraped each 30 seconds: everything is well", quiet=True)
def _() -> World:
    return clients(region(), 3).halved()


@incident("more", "scraped each 30 seconds: all clients hang", page_by=6)
def _() -> World:
    return hanging(region(minutes=START + 15), 3).halved()


@incident("more", "scraped each 30 seconds: latency at twice the objective", page_by=10)
def _() -> World:
    return region({"latency": after(0.04, 0.004)}, minutes=START + 15).halved()


@incident("more", "scraped each 30 seconds: a full ceiling", ticket_by=8)
def _() -> World:
    return region({"iops": after(49_500, 10_000)}, minutes=START + 15).halved()


@incident("false", "a mount target answers nothing for two and a half minutes while it changes its shape")
def _() -> World:
    stall = {START + 1: 60.0, START + 2: 120.0}
    return clients(region(), 6, operations=after(0, 50, minutes=2), unanswered=lambda m: stall.get(m, 0.0))


# Short stalls, seen each 15 seconds.


@incident("false", "scraped and evaluated each 15 seconds: the server hangs for 90 seconds", quiet=True)
def _() -> World:
    world = clients(
        region(minutes=START + 20),
        4,
        operations=after(0, 50, minutes=1),
        unanswered=lambda m: 90 if m == START + 1 else 0,
    )
    return evaluated(world.halved().halved(), 15)


@incident("false", "scraped and evaluated each 15 seconds: everything is well", quiet=True)
def _() -> World:
    return evaluated(clients(region(minutes=START + 20), 4).halved().halved(), 15)


@incident("false", "scraped and evaluated each 15 seconds: one burst of 8 minutes at ten times the objective")
def _() -> World:
    burst = after(0.2, 0.004, minutes=8)
    return evaluated(clients(region({"latency": burst}, minutes=START + 20), 3, rtt=burst).halved().halved(), 15)


@incident("more", "scraped and evaluated each 15 seconds: latency at twice the objective", page_by=10)
def _() -> World:
    return evaluated(region({"latency": after(0.04, 0.004)}, minutes=START + 15).halved().halved(), 15)


@incident("more", "scraped and evaluated each 15 seconds: 10 % of the requests fail", page_by=8)
def _() -> World:
    return evaluated(region({"success": after(0.9, 1.0)}, minutes=START + 15).halved().halved(), 15)


@incident("more", "scraped and evaluated each 15 seconds: a third of the clients hang", page_by=6)
def _() -> World:
    return evaluated(hanging(clients(region(minutes=START + 12), 6), 3, 6).halved().halved(), 15)


@incident("more", "scraped and evaluated each 15 seconds: a full ceiling", ticket_by=8)
def _() -> World:
    return evaluated(region({"iops": after(49_500, 10_000)}, minutes=START + 15).halved().halved(), 15)


@incident("false", "a failover of 40 seconds: a third of one minute's requests succeeds", quiet=True)
def _() -> World:
    world = region({"success": after(0.33, 1.0, minutes=1), "latency": after(0.02, 0.004, minutes=1)})
    wait = lambda m: 40 if m == START + 1 else 0  # noqa: E731  # one expression
    return clients(world, 8, operations=after(17, 50, minutes=1), unanswered=wait, rtt=after(0.5, 0.003, minutes=1))


@incident("false", "an NFSv4.1 server restarts, and its clients wait for the grace period of 90 seconds", quiet=True)
def _() -> World:
    world = clients(region(), 6)
    wait = lambda m: 60 * (m - START) if START <= m <= START + 1 else 0  # noqa: E731  # one expression
    stops = after(0, 50, minutes=2)
    return clients(world, 6, address="10.9.9.9", service="", operations=stops, unanswered=wait)
