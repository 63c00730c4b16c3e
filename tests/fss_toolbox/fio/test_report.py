"""fio's reports: hostile ones first, then the shapes that fio 3.33 really writes."""

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from fss_exporter.errors import UsageError
from fss_exporter.model.limits import STANDARD
from fss_toolbox.fio.report import read_report
from fss_toolbox.sizing.benchmark import Job, Storage, judge

REPORTS = Path(__file__).parents[2] / "fixtures/fio"


def text_of(name: str) -> str:
    return (REPORTS / f"{name}.json").read_text()


def jobs_of(name: str) -> tuple[Job, ...]:
    return read_report(f"{name}.json", text_of(name))


def edited(change: Callable[[dict[str, Any]], object]) -> str:
    document = json.loads(text_of("group"))
    change(document)
    return json.dumps(document)


def job(document: dict[str, Any]) -> dict[str, Any]:
    first: dict[str, Any] = document["jobs"][0]
    return first


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not a report of fio"),
        ("{}", "not a report of fio"),
        ("[]", "not a report of fio"),
        ("null", "not a report of fio"),
        ("\x00\xff", "not a report of fio"),
        pytest.param(" " * 5_000_000, "not a report of fio", id="blanks"),
        ("3;fio-3.33;randread;0;0;1753680", "terse output is not read, because its fields have no names"),
        ('{"jobs": []}', "not a report of fio"),
        ('{"fio version": "fio-3.33", "jobs": 7}', "jobs: should be a valid list"),
        ('{"fio version": "fio-3.33"}', "no job has read or written anything"),
        ('{"fio version": "fio-2.2.10", "jobs": []}', "written by 'fio-2.2.10'. Reports of fio 3 are read"),
        ('{"fio version": "fio-3.33", "jobs": [', "line 1: not JSON, or cut off"),
        ('{"a":' * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_report_is_refused(text: str, why: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_report("r.json", text)
    assert str(refused.value).startswith("r.json: ")
    assert why in str(refused.value)


@given(st.integers(0, len(text_of("group")) - 3))
def test_a_report_cut_anywhere_is_refused(length: int) -> None:
    with pytest.raises(UsageError):
        read_report("r.json", text_of("group")[:length])


@given(st.data())
def test_a_damaged_report_is_read_or_refused(data: st.DataObject) -> None:
    text = text_of(data.draw(st.sampled_from(["group", "mixed", "client", "status"])))
    begin = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(begin, min(len(text), begin + 100)))
    put = data.draw(st.one_of(st.text(max_size=10), st.integers().map(str), st.floats().map(str)))
    with contextlib.suppress(UsageError):
        for job in read_report("r.json", text[:begin] + put + text[end:]):
            judge([job], Storage(STANDARD.limits))


@given(st.text())
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        read_report("r.json", text)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda document: job(document)["read"].update(iops=-1), "jobs[0].read.iops: should be greater than or equal"),
        (lambda document: job(document)["read"].update(iops="many"), "jobs[0].read.iops: should be a valid number"),
        (lambda document: job(document)["read"].update(iops=float("nan")), "jobs[0].read.iops: should be a finite"),
        (lambda document: job(document)["read"].update(bw_bytes=float("inf")), "jobs[0].read.bw_bytes: should be"),
        (lambda document: job(document)["read"].update(io_bytes=1.5), "jobs[0].read.io_bytes: should be a valid int"),
        (lambda document: job(document).update({"job options": []}), "jobs[0].job options: should be a valid dict"),
        (lambda document: job(document).update(read=None), "jobs[0].read: should be a valid dictionary"),
        (lambda document: document.update(jobs=[None]), "jobs[0]: should be a valid dictionary"),
    ],
)
def test_a_figure_that_cannot_be_is_named_by_its_place(change: Callable[[dict[str, Any]], object], place: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_report("r.json", edited(change))
    assert place in str(refused.value)


def test_each_figure_that_cannot_be_has_a_line_of_its_own() -> None:
    with pytest.raises(UsageError) as refused:
        read_report("r.json", edited(lambda document: job(document)["read"].update(iops=-1, bw_bytes="many")))
    assert [line.split(": ")[1] for line in refused.value.lines] == ["jobs[0].read.bw_bytes", "jobs[0].read.iops"]


def test_a_run_that_failed_has_no_report() -> None:
    with pytest.raises(UsageError, match=r"not a report of fio \(fio printed: fio: file:options.c:1457, func=lstat"):
        jobs_of("failed")


def test_a_job_that_did_nothing_names_its_error() -> None:
    def fail(document: dict[str, Any]) -> None:
        job(document).update(error=22, read={}, write={})

    with pytest.raises(UsageError, match="no job has read or written anything: randread: error 22"):
        read_report("r.json", edited(fail))


@pytest.mark.parametrize("depth", ["0x20", "-1", "", "9" * 40, "٣"])
def test_a_depth_that_is_no_number_is_unknown(depth: str) -> None:
    (entry,) = read_report("r.json", edited(lambda document: job(document)["job options"].update(iodepth=depth)))
    assert entry.depth is None


@pytest.mark.parametrize(("filename", "directory"), [(5, ""), (None, ""), ("/mnt/a/b", "/mnt/a")])
def test_the_directory_is_that_of_the_file_name_if_the_name_is_a_text(filename: object, directory: str) -> None:
    (entry,) = read_report(
        "r.json", edited(lambda document: job(document).update({"job options": {"filename": filename}}))
    )
    assert entry.directory == directory


def test_group_reporting_stands_for_all_its_threads() -> None:
    (entry,) = jobs_of("group")
    assert (entry.name, entry.depth) == ("randread", 64)
    assert entry.in_flight == pytest.approx(64, rel=0.02)
    assert entry.reads.mean_bytes == 32768
    assert entry.writes.count == 0


def test_without_group_reporting_each_thread_has_its_own_depth() -> None:
    entries = jobs_of("nogroup")
    assert [entry.depth for entry in entries] == [4, 4]
    assert {entry.group for entry in entries} == {0}


def test_without_a_run_time_the_number_of_jobs_tells_the_threads() -> None:
    (entry,) = read_report("r.json", edited(lambda document: job(document).pop("job_runtime")))
    assert entry.depth == 64


def test_a_synchronous_engine_has_one_request_in_flight_and_that_is_said() -> None:
    (entry,) = jobs_of("mixed")
    assert entry.depth == 1
    assert "psync waits for each request: iodepth=32 has no effect" in entry.remarks
    assert (entry.reads.mean_bytes, entry.writes.mean_bytes) == (4096, 65536)


def test_jobs_after_a_stonewall_are_groups_of_their_own() -> None:
    assert [(entry.name, entry.group) for entry in jobs_of("stonewall")] == [("w1m", 0), ("r1m", 1)]


def test_of_interim_reports_the_last_counts() -> None:
    (entry,) = jobs_of("status")
    last = json.loads(text_of("status").rpartition("\n{")[2].join(("{", "")))["jobs"][0]
    assert entry.writes.count == last["write"]["total_ios"]


def test_clients_are_kept_apart_and_their_sum_is_not_counted_again() -> None:
    assert [entry.name for entry in jobs_of("client")] == ["127.0.0.1/a", "127.0.0.1/b"]


def test_the_error_of_one_server_stands_beside_the_jobs_of_the_others() -> None:
    first, second = read_report("r.json", f"<node-c> error: failed to setup shm segment\n{text_of('client')}")
    assert first.remarks[-1] == "fio printed: <node-c> error: failed to setup shm segment"
    assert not [remark for remark in second.remarks if remark.startswith("fio printed")]


def test_of_many_errors_of_fio_the_first_are_listed_and_the_others_counted() -> None:
    lines = "".join(f"fio: io_u error on file /mnt/a: No space left on device: write offset={at}\n" for at in range(9))
    first, *_ = read_report("r.json", lines + text_of("group"))
    assert len([remark for remark in first.remarks if "offset=" in remark]) == 3
    assert first.remarks[-1] == "fio printed: and 6 more such lines of fio"


def test_unlike_jobs_reported_as_one_have_no_depth() -> None:
    (entry,) = jobs_of("sections")
    assert entry.depth is None
    assert any("unlike jobs reported as one" in remark for remark in entry.remarks)


def test_buffered_requests_and_syncs_are_pointed_out() -> None:
    (entry,) = jobs_of("buffered")
    assert any(remark.startswith("buffered: ") for remark in entry.remarks)
    assert any(remark.startswith("255 syncs") for remark in entry.remarks)


def test_mixed_sizes_are_known_to_be_mixed() -> None:
    (entry,) = jobs_of("bssplit")
    assert not entry.reads.one_size


def test_a_report_without_bytes_per_second_has_the_bandwidth_of_its_kibibytes() -> None:
    """As fio 3.1 writes reports."""
    old = read_report("r.json", edited(lambda document: job(document)["read"].pop("bw_bytes")))
    new = jobs_of("group")
    assert old[0].reads.bytes_per_second == pytest.approx(new[0].reads.bytes_per_second, rel=1e-5)


def test_tail_latencies_are_seconds() -> None:
    (entry,) = jobs_of("group")
    assert entry.reads.mean_seconds is not None
    assert 0 < entry.reads.percentiles[50.0] < entry.reads.percentiles[99.0] < entry.reads.percentiles[99.9] < 1


def _stamped(name: str, timestamp: int, elapsed: int, reads: int) -> str:
    def change(document: dict[str, Any]) -> None:
        document.update(timestamp=timestamp)
        job(document).update(jobname=name, elapsed=elapsed)
        job(document)["read"].update(total_ios=reads)

    return edited(change)


def test_reports_of_one_start_are_one_run_and_those_of_two_starts_are_two() -> None:
    interim = "\n".join((_stamped("a", 1060, 60, 500), _stamped("a", 1120, 120, 1000)))
    assert [(job.run, job.reads.count) for job in read_report("r.json", interim)] == [(0, 1000)]
    loop = "\n".join((_stamped("a", 1060, 60, 500), _stamped("a", 1125, 60, 501)))
    assert [(job.run, job.reads.count) for job in read_report("r.json", loop)] == [(0, 500), (1, 501)]


@pytest.mark.parametrize(
    ("factor", "is_left_out"), [(0.1, True), (0.98, False), (1.0, False), (1.02, False), (10, True)]
)
def test_percentiles_that_contradict_their_mean_are_left_out_with_a_remark(factor: float, is_left_out: bool) -> None:
    def change(document: dict[str, Any]) -> None:
        latency = job(document)["read"]["clat_ns"]
        latency["percentile"] = {key: value * factor for key, value in latency["percentile"].items()}

    first = read_report("r.json", edited(change))[0]
    said = [remark for remark in first.remarks if "contradict" in remark]
    assert (not first.reads.percentiles, len(said)) == (is_left_out, is_left_out)
