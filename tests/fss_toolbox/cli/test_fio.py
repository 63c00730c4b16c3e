"""`fss-exporter fio`: a report against the ceilings of a mount target."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.prompt import ROOT, ask, ask_process

REPORTS = ROOT / "tests/fixtures/fio"
COMMAND = (sys.executable, "-m", "fss_exporter")


def test_what_is_no_report_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text('{"fio version": "fio-3.33", "jobs": [')
    answer = ask("fio", path)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"fss-exporter: {path}: line 1: not JSON, or cut off")


def test_standard_input_of_bytes_that_are_no_text_is_refused() -> None:
    done = subprocess.run([*COMMAND, "fio", "-"], input=b"\xff\xfe\x00", capture_output=True, timeout=120, check=False)
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1


def test_standard_input_without_an_end_is_refused() -> None:
    with Path("/dev/zero").open("rb") as endless:
        done = subprocess.run([*COMMAND, "fio", "-"], stdin=endless, capture_output=True, timeout=120, check=False)
    assert done.returncode == 2
    assert done.stderr.decode().splitlines() == [
        "fss-exporter: standard input: cannot be read: larger than 256 MiB. Is this the right file?"
    ]


def test_a_transfer_size_of_nothing_is_refused() -> None:
    assert ask("fio", REPORTS / "group.json", "--transfer-size", "0").code == 2


def test_a_report_is_judged_by_its_group() -> None:
    document = ask("fio", REPORTS / "nogroup.json", "--output", "json").document
    (group,) = document["groups"]
    assert [job["name"] for job in group["jobs"]] == ["randread", "randread"]
    assert group["depth"] == 8
    total = sum(job["mount_target_iops"]["point"] for job in group["jobs"])
    assert group["mount_target_iops"]["point"] == pytest.approx(total)
    assert group["share"]["IOPS"] == pytest.approx(total / 50_000)


def test_local_storage_has_figures_and_no_verdict() -> None:
    document = ask("fio", REPORTS / "stonewall.json", "--shape", "none", "--output", "json").document
    assert [group["share"] for group in document["groups"]] == [{}, {}]
    assert {group["model_error_ratio"] for group in document["groups"]} == {None}
    assert {group["mount_target_iops"] for group in document["groups"]} == {None}
    out = ask("fio", REPORTS / "stonewall.json", "--shape", "none").out
    assert "no ceiling is known, latency sets the pace" in out
    assert "mount-target IOPS" not in out


def test_writes_have_no_known_ceiling_where_only_that_of_reads_is_published() -> None:
    out = ask("fio", REPORTS / "buffered.json", "--shape", "hpmt-20").out
    assert "no ceiling is known" in out


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
        report["mount_target_iops"]["point"] / report["jobs"][0]["read"]["operations_per_second"]
        for report in (large, small)
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


def judged(*flags: object) -> list[dict[str, Any]]:
    answer = ask("fio", *flags, "--output", "json")
    assert answer.code == 0, answer.err
    assert (answer.document["schema"], answer.document["version"]) == ("fio", 1)
    groups: list[dict[str, Any]] = answer.document["groups"]
    return groups


class TestApsaraDocument:
    """The fio runs of the document, typed in, against its own figures."""

    REPORT = REPORTS / "apsara-nas.txt"
    NAS = ("--service", "apsara-nas", "--type", "capacity")

    def test_depth_the_service_does_not_take_is_not_advised(self) -> None:
        groups = {group["name"]: group for group in judged(self.REPORT, *self.NAS)}
        for name in ("randread-4k", "randwrite-4k", "windows-randread-4k", "windows-randwrite-4k"):
            assert groups[name]["pace"] == "requests in flight at the service"
        assert groups["windows-randread-4k"]["clients"]["requests the service takes at a time"] == pytest.approx(
            2, rel=0.01
        )
        out = ask("fio", self.REPORT, *self.NAS).out
        assert "more depth or jobs get more)" not in out
        assert "the service takes no more requests at a time: more depth or jobs get no more" in " ".join(out.split())
        assert "256 requests in flight, and the service takes 128 at a time: 128 wait" in out
        assert "199.6 %" not in out

    def test_what_is_allowed_is_what_one_client_was_seen_to_reach(self) -> None:
        groups = {group["name"]: group for group in judged(self.REPORT, *self.NAS, "--capacity", "1000GiB")}
        assert groups["randread-4k"]["allowed_operations_per_second"] == pytest.approx(14_000)
        assert groups["randwrite-4k"]["allowed_operations_per_second"] == pytest.approx(10_000)

    def test_148_to_153_mib_a_second_meet_150_and_are_not_above(self) -> None:
        groups = judged(self.REPORT, *self.NAS, "--capacity", "1000GiB")
        large = [group for group in groups if group["name"].endswith("1m")]
        assert len(large) == 4
        assert {group["pace"] for group in large} == {"ceiling"}
        assert all(abs(group["model_error_ratio"]) < 0.03 for group in large)


class TestSeveralReports:
    """The method of the white paper: eight clients, eight mount targets, one job file."""

    def test_reports_of_several_clients_are_one_run(self) -> None:
        single, two = (judged(*[REPORTS / "group.json"] * count)[0] for count in (1, 2))
        assert two["share"]["IOPS"] == pytest.approx(2 * single["share"]["IOPS"])
        assert two["depth"] == 2 * single["depth"]

    def test_their_load_is_shared_by_the_mount_targets(self) -> None:
        (alone,) = judged(REPORTS / "group.json")
        (shared,) = judged(*[REPORTS / "group.json"] * 8, "--mount-targets", "8")
        assert shared["share"] == pytest.approx(alone["share"])
        assert shared["allowed_operations_per_second"] == pytest.approx(8 * alone["allowed_operations_per_second"])
        out = ask("fio", *[REPORTS / "group.json"] * 8, "--mount-targets", "8").out
        assert "107.2 % of the IOPS of each of 8 mount targets of shape standard" in out

    def test_directories_can_tell_the_mount_targets(self, tmp_path: Path) -> None:
        other = tmp_path / "other.json"
        other.write_text((REPORTS / "group.json").read_text().replace("/mnt/fss", "/mnt/b"))
        groups = judged(REPORTS / "group.json", other, "--by-directory")
        assert [group["name"] for group in groups] == ["/mnt/fss", "/mnt/b"]
        assert [group["jobs"][0]["directory"] for group in groups] == ["/mnt/fss", "/mnt/b"]
        assert groups[0]["share"] == groups[1]["share"] == judged(other)[0]["share"]

    def test_the_network_of_a_directory_is_that_of_its_own_clients(self, tmp_path: Path) -> None:
        other = tmp_path / "other.json"
        other.write_text((REPORTS / "group.json").read_text().replace("/mnt/fss", "/mnt/b"))
        flags = ("--client-bandwidth", "10Gbit/s")
        (alone,) = judged(other, *flags)
        both = judged(REPORTS / "group.json", other, *flags, "--by-directory")
        assert [group["clients"] for group in both] == [alone["clients"]] * 2
        (together,) = judged(REPORTS / "group.json", other, *flags)
        assert together["clients"] == pytest.approx(alone["clients"])

    def test_hosts_of_client_server_mode_are_clients(self) -> None:
        flags = (REPORTS / "normal-client.txt", "--service", "apsara-nas", "--type", "capacity")
        assert ask("fio", *flags, "--output", "json").document["clients"] == 1
        (alone,), (pair,) = judged(*flags), judged(*flags, "--clients", "2")
        reach = "reach of one client"
        assert pair["clients"][reach] == pytest.approx(alone["clients"][reach] / 2)

    @pytest.mark.parametrize(
        ("flags", "why"),
        [
            (("--by-directory", "--mount-targets", "2"), "give one"),
            (("--mount-targets", "2", "--service", "lustre"), "about OCI File Storage"),
            (("--by-directory",), "the report has no directory of vm/job"),
            (("--mount-targets", "0"), "not in the range"),
            (("--clients", "0"), "not in the range"),
        ],
    )
    def test_flags_that_do_not_fit_are_refused(self, flags: tuple[str, ...], why: str) -> None:
        answer = ask("fio", REPORTS / "normal-client.txt", *flags)
        assert answer.code == 2
        assert why in answer.err


def test_a_full_network_card_is_not_a_lack_of_depth(tmp_path: Path) -> None:
    path = tmp_path / "report.txt"
    path.write_text(
        "a: (g=0): rw=read, bs=1M-1M/1M-1M/1M-1M, ioengine=libaio, iodepth=8\n"
        "a: (groupid=0, jobs=1): err= 0\n  read: IOPS=112, BW=112MiB/s (118MB/s)\n     lat (msec): avg=71.0\n"
    )
    (group,) = judged(path, "--client-bandwidth", "1Gbit/s")
    assert group["pace"] == "client network"
    assert group["clients"]["client network"] == pytest.approx(0.94, abs=0.005)
    assert judged(path)[0]["pace"] == "latency x concurrency"
    assert "above the network of the client" in ask("fio", path, "--client-bandwidth", "500Mbit/s").out


def test_standard_input_is_a_report() -> None:
    command = [*COMMAND, "fio", "-", "--output", "json"]
    text = (REPORTS / "normal.txt").read_text()
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120, check=True)
    assert json.loads(done.stdout)["groups"][0]["depth"] == 64
