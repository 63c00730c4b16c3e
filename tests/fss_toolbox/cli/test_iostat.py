"""`fss-exporter iostat`: what is shown, as tables and as JSON."""

import re
from pathlib import Path
from typing import Any

import pytest
from tests.fss_exporter.nfs.records import mountinfo, mountstats
from tests.fss_toolbox.cli.saved_files import MIXED, compare, edited
from tests.prompt import RECORDINGS, ask, ask_each, ask_process


def test_nfsv4_has_operations_but_no_estimate() -> None:
    folder = RECORDINGS / "n_v4.1"
    document = compare(
        folder / "before.txt", folder / "after.txt", "--mountinfo", folder / "mountinfo.txt", "--output", "json"
    ).document
    v4 = next(target for target in document["mount_targets"] if target["address"] == "10.80.3.30")
    assert v4["operations_per_second"] > 0
    assert v4["estimated_iops"] is None
    assert v4["share"]["IOPS"] is None


def test_superblocks_of_one_export_have_their_own_ages(tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    older, younger = mountstats({"REMOVE": 1000}, age=1000), mountstats({"REMOVE": 1000}, age=10, mount_point="/mnt/b")
    (tmp_path / "1" / "mountstats").write_text(older + younger)
    (tmp_path / "1" / "mountinfo").write_text(mountinfo() + mountinfo(superblock="0:41", mount_point="/mnt/b"))
    (target,) = ask("iostat", "--path.procfs", tmp_path, "--output", "json").document["mount_targets"]
    assert target["operations_per_second"] == pytest.approx(1 + 100)


def mixed(*flags: object) -> Any:
    return compare(MIXED / "before.txt", MIXED / "after.txt", *flags, "--output", "json").document


def test_operations_add_up_to_their_mount_target() -> None:
    (target,) = mixed("--by", "operation")["mount_targets"]
    for name in ("operations_per_second", "read_bytes_per_second", "written_bytes_per_second"):
        assert sum(part[name] for part in target["operations"]) == pytest.approx(target[name])
    for bound in ("lower", "point", "upper"):
        whole = target["estimated_iops"][bound]
        assert sum(part["estimated_iops"][bound] for part in target["operations"]) == pytest.approx(whole)


def test_locks_are_kept_apart_from_what_is_counted() -> None:
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


def test_a_narrow_terminal_loses_the_lesser_columns_and_says_which_and_each_share_names_its_ceiling() -> None:
    report = ["iostat", "--from", str(MIXED / "before.txt"), "--to", str(MIXED / "after.txt")]
    narrow, usual, wide = ask_each(*((report, {"COLUMNS": columns}) for columns in ("60", "80", "120")))
    assert all(len(line) <= 60 for line in narrow.out.splitlines()[2:])
    assert "left out, the terminal is too narrow: " in narrow.out
    assert all(re.search(r"\d % of IOPS", answer.out) for answer in (usual, wide))


def test_the_network_of_the_host_is_judged_by_the_busier_direction() -> None:
    """118 MB/s on 1 Gbit/s are a full card and not a lack of depth."""
    report = mixed("--client-bandwidth", "100Mbit/s")
    busier = max(report["total"]["read_bytes_per_second"], report["total"]["written_bytes_per_second"])
    assert report["client_network"] == {
        "bytes_per_second": busier,
        "limit": 12.5e6,
        "ratio": pytest.approx(busier / 12.5e6),
    }
    shown = compare(MIXED / "before.txt", MIXED / "after.txt", "--client-bandwidth", "100Mbit/s").out
    assert "of 12.50 MB/s, " in shown
    assert mixed()["client_network"] is None


def test_without_a_shape_the_report_names_no_ceilings() -> None:
    recording = RECORDINGS / "k_mixed"
    out = ask("iostat", "--from", recording / "before.txt", "--to", recording / "after.txt", "--shape", "none").out
    assert "IOPS are estimated\n" in out
