"""fio's normal output: hostile texts first, then recordings of fio 3.33 and the reports of the documents, typed in."""

import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from fss_exporter.errors import UsageError
from fss_toolbox.fio.report import read_report
from fss_toolbox.sizing.benchmark import Job

REPORTS = Path(__file__).parents[2] / "fixtures/fio"
NORMAL = (REPORTS / "normal.txt").read_text()
HEAD = "a: (groupid=0, jobs=1): err= 0: pid=1\n"


def jobs_of(name: str) -> tuple[Job, ...]:
    return read_report(name, (REPORTS / f"{name}.txt").read_text())


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (HEAD, "no job has read or written anything"),
        (HEAD + "  read: IOPS=0, BW=0B/s (0B/s)(0B/2001msec)\n", "no job has read or written anything"),
        (
            HEAD + "  read: IOPS=., BW=12MiB/s\n",
            "job 'a': the figures of its reads cannot be read: 'IOPS=., BW=12MiB/s'",
        ),
        (HEAD + "  read: IOPS=9, BW=\n", "job 'a': the figures of its reads cannot be read: 'IOPS=9, BW='"),
        (HEAD + "  mixed: IOPS=9, BW=9KiB/s\n", "job 'a': unified_rw_reporting adds reads and writes up"),
        ("read: IOPS=9, BW=9MiB/s\n", "not a report of fio"),
        ("fio: engine libaio not loadable\n", r"not a report of fio \(fio printed: fio: engine libaio not loadable\)"),
        (
            "fio: pid=7, err=28/file:io_u.c:1747\nfio: (groupid=0, jobs=1): err=28\n",
            "anything: fio: ended with error 28, fio: pid=7, err=28/file:io_u.c:1747$",
        ),
    ],
)
def test_a_text_without_figures_is_refused(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        read_report("r.txt", text)


@pytest.mark.parametrize("before", ["Jobs: 2 (f=2): [r(2)][100.0%][r=1300MiB/s][r=41.6k IOPS][eta 00m:00s]", "    "])
def test_a_progress_line_or_spaces_before_a_job_are_no_part_of_the_name(before: str) -> None:
    text = NORMAL.replace("\nrandread: (groupid", f"\n{before}randread: (groupid")
    assert text != NORMAL
    assert read_report("r.txt", text) == jobs_of("normal")


@pytest.mark.parametrize("name", ["apsara-nas", "nvme", "normal", "normal-mixed", "normal-status", "normal-client"])
@pytest.mark.parametrize("indent", ["", "\t", "\u00a0\u00a0"], ids=["none", "tab", "no-break"])
def test_a_pasted_report_is_read_with_any_indentation(name: str, indent: str) -> None:
    text = (REPORTS / f"{name}.txt").read_text()
    pasted = "\n".join(indent + line.strip() if name != "normal-client" else line.strip() for line in text.splitlines())

    assert read_report(name, pasted) == jobs_of(name)


@pytest.mark.parametrize("line", ["a" + " <" * 60_000, "<" * 100_000, "a<b" * 50_000, "Jobs: 1 (f=" + "[eta " * 50_000])
def test_a_line_that_no_fio_prints_takes_no_time(line: str) -> None:
    began = time.process_time()

    assert read_report("r.txt", f"{NORMAL}\n{line}\n") == jobs_of("normal")
    assert time.process_time() - began < 1.0


def _logged(number: int, line: str) -> str:
    return f"2026-11-26T10:{number % 60:02d}:00.{number:06d}Z stdout F {line}"


@pytest.mark.parametrize("name", ["apsara-nas", "nvme", "normal", "normal-mixed", "normal-status", "normal-client"])
@pytest.mark.parametrize(
    "margin",
    [
        lambda _, line: f"> {line}",
        lambda _, line: f"| {line}",
        lambda _, line: f"[pod/fio-0/fio] {line}",
        lambda number, line: f"20:17:{number % 60:02d} DEBUG| [stdout] {line}",
        _logged,
        lambda _, line: f"\x1b[32m{line}\x1b[0m",
        lambda _, line: f"{line}   \r",
    ],
    ids=["mail", "bar", "kubectl", "test log", "container log", "colours", "CRLF"],
)
def test_what_a_log_or_a_mail_puts_around_each_line_is_no_part_of_the_report(
    name: str, margin: Callable[[int, str], str]
) -> None:
    text = (REPORTS / f"{name}.txt").read_text()
    logged = "\n".join(margin(number, line) for number, line in enumerate(text.splitlines()))

    assert read_report(name, logged) == jobs_of(name)


@pytest.mark.parametrize("number", ["9" * 5000, "1" * 400, "\u0663", "."])
@pytest.mark.parametrize(
    "place", [r"iodepth=(\d+)", r"IOPS=(\d)", r"BW=(\d+)", r"/(\d+)msec", r"jobs=(\d+)", r"total=(\d+),"]
)
def test_a_number_that_cannot_be_is_no_figure(place: str, number: str) -> None:
    match = re.search(place, NORMAL)
    assert match is not None
    with suppress(UsageError):
        read_report("r.txt", NORMAL[: match.start(1)] + number + NORMAL[match.end(1) :])


@pytest.mark.parametrize("unit", ["\u0131B", "K\u0131B"])
def test_a_unit_in_other_letters_is_no_figure(unit: str) -> None:
    with suppress(UsageError):
        read_report("r.txt", NORMAL.replace("BW=1300MiB", f"BW=1300{unit}").replace("4096B-", f"4{unit}-"))


@given(st.integers(0, len(NORMAL)), st.integers(0, 60), st.text(max_size=8))
def test_a_damaged_text_is_read_or_refused(begin: int, length: int, put: str) -> None:
    try:
        jobs = read_report("r.txt", NORMAL[:begin] + put + NORMAL[begin + length :])
    except UsageError:
        return
    assert all(job.reads.operations >= 0 and (job.in_flight or 0) >= 0 for job in jobs)


def test_a_group_of_fio_3_is_read_with_its_latencies_and_depth() -> None:
    (job,) = jobs_of("normal")
    assert (job.name, job.group, job.depth) == ("randread", 0, 64)
    assert job.reads.count == 82_316
    assert job.reads.operations == pytest.approx(82_316 / 2.001)
    assert job.reads.mean_bytes == 32 * 1024
    assert job.reads.one_size
    assert job.reads.mean_seconds == pytest.approx(1554.91e-6)
    assert job.reads.percentiles[99.0] == pytest.approx(8979e-6)
    assert job.in_flight == pytest.approx(64, rel=0.01)
    assert not job.writes.count


def test_each_process_of_a_job_without_group_reporting_is_a_job() -> None:
    jobs = jobs_of("normal-mixed")
    assert [job.name for job in jobs] == ["mixed", "mixed"]
    assert [round(job.reads.operations) for job in jobs] == [6900, 6862]
    assert [round(job.writes.operations) for job in jobs] == [2941, 2962]
    assert [job.depth for job in jobs] == [1, 1]


def test_the_last_of_several_intermediate_reports_counts_and_mixed_sizes_have_no_one_size() -> None:
    (job,) = jobs_of("normal-status")
    assert job.writes.operations == pytest.approx(9872, rel=0.001)
    assert not job.writes.one_size
    assert job.writes.mean_bytes == pytest.approx(20_393, rel=0.02)


def test_a_client_of_client_server_mode_is_a_host() -> None:
    (job,) = jobs_of("normal-client")
    assert (job.name, job.host, job.depth) == ("vm/job", "vm", 8)


def test_the_runs_of_the_apsara_document_are_read() -> None:
    jobs = {job.name: job for job in jobs_of("apsara-nas")}
    figures = [round(job.reads.operations or job.writes.operations) for job in jobs.values()]
    assert figures == [15_300, 15_500, 148, 152, 15_200, 13_500, 152, 153]
    small = jobs["randread-4k"]
    assert small.reads.bytes_per_second == pytest.approx(15_300 * 4096)
    assert (small.depth, round(small.in_flight or 0)) == (128, 128)
    large = jobs["windows-randread-1m"]
    assert (large.depth, large.reads.mean_bytes) == (256, 1 << 20)
    assert large.in_flight == pytest.approx(152 * 1.67)


def test_the_runs_of_the_nvme_account_are_read_in_the_words_of_fio_2() -> None:
    jobs = {job.name: job for job in jobs_of("nvme")}
    assert jobs["write"].writes.operations == pytest.approx(72_000)
    assert jobs["write"].writes.mean_bytes == 4096
    assert jobs["read"].in_flight == pytest.approx(86_000 * 180e-6)
    assert jobs["read-deep"].reads.operations == pytest.approx(311_000)
    assert jobs["read-deep"].in_flight is None, "the account states no latency of this run"


def test_the_sum_of_all_clients_behind_their_reports_is_no_run_of_its_own() -> None:
    client = (REPORTS / "normal-client.txt").read_text()
    total = "All clients: (groupid=0, jobs=1): err= 0: pid=0: Sun Nov 22 02:32:59 2026\n  read: IOPS=23.7k, BW=92.4Mi (96.9M)(92.8MiB/1004msec)\n"
    assert read_report("r.txt", client + total) == jobs_of("normal-client")


def test_a_job_that_waits_for_its_turn_in_one_report_and_runs_in_the_next_is_one_job() -> None:
    waits = "b: (groupid=1, jobs=1): err= 0: pid=0: Fri Nov 27 10:00:00 2026\n"
    runs = "b: (groupid=1, jobs=1): err= 0: pid=7: Fri Nov 27 10:01:00 2026\n  read: IOPS=9, BW=36.0KiB/s (36.9kB/s)(2160KiB/60000msec)\n"
    (job,) = read_report("r.txt", waits + "Run status group 1 (all jobs):\n" + runs)
    assert (job.name, job.run, job.reads.count) == ("b", 0, 540)


def test_bandwidth_of_fio_3_in_decimal_units_is_decimal() -> None:
    (job,) = read_report(
        "r.txt", HEAD + "  read: IOPS=1000, BW=5.00MB/s (4883KiB/s)(50.0MB/10000msec)\n     lat (usec): avg=9\n"
    )
    assert job.reads.bytes_per_second == pytest.approx(5e6)


@pytest.mark.parametrize(
    ("sizes", "one_size"),
    [
        ("(R) 4096B-4096B, (W) 128KiB-128KiB, (T) 4096B-4096B", True),
        ("4K-4K/128K-128K/4K-4K", True),  # fio 2
        ("4096B-4096B,128KiB-128KiB,4096B-4096B", True),  # fio 2.18
        ("(R) 4096B-4096B, (W) 4096B-128KiB, (T) 4096B-4096B", False),
        ("(R) 128KiB-128KiB, (W) 4096B-4096B, bs_is_seq_rand", True),  # sequential, then random
    ],
)
def test_writes_have_the_size_of_writes(sizes: str, one_size: bool) -> None:
    announced = f"a: (g=0): rw=write, bs={sizes}, ioengine=libaio, iodepth=32\n"
    (job,) = read_report("r.txt", f"{announced}{HEAD}  write: IOPS=2000, BW=250MiB/s (262MB/s)(14.6GiB/60001msec)\n")

    assert (job.writes.mean_bytes, job.writes.one_size) == (128 * 1024, one_size)


@pytest.mark.parametrize(
    ("mean", "most", "unit", "is_left_out"),
    [
        ("177.56", "349", "msec", False),
        ("177.56", "349", "usec", True),  # the percentiles are a thousand times as long
        ("17.56", "349", "msec", True),
        ("340.00", "349", "msec", True),
        ("177.56", "12.5k", "msec", False),
        ("0.60", "1", "msec", False),  # a millisecond is the step of the percentiles
    ],
)
def test_percentiles_that_contradict_their_mean_are_left_out(
    mean: str, most: str, unit: str, is_left_out: bool
) -> None:
    rows = "1.00th=[    1], 99.00th=[    1]" if unit == "msec" and most == "1" else "1.00th=[  163], 99.00th=[  205]"
    text = f"""\
j: (groupid=0, jobs=1): err= 0: pid=69: Sat Nov 16 04:44:17 2024
  read: IOPS=2801, BW=10.9MiB/s (11.5MB/s)(1315MiB/120182msec)
    clat ({unit}): min=0, max={most}, avg={mean}, stdev= 9.68
    clat percentiles (msec):
     |  {rows}
"""
    (job,) = read_report("r.txt", text)
    said = f"percentiles of reads contradict their mean of {float(mean) / (1000 if unit == 'usec' else 1):.3g} ms, so they are left out"
    assert (not job.reads.percentiles, said in job.remarks) == (is_left_out, is_left_out)
