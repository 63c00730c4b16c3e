"""`fss-exporter iostat`: saved files, the local kernel and a running exporter."""

import json
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given, strategies as st
from tests import processes
from tests.cli.prompt import RECORDINGS, ROOT, Answer, ask, ask_process
from tests.nfs.exact.host import Host
from tests.nfs.exact.kernel import Kernel

from fss_exporter.cli import iostat as command
from fss_exporter.cli.exact import Exact
from fss_exporter.cli.iostat_report import Report
from fss_exporter.nfs.superblocks import Reading

MIXED = RECORDINGS / "k_mixed"
FIRST, SECOND = (ROOT / "tests/fixtures/procfs" / name for name in ("first", "second"))


def compare(before: Path, after: Path, *flags: object) -> Answer:
    return ask("iostat", "--from", before, "--to", after, *flags)


def edited(path: Path, tmp_path: Path, change: Callable[[str], str], name: str = "edited.txt") -> Path:
    text = path.read_text()
    changed = change(text)
    assert changed != text
    copy = tmp_path / name
    copy.write_text(changed)
    return copy


def refused(answer: Answer) -> str:
    assert answer.code == 2
    assert answer.out == ""
    assert "Traceback" not in answer.err
    return " ".join(line for line in answer.err.splitlines() if line.startswith("fss-exporter:"))


def test_swapped_files_are_refused() -> None:
    said = refused(compare(MIXED / "after.txt", MIXED / "before.txt"))
    assert "went back from 518 to 453" in said
    assert "swapped" in said


def test_a_counter_that_went_back_is_named(tmp_path: Path) -> None:
    lower = edited(MIXED / "after.txt", tmp_path, lambda text: re.sub(r"LOOKUP: \d+", "LOOKUP: 1", text))
    said = refused(compare(MIXED / "before.txt", lower))
    assert "10.80.1.10:/export/a on /mnt/a: its LOOKUP operations went back" in said
    assert str(lower) in said


def test_payload_that_went_back_is_named(tmp_path: Path) -> None:
    lower = edited(MIXED / "after.txt", tmp_path, lambda text: re.sub(r"bytes:.*", "bytes: 0 0 0 0 0 0 0 0 ", text))
    assert "bytes read went back" in refused(compare(MIXED / "before.txt", lower))


def test_a_file_cut_in_the_middle_is_refused(tmp_path: Path) -> None:
    cut = edited(MIXED / "after.txt", tmp_path, lambda text: text[: len(text) // 2])
    assert f"{cut}: cut off in the middle of a record" in refused(compare(MIXED / "before.txt", cut))


@pytest.mark.parametrize("digits", [21, 400, 5000])
def test_a_number_no_kernel_counts_costs_its_record(tmp_path: Path, digits: int) -> None:
    long = edited(MIXED / "after.txt", tmp_path, lambda text: re.sub(r"LOOKUP: \d+", f"LOOKUP: {'9' * digits}", text))
    said = refused(compare(MIXED / "before.txt", long))
    assert "no record of its NFS mounts can be read" in said


@given(st.data())
def test_whatever_became_of_a_file_it_is_read_or_refused(data: st.DataObject) -> None:
    text = (MIXED / "after.txt").read_text()
    begin = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(begin, min(len(text), begin + 200)))
    put = data.draw(st.one_of(st.just(""), st.text(max_size=20), st.integers().map(str)))
    with tempfile.TemporaryDirectory() as folder:
        damaged = Path(folder) / "damaged.txt"
        damaged.write_bytes((text[:begin] + put + text[end:]).encode("utf-8", "surrogateescape"))
        answer = compare(MIXED / "before.txt", damaged, "--output", "json")
    assert answer.code in {0, 2}, answer.err


@pytest.mark.parametrize("content", ["", "\n", "{}", "device rootfs mounted on / with fstype rootfs\n"])
def test_a_file_without_nfs_mounts_is_refused(tmp_path: Path, content: str) -> None:
    empty = tmp_path / "empty.txt"
    empty.write_text(content)
    assert "no NFS mounts in it; give a copy of /proc/1/mountstats" in refused(compare(MIXED / "before.txt", empty))


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    noise = tmp_path / "noise"
    noise.write_bytes(bytes(range(256)) * 40)
    assert "no NFS mounts" in refused(compare(MIXED / "before.txt", noise))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert f"{tmp_path / 'gone'}: cannot be read: No such file" in refused(
        compare(MIXED / "before.txt", tmp_path / "gone")
    )


def test_files_of_two_hosts_are_refused(tmp_path: Path) -> None:
    other = edited(MIXED / "after.txt", tmp_path, lambda text: text.replace("/export/a", "/export/z"))
    assert "no mount in common; are they of one host?" in refused(compare(MIXED / "before.txt", other))


def test_the_same_look_twice_needs_the_time_between() -> None:
    assert "same second; give the time between with --seconds" in refused(
        compare(MIXED / "before.txt", MIXED / "before.txt")
    )


def test_the_mountinfo_of_another_host_is_refused(tmp_path: Path) -> None:
    other = edited(MIXED / "mountinfo.txt", tmp_path, lambda text: text.replace("/mnt/a", "/mnt/z"))
    said = refused(compare(MIXED / "before.txt", MIXED / "after.txt", "--mountinfo", other))
    assert "none of its mounts are in the mountinfo" in said


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (("--from", "a"), "--from and --to belong together"),
        (("--from", "a", "--to", "b", "5"), "leave out INTERVAL"),
        (("--mountinfo", "a"), "go with --from and --to"),
        (("--seconds", "5"), "go with --from and --to"),
        (("--url", "host:10949"), "give a URL like"),
        (("--url", "ftp://host/metrics"), "give a URL like"),
        (("--nfs.exact", "on"), "--nfs.exact counts what happens from now on: give an INTERVAL"),
        (("--nfs.exact", "on", "--url", "http://host/metrics"), "--nfs.exact counts on this host"),
        (("--nfs.exact", "on", "--path.tracefs", "/nowhere", "1", "1"), "--nfs.exact=on: no tracefs at /nowhere"),
        (("0",), "is not an interval"),
        (("nan",), "is not an interval"),
        (("1", "0"), "x>=1"),
    ],
)
def test_flags_that_do_not_fit_together_say_so(flags: tuple[str, ...], why: str) -> None:
    assert why in " ".join(ask("iostat", *flags).err.split())
    assert ask("iostat", *flags).code == 2


def test_a_mount_made_anew_in_between_counts_from_zero_and_that_is_said() -> None:
    folder = RECORDINGS / "w_umount_mount"
    answer = compare(folder / "before.txt", folder / "after.txt", "--mountinfo", folder / "mountinfo.txt")
    assert answer.code == 0
    assert "10.80.1.10:/export/a on /mnt/new: mounted anew in between" in answer.err


def test_a_bind_mount_that_appears_brings_none_of_the_old_counters() -> None:
    folder = RECORDINGS / "x1_bind_midway"
    infos = ("--mountinfo", folder / "mountinfo-before.txt", "--mountinfo", folder / "mountinfo-after.txt")
    with_one = compare(folder / "before.txt", folder / "after.txt", *infos, "--output", "json").document
    before, after = ((folder / name).read_text() for name in ("before.txt", "after.txt"))
    reads = [int(re.findall(r"READ: (\d+)", text)[0]) for text in (before, after)]
    (target,) = with_one["mount_targets"]
    assert target["mounts"][0]["mount_points"] == ["/mnt/a", "/mnt/bm"]
    assert target["operations_per_second"] * 7 >= reads[1] - reads[0]
    assert target["operations_per_second"] * 7 < reads[1]


def test_without_mountinfo_the_address_is_a_guess_and_that_is_said_once() -> None:
    answer = compare(MIXED / "before.txt", MIXED / "after.txt")
    assert answer.err.count("no mountinfo") == 1
    assert "10.80.1.10" in answer.out


def test_without_mountinfo_equal_mounts_of_one_export_still_count_once() -> None:
    folder = RECORDINGS / "l_same_export"
    sure = compare(
        folder / "before.txt", folder / "after.txt", "--mountinfo", folder / "mountinfo.txt", "--output", "json"
    ).document["total"]
    guessed = compare(folder / "before.txt", folder / "after.txt", "--output", "json").document["mount_targets"][0]
    export = next(mount for mount in guessed["mounts"] if mount["export"] == "/export/a")
    assert export["operations_per_second"] == sure["operations_per_second"]


def test_nfsv4_has_operations_but_no_estimate() -> None:
    folder = RECORDINGS / "n_v4.1"
    document = compare(
        folder / "before.txt", folder / "after.txt", "--mountinfo", folder / "mountinfo.txt", "--output", "json"
    ).document
    v4 = next(target for target in document["mount_targets"] if target["address"] == "10.80.3.30")
    assert v4["operations_per_second"] > 0
    assert v4["estimated_iops"] is None
    assert v4["share"]["IOPS"] is None


def test_the_known_time_between_two_files_wins_over_their_ages() -> None:
    by_age, given = (
        compare(MIXED / "before.txt", MIXED / "after.txt", *flags, "--output", "json").document
        for flags in ((), ("--seconds", "130"))
    )
    assert by_age["seconds"] == 65
    assert given["total"]["operations_per_second"] * 2 == pytest.approx(by_age["total"]["operations_per_second"])


def mixed(*flags: object) -> Any:
    return compare(MIXED / "before.txt", MIXED / "after.txt", *flags, "--output", "json").document


def test_operations_add_up_to_their_mount_target() -> None:
    (target,) = mixed("--by", "operation")["mount_targets"]
    for name in ("operations_per_second", "read_bytes_per_second", "written_bytes_per_second"):
        assert sum(part[name] for part in target["operations"]) == pytest.approx(target[name])
    for bound in ("lower", "point", "upper"):
        whole = target["estimated_iops"][bound]
        assert sum(part["estimated_iops"][bound] for part in target["operations"]) == pytest.approx(whole)


def test_locks_are_told_apart_from_what_is_counted() -> None:
    answer = compare(MIXED / "before.txt", MIXED / "after.txt")
    locks = mixed()["total"]["estimated_lock_iops"]
    assert f"not included: about {locks:.1f} IOPS of locks" in answer.out


def test_lines_are_sorted_and_limited_as_asked() -> None:
    by_iops = mixed("--by", "operation", "--limit", "3")["mount_targets"][0]["operations"]
    assert [part["operation"] for part in by_iops] == ["SETATTR", "WRITE", "CREATE"]
    by_name = mixed("--by", "operation", "--sort", "name")["mount_targets"][0]["operations"]
    names = [part["operation"] for part in by_name]
    assert names == sorted(names)


def test_the_share_is_of_the_ceilings_of_the_shape() -> None:
    standard = mixed()["mount_targets"][0]
    assert standard["share"]["IOPS"] == pytest.approx(standard["estimated_iops"]["point"] / 50_000)
    assert standard["share"]["read bandwidth"] == pytest.approx(standard["read_bytes_per_second"] / 1e9)
    fast = mixed("--shape", "hpmt-20")["mount_targets"][0]
    assert fast["share"]["IOPS"] is None
    assert fast["share"]["read bandwidth"] == pytest.approx(fast["read_bytes_per_second"] / 2.5e9)


def test_the_configuration_replaces_a_ceiling(tmp_path: Path) -> None:
    settings = tmp_path / "settings.yml"
    settings.write_text("limits:\n  shapes:\n    standard:\n      iops: 2000\n")
    target = mixed("--config.file", settings)["mount_targets"][0]
    assert target["share"]["IOPS"] == pytest.approx(target["estimated_iops"]["point"] / 2000)


def test_an_export_cannot_steer_the_terminal(tmp_path: Path) -> None:
    hostile = [
        edited(MIXED / name, tmp_path, lambda text: text.replace("/export/a", r"/\033]0;owned\007[red]x"), name)
        for name in ("before.txt", "after.txt")
    ]
    answer = compare(*hostile)
    assert answer.code == 0
    assert "\x1b" not in answer.out + answer.err
    assert r"/\x1b]0;owned\x07[red]x" in answer.out


def test_a_pipe_gets_whole_lines_without_colour() -> None:
    answer = ask_process("iostat", "--from", MIXED / "before.txt", "--to", MIXED / "after.txt")
    assert answer.code == 0
    assert "\x1b" not in answer.out
    header = answer.out.splitlines()[1]
    assert header.startswith("mount target")
    assert header.endswith("errors/s")


def test_a_narrow_terminal_loses_the_lesser_columns_and_says_which() -> None:
    answer = ask_process("iostat", "--from", MIXED / "before.txt", "--to", MIXED / "after.txt", COLUMNS="60")
    lines = answer.out.splitlines()
    assert all(len(line) <= 60 for line in lines[2:])
    assert "IOPS" in answer.out
    assert "share" in answer.out
    assert "left out, the terminal is too narrow: " in answer.out


def test_the_local_kernel_is_read_from_procfs() -> None:
    answer = ask("iostat", "--path.procfs", FIRST, "--output", "json")
    assert answer.code == 0
    document = answer.document
    assert document["seconds"] is None
    assert document["mount_targets"]
    assert "means since each mount" in document["notes"][0]


def test_intervals_count_what_each_of_them_adds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    procfs = tmp_path / "proc"
    shutil.copytree(FIRST, procfs)

    def nap(seconds: float) -> None:
        assert seconds <= 1.0
        shutil.copytree(SECOND, procfs, dirs_exist_ok=True)

    monkeypatch.setattr(time, "sleep", nap)
    monkeypatch.setattr(command, "_TICK_S", 0.01)
    answer = ask("iostat", "0.01", "2", "--path.procfs", procfs, "--output", "json")
    first, second = (json.loads(line) for line in answer.out.splitlines())
    assert first["total"]["operations_per_second"] > 0
    assert second["total"]["operations_per_second"] == 0


def test_a_host_without_nfs_says_so(tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    for name in ("mountinfo", "mountstats"):
        (tmp_path / "1" / name).write_text("")
    answer = ask("iostat", "--path.procfs", tmp_path)
    assert answer.code == 0
    assert "no NFS mounts" in answer.out


def test_no_procfs_is_a_failure_that_says_what_to_do(tmp_path: Path) -> None:
    answer = ask("iostat", "--path.procfs", tmp_path)
    assert answer.code == 1
    assert "cannot read" in answer.err


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
        _, err = running.communicate(timeout=20)
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
        running.wait(20)
    assert "Traceback" not in err


def test_a_running_exporter_is_read_like_the_kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    procfs = tmp_path / "proc"
    shutil.copytree(FIRST, procfs)
    with processes.exporter(tmp_path / "run", f"--path.procfs={procfs}", "--nfs.tick=100ms") as url:

        def nap(_: float) -> None:
            monkeypatch.undo()
            shutil.copytree(SECOND, procfs, dirs_exist_ok=True)
            counted = re.compile(r'(?m)^fss_client_operations_total\{.*operation="READ".*\} [1-9]')
            processes.wait_for(lambda: counted.search(processes.get(f"{url}/metrics")), "the next tick")

        monkeypatch.setattr(time, "sleep", nap)
        answer = ask("iostat", "--url", f"{url}/metrics", "--output", "json")
    assert answer.code == 0, answer.err
    total = answer.document["total"]
    assert total["operations_per_second"] > 0
    assert total["estimated_iops"]["lower"] <= total["estimated_iops"]["point"] <= total["estimated_iops"]["upper"]


def scrapes(monkeypatch: pytest.MonkeyPatch, *texts: str) -> None:
    left = list(texts)
    monkeypatch.setattr(command, "get", lambda *_: left.pop(0))
    monkeypatch.setattr(time, "sleep", lambda _: None)


def metrics(reads: int) -> str:
    labels = 'address="10.0.0.1",server="10.0.0.1",export="/a",service="oci-fss",operation="READ"'
    return f"# TYPE fss_client_operations_total counter\nfss_client_operations_total{{{labels}}} {reads}\n"


def test_an_exporter_restarted_between_scrapes_is_no_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    scrapes(monkeypatch, metrics(10), metrics(3))
    answer = ask("iostat", "--url", "http://host/metrics")
    assert answer.code == 1
    assert "the exporter was restarted between two scrapes" in answer.err


def test_a_restart_costs_a_long_watch_one_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    scrapes(monkeypatch, metrics(10), metrics(3), metrics(5), metrics(7))
    answer = ask("iostat", "--url", "http://host/metrics", "1", "2", "--output", "json")
    assert answer.code == 0
    assert "this interval is left out" in answer.err
    assert len(answer.out.splitlines()) == 2


@pytest.mark.parametrize("text", ["", "<html>", "up 1\n", "fss_client_operations_total{ 1\n"])
def test_another_page_than_the_exporters_is_a_failure(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    scrapes(monkeypatch, text, text)
    answer = ask("iostat", "--url", "http://host/metrics")
    assert answer.code == 1
    assert "fss-exporter: http://host/metrics: no" in answer.err


def test_nobody_listening_is_a_failure() -> None:
    answer = ask("iostat", "--url", "http://127.0.0.1:1/metrics")
    assert answer.code == 1
    assert "no answer: " in answer.err


def test_what_the_kernel_counts_is_told_as_exact() -> None:
    host = Host()
    host.now = 1.0

    def read() -> Reading:
        host.call(40, "READ", 33 * 1024)
        return host.reader.read()

    (report,) = command._local(read, 0.05, 1)
    assert report.counted
    (traffic,) = report.traffic.values()
    iops = traffic.operations["READ"].iops
    assert iops is not None
    assert iops.lower == iops.point == iops.upper > 0


def test_what_is_estimated_is_not_told_as_exact() -> None:
    host = Host(kernel=Kernel(hist=False))
    (report,) = command._local(host.reader.read, 0.05, 1)

    assert not report.counted


def interrupted(host: Host, number: signal.Signals) -> None:
    with click.Context(command.iostat).scope():
        for _ in command._counted(Exact(host.reader, required=True), 0.05, None):
            assert host.kernel.instances
            signal.raise_signal(number)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_however_it_ends_nothing_goes_on_counting(number: signal.Signals) -> None:
    host = Host()
    before = {one: signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGHUP)}
    try:
        with pytest.raises((SystemExit, KeyboardInterrupt)):
            interrupted(host, number)
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)

    assert host.kernel.instances == {}


def estimated(*sizes: int) -> list[Report]:
    """Reports on a host that reads such transfers and counts no sizes."""
    host = Host()

    def read() -> Reading:
        for size in sizes:
            host.call(40, "READ", size)
        return host._read()

    return list(command._local(read, 0.05, 2))


def test_bounds_far_apart_are_told_once_with_what_would_bring_them_together() -> None:
    first, second = estimated(4096, 33_000, 100_000)

    assert "--nfs.exact=auto" in first.notes[0]
    assert second.notes == ()


def test_where_sizes_are_as_good_as_known_nothing_is_advised() -> None:
    assert {report.notes for report in estimated(1024 * 1024)} == {()}
