"""`fss-exporter fio`: a report against the ceilings of a mount target."""

from pathlib import Path

import pytest
from tests.cli.prompt import ROOT, ask, ask_process

REPORTS = ROOT / "tests/fixtures/fio"


@pytest.mark.parametrize(
    ("content", "why"),
    [("", "not a report of fio"), ('{"fio version": "fio-3.33", "jobs": [', "cut off"), ("[1, 2]", "not a report")],
)
def test_what_is_no_report_is_refused(tmp_path: Path, content: str, why: str) -> None:
    path = tmp_path / "report.json"
    path.write_text(content)
    answer = ask("fio", path)
    assert answer.code == 2
    assert answer.out == ""
    assert f"fss-exporter: {path}: " in answer.err
    assert why in answer.err


def test_a_missing_report_is_refused(tmp_path: Path) -> None:
    answer = ask("fio", tmp_path / "gone.json")
    assert answer.code == 2
    assert "cannot be read: No such file" in answer.err


def test_a_transfer_size_of_nothing_is_refused() -> None:
    assert ask("fio", REPORTS / "group.json", "--transfer-size", "0").code == 2


def test_a_report_is_judged_by_its_group() -> None:
    found = ask("fio", REPORTS / "nogroup.json", "--output", "json").document
    (group,) = found["groups"]
    assert [job["name"] for job in group["jobs"]] == ["randread", "randread"]
    assert group["depth"] == 8
    total = sum(job["mount_target_iops"]["point"] for job in group["jobs"])
    assert group["mount_target_iops"]["point"] == pytest.approx(total)
    assert group["share"]["IOPS"] == pytest.approx(total / 50_000)


def test_local_storage_has_figures_and_no_verdict() -> None:
    found = ask("fio", REPORTS / "stonewall.json", "--shape", "none", "--output", "json").document
    assert [group["share"] for group in found["groups"]] == [{}, {}]
    assert {group["model_error_ratio"] for group in found["groups"]} == {None}
    out = ask("fio", REPORTS / "stonewall.json", "--shape", "none").out
    assert "ceiling" not in out
    assert "mount-target IOPS" in out


def test_a_ceiling_of_the_configuration_is_the_one_that_is_met(tmp_path: Path) -> None:
    settings = tmp_path / "settings.yml"
    settings.write_text("limits:\n  shapes:\n    standard: {iops: 45000}\n")
    (group,) = ask("fio", REPORTS / "nogroup.json", "--config.file", settings, "--output", "json").document["groups"]
    assert group["ceiling"] == "IOPS"
    assert group["allowed_operations_per_second"] == pytest.approx(22_500)
    assert abs(group["model_error_ratio"]) < 0.1


def test_smaller_transfers_cost_more() -> None:
    large, small = (
        ask("fio", REPORTS / "stonewall.json", *flags, "--output", "json").document["groups"][1]
        for flags in ((), ("--transfer-size", "64k"))
    )
    per_read = [
        found["mount_target_iops"]["point"] / found["jobs"][0]["read"]["operations_per_second"]
        for found in (large, small)
    ]
    assert per_read == pytest.approx([33, 16 * 3])


def test_a_job_cannot_steer_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text((REPORTS / "group.json").read_text().replace('"randread"', '"\\u001b[31mred"', 1))
    answer = ask("fio", path)
    assert answer.code == 0
    assert "\x1b" not in answer.out
    assert r"\x1b[31mred" in answer.out


def test_it_runs_as_a_process_in_a_narrow_terminal() -> None:
    answer = ask_process("fio", REPORTS / "group.json", COLUMNS="60")
    assert answer.code == 0
    assert "left out, the terminal is too narrow" in answer.out
    assert "above the ceiling" in answer.out
