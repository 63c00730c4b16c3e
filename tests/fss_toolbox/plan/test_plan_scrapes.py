"""`plan --scrapes`: the metrics of an agent, saved twice, as a workload."""

import re
from pathlib import Path

import pytest
from tests.exposition_text import written
from tests.fss_kernel_counting.host import KIB, Host, Mount
from tests.prompt import ask

from fss_exporter.model.operations import READ, WRITE
from fss_exporter.nfs.accounts import Accounts
from fss_exporter.nfs.collector import NfsCollector
from fss_exporter.nfs.ticker import Ticker

SECONDS = 10


@pytest.fixture
def saved(tmp_path: Path) -> tuple[Path, Path]:
    """Two scrapes of an agent that counts, ten seconds apart: 20 READs of 64 KiB and 10 of 1 MiB, 30 WRITEs of 4 KiB."""
    host = Host(Mount(40), Mount(41))
    ticker = Ticker(host.reader.read, 1.0, lambda: host.now, accounts=Accounts(host.costs))
    collector = NfsCollector(ticker)
    paths = tmp_path / "before.prom", tmp_path / "after.prom"

    def save(path: Path) -> None:
        ticked = f'fss_collector_last_success_timestamp_seconds{{collector="nfs"}} {host.now}\n'
        path.write_text(written(host.families(collector)) + ticked)

    host.call(40, READ, 512 * KIB)
    ticker.tick()
    host.now += 1
    ticker.tick()
    save(paths[0])
    for second in range(SECONDS):
        host.call(40, READ, 64 * KIB)
        host.call(41, READ, 64 * KIB)
        host.call(41, READ, 1024 * KIB)
        for _ in range(3):
            host.call(40, WRITE, 4 * KIB)
        host.mounts[40].operations["GETATTR"] += 5 * (second >= 0)
        host.now += 1
        ticker.tick()
    save(paths[1])
    return paths


def test_the_time_between_the_scrapes_needs_no_exact_mode(saved: tuple[Path, Path]) -> None:
    for path in saved:
        path.write_text(
            "".join(line for line in path.read_text().splitlines(keepends=True) if "cost_seconds" not in line)
        )
    (plan,) = ask("plan", "--scrapes", *saved, "--output", "json").document["plans"]

    assert plan["operations"]["GETATTR"]["per_second"] == 5


def bare(path: Path) -> None:
    """Only the histogram, as where somebody keeps nothing else."""
    lines = (line for line in path.read_text().splitlines() if "fss_client_io_size_bytes" in line)
    path.write_text("\n".join(lines) + "\n")


def test_the_load_is_everything_between_the_scrapes_and_its_cost_what_was_counted(saved: tuple[Path, Path]) -> None:
    (plan,) = ask("plan", "--scrapes", *saved, "--output", "json").document["plans"]

    assert plan["address"] == "10.0.0.3"
    assert plan["operations"]["READ"]["iops"] == {"lower": 39, "point": 39, "upper": 39}
    assert plan["operations"]["WRITE"]["iops"]["point"] == 12
    assert {name for name, rate in plan["operations"].items() if rate["per_second"]} == {"READ", "WRITE", "GETATTR"}
    assert [size_class["up_to_bytes"] for size_class in plan["counted_sizes"]["READ"]] == [64 * KIB, 1024 * KIB]


def test_sizes_without_counters_of_a_mount_are_refused(saved: tuple[Path, Path]) -> None:
    for path in saved:
        bare(path)
    answer = ask("plan", "--scrapes", *saved, "--elapsed", f"{SECONDS}s")

    assert answer.code == 2
    assert "no mount has counters in both. Give whole scrapes of /metrics" in " ".join(answer.err.split())


def test_with_a_service_the_load_is_that_of_its_mounts(saved: tuple[Path, Path]) -> None:
    for path in saved:
        lines = path.read_text().splitlines(keepends=True)
        copies = [line.replace("10.0.0.3", "10.0.0.9").replace("oci-fss", "apsara-nas") for line in lines]
        path.write_text(
            "".join(line if line == copy else line + copy for line, copy in zip(lines, copies, strict=True))
        )

    def planned_for(service: str) -> list[str]:
        plans = ask("plan", "--service", service, "--scrapes", *saved, "--output", "json").document["plans"]
        return [plan["name"] for plan in plans]

    assert planned_for("apsara-nas") == ["10.0.0.9"]
    assert planned_for("lustre") == ["10.0.0.3", "10.0.0.9"], "no mount is of Lustre: the load moves there"


def test_the_sizes_are_said(saved: tuple[Path, Path]) -> None:
    assert "READ sizes, counted: 67% up to 64 KiB, 33% up to 1,024 KiB" in ask("plan", "--scrapes", *saved).out


def without_time(path: Path) -> Path:
    path.write_text("".join(line for line in path.read_text().splitlines(keepends=True) if "timestamp" not in line))
    return path


def cut_off(path: Path) -> Path:
    """Only the begin of a file, as of a copy that a full disk has ended within a figure."""
    text = path.read_text()
    path.write_text(text[: text.index("fss_client_read_bytes_total{") + len(text) // 10].rstrip("\n")[:-1])
    return path


def unread(path: Path) -> Path:
    """A scrape of an agent that cannot read its counters. Those of before stay, and no mount has a mount point."""
    lines = [line for line in path.read_text().splitlines(keepends=True) if "fss_client_mount_info{" not in line]
    path.write_text("".join(lines) + 'fss_collector_success{collector="nfs"} 0\n')
    return path


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda before, after: (without_time(before), after), "give --elapsed"),
        (lambda before, after: (before, without_time(after)), "give --elapsed"),
        (lambda before, after: (after, before), "Or is the later one given first"),
        (lambda before, _: (before, before), "give --elapsed"),
        (lambda before, after: (before, after.parent / "none"), "cannot be read"),
        (lambda before, _: (before, Path("/dev/null")), "no fss_client_ metrics"),
        (lambda before, after: (before, cut_off(after)), "cut off in the last line"),
        (lambda before, after: (before, unread(after)), "after.prom: the exporter could not read the NFS counters"),
        (lambda before, after: (unread(before), after), "before.prom: the exporter could not read the NFS counters"),
    ],
)
def test_what_is_no_pair_of_scrapes_is_refused(saved: tuple[Path, Path], change: object, why: str) -> None:
    assert callable(change)
    answer = ask("plan", "--scrapes", *change(*saved))

    assert answer.code == 2
    assert why in " ".join(answer.err.split())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r'(fss_client_operations_total\{.*operation="GETATTR".*) \S+', r"\1 1e308"),
        (r"(fss_client_read_bytes_total\{.*) \S+", r"\1 1e300"),
        (r"(fss_client_estimated_io_operations_upper_bound_total\{.*) \S+", r"\1 1e300"),
    ],
    ids=["operations", "bytes", "cost"],
)
def test_a_counter_that_no_client_can_reach_is_refused(saved: tuple[Path, Path], old: str, new: str) -> None:
    saved[1].write_text(re.sub(old, new, saved[1].read_text()))
    answer = ask("plan", "--scrapes", *saved)

    assert answer.code == 2
    assert "operations or bytes per second of 10.0.0.3: a counter is damaged" in " ".join(answer.err.split())


def test_the_reason_does_not_repeat_a_long_line(saved: tuple[Path, Path]) -> None:
    saved[1].write_text("x" * 100_000 + "\n")
    answer = ask("plan", "--scrapes", *saved)

    assert answer.code == 2
    assert "not the metrics of an exporter of this version" in answer.err
    assert len(answer.err) < 1000
