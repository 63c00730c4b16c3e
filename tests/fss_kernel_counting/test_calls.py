"""Lock and NFSACL calls, by server and procedure."""

from pathlib import Path

import pytest
from tests.fss_kernel_counting.host import Host, assert_true_to_the_unit, ready, work
from tests.fss_kernel_counting.kernel import Kernel

from fss_exporter.addresses import AddressMap


def lock(host: Host, client: int, procedure: str, program: str = "lockd") -> None:
    host.kernel.fire("sunrpc/rpc_stats_latency", client_id=client, progname=program, procname=procedure)


def born(host: Host, client: int, address: str, program: str = "lockd") -> None:
    host.kernel.fire("sunrpc/rpc_clnt_new", client_id=client, addr=address, program=program)


def told(host: Host) -> dict[tuple[str, str], int]:
    return {place: count for place, count in host.totals.locks.items() if count}


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
    host = ready(Host(address_map=AddressMap({"192.168.255.2": "10.0.0.7"})))
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


@pytest.mark.parametrize(
    ("shown", "address"),
    [
        ("10.0.0.3\n\0", "10.0.0.3"),  # Linux 5.14 to 5.17 sends the end of the string too
        ("<closed>\n", ""),  # a transport that is being destroyed, since 5.18
        ("", ""),
    ],
)
def test_a_client_has_an_address_only_if_sysfs_shows_one(shown: str, address: str, tmp_path: Path) -> None:
    place = tmp_path / "kernel/sunrpc/rpc-clients/clnt-5/switch/xprt-1-tcp"
    place.mkdir(parents=True)
    (place / "dstaddr").write_text(shown)
    host = ready(Host(sysfs=tmp_path))
    lock(host, 5, "LOCK")
    host.tick()

    assert told(host) == {(address, "LOCK"): 1}


def test_an_unknown_client_is_counted_without_an_address() -> None:
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
    assert host.totals.acls["10.0.0.3", "GETACL"] == 1


def test_lock_procedures_of_visible_mounts_begin_at_zero() -> None:
    host = ready(Host())
    host.tick()

    assert host.totals.locks["10.0.0.3", "LOCK"] == 0
    assert ("10.0.0.3", "UNLOCK") in host.totals.locks


def test_sizes_are_counted_where_lock_calls_cannot_be_and_one_line_says_so(caplog: pytest.LogCaptureFixture) -> None:
    events = {event: fields for event, fields in Kernel().events.items() if not event.startswith("sunrpc/")}
    host = ready(Host(kernel=Kernel(events)))
    work(host)
    host.tick()

    assert_true_to_the_unit(host)
    assert told(host) == {}
    assert ["lock calls are estimated" in record.message for record in caplog.records] == [True]
