"""Output that nfsiostat and mountstats of nfs-utils 2.6.2 printed about the recordings, against what the packets say."""

import re
from pathlib import Path

import pytest
from tests.prompt import RECORDINGS
from tests.recordings import load

from fss_exporter.errors import UsageError
from fss_exporter.model.operations import READ, WRITE
from fss_toolbox.iostat.nfs_utils_output import (
    is_mountstats_output,
    is_nfsiostat_output,
    parse_mountstats_output,
    parse_nfsiostat_output,
)
from fss_toolbox.iostat.saved_readings import between, read_saved, since_mount

OUTPUTS = Path(__file__).parents[2] / "fixtures" / "nfs-utils"
SCENARIOS = ("k_mixed", "d4_randwrite_36k", "m_nconnect4")


def output(scenario: str, tool: str) -> str:
    return (OUTPUTS / scenario / f"{tool}.txt").read_text()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("h:/a mounted on /mnt:\n\n ops/s rpc bklog\n 1 0\n", "no rows read: and write:"),
        (re.sub(r"(?m)^read:.*\n.*\n", "", output("k_mixed", "nfsiostat")), "no rows read: and write:"),
        (output("k_mixed", "nfsiostat").replace("33.738", "33,738"), "not a row of nfsiostat"),
        (output("k_mixed", "nfsiostat").replace("86.986", ""), "not a row of nfsiostat"),
        (output("k_mixed", "nfsiostat").replace("33.738", "nan"), "not a row of nfsiostat"),
        (output("k_mixed", "nfsiostat").replace("33.738", "1e999"), "not a row of nfsiostat"),
        (
            re.sub(r"(rpc bklog\s*\n\s*)[\d.]+", r"\1 ..", output("k_mixed", "nfsiostat")),
            "without the figures ops/s and",
        ),
    ],
)
def test_nfsiostat_output_that_tells_too_little_is_refused(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        parse_nfsiostat_output("saved.txt", text)


@pytest.mark.parametrize(
    ("cut", "why"),
    [
        (r"NFS byte counts:(.*\n)+?RPC", "Run mountstats without --rpc, or copy /proc/self/mountstats twice"),
        (r"RPC statistics:(.*\n)+", "Run mountstats without --nfs, or copy /proc/self/mountstats twice"),
        (r"NFS mount age.*\n", "10.80.1.10:/export/a has no age. Give --elapsed"),
        (r"(?<=backlog wait: )\d+(?=\.)", "cut off within the operations"),
    ],
)
def test_mountstats_output_that_tells_too_little_is_refused_with_what_to_record(cut: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        parse_mountstats_output("saved.txt", re.sub(cut, "", output("k_mixed", "mountstats"), count=1))


def test_a_file_with_a_line_full_of_colons_is_soon_known_to_be_no_output_of_the_tools() -> None:
    """A search that begins again at each colon takes minutes."""
    line = "a:" * 50_000
    assert not is_nfsiostat_output(f"{line} rpc bklog")
    with pytest.raises(UsageError, match="is not a line of mountstats"):
        parse_mountstats_output("saved.txt", f"Stats for {line}")


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_truth_of_the_packets_lies_within_the_bounds_of_nfsiostat_output(scenario: str) -> None:
    text = output(scenario, "nfsiostat")
    seconds = float(re.findall(r"interval used: (\d+) s", text)[0])
    truth = load(RECORDINGS / scenario).exact
    report = parse_nfsiostat_output("saved.txt", text)

    assert is_nfsiostat_output(text)
    assert not is_mountstats_output(text)
    for name in (READ, WRITE):
        bounds = [mount.operations[name].iops for mount in report.traffic.values()]
        lower, upper = (sum(getattr(bound, end) for bound in bounds) for end in ("lower", "upper"))
        # The interval is rounded to a second.
        assert lower * (seconds - 1) <= truth[name] <= upper * (seconds + 1)
    # With nconnect the tool shows the calls of one connection only, fewer than READs and WRITEs.
    assert any("operations/s are in no row" in note for note in report.notes) == (scenario != "m_nconnect4")


def test_the_point_of_nfsiostat_output_is_close_to_that_of_the_counters() -> None:
    traffic = parse_nfsiostat_output("saved.txt", output("k_mixed", "nfsiostat")).traffic
    (only,) = traffic.values()
    points = {name: rate.iops.point for name, rate in only.operations.items() if rate.iops is not None}

    assert points == pytest.approx({READ: 143, WRITE: 281}, rel=0.02)
    assert only.mean_read_bytes == pytest.approx(88_840, rel=0.01)


@pytest.mark.parametrize(
    ("size", "header", "iops"),
    [(32_768, 236, 2000), (32_768, 404, 2000), (4096, 236, 2000), (36_864, 236, 3000), (1_048_576, 236, 33_000)],
)
def test_transfers_of_one_page_multiple_cost_what_this_size_costs(size: int, header: int, iops: float) -> None:
    """As in the rule of the live agent: the page multiple below the mean on the wire is the size if one header fits."""
    text = output("k_mixed", "nfsiostat")
    kilobytes = (size + header) / 1024
    row = f"1000.000 {1000 * kilobytes:.3f} {kilobytes:.3f} 0 (0.0%) 1.0 1.0 1.0 0 (0.0%)"
    text = re.sub(r"(?m)(^read: .*\n).*$", rf"\1 {row}", text)
    (only,) = parse_nfsiostat_output("saved.txt", text).traffic.values()

    assert only.operations[READ].iops is not None
    assert only.operations[READ].iops.point == pytest.approx(iops)
    assert only.mean_read_bytes == pytest.approx(size)


def test_rows_of_attributes_and_directories_cost_their_weight() -> None:
    text = output("k_mixed", "nfsiostat") + (
        "getattr:           ops/s            kB/s           kB/op         retrans    avg RTT (ms)    avg exe (ms)\n"
        "                  18.800           3.700           0.199        2 (10.0%)           1.829           2.517\n"
    )
    (only,) = parse_nfsiostat_output("saved.txt", text).traffic.values()

    assert only.operations["GETATTR"].iops == (18.8, 18.8, 18.8)
    assert only.operations["GETATTR"].retransmissions == pytest.approx(1.88)
    assert only.operations["GETATTR"].queue_seconds is None


def test_mounts_with_equal_figures_count_once_and_others_of_the_export_add_up() -> None:
    """Two mount points and an export below share the first superblock, two mounts with nosharecache have their own."""
    report = parse_nfsiostat_output("saved.txt", output("l_same_export", "nfsiostat"))
    (only,) = report.traffic.values()

    assert only.all_operations.operations == pytest.approx(43.333 + 6.667 + 16.667 + 23.333)
    assert list(report.mount_points.values()) == [("/mnt/a", "/mnt/a2", "/mnt/a3", "/mnt/a4", "/mnt/asub")]
    assert "/export/a/sub: with the figures of another export of the server, so both count once" in report.notes


def test_idle_exports_stay_apart() -> None:
    text = output("k_mixed", "nfsiostat")
    zeros = re.sub(r"\d+\.\d{3}", "0.000", text[text.rindex("10.80.1.10:") :])
    report = parse_nfsiostat_output("saved.txt", zeros + zeros.replace("/export/a", "/export/b"))
    assert sorted(key.export for key in report.traffic) == ["/export/a", "/export/b"]


def test_a_mount_that_the_last_report_does_not_have_is_left_out_and_named() -> None:
    first = output("k_mixed", "nfsiostat")
    gone = first.replace("/export/a mounted on /mnt/a", "/export/b mounted on /mnt/b")
    report = parse_nfsiostat_output("saved.txt", gone + first)
    assert [key.export for key in report.traffic] == ["/export/a"]
    assert "10.80.1.10:/export/b on /mnt/b: no READ and WRITE in the last report, left out" in report.notes


def earlier(text: str) -> str:
    """Output of the same mounts before anything happened."""
    text = re.sub(r"NFS mount age: .*", "NFS mount age: 0:00:00", text)
    text = re.sub(r"client (read|wrote) \d+", r"client \1 0", text)
    return re.sub(r"(?m)^\t\d+ ops ", "\t0 ops ", text)


@pytest.mark.parametrize("scenario", ["k_mixed", "d4_randwrite_36k"])
def test_two_outputs_of_mountstats_are_an_interval_whose_bounds_hold_the_truth(scenario: str) -> None:
    text = output(scenario, "mountstats")
    before, after = read_saved("before", earlier(text), None), read_saved("after", text, None)
    counted = between(before, after, seconds=1.0)
    truth = load(RECORDINGS / scenario).exact
    (only,) = counted.traffic.values()

    assert between(before, after).seconds == max(superblock.record.age_s for superblock in after.reading.superblocks)
    for name in (READ, WRITE):
        iops = only.operations[name].iops
        assert iops is not None
        assert iops.lower <= truth[name] <= iops.upper
    metadata = sum(rate.iops.point for name, rate in only.operations.items() if rate.iops and name not in (READ, WRITE))
    assert metadata == truth["metadata"]
    assert any("prints no bytes on the wire" in note for note in counted.notes)


def test_one_output_of_mountstats_is_a_mean_since_the_mount() -> None:
    saved = read_saved("saved.txt", output("k_mixed", "mountstats"), None)
    (superblock,) = saved.reading.superblocks
    (rates,) = since_mount("saved.txt", saved.reading).traffic.values()
    lookups, age = rates.operations["LOOKUP"], superblock.record.age_s

    assert lookups.operations * age == pytest.approx(1688)
    assert lookups.errors is not None
    assert lookups.errors * age == pytest.approx(679)
    assert lookups.rtt_seconds is not None
    assert lookups.rtt_seconds * age == pytest.approx(1.632)


def test_nfsiostat_output_is_given_alone() -> None:
    with pytest.raises(UsageError, match="give it alone, to iostat --to or plan --nfsiostat"):
        read_saved("saved.txt", output("k_mixed", "nfsiostat"), None)
