"""Durations of requests: counted from the kernel's tables, checked against mountstats, and left out where they do not hold."""

import errno
import math
from itertools import count
from pathlib import Path

import pytest
from tests.exposition_text import collected
from tests.fss_kernel_counting.durations.latency_host import CALLS, HERE, Call, LatencyHost, ready
from tests.fss_kernel_counting.host import Mount, reading_of
from tests.fss_kernel_counting.kernel import ROOT, Kernel

from fss_exporter.errors import SourceError
from fss_exporter.nfs.accounts import Accounts
from fss_exporter.nfs.collector import Answer, CounterCollector, NfsCollector
from fss_exporter.nfs.superblocks import Reading
from fss_exporter.nfs.ticker import Ticker
from fss_kernel_counting.durations.request_durations import EXPONENTS, edge_seconds
from fss_kernel_counting.tracefs import OF_LATENCY

THERE = "10.0.0.4"
DURATION = "fss_client_request_duration_seconds"


def test_a_request_on_an_edge_counts_below_the_edge(tmp_path: Path) -> None:
    mount = Mount(40)
    host = ready(tmp_path, mount)
    host.calls(*(Call(40, mount, microseconds=took) for took in (0, 1, 256, 257, 8192, 8193, 2**24, 2**24 + 1)))
    host.tick()

    at_most = {edge_seconds(exponent): host.requests().finished.at_most(exponent) for exponent in EXPONENTS}
    assert at_most[0.000256] == 3
    assert at_most[0.000512] == 4
    assert at_most[0.008192] == 5
    assert at_most[0.016384] == 6
    assert at_most[16.777216] == 7
    assert host.requests().finished.calls == 8
    assert host.requests().finished.microseconds == 256 + 257 + 8192 + 8193 + 2**25 + 2


def test_every_edge_and_class_of_a_known_address_is_there_at_zero_before_the_first_request(tmp_path: Path) -> None:
    host = ready(tmp_path)

    assert host.series(f"{DURATION}_bucket") == [0] * 4 * (len(EXPONENTS) + 1)
    assert host.series(f"{DURATION}_count") == host.series(f"{DURATION}_sum") == [0] * 4
    assert host.series("fss_client_requests_without_reply_total") == [0] * 4
    assert host.series("fss_nfs_latency_active") == [1]


def test_an_address_shows_zeros_in_an_answer_that_asks_for_zeros(tmp_path: Path) -> None:
    mount = Mount(40)
    host = ready(tmp_path, mount)
    host.call(Call(40, mount))
    host.tick()
    counts = {
        at_zero: sum(
            sample.value
            for family in host.reader.families(
                Answer(addresses={HERE}, at_zero={HERE} if at_zero else (), is_for_server=True)
            )
            for sample in family.samples
            if sample.name == f"{DURATION}_count"
        )
        for at_zero in (True, False)
    }

    assert counts == {True: 0, False: 1}


def test_edges_are_powers_of_two_of_a_microsecond_as_a_server_reads_them(tmp_path: Path) -> None:
    host = ready(tmp_path)
    (family,) = (
        family
        for family in host.reader.families(Answer(addresses={HERE}, is_for_server=True))
        if family.name == DURATION
    )
    edges = [
        sample.labels["le"]
        for sample in family.samples
        if sample.labels.get("class") == "read" and "le" in sample.labels
    ]

    assert edges[:6] == ["0.000256", "0.000512", "0.001024", "0.002048", "0.004096", "0.008192"]
    assert [float(edge) for edge in edges] == [2**n / 1e6 for n in EXPONENTS] + [math.inf]


@pytest.mark.parametrize(
    ("procedure", "of_class"),
    [
        ("READ", "read"),
        ("READ_PLUS", "read"),
        ("WRITE", "write"),
        ("GETATTR", "metadata_read"),
        ("OPEN", "metadata_write"),
    ],
)
def test_a_request_counts_for_the_class_of_its_procedure(tmp_path: Path, procedure: str, of_class: str) -> None:
    mount = Mount(40, fstype="nfs4")
    host = ready(tmp_path, mount)
    host.call(Call(40, mount, procedure))
    host.tick()

    assert host.requests(of_class).finished.calls == 1
    assert not host.failed


def test_requests_without_a_reply_count_apart_and_not_as_round_trips(tmp_path: Path) -> None:
    mount = Mount(40)
    host = ready(tmp_path, mount, rtt=True)
    host.calls(Call(40, mount, "LOOKUP"), Call(40, mount, "LOOKUP", 1_000_000, replied=False))
    host.tick()

    request = host.requests("metadata_read")
    assert (request.finished.calls, request.answered.calls, request.unanswered) == (2, 1, 1)
    assert host.series("fss_client_requests_without_reply_total", **{"class": "metadata_read"}) == [1]
    assert host.series("fss_client_request_rtt_seconds_count", **{"class": "metadata_read"}) == [1]


def test_round_trip_times_have_no_series_unless_they_are_asked_for(tmp_path: Path) -> None:
    assert ready(tmp_path).series("fss_client_request_rtt_seconds_count") == []


def test_calls_that_keep_a_lease_are_no_requests(tmp_path: Path) -> None:
    """Mountstats repeats RENEW and SEQUENCE of the shared client for each mount of the server."""
    first, second = Mount(40, fstype="nfs4"), Mount(41, fstype="nfs4")
    host = ready(tmp_path, first, second)
    host.born(7)
    host.tick()
    for procedure in ("RENEW", "SEQUENCE", "EXCHANGE_ID", "NULL"):
        first.operations[procedure] += 1
        second.operations[procedure] += 1
        host.trace(7, procedure)
    host.tick()

    assert not host.failed
    assert all(not request.finished.calls for request in host.reader.totals.requests.values())


def test_calls_between_the_readings_of_mountstats_are_no_disagreement(tmp_path: Path) -> None:
    mount = Mount(40)
    host = ready(tmp_path, mount)
    for _ in range(5):
        host.calls(*[Call(40, mount)] * 10)
        host.tick(*[Call(40, mount)] * 3)
    host.tick()

    assert not host.failed
    assert host.requests().finished.calls == mount.operations["READ"] == 65


def test_a_call_that_no_table_has_pauses_its_address_alone_and_only_for_the_interval(tmp_path: Path) -> None:
    here, there = Mount(40), Mount(41, THERE)
    host = ready(tmp_path, here, there)
    host.calls(Call(40, here), Call(41, there))
    here.operations["READ"] += 1
    host.tick()

    assert host.failed == {"operations": 1}
    assert host.series(f"{DURATION}_count", address=HERE) == []
    assert host.series(f"{DURATION}_count", address=THERE, **{"class": "read"}) == [1]

    host.call(Call(40, here))
    host.tick()
    assert host.failed == {"operations": 1}
    assert host.series(f"{DURATION}_count", address=HERE, **{"class": "read"}) == [1]


def test_a_lasting_gap_of_one_call_is_found_among_traffic(tmp_path: Path) -> None:
    mount = Mount(40)
    host = ready(tmp_path, mount)
    host.call(Call(40, mount))
    mount.operations["READ"] += 1
    host.tick(Call(40, mount), Call(40, mount))
    assert not host.failed
    host.tick()

    assert host.failed == {"operations": 1}


def test_calls_of_an_unknown_client_count_for_no_address(tmp_path: Path) -> None:
    host = ready(tmp_path)
    host.born(9, "10.9.9.9")
    host.trace(9)
    host.trace(99)
    host.tick()

    assert not host.failed
    assert not host.reader.totals.requests


def test_a_mount_that_another_namespace_sees_is_no_owner_where_sysfs_names_the_clients(tmp_path: Path) -> None:
    mine, foreign = Mount(40), Mount(41, visible=False)
    host = LatencyHost(tmp_path, mine, foreign)
    for mount in (mine, foreign):
        host.born(mount.number)
        host.link(mount.number, mount)
    host.tick()
    host.calls(Call(40, mine), Call(41, foreign), Call(41, foreign))
    host.tick()

    assert not host.failed
    assert host.requests().finished.calls == 1


def test_a_mount_of_another_namespace_counts_from_its_first_call_once_it_is_found(tmp_path: Path) -> None:
    mine, foreign = Mount(40), Mount(41, visible=False)
    host = LatencyHost(tmp_path, mine, foreign)
    host.born(40)
    host.link(40, mine)
    host.tick()
    host.born(41)
    host.link(41, foreign)
    host.calls(Call(40, mine), Call(41, foreign))
    host.tick()
    host.calls(Call(41, foreign))
    host.tick()
    assert host.requests().finished.calls == 1

    foreign.visible = True
    host.calls(Call(41, foreign))
    host.tick()
    assert host.requests().finished.calls == 4
    host.tick()
    assert host.requests().finished.calls == 4
    assert not host.failed


def test_calls_of_a_mount_that_ended_before_it_was_found_are_not_those_of_the_next_client_with_its_number(
    tmp_path: Path,
) -> None:
    mine, foreign, next_one = Mount(40), Mount(41, visible=False), Mount(42, visible=False)
    host = LatencyHost(tmp_path, mine, foreign, next_one)
    host.born(40)
    host.link(40, mine)
    host.tick()
    host.born(41)
    host.link(41, foreign)
    host.call(Call(41, foreign))
    host.tick()
    host.unlink(foreign)
    host.born(41)
    host.link(41, next_one)
    next_one.visible = True
    host.call(Call(41, next_one))
    host.tick()

    assert host.requests().finished.calls == 1
    assert not host.failed


def test_a_new_mount_counts_from_its_first_call(tmp_path: Path) -> None:
    host = ready(tmp_path)
    fresh = Mount(41, THERE)
    host.mounts.append(fresh)
    host.born(41, THERE)
    host.calls(Call(41, fresh), Call(41, fresh))
    host.tick()

    assert not host.failed
    assert host.requests(address=THERE).finished.calls == 2


def test_the_last_calls_of_a_mount_count_after_its_umount(tmp_path: Path) -> None:
    mount, other = Mount(40), Mount(41)
    host = ready(tmp_path, mount, other)
    host.call(Call(40, mount))
    host.mounts.remove(mount)
    host.tick()

    assert not host.failed
    assert host.requests().finished.calls == 1


@pytest.mark.parametrize("is_detached", [True, False], ids=["umount -l", "umount"])
def test_the_calls_of_a_mount_that_lives_between_two_looks_count(tmp_path: Path, *, is_detached: bool) -> None:
    """A tick sees the mount, and no look does."""
    lasting, short = Mount(40), Mount(41, THERE)
    host = ready(tmp_path, lasting)
    host.link(40, lasting)
    host.tick()
    host.born(41, THERE)
    host.link(41, short)
    host.reader.note(reading_of([lasting, short]))
    host.calls(Call(41, short), Call(41, short))
    if not is_detached:
        host.unlink(short)
    host.tick()

    assert host.requests(address=THERE).finished.calls == 2
    assert not host.failed


def test_the_calls_of_a_mount_that_nothing_shows_are_told_as_lost(tmp_path: Path) -> None:
    """After `umount -l` the kernel still links the superblock to its client, until the last file is closed."""
    mine, detached = Mount(40), Mount(41, THERE, visible=False)
    host = ready(tmp_path, mine)
    host.born(41, THERE)
    host.link(41, detached)
    host.tick(Call(41, detached))
    assert not host.failed
    host.unlink(detached)
    host.tick()

    assert host.failed == {"no_mount": 1}


def test_a_client_number_that_was_given_again_costs_both_addresses_the_interval(tmp_path: Path) -> None:
    here, there, third = Mount(40), Mount(41, THERE), Mount(42, "10.0.0.5")
    host = ready(tmp_path, here, there, third)
    host.calls(Call(40, here), Call(42, third))
    host.mounts.remove(here)
    host.born(40, THERE)
    host.call(Call(40, there))
    host.tick()

    assert host.failed == {"client_reused": 2}
    assert not host.requests().finished.calls
    assert not host.requests(address=THERE).finished.calls
    assert host.requests(address="10.0.0.5").finished.calls == 1

    host.call(Call(40, there))
    host.tick()
    assert host.requests(address=THERE).finished.calls == 1
    assert host.failed == {"client_reused": 2}


def test_a_mount_that_comes_and_goes_with_the_numbers_of_the_one_before_pauses_no_mount_of_its_server(
    tmp_path: Path,
) -> None:
    lasting, short = Mount(40), Mount(41)
    host = ready(tmp_path, lasting, short)
    for mount in (lasting, short):
        host.link(mount.number, mount)
    host.tick()
    expected = 0
    for calls in (3, 5, 5, 8):  # of each life, so that its counters do not tell it from the one before
        host.call(Call(41, short))  # the last of the earlier life, which only the tables have
        short.operations.clear()
        host.born(41)
        host.calls(*[Call(41, short)] * calls, Call(40, lasting))
        host.tick()
        expected += calls + 2

        assert host.requests().finished.calls == expected
    assert not host.failed


def test_a_number_of_a_client_that_was_gone_long_ago_is_no_doubt(tmp_path: Path) -> None:
    here, there = Mount(40), Mount(41, THERE)
    host = ready(tmp_path, here, there)
    host.call(Call(40, here))
    host.mounts.remove(here)
    (tmp_path / "kernel/sunrpc/rpc-clients/clnt-40/switch/xprt-1-tcp/dstaddr").unlink()
    for folder in ("switch/xprt-1-tcp", "switch", ""):
        (tmp_path / "kernel/sunrpc/rpc-clients/clnt-40" / folder).rmdir()
    host.tick()
    host.born(40, THERE)
    host.call(Call(40, there))
    host.tick()

    assert not host.failed
    assert host.requests(address=THERE).finished.calls == 1


def test_a_nearly_full_table_is_set_up_again_with_more_rows_and_says_so(tmp_path: Path) -> None:
    mount = Mount(40)
    host = ready(tmp_path, mount)
    for client in range(1000, 1000 + int(0.8 * 2048)):
        host.trace(client)
    host.call(Call(40, mount))
    host.tick()
    assert host.failed == {"full": 1}
    assert host.requests().finished.calls == 1
    assert host.kernel.instances[OF_LATENCY][CALLS][0].size == 4096

    host.call(Call(40, mount))
    host.tick()
    assert host.requests().finished.calls == 2


def test_a_table_that_dropped_calls_costs_the_interval_and_gets_more_rows(tmp_path: Path) -> None:
    mount = Mount(40)
    host = ready(tmp_path, mount)
    for client in range(1000, 4000):
        host.trace(client)
    host.tick()

    assert host.failed == {"dropped": 1}
    assert host.kernel.instances[OF_LATENCY][CALLS][0].size == 4096
    host.call(Call(40, mount))
    host.tick()
    assert host.requests().finished.calls == 1


def test_a_removed_trigger_costs_the_interval_and_is_set_again(tmp_path: Path) -> None:
    mount = Mount(40)
    host = ready(tmp_path, mount)
    host.kernel.write(ROOT / "instances" / OF_LATENCY / "events" / CALLS / "trigger", "")
    host.call(Call(40, mount))
    host.tick()
    assert host.failed == {"triggers": 1}
    host.call(Call(40, mount))
    host.tick()

    assert host.requests().finished.calls == 1


@pytest.mark.parametrize("text", ["garbage", "{ client_id: 1, procname: READ } hitcount: 7\n"])
def test_unreadable_tables_cost_their_intervals_and_the_triggers_stay(tmp_path: Path, text: str) -> None:
    mount = Mount(40)
    host = ready(tmp_path, mount)
    triggers = host.kernel.triggers(CALLS)
    host.call(Call(40, mount))
    host.kernel.printed = lambda whole: whole[:200] + text
    host.tick()
    assert host.failed == {"unreadable": 1}
    host.kernel.printed = str
    host.tick()
    host.call(Call(40, mount))
    host.tick()

    assert host.failed == {"unreadable": 1}
    assert host.requests().finished.calls == 1
    assert host.kernel.triggers(CALLS) is triggers


def test_mountstats_that_fails_behind_the_tables_costs_the_interval_and_is_no_disagreement(tmp_path: Path) -> None:
    mount = Mount(40)
    host = ready(tmp_path, mount)
    host.call(Call(40, mount))
    read, answers = host.reader._read, iter((True, False))

    def second_fails() -> Reading:
        if next(answers):
            return read()
        raise SourceError("no mountstats")

    host.reader._read = second_fails
    host.tick()
    host.reader._read = read
    host.tick()
    host.call(Call(40, mount))
    host.tick()

    assert not host.failed
    assert host.requests().finished.calls == 1


@pytest.mark.parametrize("number", [errno.EINVAL, errno.EACCES, errno.ENOMEM, errno.EPERM])
def test_a_refused_trigger_is_counted_and_leaves_nothing_behind(tmp_path: Path, number: int) -> None:
    kernel = Kernel()
    kernel.refuse("trigger", number)
    host = LatencyHost(tmp_path, Mount(40), kernel=kernel)
    host.tick()

    assert host.failed == {"refused": 1}
    assert not kernel.instances
    assert host.series(f"{DURATION}_count") == []
    assert host.series("fss_nfs_latency_active") == [0]
    host.tick()
    assert host.failed == {"refused": 1}
    host.now += 60
    kernel.refusals.clear()
    host.tick()
    assert host.series("fss_nfs_latency_active") == [1]


def test_a_kernel_without_hist_says_so_in_a_metric(tmp_path: Path) -> None:
    host = LatencyHost(tmp_path, Mount(40), kernel=Kernel(hist=False))
    host.tick()

    assert host.series("fss_nfs_latency_checks_failed_total", check="refused") == [1]


def test_a_host_without_mounts_sets_nothing(tmp_path: Path) -> None:
    host = LatencyHost(tmp_path)
    host.tick()

    assert not host.kernel.instances
    assert not host.failed


def test_closing_removes_the_instance(tmp_path: Path) -> None:
    host = ready(tmp_path)
    host.reader.close()
    host.tick()

    assert not host.kernel.instances
    assert not host.kernel.handles


def test_looks_get_fewer_where_they_take_too_much_cpu(tmp_path: Path) -> None:
    host = ready(tmp_path)
    assert host.reader.loop.heartbeat.interval_seconds == 10
    times = count(0.0, 0.5)
    host.reader._cpu_clock = lambda: next(times)
    host.tick()
    host.tick()

    assert host.reader.loop.heartbeat.interval_seconds == 50


def test_totals_of_an_address_go_after_the_retention(tmp_path: Path) -> None:
    mount, other = Mount(40), Mount(41, THERE)
    host = ready(tmp_path, mount, other)
    host.calls(Call(40, mount), Call(41, other))
    host.tick()
    host.mounts.remove(mount)
    host.now += 3600
    host.tick()

    assert {address for address, _ in host.reader.totals.requests} == {THERE}


def test_totals_of_an_address_go_before_its_other_series_so_that_a_mount_that_is_back_has_no_old_counts(
    tmp_path: Path,
) -> None:
    mount = Mount(40)
    host = ready(tmp_path, mount)
    ticker = Ticker(host._read, 1.0, lambda: host.now, accounts=Accounts(retention_s=3600.0))
    host.calls(Call(40, mount))
    host.tick()
    ticker.tick()
    host.mounts.remove(mount)
    host.now += 3600 - host.reader.loop.heartbeat.interval_seconds
    host.tick()
    ticker.tick()

    assert ticker.accounts.addresses
    assert not host.reader.totals.requests


def test_a_new_address_shows_zeros_in_the_first_answer_and_its_counts_in_the_second(tmp_path: Path) -> None:
    mount = Mount(40, age=5)  # seconds, of the ten between two looks
    host = ready(tmp_path, mount)
    ticker = Ticker(host._read, 1.0, lambda: host.now)
    host.mounts.remove(mount)
    ticker.tick()
    host.mounts.append(mount)
    host.call(Call(40, mount))
    host.tick()
    ticker.tick()
    collector = NfsCollector(ticker)
    durations = CounterCollector(host.reader, collector)
    counts = [
        sum(
            sample.value
            for family in (*collected(collector), *collected(durations))
            for sample in family.samples
            if sample.name == f"{DURATION}_count"
        )
        for _ in range(2)
    ]

    assert counts == [0, 1]
