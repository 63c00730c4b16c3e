"""What exact mode adds to a scrape."""

import math

from tests.exposition_text import declaration, written
from tests.fss_kernel_counting.host import Host, Mount
from tests.fss_kernel_counting.kernel import Kernel

from fss_exporter.catalogue import EXACT
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.nfs.accounts import Accounts, EstimatedCosts
from fss_exporter.nfs.collector import Answer, NfsCollector
from fss_exporter.nfs.ticker import Ticker
from fss_kernel_counting.durations.request_durations import RequestTotals, request_families
from fss_toolbox.scrape_text import read_scrape

KIB = 1024


def scraped(host: Host, ticks: int = 1, *, counted: bool = True) -> str:
    """The scrape after ticks of a host; what it does happens before the last one."""
    read = host.reader.read if counted else host._read
    ticker = Ticker(read, 1.0, lambda: host.now, accounts=Accounts(host.costs if counted else EstimatedCosts()))
    for _ in range(ticks):
        host.now += 1.0
        ticker.tick()
    collector = NfsCollector(ticker, zero_answers=0)
    return written(host.families(collector) if counted else collector.collect())


def lines(text: str, name: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(name)]


def test_the_rows_of_exact_mode_are_all_exported_and_only_in_it() -> None:
    exported = {line.split()[2] for line in scraped(Host(), 2).splitlines() if line.startswith("# TYPE")}
    exported |= {declaration(family).name for family in request_families(RequestTotals(), Answer())}
    assert exported >= {metric.name for metric in EXACT}

    estimated = scraped(Host(), 2, counted=False)
    exported = {line.split()[2] for line in estimated.splitlines() if line.startswith("# TYPE")}
    assert not exported & {metric.name for metric in EXACT}


def test_sizes_are_a_cumulative_histogram_in_whole_blocks() -> None:
    host = Host()
    ticker = Ticker(host.reader.read, 1.0, lambda: host.now, accounts=Accounts(host.costs))
    ticker.tick()
    for size in (4 * KIB, 32 * KIB, 32 * KIB + 1, 64 * KIB, 1024 * KIB):
        host.call(40, READ, size)
    ticker.tick()
    collector = NfsCollector(ticker, zero_answers=0)
    text = written(host.families(collector))

    sizes = [line for line in lines(text, "fss_client_io_size_bytes") if 'operation="READ"' in line]
    assert [line.rpartition(" ")[2] for line in sizes] == [
        "2.0",
        "4.0",
        "4.0",
        "4.0",
        "4.0",
        "5.0",
        "5.0",
        "5.0",
        "1.183745e+06",
    ]
    bounds = [line.partition('le="')[2].partition('"')[0] for line in sizes[:7]]
    assert bounds == ["32768.0", "65536.0", "131072.0", "262144.0", "524288.0", "1.048576e+06", "+Inf"]


def test_a_reader_knows_which_costs_are_counted() -> None:
    host = Host(Mount(40), Mount(44, fstype="nfs4"))

    assert lines(scraped(host, 1), "fss_client_cost_exact{")[0].endswith(" 0.0")
    assert lines(scraped(host, 1), "fss_client_cost_exact{") == [
        'fss_client_cost_exact{address="10.0.0.3",export="/export-40",network="unknown",server="10.0.0.3",service="oci-fss"} 1.0'
    ]


def test_the_seconds_of_each_mode_add_up() -> None:
    host = Host()
    text = scraped(host, 5)

    spent = {
        line.partition('mode="')[2].partition('"')[0]: line for line in lines(text, "fss_client_cost_seconds_total{")
    }
    assert {mode: float(line.rpartition(" ")[2]) for mode, line in spent.items()} == {"exact": 4.0, "estimated": 0.0}


def lock_calls(host: Host) -> None:
    """Let the host call each procedure of the lock manager once, which costs 16 I/O operations."""
    host.kernel.fire("sunrpc/rpc_clnt_new", client_id=5, addr="10.0.0.3", program="lockd")
    for procedure in ("LOCK", "UNLOCK", "FREE_ALL"):
        host.kernel.fire("sunrpc/rpc_stats_latency", client_id=5, progname="lockd", procname=procedure)


def test_lock_calls_have_their_cost_beside_them() -> None:
    host = Host()
    ticker = Ticker(host.reader.read, 1.0, lambda: host.now, accounts=Accounts(host.costs))
    ticker.tick()
    lock_calls(host)
    ticker.tick()
    collector = NfsCollector(ticker, zero_answers=0)
    text = written(host.families(collector))

    assert lines(text, "fss_client_lock_io_operations_total{") == [
        'fss_client_lock_io_operations_total{address="10.0.0.3",network="unknown"} 16.0'
    ]
    assert 'fss_client_lock_operations_total{address="10.0.0.3",network="unknown",procedure="FREE_ALL"} 1.0' in text


def test_the_total_and_the_peak_of_an_address_have_the_lock_calls_that_the_kernel_counts() -> None:
    host = Host()
    ticker = Ticker(host.reader.read, 1.0, lambda: host.now, accounts=Accounts(host.costs))
    ticker.tick()
    lock_calls(host)
    host.call(40, READ, 1024 * KIB)
    host.now += 2.0
    host.mounts[40].age += 2
    ticker.tick()
    text = written(NfsCollector(ticker, zero_answers=0).collect())

    total = "fss_client_address_estimated_io_operations_total"
    assert lines(text, f"{total}{{") == [f'{total}{{address="10.0.0.3",network="unknown"}} {33 + 16.0}']
    assert lines(text, "fss_client_peak_estimated_iops{") == [
        f'fss_client_peak_estimated_iops{{address="10.0.0.3",network="unknown"}} {(33 + 16) / 2}'
    ]


def test_where_it_cannot_count_it_says_so() -> None:
    text = scraped(Host(kernel=Kernel(hist=False)), 2)

    assert lines(text, "fss_nfs_exact_active ") == ["fss_nfs_exact_active 0.0"]
    assert lines(text, "fss_client_cost_exact{")[0].endswith(" 0.0")
    assert lines(text, "fss_client_io_size_bytes_") == []


def test_operations_of_invisible_mounts_are_zero_only_where_the_kernel_counts_them() -> None:
    assert lines(scraped(Host(kernel=Kernel(hist=False)), 5), "fss_client_invisible") == []

    assert lines(scraped(Host(), 1), "fss_client_invisible") == [
        'fss_client_invisible_operations_total{operation="READ"} 0.0',
        'fss_client_invisible_operations_total{operation="WRITE"} 0.0',
        'fss_client_invisible_io_operations_total{operation="READ"} 0.0',
        'fss_client_invisible_io_operations_total{operation="WRITE"} 0.0',
    ]


def test_an_unknown_distribution_is_no_empty_histogram() -> None:
    host = Host(kernel=Kernel(buckets=False))
    text = scraped(host, 2)
    host.call(40, WRITE, 4 * KIB)

    assert lines(text, "fss_nfs_exact_active ") == ["fss_nfs_exact_active 1.0"]
    assert lines(text, "fss_client_io_size_bytes_") == []


def test_a_scrape_read_back_tells_how_long_costs_were_estimated() -> None:
    assert read_scrape("exporter", scraped(Host(), 5)).estimated_seconds == 0
    assert read_scrape("exporter", scraped(Host(kernel=Kernel(hist=False)), 5)).estimated_seconds == 4
    assert math.isnan(read_scrape("exporter", scraped(Host(), 2, counted=False)).estimated_seconds)


def known_to_a_server() -> tuple[Host, Ticker, NfsCollector]:
    """A host whose mount a server has scraped once, so that a further mount is new."""
    host = Host()
    ticker = Ticker(host.reader.read, 1.0, lambda: host.now, accounts=Accounts(host.costs))
    collector = NfsCollector(ticker)
    ticker.tick()
    host.families(collector)
    return host, ticker, collector


def test_the_seconds_by_mode_of_a_new_mount_are_zero_before_their_counts() -> None:
    host, ticker, collector = known_to_a_server()
    host.now += 1.0
    ticker.tick()
    host.mounts[41] = Mount(41, age=0)
    host.now += 1.0
    ticker.tick()

    def seconds() -> list[float]:
        seconds = next(family for family in host.families(collector) if family.name == "fss_client_cost_seconds")
        return sorted(sample.value for sample in seconds.samples)

    assert [seconds(), seconds()] == [[0, 0, 0, 2], [0, 0, 1, 2]]


def test_sizes_locks_and_acls_of_a_new_address_are_zero_before_their_counts() -> None:
    host, ticker, collector = known_to_a_server()
    host.mounts[41] = Mount(41, address="10.0.0.4", age=0)
    host.call(41, READ, 4 * KIB)
    host.now += 1.0
    ticker.tick()
    host.costs.totals.locks["10.0.0.4", "LOCK"] = host.costs.totals.acls["10.0.0.4", "GETACL"] = 3

    def counts() -> dict[str, float]:
        samples = (sample for family in host.families(collector) for sample in family.samples)
        mine = (sample for sample in samples if sample.labels.get("address") == "10.0.0.4")
        names = (
            "fss_client_io_size_bytes_count",
            "fss_client_lock_operations_total",
            "fss_client_acl_operations_total",
        )
        return {
            sample.name: sample.value
            for sample in mine
            if sample.name in names
            and (sample.labels.get("operation") or sample.labels["procedure"]) in ("READ", "LOCK", "GETACL")
        }

    first, second = counts(), counts()
    assert set(first.values()) == {0}
    assert sorted(second.values()) == [1, 3, 3]
    assert first.keys() == second.keys()
