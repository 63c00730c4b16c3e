"""The loop and its series: what a server sees of a process."""

from pathlib import Path

import pytest
from tests.exposition_text import declaration
from tests.fss_kernel_counting.processes.busy_host import HERE, KIB, BusyHost

from fss_exporter.nfs.collector import Answer
from fss_exporter.nfs.superblocks import NO_READING
from fss_kernel_counting.processes.process_reader import ProcessReader

COST = "fss_client_process_io_operations_total"
CALLS = "fss_client_process_operations_total"
BYTES = "fss_client_process_bytes_total"
ACTIVE = "fss_nfs_process_part_active"
FAILURES = "fss_nfs_process_part_failures_total"


@pytest.fixture
def host(tmp_path: Path) -> BusyHost:
    host = BusyHost(tmp_path)
    host.process(7, "dd")
    return host


def _reader(host: BusyHost, most: int = 2, zero_answers: int = 1) -> ProcessReader:
    reader = ProcessReader(host.counting, most, host.reading, zero_answers, clock=lambda: host.now)
    reader.loop.run_once()
    return reader


def _again(host: BusyHost, reader: ProcessReader) -> None:
    host.now += 10
    reader.loop.run_once()
    assert reader.loop.heartbeat.success


def _values(reader: ProcessReader, name: str, *, is_answer: bool = False) -> dict[tuple[str, ...], float]:
    families = reader.families(Answer(is_for_server=is_answer))
    (shown,) = (family for family in families if declaration(family).name == name)
    labels = [name for name in declaration(shown).labels if name != "network"]
    return {tuple(sample.labels[name] for name in labels): sample.value for sample in shown.samples}


def test_each_process_has_its_cost_calls_and_bytes_under_its_unit(host: BusyHost) -> None:
    reader = _reader(host)
    host.read(7, "dd", 1024 * KIB)
    host.write(7, "dd", 4 * KIB)
    _again(host, reader)

    dd, other = (HERE, "dd", "", "", "backup.service"), (HERE, "other", "", "", "")
    assert _values(reader, COST) == {dd: 33 + 4, other: 0}
    assert _values(reader, CALLS) == {dd: 2, other: 0}
    assert _values(reader, BYTES) == {
        (*dd, "read"): 1024 * KIB,
        (*dd, "write"): 4 * KIB,
        (*other, "read"): 0,
        (*other, "write"): 0,
    }


def test_a_new_process_shows_zero_in_as_many_answers_as_servers_scrape(host: BusyHost) -> None:
    reader = _reader(host, zero_answers=2)
    host.read(7, "dd", 4 * KIB)
    _again(host, reader)
    dd = (HERE, "dd", "", "", "backup.service")

    assert _values(reader, COST)[dd] == 2
    assert [_values(reader, COST, is_answer=True)[dd] for _ in range(3)] == [0, 0, 2]


def test_minutes_of_load_before_the_first_server_asks_are_no_peak(host: BusyHost) -> None:
    reader = _reader(host)
    for _ in range(20):
        host.read(7, "dd", 4 * KIB)
        _again(host, reader)
    dd = (HERE, "dd", "", "", "backup.service")

    assert _values(reader, COST, is_answer=True)[dd] == 40


def test_an_address_has_at_most_n_series_and_other(host: BusyHost) -> None:
    reader = _reader(host, most=3)
    for number in range(100, 150):
        host.process(number, f"p{number}")
        host.read(number, f"p{number}", 4 * KIB)
    _again(host, reader)

    assert len(_values(reader, COST)) == 4
    assert sum(_values(reader, COST).values()) == 50 * 2


def test_where_the_service_publishes_no_cost_there_are_calls_and_bytes(tmp_path: Path) -> None:
    host = BusyHost(tmp_path, fstype="nfs4")
    reader = _reader(host)
    host.read(7, "dd", 4 * KIB)
    _again(host, reader)

    assert _values(reader, COST) == {}
    assert _values(reader, CALLS)[HERE, "dd", "", "", ""] == 1


def test_a_part_that_fails_shows_that_with_a_reason(host: BusyHost) -> None:
    reader = _reader(host)
    host.kernel.instances["fss-exporter-processes"]["nfs/nfs_initiate_read"] = []
    _again(host, reader)

    active = _values(reader, ACTIVE)
    assert (active["reads",], active["writes",]) == (0, 1)
    assert _values(reader, FAILURES) == {("instance", "renewed"): 1, ("reads", "gone"): 1}


def test_an_unexpected_error_costs_one_round(host: BusyHost, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = _reader(host)
    host.read(7, "dd", 4 * KIB)
    with monkeypatch.context() as patch:
        patch.setattr(host.counting, "_identities", None)
        reader.loop.run_once()
    assert reader.loop.heartbeat.errors == 1

    host.read(7, "dd", 4 * KIB)
    _again(host, reader)

    assert _values(reader, CALLS)[HERE, "dd", "", "", "backup.service"] == 1


def test_stopping_removes_the_triggers_and_a_late_look_sets_none(host: BusyHost) -> None:
    reader = _reader(host)
    reader.stop()
    _again(host, reader)

    assert host.kernel.instances == {}


def test_a_host_without_mounts_sets_no_triggers(host: BusyHost) -> None:
    reader = ProcessReader(host.counting, 2, lambda: NO_READING, clock=lambda: host.now)
    _again(host, reader)

    assert host.kernel.instances == {}
    assert _values(reader, CALLS) == {}


def test_the_dearest_jobs_have_series_that_join_with_job_exporters_and_all_other_load_is_other(host: BusyHost) -> None:
    for number, job in ((21, 10), (22, 10), (23, 11), (24, 12)):
        host.process(number, "solver", f"/system.slice/slurmstepd.scope/job_{job}/step_0/user/task_0")
    reader = ProcessReader(host.counting, 0, host.reading, most_jobs=2, clock=lambda: host.now)
    reader.loop.run_once()
    for number in (21, 22, 23):
        host.read(number, "solver", 1024 * KIB)
    host.read(24, "solver", 4 * KIB)
    host.read(7, "dd", 4 * KIB)
    _again(host, reader)

    assert _values(reader, "fss_client_job_io_operations_total") == {
        (HERE, "10"): 66,
        (HERE, "11"): 33,
        (HERE, "other"): 4,
    }
    assert not [family for family in reader.families(Answer()) if declaration(family).name == COST]
