"""Incidents in stores that keep few series of the exporter: dropped by relabeling, or written by another version.

Importing this module adds them to `INCIDENTS`.
"""

from tests.rules.incidents import MT, incident
from tests.rules.simulator import START, Value, World, after

AGENT = {"job": "fss-agent", "address": "10.0.0.1"}
MOUNT = {"server": "10.0.0.1", "export": "/data", "service": "oci-fss"}
POLLER = {"job": "fss", "instance": "poller-1:10949"}


def known(world: World, state: str = "ACTIVE", value: Value = 1) -> World:
    """The mount target of the address in the inventory."""
    world.add("fss_mount_target_info", {**MT, "address": "10.0.0.1", "state": state}, value)
    return world


def slow_reads(world: World, seconds: float) -> World:
    """Two clients whose 100 READs a second take so long from the start."""
    for instance in ("web-1:10949", "web-2:10949"):
        mount = {**AGENT, **MOUNT, "instance": instance, "class": "read"}
        world.count("fss_client_requests_total", mount, 100)
        world.count("fss_client_rtt_seconds_total", mount, after(100 * seconds, 0.3))
    return world


@incident("silent", "a poller dies whose store keeps its state and no time of a poll", page_by=13)
def _() -> World:
    world = World()
    world.add("up", POLLER, after(0, 1))
    world.add("fss_oci_poll_success", {**POLLER, "region": "eu-1"}, after(None, 1))
    return world


@incident("silent", "8 of 100 agents are dead, and the store keeps up alone", ticket_by=35)
def _() -> World:
    world = World(START + 40)
    for number in range(100):
        labels = {"job": "fss-agent", "instance": f"host-{number}:10949"}
        world.add("up", labels, after(0, 1) if number < 8 else 1)
    return world


@incident("silent", "a mount target goes from ACTIVE to FAILED, and the store keeps nothing about its load", page_by=6)
def _() -> World:
    return known(known(World(), value=after(None, 1)), "FAILED", after(1, None))


@incident("silent", "READs take 120 ms, and the store keeps no bytes and no estimates", page_by=10)
def _() -> World:
    return slow_reads(World(), 0.12)


@incident("silent", "exact mode, and the store keeps the buckets alone", page_by=10)
def _() -> World:
    world = known(World())
    for edge, share in (("0.004096", 0.1), ("0.016384", 0.2), ("0.065536", 1.0), ("+Inf", 1.0)):
        labels = {**AGENT, "instance": "web-1:10949", "class": "metadata_read", "le": edge}
        world.count("fss_client_request_duration_seconds_bucket", labels, after(100 * share, 100))
    return world


@incident(
    "silent", "8 % of the requests fail where operations and requests are stored, and no requests by address", page_by=8
)
def _() -> World:
    world = known(World())
    mount = {**AGENT, **MOUNT, "instance": "web-1:10949"}
    world.count("fss_client_requests_total", {**mount, "class": "metadata_read"}, 100)
    world.count("fss_client_operations_total", {**mount, "class": "metadata_read", "operation": "GETATTR"}, 100)
    world.count("fss_client_unexpected_errors_total", mount, after(8, 0))
    return world


@incident("false", "2 of 100 clients wait, and the store keeps no counters: a ticket", ticket_by=10)
def _() -> World:
    world = known(World())
    for number in range(100):
        labels = {**AGENT, "instance": f"web-{number}:10949"}
        world.add("fss_client_unanswered_seconds", labels, after(600, 0) if number < 2 else 0)
    return world


@incident("false", "OCI publishes the file systems of a mount target alone, and its requests are fast", quiet=True)
def _() -> World:
    world = known(World())
    labels = {**MT, "file_system_id": "fs-1", "file_system": "fs-1", "size": "8KiB_to_64KiB"}
    world.add("fss_file_system_read_requests_per_second", labels, 300)
    world.add("fss_file_system_read_latency_seconds", labels, 0.004)
    return world


@incident(
    "false", "1 of 12 requests a minute fails, and the store keeps the counter of I/O operations alone", quiet=True
)
def _() -> World:
    world = known(World())
    world.count("fss_mount_target_io_operations_total", MT, 0.4)
    world.add("fss_mount_target_success_ratio", MT, after(0.917, 1.0))
    return world


@incident("silent", "GETATTRs fill the ceiling, and node_exporter keeps no other operation", ticket_by=10)
def _() -> World:
    world = known(World())
    world.add("fss_mount_target_iops_limit", MT, 50_000)
    for number in range(10):
        labels = {"job": "node", "instance": f"web-{number}:9100", "mountaddr": "10.0.0.1", "operation": "GETATTR"}
        world.count("node_mountstats_nfs_operations_requests_total", labels, after(5_000, 500))
    return world
