"""`plan` of a workload in saved files of mountstats and nfsiostat."""

import re
from pathlib import Path

import pytest
from tests.fss_toolbox.plan.planned import MIXED, planned, ratios
from tests.prompt import RECORDINGS, ROOT, ask


def test_a_mount_target_that_is_not_in_the_files_is_refused() -> None:
    answer = ask("plan", "--mountstats", *MIXED, "--address", "10.9.9.9")
    assert answer.code == 2
    assert "not in this load. It has 10.80.1.10" in answer.err


def test_recorded_files_are_planned_by_mount_target() -> None:
    answer = planned("--mountstats", *MIXED)
    shown = ask("iostat", "--from", MIXED[0], "--to", MIXED[1], "--output", "json").document["mount_targets"][0]
    assert answer["address"] == "10.80.1.10"
    assert sum(part["iops"]["point"] for part in answer["operations"].values()) == pytest.approx(
        shown["estimated_iops"]["point"]
    )
    assert ratios(answer)["IOPS"] == pytest.approx(shown["share"]["IOPS"])
    assert answer["estimated_lock_iops"] == pytest.approx(shown["estimated_lock_iops"])


NFS_UTILS = ROOT / "tests/fixtures/nfs-utils"


@pytest.mark.parametrize("scenario", ["k_mixed", "d4_randwrite_36k"])
def test_saved_output_of_nfsiostat_is_a_workload_with_bounds(scenario: str) -> None:
    files = (RECORDINGS / scenario / "before.txt", RECORDINGS / scenario / "after.txt")
    answer, recorded = planned("--nfsiostat", NFS_UTILS / scenario / "nfsiostat.txt"), planned("--mountstats", *files)
    assert answer["address"] == recorded["address"] == "10.80.1.10"
    for name in {"READ", "WRITE"} & recorded["operations"].keys():
        seen, real = answer["operations"][name], recorded["operations"][name]
        assert seen["per_second"] == pytest.approx(real["per_second"], rel=0.01)
        assert seen["iops"]["lower"] * 0.99 <= real["iops"]["point"] <= seen["iops"]["upper"] * 1.01
    assert answer["read_bytes_per_second"] == pytest.approx(recorded["read_bytes_per_second"], rel=0.02)
    assert "note: " in ask("plan", "--nfsiostat", NFS_UTILS / scenario / "nfsiostat.txt").err


def test_two_outputs_of_the_tool_mountstats_are_a_workload(tmp_path: Path) -> None:
    later = NFS_UTILS / "k_mixed/mountstats.txt"
    earlier = tmp_path / "earlier.txt"
    text = later.read_text().replace("NFS mount age: 0:01:05", "NFS mount age: 0:00:05")
    earlier.write_text(re.sub(r"(?m)^\t(\d+) ops", lambda match: f"\t{int(match[1]) // 2} ops", text))
    answer = planned("--mountstats", earlier, later)
    assert answer["operations"]["CREATE"]["per_second"] == pytest.approx(3681 / 2 / 60, rel=0.01)


@pytest.mark.parametrize("file", ["k_mixed/mountstats.txt", "../fio/normal.txt"])
def test_another_file_than_nfsiostats_is_refused_with_what_to_give(file: str) -> None:
    answer = ask("plan", "--nfsiostat", NFS_UTILS / file)
    assert answer.code == 2
    assert "not the output of nfsiostat. Give two looks at mountstats with --mountstats" in answer.err
