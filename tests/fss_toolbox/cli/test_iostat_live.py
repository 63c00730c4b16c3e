"""`fss-exporter iostat` as things happen: on the local kernel, on a running exporter, and in exact mode."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import click
import pytest
from tests import processes
from tests.fss_exporter.nfs.records import mountinfo, mountstats
from tests.fss_kernel_counting.host import Host
from tests.fss_kernel_counting.kernel import Kernel
from tests.prompt import ROOT, ask, signals_put_back

from fss_exporter.nfs.mount_settings import NO_MOUNT_SETTINGS
from fss_exporter.nfs.superblocks import Reading
from fss_toolbox import fetch
from fss_toolbox.cli import iostat as command
from fss_toolbox.iostat import intervals, page_reports
from fss_toolbox.iostat.host_reports import HostTraffic
from fss_toolbox.iostat.traffic_report import Report

FIRST, SECOND = (ROOT / "tests/fixtures/procfs" / name for name in ("first", "second"))


def show(recorded: Path, procfs: Path) -> None:
    """Let `procfs` be a recorded one from now on, at once: a reader sees no half-written file."""
    fresh = procfs.with_name("fresh")
    fresh.symlink_to(recorded)
    fresh.replace(procfs)


def test_the_local_kernel_is_read_from_procfs() -> None:
    answer = ask("iostat", "--path.procfs", FIRST, "--output", "json")
    assert answer.code == 0
    document = answer.document
    assert document["seconds"] is None
    assert document["mount_targets"]
    assert "means since each mount" in document["notes"][0]


@pytest.mark.parametrize("interval", [(), ("0.01", "1")])
def test_mounts_without_counters_are_said_and_are_no_host_without_mounts(
    interval: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "1").mkdir()
    (tmp_path / "1/mountinfo").write_bytes((FIRST / "1/mountinfo").read_bytes())
    (tmp_path / "1/mountstats").write_text("")
    answer = ask("iostat", *interval, "--path.procfs", tmp_path)
    assert "NFS mounts without readable counters: 6" in answer.out
    assert "no NFS mounts" not in answer.out
    assert "NFS mounts without readable counters: 6" in answer.err
    document = ask("iostat", *interval, "--path.procfs", tmp_path, "--output", "json").document
    assert "this host: NFS mounts without readable counters: 6" in document["notes"]


def test_intervals_count_what_each_of_them_adds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    procfs = tmp_path / "proc"
    show(FIRST, procfs)

    def nap(seconds: float) -> None:
        assert seconds <= 1.0
        show(SECOND, procfs)

    monkeypatch.setattr(time, "sleep", nap)
    monkeypatch.setattr(intervals, "_TICK_S", 0.01)
    answer = ask("iostat", "0.01", "2", "--path.procfs", procfs, "--output", "json")
    first, second = (json.loads(line) for line in answer.out.splitlines())
    assert first["total"]["operations_per_second"] > 0
    assert second["total"]["operations_per_second"] == 0


@pytest.mark.parametrize("interval", [(), ("0.01", "3")])
def test_a_read_that_hangs_ends_the_report_with_an_error(
    interval: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("fss_exporter.nfs.procfs.READING_SECONDS", 0.2)
    procfs, hung = tmp_path / "proc", tmp_path / "hung"
    (hung / "1").mkdir(parents=True)
    (hung / "1" / "mountinfo").symlink_to(FIRST / "1" / "mountinfo")
    os.mkfifo(hung / "1" / "mountstats")  # to open it waits for a writer, for ever
    show(FIRST if interval else hung, procfs)
    monkeypatch.setattr(time, "sleep", lambda _: show(hung, procfs))
    monkeypatch.setattr(intervals, "_TICK_S", 0.01)

    answer = ask("iostat", *interval, "--path.procfs", procfs)

    assert answer.code == 1
    assert f"the reading of {procfs}/1/mountstats has not ended after 0 s" in answer.err


def test_a_host_without_nfs_says_so(tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    for name in ("mountinfo", "mountstats"):
        (tmp_path / "1" / name).write_text("")
    answer = ask("iostat", "--path.procfs", tmp_path)
    assert answer.code == 0
    assert "no NFS mounts" in answer.out


@pytest.mark.parametrize("interval", [(), ("0.01", "1")])
def test_a_record_that_cannot_be_read_is_a_note(interval: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    (tmp_path / "1/mountinfo").write_text(mountinfo())
    (tmp_path / "1/mountstats").write_text(mountstats({"GETATTR": 2**70}))
    answer = ask("iostat", *interval, "--path.procfs", tmp_path, "--output", "json")
    assert answer.document["notes"] == [
        "this host: 1 records left out: malformed_operation",
        "this host: NFS mounts without readable counters: 1",
    ]


def test_no_procfs_is_a_failure_that_says_what_to_do(tmp_path: Path) -> None:
    answer = ask("iostat", "--path.procfs", tmp_path)
    assert answer.code == 1
    assert "cannot read" in answer.err


def test_a_process_that_is_no_number_is_a_mistake_as_for_the_agent() -> None:
    answer = ask("iostat", "--path.pid", "init")
    assert (answer.code, answer.err) == (2, "fss-exporter: --path.pid=init: give a process number or self\n")


def test_an_interrupt_ends_it_without_a_trace() -> None:
    with subprocess.Popen(
        ["fss-exporter", "iostat", "0.2", "--path.procfs", str(FIRST)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # What a shell starts in the background has SIGINT ignored, and its children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509  # no thread runs yet
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline()
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=120)
    assert running.returncode == 130
    assert "Traceback" not in err


def test_a_reader_that_goes_away_ends_it_without_a_trace() -> None:
    with subprocess.Popen(
        ["fss-exporter", "iostat", "0.1", "--path.procfs", str(FIRST)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.readline()
        running.stdout.close()
        err = running.stderr.read()
        running.wait(120)
    assert "Traceback" not in err


def test_a_running_exporter_is_read_like_the_kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    procfs = tmp_path / "proc"
    show(FIRST, procfs)
    with processes.exporter(tmp_path / "run", f"--path.procfs={procfs}", "--nfs.tick=100ms") as url:

        def nap(_: float) -> None:
            monkeypatch.undo()
            show(SECOND, procfs)
            counted = re.compile(r'(?m)^fss_client_operations_total\{.*operation="READ".*\} [1-9]')
            # As iostat asks: an answer with gzip and one without can be 0.1 s apart.
            asked = partial(fetch.get, f"{url}/metrics", "text/plain")
            processes.wait_for(lambda: counted.search(asked()), "the next tick")

        # Else the counters of the first tick are the second ones.
        processes.wait_for(
            lambda: "\nfss_client_operations_total{" in processes.get(f"{url}/metrics"), "the first tick"
        )
        monkeypatch.setattr(time, "sleep", nap)
        answer = ask("iostat", "--url", f"{url}/metrics", "--output", "json")
    assert answer.code == 0, answer.err
    total = answer.document["total"]
    assert total["operations_per_second"] > 0
    assert total["estimated_iops"]["lower"] <= total["estimated_iops"]["point"] <= total["estimated_iops"]["upper"]


def scrapes(monkeypatch: pytest.MonkeyPatch, *texts: str) -> None:
    left = list(texts)
    monkeypatch.setattr(page_reports, "get", lambda *_: left.pop(0))
    monkeypatch.setattr(time, "sleep", lambda _: None)


def metrics(reads: int) -> str:
    labels = 'address="10.0.0.1",server="10.0.0.1",export="/a",service="oci-fss",class="read",operation="READ"'
    return f"# TYPE fss_client_operations_total counter\nfss_client_operations_total{{{labels}}} {reads}\n"


@pytest.mark.parametrize(("count", "code"), [(1, 1), (2, 0)])
def test_the_load_of_an_agent_that_cannot_read_its_counters_is_not_known_until_it_can_again(
    count: int, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, failing = (f'fss_collector_success{{collector="nfs"}} {success}\n' for success in (1, 0))
    scrapes(monkeypatch, metrics(10) + read, metrics(10) + failing, metrics(70) + read)
    answer = ask("iostat", "5", str(count), "--url", "http://host/metrics")
    assert (answer.code, answer.out) == (code, "")
    assert "http://host/metrics: the exporter could not read the NFS counters, so the load is not known" in answer.err


def test_the_network_of_an_agents_host_is_judged_by_what_the_agent_exports(monkeypatch: pytest.MonkeyPatch) -> None:
    network = "# TYPE fss_client_network_bytes_per_second_limit gauge\nfss_client_network_bytes_per_second_limit 5e8\n"
    scrapes(monkeypatch, metrics(10) + network, metrics(13) + network)
    answer = ask("iostat", "--url", "http://host/metrics", "--output", "json")
    assert answer.document["client_network"]["limit"] == 5e8
    assert answer.document["client_network"]["ratio"] == 0


def reads_at(address: str, service: str, count: int) -> str:
    """A page of an exporter after so many READs of 1 MiB, each 33 I/O operations."""
    mount = f'network="r",address="{address}",server="{address}",export="/a",service="{service}"'
    of_class = f'{mount},class="read"'
    cost = 33 if service == "oci-fss" else 1
    return (
        f'fss_client_operations_total{{{of_class},operation="READ"}} {count}\n'
        f"fss_client_estimated_io_operations_total{{{of_class}}} {count * cost}\n"
        f"fss_client_read_bytes_total{{{mount}}} {count << 20}\n"
    )


SERVED = """
fss_mount_target_info{region="r",network="r",mount_target_id="a",mount_target="mt-media",address="10.0.0.1",shape="hpmt-20"} 1
fss_mount_target_read_bytes_per_second_limit{region="r",mount_target_id="a",mount_target="mt-media"} 2.5e9
fss_mount_target_info{region="r",network="r",mount_target_id="b",mount_target="mt-home",address="10.0.0.2",shape="standard"} 1
fss_mount_target_iops_limit{region="r",mount_target_id="b",mount_target="mt-home"} 50000
fss_mount_target_utilisation_ratio{mount_target_id="b",resource="iops",statistic="mean",source="oci"} 0.9
fss_mount_target_utilisation_ratio{mount_target_id="b",resource="iops",statistic="peak",source="oci"} 0.99
fss_mount_target_data_age_seconds{region="r",mount_target_id="b",resource="iops"} 120
fss_client_service_info{network="r",address="10.0.0.3",server="s",export="/a",service="apsara-nas",kind="capacity"} 1
fss_client_bytes_per_second_limit{network="r",address="10.0.0.3"} 5e7
"""


def served_page(count: int) -> str:
    pages = (("10.0.0.1", "oci-fss"), ("10.0.0.2", "oci-fss"), ("10.0.0.3", "apsara-nas"))
    return "".join(reads_at(address, service, count) for address, service in pages) + SERVED


def test_each_address_is_judged_by_the_ceilings_that_the_page_has_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    scrapes(monkeypatch, served_page(0), served_page(100))
    monkeypatch.setattr(time, "monotonic", iter((0.0, 1.0)).__next__)
    by_address = {
        mount_target["address"]: mount_target
        for mount_target in ask("iostat", "--url", "http://h/metrics", "--output", "json").document["mount_targets"]
    }

    media, home, nas = by_address["10.0.0.1"], by_address["10.0.0.2"], by_address["10.0.0.3"]
    assert (media["mount_target"], media["shape"], media["ceilings_from"]) == (
        "mt-media",
        "hpmt-20",
        "the exporter's page",
    )
    assert (media["share"]["IOPS"], media["all_clients"]) == (None, None)
    assert media["share"]["read bandwidth"] == pytest.approx(100 * 2**20 / 2.5e9)
    assert home["share"]["IOPS"] == pytest.approx(3_300 / 50_000)
    assert home["all_clients"] == {
        "iops": 45_000,
        "source": "estimated from OCI",
        "age_seconds": 120,
        "knowledge": "now",
    }
    assert home["coverage"] == pytest.approx(3_300 / 45_000)
    assert nas["shape"] == "capacity"
    assert nas["share"] == {"bandwidth, reads and writes together": pytest.approx(100 * 2**20 / 5e7)}


def test_a_shape_at_the_prompt_replaces_the_ceilings_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    scrapes(monkeypatch, served_page(0), served_page(100))
    monkeypatch.setattr(time, "monotonic", iter((0.0, 1.0)).__next__)
    answer = ask("iostat", "--url", "http://h/metrics", "--shape", "hpmt-40", "--output", "json")

    home = next(
        mount_target for mount_target in answer.document["mount_targets"] if mount_target["address"] == "10.0.0.2"
    )
    assert (home["shape"], home["share"]["read bandwidth"]) == ("hpmt-40", pytest.approx(100 * 2**20 / 5e9))


def test_the_report_names_the_mount_targets_of_the_page_with_the_part_of_the_load_it_shows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scrapes(monkeypatch, served_page(0), served_page(100))
    monkeypatch.setattr(time, "monotonic", iter((0.0, 1.0)).__next__)
    out = " ".join(ask("iostat", "--url", "http://h/metrics").out.split())

    assert "10.0.0.1 mt-media 100" in out
    assert re.search(r"10.0.0.2 mt-home .* 7.3 %", out)
    assert "IOPS are estimated. Coverage: of the IOPS of all clients, estimated from OCI, 2 min old" in out
    assert "ceilings of standard" not in out


def test_an_exporter_restarted_between_scrapes_is_no_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    scrapes(monkeypatch, metrics(10), metrics(3))
    answer = ask("iostat", "--url", "http://host/metrics")
    assert answer.code == 1
    assert "the exporter was restarted between two scrapes" in answer.err


def test_a_restart_costs_a_long_watch_one_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    scrapes(monkeypatch, metrics(10), metrics(3), metrics(5), metrics(7))
    answer = ask("iostat", "--url", "http://host/metrics", "1", "2", "--output", "json")
    assert answer.code == 0
    assert "This interval is left out" in answer.err
    assert len(answer.out.splitlines()) == 2


@pytest.mark.parametrize("text", ["", "<html>", "up 1\n", "fss_client_operations_total{ 1\n"])
def test_another_page_than_the_exporters_is_a_failure(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    scrapes(monkeypatch, text, text)
    answer = ask("iostat", "--url", "http://host/metrics")
    assert answer.code == 1
    assert "fss-exporter: http://host/metrics: no" in answer.err


def test_a_closed_port_is_a_failure() -> None:
    answer = ask("iostat", "--url", "http://127.0.0.1:1/metrics")
    assert answer.code == 1
    assert "no answer: " in answer.err


def test_counts_of_the_kernel_are_shown_as_exact() -> None:
    host = Host()
    host.now = 1.0

    def read() -> Reading:
        host.call(40, "READ", 33 * 1024)
        return host.reader.read()

    (report,) = HostTraffic(read, host.costs).reports(0.05, 1)
    assert report.counted
    (traffic,) = report.traffic.values()
    iops = traffic.operations["READ"].iops
    assert iops is not None
    assert iops.lower == iops.point == iops.upper > 0


def test_estimates_are_not_shown_as_exact() -> None:
    host = Host(kernel=Kernel(hist=False))
    (report,) = HostTraffic(host.reader.read, host.costs).reports(0.05, 1)

    assert not report.counted


def interrupted(host: Host, number: signal.Signals) -> None:
    with click.Context(command.iostat).scope():
        for _ in command._counted(host.costs, 0.05, None, NO_MOUNT_SETTINGS):
            assert host.kernel.instances
            signal.raise_signal(number)


@pytest.fixture(autouse=True)
def same_signal_handlers() -> Iterator[None]:
    """The test run may have inherited ignored signals, and the command sets handlers of its own."""
    with signals_put_back():
        yield


@pytest.mark.parametrize("inherited", [signal.SIG_DFL, signal.SIG_IGN], ids=["alone", "as in `make check &`"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGQUIT, signal.SIGINT])
def test_however_it_ends_nothing_goes_on_counting(number: signal.Signals, inherited: signal.Handlers) -> None:
    host = Host()
    signal.signal(number, inherited)
    with pytest.raises(SystemExit):
        interrupted(host, number)

    assert host.kernel.instances == {}


def test_a_terminal_that_closes_ends_it_and_under_nohup_it_goes_on() -> None:
    host = Host()
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    with pytest.raises(SystemExit):
        interrupted(host, signal.SIGHUP)
    assert host.kernel.instances == {}

    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    reports = 0
    with click.Context(command.iostat).scope():
        for _ in command._counted(host.costs, 0.05, 3, NO_MOUNT_SETTINGS):
            signal.raise_signal(signal.SIGHUP)
            reports += 1
    assert reports == 3
    assert host.kernel.instances == {}


@pytest.mark.parametrize("file", ["trigger", "buffer_size_kb", "tracing_on", "hist"])
def test_a_signal_while_the_triggers_are_set_waits_until_they_can_be_removed(file: str) -> None:
    host = Host()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    may = host.kernel._may

    def interrupted_at(path: Path) -> None:
        if path.name == file:
            signal.raise_signal(signal.SIGTERM)
        may(path)

    host.kernel._may = interrupted_at  # type: ignore[method-assign]  # a signal at this very moment
    with pytest.raises(SystemExit), click.Context(command.iostat).scope():
        list(command._counted(host.costs, 0.05, 1, NO_MOUNT_SETTINGS))

    assert host.kernel.instances == {}


def estimated(*sizes: int) -> list[Report]:
    """Reports on a host that reads such transfers and counts no sizes."""
    host = Host()

    def read() -> Reading:
        for size in sizes:
            host.call(40, "READ", size)
        return host._read()

    return list(HostTraffic(read).reports(0.05, 2))


def test_wide_bounds_are_reported_once_with_the_way_to_narrow_bounds() -> None:
    first, second = estimated(4096, 33_000, 100_000)

    assert "--nfs.exact=auto" in first.notes[0]
    assert second.notes == ()


def test_where_sizes_are_as_good_as_known_nothing_is_advised() -> None:
    assert {report.notes for report in estimated(1024 * 1024)} == {()}
