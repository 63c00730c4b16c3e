"""Loads by process on a kernel in memory: what is counted, and what one broken part costs."""

import errno
import logging
import re
import struct
from pathlib import Path

import pytest
from tests.fss_kernel_counting.kernel import BY_PROCESS, Kernel
from tests.fss_kernel_counting.processes.busy_host import KIB, WORKER, BusyHost

from fss_kernel_counting.hist_tables import Lost
from fss_kernel_counting.processes.births import FamilyTree
from fss_kernel_counting.processes.costliest import Amount
from fss_kernel_counting.tracefs import OF_AGENT, OF_COMMAND, Unavailable


@pytest.fixture
def host(tmp_path: Path) -> BusyHost:
    host = BusyHost(tmp_path)
    host.look()
    return host


@pytest.fixture
def joined(tmp_path: Path) -> BusyHost:
    """With the join."""
    host = BusyHost(tmp_path, writers=True)
    host.look()
    return host


def test_reads_writes_and_metadata_cost_what_the_paper_says(host: BusyHost) -> None:
    host.process(7, "dd")
    host.read(7, "dd", 1024 * KIB)
    host.read(7, "dd", 4 * KIB)
    host.write(7, "dd", 64 * KIB)
    host.call(7, "dd", "LOOKUP")

    # READ of 1 MiB 33 and of 4 KiB 2, WRITE of 64 KiB 6, LOOKUP 2.
    assert host.look() == {"dd": Amount(4, 33 + 2 + 6 + 2, 1028 * KIB, 64 * KIB)}
    assert host.look() == {}


def test_threads_of_one_process_are_one_load(host: BusyHost) -> None:
    host.process(7, "java")
    for number in (7, 8):
        host.process(number, "java")
        host.read(number, "java", 4 * KIB)

    assert host.look() == {"java": Amount(2, 4, 8 * KIB)}


def test_a_rename_goes_to_the_process_that_asked_for_it(host: BusyHost) -> None:
    host.process(7, "mv")
    host.rename(7, "mv")

    assert host.look() == {"mv": Amount(1, 8)}


def test_without_the_join_delayed_writes_are_of_an_unknown_writer(host: BusyHost) -> None:
    host.write_later(7, "dd", 64 * KIB)

    assert host.look() == {}
    assert host.look() == {"unknown writer": Amount(1, 6, 0, 64 * KIB)}


def test_the_join_gives_delayed_writes_to_the_writer(joined: BusyHost) -> None:
    joined.process(7, "dd")
    joined.write_later(7, "dd", 64 * KIB)

    assert joined.look() == {"dd": Amount(1, 6, 0, 64 * KIB)}
    assert joined.look() == {}


def test_files_with_one_number_on_two_mounts_give_nothing_to_the_wrong_writer(joined: BusyHost) -> None:
    joined.process(7, "dd")
    joined.kernel.fire("writeback/writeback_dirty_folio", name="0:40", ino=5, common_pid=7, comm="dd")
    joined.kernel.fire("writeback/writeback_dirty_folio", name="0:99", ino=5, common_pid=8, comm="tar")
    joined.write(9, WORKER, 64 * KIB)

    assert joined.look() == {}
    assert joined.look() == {"unknown writer": Amount(1, 6, 0, 64 * KIB)}


def test_the_event_of_the_join_is_made_and_removed(joined: BusyHost) -> None:
    assert "synthetic/nfswho" in joined.kernel.events
    assert joined.kernel.instances.keys() == {OF_AGENT.looks, OF_AGENT.writers, OF_AGENT.births}

    joined.counting.close()

    assert "synthetic/nfswho" not in joined.kernel.events
    assert joined.kernel.instances == {}


def test_after_a_kill_the_next_start_takes_over_what_was_left(joined: BusyHost) -> None:
    joined.kernel.handles.clear()

    again = BusyHost(joined.folder, writers=True, kernel=joined.kernel)
    again.process(7, "dd")
    again.look()
    again.write_later(7, "dd", 64 * KIB)

    assert again.look() == {"dd": Amount(1, 6, 0, 64 * KIB)}
    again.counting.close()
    assert again.kernel.instances == {}


def test_a_second_program_of_the_same_kind_is_refused_and_another_kind_counts_for_itself(joined: BusyHost) -> None:
    with pytest.raises(Unavailable, match="another fss-exporter counts on this host already"):
        BusyHost(joined.folder, kernel=joined.kernel).counting.open()
    command = BusyHost(joined.folder, writers=True, names=OF_COMMAND, kernel=joined.kernel)
    command.look()
    joined.process(7, "dd")
    joined.write_later(7, "dd", 64 * KIB)

    expected = {"dd": Amount(1, 6, 0, 64 * KIB)}
    assert joined.look() == command.look() == expected
    command.counting.close()
    joined.write_later(7, "dd", 64 * KIB)
    assert joined.look() == expected


def test_mounts_of_nfs_4_have_calls_and_bytes_and_no_cost(tmp_path: Path) -> None:
    host = BusyHost(tmp_path, fstype="nfs4")
    host.look()
    host.process(7, "dd")
    host.read(7, "dd", 4 * KIB)
    host.call(7, "dd", "GETATTR", version=4)
    host.call(7, "dd", "GETATTR", version=3)

    assert host.look() == {"dd": Amount(2, 0.0, 4 * KIB)}


def test_a_client_number_that_is_used_again_belongs_to_the_new_address(host: BusyHost) -> None:
    host.process(7, "dd")
    host.rpc_client(12, "10.0.0.99")
    host.kernel.fire("sunrpc/rpc_clnt_new", client_id=12, addr="10.0.0.99", program="nfs", common_pid=7, comm="mount")
    host.call(7, "dd", "LOOKUP")

    assert host.look() == {}


@pytest.mark.parametrize(
    ("event", "part"),
    [
        ("nfs/nfs_initiate_read", "reads"),
        ("nfs/nfs_initiate_write", "writes"),
        ("sunrpc/rpc_stats_latency", "calls"),
        ("nfs/nfs_rename_enter", "RENAME"),
        ("writeback/writeback_dirty_folio", "writers"),
    ],
)
def test_an_event_that_the_kernel_lacks_costs_only_its_own_share(tmp_path: Path, event: str, part: str) -> None:
    events = {name: fields for name, fields in BY_PROCESS.items() if name != event}
    host = BusyHost(tmp_path, writers=True, kernel=Kernel(events))
    host.look()
    host.process(7, "dd")
    for work in (host.read, host.write):
        if f"nfs/nfs_initiate_{work.__name__}" != event:
            work(7, "dd", 4 * KIB)
    host.call(7, "dd", "LOOKUP")

    (amount,) = host.look().values()
    assert amount.operations == (3 if part in ("RENAME", "writers") else 2)
    assert part not in host.counting.active
    assert host.counting.failures[part, "refused"] == 1


def test_a_table_that_cannot_be_read_is_made_good_by_a_later_look(host: BusyHost) -> None:
    host.process(7, "dd")
    host.read(7, "dd", 4 * KIB)
    host.kernel.printed = lambda text: text[:-40]
    assert host.look() == {}
    assert host.counting.failures["reads", "unreadable"] == 1

    host.kernel.printed = str

    assert host.look() == {"dd": Amount(1, 2, 4 * KIB)}
    assert "reads" in host.counting.active


def test_a_part_that_fails_at_each_look_is_logged_once_and_once_more_when_it_works(
    host: BusyHost, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    host.process(7, "dd")
    host.kernel.printed = lambda text: text[:-40]
    for _ in range(3):
        host.read(7, "dd", 4 * KIB)
        host.look()
    host.kernel.printed = str
    host.look()

    about_reads = [record.getMessage() for record in caplog.records if "reads" in record.getMessage()]
    assert about_reads == ["load by process: reads is unreadable", "load by process: reads works again"]


def test_a_nearly_full_table_is_made_anew_and_no_call_before_is_lost(host: BusyHost) -> None:
    host.now += 60
    for number in range(100, 100 + 1700):
        host.read(number, "cat", 4 * KIB)
    assert host.look()["cat"].operations == 1700
    assert host.counting.failures["instance", "renewed"] == 1
    assert host.kernel.instances[OF_AGENT.looks]["nfs/nfs_initiate_read"][0].rows == {}

    host.read(1, "cat", 4 * KIB)

    assert host.look() == {"systemd": Amount(1, 2, 4 * KIB)}


def test_a_full_table_is_said_and_the_next_is_larger(host: BusyHost) -> None:
    for number in range(3000):
        host.read(1000 + number, "cat", 4 * KIB)

    assert host.look()["cat"].operations == 2048
    assert host.counting.failures["reads", "full"] == 1
    assert host.kernel.instances[OF_AGENT.looks]["nfs/nfs_initiate_read"][0].size == 4096


def test_more_new_clients_than_the_table_has_room_for_get_a_larger_table(host: BusyHost) -> None:
    for client in range(600):
        host.kernel.fire("sunrpc/rpc_clnt_new", client_id=1000 + client, addr="10.0.0.9", program="nfs")
    host.look()

    assert host.counting.failures["clients", "full"] == 1
    assert host.kernel.instances[OF_AGENT.looks]["sunrpc/rpc_clnt_new"][0].size == 1024


def test_a_join_without_the_names_of_the_writers_is_taken_down(tmp_path: Path) -> None:
    host = BusyHost(
        tmp_path, writers=True, kernel=Kernel({**BY_PROCESS, "writeback/writeback_dirty_folio": {"ino": 8}})
    )
    host.look()

    assert {part for part, _ in host.counting.failures} == {"dirtiers", "writers"}
    assert host.kernel.instances.keys() == {OF_AGENT.looks, OF_AGENT.births}


def test_triggers_that_another_program_removed_are_set_again(host: BusyHost) -> None:
    host.kernel.instances[OF_AGENT.looks]["nfs/nfs_initiate_read"] = []
    assert host.look() == {}
    assert host.counting.failures["reads", "gone"] == 1
    host.read(1, "systemd", 4 * KIB)

    assert host.look() == {"systemd": Amount(1, 2, 4 * KIB)}


def test_a_hostile_name_is_one_load_like_another(host: BusyHost) -> None:
    for name in ("\nTotals:\n", "} hitcount: 7", "a\nb"):
        host.read(300, name, 4 * KIB)
        host.read(301, "dd", 4 * KIB)

    looked = host.look()

    assert looked["dd"].operations == 3
    assert sum(amount.operations for amount in looked.values()) == 6


def test_without_the_hosts_proc_the_names_of_the_rows_stay(host: BusyHost) -> None:
    (host.folder / "proc" / "2" / "stat").unlink()
    host.read(7, "dd", 4 * KIB)

    assert host.look() == {"dd": Amount(1, 2, 4 * KIB)}
    assert host.counting.failures["identities", "unreadable"] == 1


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (Kernel(BY_PROCESS, hist=False), "CONFIG_HIST_TRIGGERS"),
        (Kernel(BY_PROCESS, buckets=False), ""),
        (Kernel({"sched/sched_switch": {"prev_pid": 4}}), "first NFS mount"),
    ],
)
def test_where_the_kernel_cannot_count_nothing_is_left_behind(tmp_path: Path, kernel: Kernel, reason: str) -> None:
    host = BusyHost(tmp_path, writers=True, kernel=kernel)
    if reason:
        with pytest.raises(Unavailable, match=reason):
            host.counting.open()
        assert kernel.instances == {}
        assert host.look() == {}
    else:
        # Before 5.15 READ and WRITE cannot be told by size; the calls are still counted.
        host.look()
        assert {"reads", "writes"} & host.counting.active == set()
        assert "calls" in host.counting.active


def test_without_root_the_reason_is_said_and_tried_again_after_a_minute(tmp_path: Path) -> None:
    host = BusyHost(tmp_path)
    host.kernel.refuse(OF_AGENT.looks, errno.EACCES)
    assert host.look() == {}
    host.kernel.refusals.clear()
    assert host.look() == {}
    host.now += 60
    host.look()

    assert host.counting.failures["instance", "refused"] == 1
    assert "instance" in host.counting.active


def test_after_a_look_that_broke_off_no_part_is_said_to_count(host: BusyHost) -> None:
    assert "reads" in host.counting.active
    host.read(7, "dd", 4 * KIB)
    host.kernel.printed = lambda text: re.sub(r"dev: +(\d)", r"dev: x\1", text)

    with pytest.raises(Lost):
        host.look()
    assert host.counting.active == frozenset()

    host.kernel.printed = str
    host.look()  # the row with the other key is gone, so this look sets the triggers again
    host.look()
    assert "reads" in host.counting.active


class Overwriting(Kernel):
    """A kernel that has overwritten records of births before the last look."""

    def all(self, *place: Path | str) -> list[Path]:
        return [Path(place[0]) / "per_cpu/cpu0/trace_pipe_raw"]

    def open_pipe(self, path: Path) -> int:
        return self.open(path)

    def pages(self, *_: int) -> list[bytes]:
        return [struct.pack("<QQ", 0, 1 << 31).ljust(4096, b"\0")]


class Recording(Kernel):
    """A kernel that records no birth."""

    def all(self, *place: Path | str) -> list[Path]:
        return [Path(place[0]) / "per_cpu/cpu0/trace_pipe_raw"]

    def open_pipe(self, path: Path) -> int:
        return self.open(path)

    def pages(self, *_: int) -> list[bytes]:
        return []


def test_births_that_another_program_switched_off_are_a_failure_of_one_look(tmp_path: Path) -> None:
    host = BusyHost(tmp_path, kernel=Recording(BY_PROCESS))
    host.look()
    (switch,) = (path for path in host.kernel.switches if path.parts[-2:] == (OF_AGENT.births, "tracing_on"))
    host.kernel.switches[switch] = "0"

    host.look()
    assert host.counting.failures["births", "off"] == 1
    assert "births" not in host.counting.active
    host.look()
    assert host.counting.failures["births", "off"] == 1
    assert "births" in host.counting.active


def test_births_that_were_overwritten_are_said_and_end_what_was_known_of_earlier_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forgotten: list[FamilyTree] = []

    def forget(tree: FamilyTree) -> None:
        forgotten.append(tree)

    monkeypatch.setattr(FamilyTree, "forget", forget)
    host = BusyHost(tmp_path, kernel=Overwriting(BY_PROCESS))
    host.look()
    host.look()

    assert host.counting.failures["births", "full"] == 2
    assert len(forgotten) == 2
