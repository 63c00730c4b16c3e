"""`iostat` says what `nfsiostat` and `mountstats` say about the same files, or differs for a reason shown here."""

from typing import Any

import pytest
from tests.fss_toolbox.cli.nfs_utils import NfsiostatMount, mountstats, nfsiostat
from tests.prompt import RECORDINGS, ask

from fss_exporter.nfs.mountstats import parse_mountstats

NFSIOSTAT_PLACES = 0.00051
MOUNTSTATS_PLACES = 0.00000051


def target(scenario: str, address: str, *flags: str) -> dict[str, Any]:
    folder = RECORDINGS / scenario
    answer = ask(
        *("iostat", "--from", folder / "before.txt", "--to", folder / "after.txt"),
        *("--mountinfo", folder / "mountinfo.txt", "--output", "json", *flags),
    )
    assert answer.code == 0, answer.err
    mount_target: dict[str, Any] = next(part for part in answer.document["mount_targets"] if part["address"] == address)
    return mount_target


def operations(scenario: str, address: str = "10.80.1.10") -> dict[str, Any]:
    return {part["operation"]: part for part in target(scenario, address, "--by", "operation")["operations"]}


def busiest(scenario: str) -> NfsiostatMount:
    return max(nfsiostat(scenario), key=lambda mount: sum(mount.ops.values()))


@pytest.mark.parametrize(
    ("scenario", "address"),
    [("k_mixed", "10.80.1.10"), ("m_nconnect4", "10.80.3.30"), ("d4_randwrite_36k", "10.80.1.10")],
)
def test_reads_and_writes_agree_with_nfsiostat_to_its_last_digit(scenario: str, address: str) -> None:
    theirs = busiest(scenario)
    ours = operations(scenario, address)
    compared = 0
    for kind, name in (("read", "READ"), ("write", "WRITE")):
        if theirs.ops[kind]:
            figures = ours[name]
            assert figures["operations_per_second"] == pytest.approx(theirs.ops[kind], abs=NFSIOSTAT_PLACES)
            assert figures["mean_rtt_seconds"] * 1000 == pytest.approx(theirs.rtt_ms[kind], abs=NFSIOSTAT_PLACES)
            assert figures["mean_queue_seconds"] * 1000 == pytest.approx(theirs.queue_ms[kind], abs=NFSIOSTAT_PLACES)
            assert figures["mean_execute_seconds"] * 1000 == pytest.approx(
                theirs.execute_ms[kind], abs=NFSIOSTAT_PLACES
            )
            compared += 1
    assert compared


@pytest.mark.parametrize("scenario", ["k_mixed", "d4_randwrite_36k"])
def test_every_operation_agrees_with_mountstats_to_its_last_digit(scenario: str) -> None:
    theirs = {name: figures for name, figures in mountstats(scenario).items() if figures.operations}
    ours = operations(scenario)
    assert theirs.keys() == ours.keys() != set()
    for name, figures in theirs.items():
        assert ours[name]["mean_rtt_seconds"] * 1000 == pytest.approx(figures.rtt_ms, abs=MOUNTSTATS_PLACES)
        assert ours[name]["mean_queue_seconds"] * 1000 == pytest.approx(figures.queue_ms, abs=MOUNTSTATS_PLACES)
        assert ours[name]["mean_execute_seconds"] * 1000 == pytest.approx(figures.execute_ms, abs=MOUNTSTATS_PLACES)


@pytest.mark.parametrize("scenario", ["k_mixed", "d4_randwrite_36k"])
def test_kilobytes_differ_from_nfsiostat_by_the_headers_that_it_counts_as_data(scenario: str) -> None:
    theirs = busiest(scenario)
    ours = target(scenario, "10.80.1.10")
    before, after = (
        parse_mountstats((RECORDINGS / scenario / name).read_text()).records[0] for name in ("before.txt", "after.txt")
    )
    seconds = after.age_s - before.age_s
    for kind, name, payload in (
        ("read", "READ", "read_bytes_per_second"),
        ("write", "WRITE", "written_bytes_per_second"),
    ):
        old, new = before.operations[name], after.operations[name]
        on_the_wire = (new.sent_bytes + new.received_bytes - old.sent_bytes - old.received_bytes) / seconds
        assert theirs.kilobytes[kind] * 1024 == pytest.approx(on_the_wire, abs=1024 * NFSIOSTAT_PLACES)
        if theirs.ops[kind]:
            header = (on_the_wire - ours[payload]) / theirs.ops[kind]
            assert 200 < header < 500, f"{name}: {header:.0f} bytes of header for each call and its reply"


def test_the_first_report_of_nfsiostat_is_about_the_time_since_mount_and_ours_is_not() -> None:
    theirs = max(nfsiostat("k_mixed", first=True), key=lambda mount: sum(mount.ops.values()))
    before = parse_mountstats((RECORDINGS / "k_mixed/before.txt").read_text()).records[0]
    since_mount = before.operations["WRITE"].operations / before.age_s
    assert theirs.ops["write"] == pytest.approx(since_mount, abs=NFSIOSTAT_PLACES)
    assert operations("k_mixed")["WRITE"]["operations_per_second"] != pytest.approx(since_mount, rel=0.1)


def test_nfsiostat_shows_one_connection_of_four_where_we_show_the_operations_of_all() -> None:
    theirs = busiest("m_nconnect4")
    ours = target("m_nconnect4", "10.80.3.30")
    assert theirs.server_ops == 75.0
    assert ours["operations_per_second"] == pytest.approx(theirs.server_ops * 4, rel=0.01)


def test_a_file_system_mounted_five_times_is_counted_once_for_each_set_of_counters() -> None:
    theirs = {mount.mount_point: mount for mount in nfsiostat("l_same_export")}
    shared = ("/mnt/a", "/mnt/a2", "/mnt/asub")
    assert len({theirs[point].ops["read"] for point in shared}) == 1
    once = sum(theirs[point].ops["read"] for point in ("/mnt/a", "/mnt/a3", "/mnt/a4"))
    ours = operations("l_same_export")["READ"]["operations_per_second"]
    assert ours == pytest.approx(once, abs=4 * NFSIOSTAT_PLACES)
    assert sum(mount.ops["read"] for mount in theirs.values()) == pytest.approx(ours + 2 * 43.333, abs=0.01)
