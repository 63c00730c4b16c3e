"""`fss-exporter iostat --by process`, `pod`, `unit` and `job`, on a kernel in memory."""

import io
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from rich.console import Console
from tests.fss_kernel_counting.processes.busy_host import HERE, KIB, BusyHost
from tests.prompt import ask, signals_put_back

from fss_exporter.cli.terminal import clean_up_at_the_end
from fss_exporter.nfs.procfs import Procfs
from fss_kernel_counting.processes.job_numbers import JobNumbers
from fss_kernel_counting.tracefs import OF_COMMAND
from fss_toolbox.cli import iostat as command
from fss_toolbox.iostat.process_reports import ProcessReport, document, reports, show

POD = "0f6e2b1c-9d3a-4c5b-8e7f-112233445566"


@pytest.fixture
def host(tmp_path: Path) -> BusyHost:
    host = BusyHost(tmp_path, writers=True, names=OF_COMMAND)
    host.process(7, "tar")
    host.process(8, "spark", cgroup=f"/kubepods/burstable/pod{POD}/{'3a' * 32}")
    (tmp_path / "pods" / f"batch_etl-5d9c_{POD}").mkdir()
    return host


def _work(host: BusyHost) -> None:
    host.write_later(7, "tar", 1024 * KIB)
    host.call(7, "tar", "CREATE")
    host.read(8, "spark", 32 * KIB)
    host.read(300, "cat", 32 * KIB)


def _reports(
    host: BusyHost, by: str, interval: float, count: int, work: Callable[[BusyHost], None]
) -> list[ProcessReport]:
    """Reports by the clock of the host, with work after each pause."""
    host.now = 100.0

    def sleep(seconds: float) -> None:
        assert 0 < seconds <= 1.0
        host.now += seconds
        work(host)

    with pytest.MonkeyPatch.context() as clock:
        clock.setattr(time, "monotonic", lambda: host.now)
        clock.setattr(time, "sleep", sleep)
        return [*reports(host.counting, host.reading, by, interval, count)]


def _report(host: BusyHost, by: str, work: Callable[[BusyHost], None] = _work) -> ProcessReport:
    """A report of two seconds, with work in the first one."""
    (report,) = _reports(host, by, 2.0, 1, lambda busy: work(busy) if busy.now == 101.0 else None)
    return report


def _shown(report: ProcessReport, sort: str = "iops", limit: int | None = None) -> str:
    out = io.StringIO()
    show(Console(file=out, width=200), report, sort, limit)
    return out.getvalue()


def test_by_process_the_dearest_comes_first_with_unit_and_cost(host: BusyHost) -> None:
    text = _shown(_report(host, "process"))

    # In two seconds: a WRITE of 1 MiB costs 66, CREATE 4, and two READs of 32 KiB cost 2 each.
    lines = [re.split(r"  +", line.strip()) for line in text.splitlines()[2:6]]
    assert [lines[0][0], *lines[0][-4:]] == [HERE, "37.0", "100.0 %", "0.03", "0.52"]
    assert [*lines[1][:2], *lines[1][-4:]] == ["tar", "backup.service", "35.0", "94.6 %", "0.00", "0.52"]
    assert [line[:2] for line in lines[2:]] == [["cat", "0.5"], ["spark", "batch/etl-5d9c"]]


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("pod", {"batch/etl-5d9c", "no pod", "pod unknown, ended before the first look"}),
        ("unit", {"backup.service", "no unit", "unit unknown, ended before the first look"}),
        ("job", {"4711", "no job", "job unknown, ended before the first look"}),
    ],
)
def test_by_pod_unit_and_job_the_processes_add_up(host: BusyHost, by: str, names: set[str]) -> None:
    if by == "job":
        host.process(7, "tar", "/slurm/uid_1000/job_4711/step_0/task_0")
    (target,) = document(_report(host, by), "iops", None)["mount_targets"]

    assert {line[by] for line in target["lines"]} == names
    assert sum(line["io_operations_per_second"] for line in target["lines"]) == target["io_operations_per_second"] == 37


SLUID = "sEKNKTV3WPV500"


def _jobs(tmp_path: Path, *, has_job_numbers: bool) -> set[str]:
    host = BusyHost(tmp_path, writers=True, names=OF_COMMAND, has_job_numbers=has_job_numbers)
    for number in (7, 8):
        host.process(number, "solver", f"/system.slice/slurmstepd.scope/{SLUID}/step_0/user/task_0")
    (tmp_path / "proc/7/environ").write_bytes(b"TOKEN=secret\0SLURM_JOB_ID=4711\0NOTE=SLURM_JOB_ID=9\0")

    def work(busy: BusyHost) -> None:
        busy.read(8, "solver", 32 * KIB)
        busy.read(7, "solver", 32 * KIB)

    report = _report(host, "job", work)
    assert "secret" not in str(report)
    (target,) = document(report, "iops", None)["mount_targets"]
    return {line["job"] for line in target["lines"]}


def test_a_job_with_a_sluid_has_its_number_from_one_of_its_processes_and_nothing_else_of_the_environment(
    tmp_path: Path,
) -> None:
    assert _jobs(tmp_path, has_job_numbers=True) == {f"4711 ({SLUID})"}


def test_without_a_look_into_environments_a_job_with_a_sluid_has_the_sluid(tmp_path: Path) -> None:
    assert _jobs(tmp_path, has_job_numbers=False) == {SLUID}


@pytest.mark.parametrize("environment", [b"", b"XSLURM_JOB_ID=1\0", b"SLURM_JOB_ID=1x\0", b"A=\nSLURM_JOB_ID=1\0"])
def test_an_environment_without_a_number_gives_none(tmp_path: Path, environment: bytes) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7/environ").write_bytes(environment)
    numbers = JobNumbers(tmp_path)
    numbers.learn("7", SLUID)
    numbers.learn("8", SLUID)
    assert numbers.named(SLUID) == SLUID


def test_after_very_many_jobs_the_newest_have_their_numbers(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7/environ").write_bytes(b"SLURM_JOB_ID=4711\0")
    numbers = JobNumbers(tmp_path)
    jobs = [f"s{number:013d}" for number in range(10_002)]
    for job in jobs:
        numbers.learn("7", job)

    assert [numbers.named(jobs[place]) for place in (0, -1)] == [jobs[0], f"4711 ({jobs[-1]})"]


def test_a_limit_keeps_the_first_lines_and_the_sum_of_all(host: BusyHost) -> None:
    report = _report(host, "process")
    (target,) = document(report, "write", 1)["mount_targets"]

    assert [line["process"] for line in target["lines"]] == ["tar"]
    assert target["operations_per_second"] == 2
    assert "spark" not in _shown(report, limit=1)


def test_the_shortest_interval_has_a_look(host: BusyHost) -> None:
    reports = _reports(host, "process", 0.0005, 3, lambda busy: busy.read(300, "cat", 32 * KIB))

    assert [len(report.loads[HERE]) for report in reports] == [1, 1, 1]


def test_a_hostile_name_reaches_no_terminal(host: BusyHost) -> None:
    report = _report(host, "process", lambda busy: busy.read(300, "\x1b[31mx\ny", 4 * KIB))

    assert "\\x1b[31mx\\ny" in _shown(report)


def test_without_a_call_the_report_says_so(host: BusyHost) -> None:
    assert "no NFS calls" in _shown(_report(host, "process", lambda _: None))


def test_the_triggers_go_with_the_command_however_it_ends(host: BusyHost) -> None:
    def interrupted() -> Iterator[None]:
        with click.Context(command.iostat).scope():
            clean_up_at_the_end(host.counting.close)
            for _ in reports(host.counting, host.reading, "process", 0.001, None):
                assert host.kernel.instances.keys() >= {OF_COMMAND.looks, OF_COMMAND.writers}
                signal.raise_signal(signal.SIGTERM)
                yield

    with pytest.raises(SystemExit), signals_put_back():
        list(interrupted())

    assert host.kernel.instances == {}
    assert "synthetic/nfswho_iostat" not in host.kernel.events


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--by", "process"], "--by process counts what happens from now on: give an INTERVAL, e.g. 5"),
        (["--by", "pod", "5", "--url", "http://x"], "--by pod counts on this host: leave out --from, --to, --url"),
        (["--by", "unit", "5", "--nfs.exact=auto"], "--by unit counts on this host: leave out"),
        (["--by", "process", "5", "--sort", "rtt"], "--sort rtt: --by process has no times"),
    ],
)
def test_wrong_use_is_one_line_that_names_the_fix(arguments: list[str], complaint: str) -> None:
    answer = ask("iostat", *arguments)

    assert answer.code == 2
    assert complaint in answer.err


def test_a_measured_cost_of_the_configuration_counts_by_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "fss-exporter.yml"
    file.write_text("cost_model: {operations: {CREATE: {io_operations: 40, date: 2026-11-01, source: measured}}}\n")
    host = BusyHost(tmp_path, names=OF_COMMAND)
    host.process(7, "tar")

    def work(seconds: float) -> None:
        host.now += seconds
        host.call(7, "tar", "CREATE")

    monkeypatch.setattr(command, "sources", lambda _: host.sources)
    monkeypatch.setattr(Procfs, "read", lambda _: host.reading())
    monkeypatch.setattr(time, "monotonic", lambda: host.now)
    monkeypatch.setattr(time, "sleep", work)
    answer = ask("iostat", "--by", "process", "1", "1", "--config.file", file, "--output", "json")

    assert answer.document["mount_targets"][0]["io_operations_per_second"] == 40


def test_a_host_without_tracefs_is_a_failure_with_the_fix() -> None:
    answer = ask("iostat", "--by", "process", "1", "1", "--path.tracefs", "/nowhere")

    assert answer.code == 1
    assert "no tracefs at /nowhere: mount -t tracefs" in answer.err
