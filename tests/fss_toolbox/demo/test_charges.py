"""Real requests cost a mount target of the demo what a table says, whoever counts them."""

import json
import urllib.request
from pathlib import Path

import pytest
from tests.clock import NOW
from tests.region import Region

from fss_exporter.errors import UsageError
from fss_exporter.model.operations import FIXED_COSTS, read_io_operations, write_io_operations
from fss_toolbox.demo.region.charges import ChargeTable, RealRequests
from fss_toolbox.demo.server_meter import PROCEDURES, ServerMeter

MINUTE = int(NOW // 60)


def counters(read_bytes: int = 0, **calls: int) -> str:
    numbers = " ".join(str(calls.get(name, 0)) for name in PROCEDURES)
    return f"rc 0 0 0\nio {read_bytes} 0\nproc3 22 {numbers}\nproc4 2 0 0\n"


def test_the_table_is_the_white_papers() -> None:
    table = ChargeTable()
    assert {name: table.cost(name) for name in FIXED_COSTS} == FIXED_COSTS
    for size in (0, 1, 32768, 32769, 1 << 20):
        assert table.cost("READ", size) == read_io_operations(size)
        assert table.cost("WRITE", size) == write_io_operations(size)


def test_a_file_replaces_rows_of_the_table(tmp_path: Path) -> None:
    (tmp_path / "costs.yml").write_text("RENAME: 6\nREAD: {request: 1, block: 1, sizes: {1048576: 17}}\n")
    table = ChargeTable.of_file(tmp_path / "costs.yml")
    assert [table.cost("RENAME"), table.cost("READ", 1 << 20), table.cost("READ", 65536), table.cost("LOOKUP")] == [
        6,
        17,
        3,
        2,
    ]


@pytest.mark.parametrize("text", ["RENAME: much", "[1, 2]", "READ: {request: 1}", "{"])
def test_a_file_that_is_no_table_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "costs.yml").write_text(text)
    with pytest.raises(UsageError, match=r"costs\.yml: no table of costs"):
        ChargeTable.of_file(tmp_path / "costs.yml")


def test_counted_requests_are_posted_to_a_minute_and_charged(region: Region) -> None:
    requests = [{"operation": "READ", "size": 1 << 20, "count": 120}, {"operation": "NLM", "count": 60}]
    body = {"mountTarget": "mt-idle", "minute": MINUTE, "requests": requests}
    headers = {"content-type": "application/json"}
    post = urllib.request.Request(f"{region.url}/control/requests", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(post, timeout=60) as answer:
        assert answer.status == 200
    assert region.truth("MountTargetIOPS", "mt-idle", MINUTE) == 2 * 33 + 4
    assert region.truth("MountTargetReadThroughput", "mt-idle", MINUTE) == 2 * (1 << 20)
    assert region.truth("MountTargetIOPS", "mt-idle", MINUTE - 1) == 0


def test_the_meter_charges_what_the_server_served_since_the_last_look() -> None:
    looks = iter([counters(READ=7, RENAME=1), counters(65536, READ=9, RENAME=4), counters(65536, READ=9, RENAME=4)])
    charged: list[RealRequests] = []
    meter = ServerMeter(lambda: next(looks), charged.extend)
    meter.read()
    meter.read()
    assert charged == [RealRequests("READ", 32768, 2), RealRequests("RENAME", 0, 3)]


def test_bytes_that_the_server_counts_after_their_call_wait_for_the_next_call() -> None:
    looks = iter([counters(), counters(0, READ=1), counters(65536, READ=1), counters(131072, READ=2)])
    charged: list[RealRequests] = []
    meter = ServerMeter(lambda: next(looks), charged.extend)
    for _ in range(3):
        meter.read()
    assert charged == [RealRequests("READ", 0, 1), RealRequests("READ", 131072, 1)]


def test_a_server_that_was_started_again_counts_from_zero() -> None:
    looks = iter([counters(65536, READ=9, RENAME=4), counters(32768, READ=1, RENAME=2)])
    charged: list[RealRequests] = []
    ServerMeter(lambda: next(looks), charged.extend).read()
    assert charged == [RealRequests("READ", 32768, 1), RealRequests("RENAME", 0, 2)]


def test_bytes_that_a_kernel_before_5_12_counts_in_32_bits_may_wrap() -> None:
    looks = iter([counters(2**32 - 32768, READ=7), counters(32768, READ=9)])
    charged: list[RealRequests] = []
    ServerMeter(lambda: next(looks), charged.extend).read()
    assert charged == [RealRequests("READ", 32768, 2)]


def test_a_host_without_an_nfs_server_is_told() -> None:
    with pytest.raises(UsageError, match="no lines `io` and `proc3`"):
        ServerMeter(lambda: "net 0 0 0 0\n", lambda _: None)
