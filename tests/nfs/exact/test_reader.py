"""Exact mode over everything a host and its tracefs go through, on a kernel in memory."""

import errno
import logging
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from tests.nfs.exact.host import COST, EVENTS, Host, Mount
from tests.nfs.exact.kernel import BEFORE_5_6, ROOT, Kernel

from fss_exporter.model.operations import READ, WRITE
from fss_exporter.nfs.exact.reader import ExactReader
from fss_exporter.nfs.exact.tracefs import INSTANCE, Unavailable
from fss_exporter.nfs.superblocks import Reading

KIB = 1024
SIZES = (1, 4 * KIB, 32 * KIB - 1, 32 * KIB, 32 * KIB + 1, 64 * KIB, 100_000, 1024 * KIB - 1, 1024 * KIB)


def exact(reading: Reading) -> frozenset[str]:
    assert reading.counted is not None
    return reading.counted.superblocks


def work(host: Host, number: int = 40) -> None:
    for size in SIZES:
        host.call(number, READ, size)
        host.call(number, WRITE, size)


def ready(host: Host) -> Host:
    """A host whose triggers are set and whose first look is taken."""
    host.tick()
    assert host.kernel.instances.keys() == {INSTANCE}
    return host


def assert_true_to_the_unit(host: Host) -> None:
    for operation in (READ, WRITE):
        assert host.cost(operation) == (host.truth[operation],) * 3


def test_the_cost_is_that_of_each_size() -> None:
    host = ready(Host())
    work(host)

    assert exact(host.tick()) == {"0:40"}
    assert_true_to_the_unit(host)


def test_what_happened_before_the_triggers_is_not_counted() -> None:
    host = Host()
    work(host)
    host.truth.clear()
    ready(host)

    host.tick()
    assert_true_to_the_unit(host)


def test_an_idle_mount_is_counted_and_costs_nothing() -> None:
    host = ready(Host())

    assert exact(host.tick()) == {"0:40"}
    assert host.cost(READ) == (0, 0, 0)


operations = st.sampled_from((READ, WRITE))
sizes = st.one_of(st.sampled_from(SIZES), st.integers(0, 1024 * KIB))
calls = st.tuples(st.integers(40, 42), operations, sizes, st.booleans())


@given(st.lists(st.lists(calls, max_size=12), max_size=6), st.booleans())
@settings(deadline=None)
def test_whatever_is_done_and_however_looks_fall_the_cost_is_true_to_the_unit(
    ticks: list[list[tuple[int, str, int, bool]]], buckets: bool
) -> None:
    host = ready(Host(Mount(40), Mount(41), Mount(42, "10.0.0.4"), kernel=Kernel(buckets=buckets)))
    for tick in ticks:
        for number, operation, size, is_late in tick:
            (host.late if is_late else host.call)(number, operation, size)
        host.tick()
    host.tick()

    assert_true_to_the_unit(host)
    assert host.failed == {}


def test_calls_between_two_looks_are_no_failed_check_and_not_lost() -> None:
    host = ready(Host())
    for _ in range(5):
        host.late(40, READ, 64 * KIB)
        work(host)
        host.tick()
    host.tick()
    host.tick()

    assert_true_to_the_unit(host)
    assert host.failed == {}


def test_calls_in_the_very_first_look_are_no_failed_check_either() -> None:
    host = Host()
    host.late(40, READ, 64 * KIB)
    host.tick()
    host.tick()
    host.tick()

    assert host.failed == {}


def test_two_mounts_of_one_address_are_told_apart() -> None:
    host = ready(Host(Mount(40), Mount(41)))
    host.call(40, READ, 1024 * KIB)
    host.call(41, READ, 4 * KIB)
    host.tick()

    costs = {key.export: mount.operations[READ].cost for key, mount in host.accounts.mounts.items()}
    assert {export: cost and cost.point for export, cost in costs.items()} == {"/export-40": 33, "/export-41": 2}


def test_a_direct_read_of_a_short_file_costs_what_was_asked_for() -> None:
    host = ready(Host())
    host.call(40, READ, 1024 * KIB, carried=100)
    host.tick()

    assert host.cost(READ) == (33, 33, 33)


def test_a_retransmission_costs_as_much_as_the_mean_of_its_tick() -> None:
    host = ready(Host())
    host.call(40, READ, 4 * KIB)
    host.call(40, READ, 1024 * KIB)
    host.mounts[40].resent = 2
    host.tick()

    assert host.cost(READ) == (70, 70, 70)


# -- checks


def lose_events(host: Host) -> None:
    """Calls the tables do not see, as on a kernel whose event does not fire for them."""
    mount = host.mounts[40]
    for _ in range(10):
        mount.operations[READ] += 1
        mount.payload[READ] += 4 * KIB
        host.truth[READ] += 2


def test_tables_that_lag_behind_mountstats_for_good_cost_their_tick_its_exactness_and_no_other() -> None:
    host = ready(Host())
    work(host)
    host.tick()
    host.tick()
    for _ in range(3):
        lose_events(host)
        host.tick()
    host.tick()
    assert sum(host.failed.values()) >= 1

    before = host.cost(WRITE)
    host.truth.clear()
    work(host)
    assert exact(host.tick()) == {"0:40"}
    assert host.cost(WRITE)[1] - before[1] == host.truth[WRITE]


def test_payload_that_differs_for_good_is_noticed() -> None:
    host = ready(Host())
    host.call(40, READ, 64 * KIB)
    host.tick()
    host.tick()
    host.mounts[40].payload[READ] += 64 * KIB
    host.tick()
    assert host.failed == {}  # it may be of a call that is under way

    host.tick()
    assert host.failed == {"payload": 1}


def clear(host: Host) -> None:
    host.kernel.write(ROOT / "instances" / INSTANCE / "events" / EVENTS[READ] / "trigger", "")


def make_anew(host: Host) -> None:
    for trigger in host.kernel.triggers(EVENTS[READ]):
        trigger.rows.clear()


def pause(host: Host) -> None:
    host.kernel.triggers(EVENTS[WRITE])[0].paused = True


def take_away(host: Host) -> None:
    host.kernel.instances[INSTANCE].clear()


def fill(host: Host) -> None:
    for trigger in host.kernel.triggers(EVENTS[READ]):
        trigger.dropped += 1


@pytest.mark.parametrize(
    ("fault", "check"),
    [(clear, "triggers"), (make_anew, "triggers"), (pause, "triggers"), (take_away, "triggers"), (fill, "dropped")],
)
def test_a_fault_costs_its_tick_the_exactness_and_nothing_else(
    fault: Callable[[Host], None], check: str, caplog: pytest.LogCaptureFixture
) -> None:
    host = ready(Host())
    host.call(40, READ, 64 * KIB)
    host.tick()
    host.call(40, READ, 64 * KIB)
    fault(host)

    assert exact(host.tick()) == frozenset()
    assert host.failed == {check: 1}
    assert len([line for line in caplog.records if line.levelno >= logging.WARNING]) == 1
    assert host.cost(READ)[1] == 6  # all of one size, so the estimate is right too

    work(host)
    assert exact(host.tick()) == {"0:40"}
    assert host.cost(READ)[1] == host.truth[READ]


def test_a_full_table_is_replaced_by_a_larger_one() -> None:
    host = ready(Host())
    before = host.kernel.triggers(EVENTS[READ])[0].size
    fill(host)
    host.tick()

    assert host.kernel.triggers(EVENTS[READ])[0].size == 2 * before


def test_tables_are_large_enough_for_the_mounts_there_are() -> None:
    host = ready(Host(*(Mount(number) for number in range(40, 240))))

    assert host.kernel.triggers(EVENTS[READ])[0].size >= 200 * 33


def test_a_module_that_is_reloaded_is_counted_again() -> None:
    host = ready(Host())
    events = dict(host.kernel.events)
    host.kernel.unload_nfs()
    assert exact(host.tick()) == frozenset()
    host.kernel.events = events
    host.now += 60
    host.tick()
    work(host)
    host.truth = host.truth.copy()

    assert exact(host.tick()) == {"0:40"}
    assert_true_to_the_unit(host)


def test_a_text_that_cannot_be_read_costs_two_ticks_and_no_triggers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A difference needs two looks."""
    host = ready(Host())
    triggers = host.kernel.triggers(EVENTS[READ])
    with monkeypatch.context() as patch:
        patch.setattr(host.kernel, "read", lambda _: b"# event histogram\n# trigger info: hist:keys=dev [active]\n{ d")
        assert exact(host.tick()) == frozenset()
    assert host.failed == {"unreadable": 1}
    host.tick()
    assert host.kernel.triggers(EVENTS[READ]) is triggers

    work(host)
    assert exact(host.tick()) == {"0:40"}


# -- superblocks that come and go


def test_traffic_of_superblocks_no_visible_mount_names_is_counted_apart() -> None:
    host = ready(Host(Mount(40), Mount(77, visible=False)))
    work(host, 77)
    host.tick()

    assert host.cost(READ) == (0, 0, 0)
    assert host.accounts.counted is not None
    assert host.accounts.counted.invisible[READ].operations == len(SIZES)
    assert host.accounts.counted.invisible[WRITE].blocks == sum(COST[READ](size) - 1 for size in SIZES)


def test_traffic_of_nfs_version_4_gets_no_cost_and_is_not_invisible() -> None:
    host = ready(Host(Mount(40), Mount(44, fstype="nfs4")))
    work(host, 44)
    host.tick()

    assert host.cost(READ) == (0, 0, 0)
    assert host.accounts.counted is not None
    assert host.accounts.counted.invisible[READ].operations == 0


def test_what_a_mount_does_before_it_is_unmounted_within_the_tick_is_counted() -> None:
    host = ready(Host(Mount(40), Mount(41)))
    work(host, 41)
    host.mounts[41].visible = False
    host.tick()

    assert_true_to_the_unit(host)


def test_a_mount_that_comes_within_the_tick_is_counted_from_its_birth() -> None:
    host = ready(Host(Mount(40)))
    host.mounts[41] = Mount(41, age=-1)
    work(host, 41)

    assert exact(host.tick()) == {"0:40", "0:41"}
    assert_true_to_the_unit(host)


def test_a_mount_whose_record_cannot_be_read_once_loses_nothing() -> None:
    host = ready(Host(Mount(40), Mount(41)))
    work(host, 41)
    host.mounts[41].readable = False
    host.tick()
    host.mounts[41].readable = True
    work(host, 41)
    host.tick()
    host.tick()

    assert_true_to_the_unit(host)
    assert host.failed == {}


def test_a_number_used_again_for_another_server_is_estimated_for_that_tick() -> None:
    host = ready(Host(Mount(40)))
    work(host)
    host.tick()
    work(host)
    host.mounts[40] = Mount(40, "10.0.0.9", age=-1)
    host.call(40, READ, 4 * KIB)

    assert exact(host.tick()) == frozenset()
    assert host.failed == {"device_reused": 1}
    (fresh,) = (mount for key, mount in host.accounts.mounts.items() if key.address == "10.0.0.9")
    assert fresh.operations[READ].cost == (2, 2, 2)


def test_the_same_export_mounted_again_within_the_tick_loses_nothing() -> None:
    host = ready(Host(Mount(40)))
    work(host)
    host.mounts[40] = Mount(40, age=-1)
    work(host)

    assert exact(host.tick()) == {"0:40"}
    assert_true_to_the_unit(host)


# -- setting up


def test_without_buckets_the_ladder_counts() -> None:
    host = ready(Host(kernel=Kernel(buckets=False)))
    work(host)
    host.call(40, READ, 0)
    host.tick()

    assert_true_to_the_unit(host)
    assert len(host.kernel.triggers(EVENTS[READ])) == 9
    assert host.accounts.counted is not None
    assert host.accounts.counted.sizes == {}  # it tells no distribution


def test_before_kernel_5_6_requests_are_counted_instead_of_answers() -> None:
    host = ready(Host(kernel=Kernel(BEFORE_5_6, buckets=False)))
    work(host)
    host.tick()

    assert_true_to_the_unit(host)


def test_before_the_first_nfs_mount_it_waits_and_then_begins_by_itself() -> None:
    host = Host(Mount(40, visible=False))
    events = dict(host.kernel.events)
    host.kernel.unload_nfs()
    host.reader.open()
    host.tick()
    assert host.kernel.instances == {}

    host.kernel.events = events
    host.mounts[40].visible = True
    ready(host)
    work(host)
    host.tick()
    assert_true_to_the_unit(host)


def test_an_instance_a_dead_agent_left_behind_is_removed() -> None:
    kernel = Kernel()
    kernel.mkdir(ROOT / "instances" / INSTANCE)
    kernel.append(ROOT / "instances" / INSTANCE / "events" / EVENTS[READ] / "trigger", "hist:keys=dev:size=128")
    host = ready(Host(kernel=kernel))

    assert "dev" not in [",".join(trigger.keys) for trigger in host.kernel.triggers(EVENTS[READ])]


def test_a_living_agents_instance_is_left_alone() -> None:
    first = ready(Host())
    second = ExactReader(lambda: pytest.fail("not read"), (ROOT,), Path("/nowhere"), files=first.kernel)

    with pytest.raises(Unavailable, match="another fss-exporter counts on this host already"):
        second.open()
    work(first)
    first.tick()
    assert_true_to_the_unit(first)


def test_closing_leaves_nothing_behind_and_sets_nothing_up_again() -> None:
    host = ready(Host())
    host.reader.close()
    host.tick()

    assert host.kernel.instances == {}
    assert host.kernel.handles == {}


def test_the_trace_buffer_is_shrunk_and_off() -> None:
    host = ready(Host())

    assert host.kernel.settings == {"buffer_size_kb": "4", "tracing_on": "0"}


@pytest.mark.parametrize(
    ("kernel", "name", "number", "reason"),
    [
        (Kernel(hist=False), "", 0, "CONFIG_HIST_TRIGGERS"),
        (Kernel(), "events", errno.EACCES, "run the exporter as uid 0"),
        (Kernel(), INSTANCE, errno.EROFS, "ReadWritePaths=-/fake/tracing/instances"),
        (Kernel(), "trigger", errno.EPERM, "lockdown"),
        (Kernel(), "hist", errno.EPERM, "lockdown"),
        (Kernel(), "buffer_size_kb", errno.EPERM, "lockdown"),
        (Kernel({"nfs/nfs_readpage_done": {"dev": 8}}), "", 0, "no event tells the sizes"),
        (Kernel(buckets=False), "trigger", errno.EINVAL, "the kernel refuses"),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else "",
)
def test_why_it_cannot_be_set_up_is_said_and_nothing_is_left_behind(
    kernel: Kernel, name: str, number: int, reason: str
) -> None:
    if name:
        kernel.refuse(name, number)
    reader = ExactReader(lambda: pytest.fail("not read"), (ROOT,), Path("/nowhere"), files=kernel)

    with pytest.raises(Unavailable, match=reason):
        reader.open()
    assert kernel.instances == {}
    assert kernel.handles == {}


def test_where_tracefs_is_not_mounted_the_command_is_said() -> None:
    places = (Path("/elsewhere"), Path("/nowhere"))
    reader = ExactReader(lambda: pytest.fail("not read"), places, Path("/nowhere"), files=Kernel())

    with pytest.raises(Unavailable, match="no tracefs at /elsewhere or /nowhere: mount -t tracefs tracefs /elsewhere"):
        reader.open()


def test_why_it_fell_back_is_said_once_and_it_is_tried_again_later(caplog: pytest.LogCaptureFixture) -> None:
    host = Host()
    host.kernel.refuse("trigger", errno.EPERM)
    for _ in range(200):
        host.tick()
    assert len(caplog.records) == 1

    host.kernel.refusals.clear()
    host.now += 60
    ready(host)
    work(host)
    host.truth = host.truth.copy()
    host.tick()
    assert_true_to_the_unit(host)


def test_estimates_go_on_where_it_cannot_be_set_up() -> None:
    host = Host(kernel=Kernel(hist=False))
    host.tick()
    for _ in range(10):
        host.call(40, READ, 4 * KIB)
    reading = host.tick()

    assert exact(reading) == frozenset()
    assert host.cost(READ)[1] == 20


# -- locks


def lock(host: Host, client: int, procedure: str, program: str = "lockd") -> None:
    host.kernel.fire("sunrpc/rpc_stats_latency", client_id=client, progname=program, procname=procedure)


def born(host: Host, client: int, address: str, program: str = "lockd") -> None:
    host.kernel.fire("sunrpc/rpc_clnt_new", client_id=client, addr=address, program=program)


def told(host: Host) -> dict[tuple[str, str], int]:
    assert host.accounts.counted is not None
    return {place: count for place, count in host.accounts.counted.locks.items() if count}


def test_lock_calls_are_counted_by_server_and_procedure() -> None:
    host = ready(Host())
    born(host, 5, "10.0.0.3")
    born(host, 8, "192.168.255.2")
    for procedure in ("LOCK", "UNLOCK", "LOCK", "CANCEL", "FREE_ALL"):
        lock(host, 5, procedure)
    lock(host, 8, "TEST")
    host.tick()

    assert told(host) == {
        ("10.0.0.3", "LOCK"): 2,
        ("10.0.0.3", "UNLOCK"): 1,
        ("10.0.0.3", "CANCEL"): 1,
        ("10.0.0.3", "FREE_ALL"): 1,
        ("192.168.255.2", "TEST"): 1,
    }


def test_a_forwarders_address_is_resolved_for_locks_too() -> None:
    host = ready(Host(address_map={"192.168.255.2": "10.0.0.7"}))
    born(host, 8, "192.168.255.2")
    lock(host, 8, "LOCK")
    host.tick()

    assert told(host) == {("10.0.0.7", "LOCK"): 1}


def test_a_lock_server_on_this_host_and_pings_are_no_load() -> None:
    host = ready(Host())
    born(host, 5, "10.0.0.3")
    for procedure in ("NULL", "GRANTED", "GRANTED_MSG"):
        lock(host, 5, procedure)
    host.tick()

    assert told(host) == {}


def test_a_client_older_than_the_tables_is_known_from_sysfs(tmp_path: Path) -> None:
    place = tmp_path / "kernel/sunrpc/rpc-clients/clnt-5/switch/xprt-1-tcp"
    place.mkdir(parents=True)
    (place / "dstaddr").write_text("10.0.0.3\n")
    host = ready(Host(sysfs=tmp_path))
    (place / "dstaddr").unlink()
    lock(host, 5, "LOCK")
    host.tick()

    assert told(host) == {("10.0.0.3", "LOCK"): 1}


def test_a_client_nobody_knows_is_counted_without_an_address() -> None:
    host = ready(Host())
    lock(host, 99, "LOCK")
    host.tick()

    assert told(host) == {("", "LOCK"): 1}


def test_acl_calls_are_no_locks() -> None:
    host = ready(Host())
    born(host, 6, "10.0.0.3", "nfsacl")
    lock(host, 6, "GETACL", "nfsacl")
    host.tick()

    assert told(host) == {}
    assert host.accounts.counted is not None
    assert host.accounts.counted.acls["10.0.0.3", "GETACL"] == 1


def test_lock_procedures_of_visible_mounts_begin_at_zero() -> None:
    host = ready(Host())
    host.tick()

    assert host.accounts.counted is not None
    assert host.accounts.counted.locks["10.0.0.3", "LOCK"] == 0
    assert ("10.0.0.3", "UNLOCK") in host.accounts.counted.locks


def test_sizes_are_counted_where_lock_calls_cannot_be() -> None:
    events = {event: fields for event, fields in Kernel().events.items() if not event.startswith("sunrpc/")}
    host = ready(Host(kernel=Kernel(events)))
    work(host)
    host.tick()

    assert_true_to_the_unit(host)
    assert told(host) == {}
