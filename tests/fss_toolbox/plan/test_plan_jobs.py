"""`plan --files` and `plan --bytes`: how long a job takes."""

from pathlib import Path

import pytest
from tests.fss_toolbox.plan.planned import MIXED, planned, ratios
from tests.prompt import RECORDINGS, ask


class TestJobs:
    """The examples of the papers, which docs/services.md and docs/commands/plan.md name."""

    TAR = (
        "--files",
        "380250",
        "--operation",
        "CREATE=1",
        "--writes",
        "1",
        "--write-size",
        "4k",
        "--latency",
        "3.077ms",
    )

    def test_tar_of_the_white_paper_takes_39_minutes_and_more_requests_at_a_time_less(self) -> None:
        flags = (*self.TAR, "--concurrency", "1", "--what-if", "concurrency=2.6")
        answer = planned(*flags)
        assert answer["job_seconds"] / 60 == pytest.approx(39, rel=0.001)
        assert answer["iops"]["point"] / answer["job_seconds"] == pytest.approx(1300, rel=0.001)
        assert answer["what_if"][0]["job_seconds"] / 60 == pytest.approx(15, rel=0.001)
        assert answer["iops"]["point"] / answer["what_if"][0]["job_seconds"] == pytest.approx(3380, rel=0.001)
        assert (39 * 60 * 1300, 15 * 60 * 5100) == (3_042_000, 4_590_000), (
            "the paper's runs, which docs/commands/plan.md says"
        )
        out = " ".join(ask("plan", *flags).out.split())
        assert "time: 39.0 min, set by latency x concurrency: 325 operations/s, 1,300 IOPS on average" in out
        assert "partar for tar, parcp for cp, parrm for rm" in out

    def test_the_ceiling_bounds_a_job_with_requests_enough(self) -> None:
        answer = planned(*self.TAR, "--concurrency", "1000")
        assert answer["binds_first"] == "IOPS"
        assert answer["job_seconds"] == pytest.approx(380_250 * 8 / 50_000)
        assert planned(*self.TAR, "--concurrency", "1000", "--mount-targets", "2")["job_seconds"] == pytest.approx(
            380_250 * 8 / 100_000
        )

    def test_a_bound_takes_the_time_that_it_sets_also_where_the_last_round_of_requests_is_not_full(self) -> None:
        flags = ("--bytes", "126MiB", "--reads", "1", "--read-size", "1m", "--concurrency", "125", "--latency", "100ms")
        answer = planned(*flags)
        assert answer["job_seconds"] == pytest.approx(0.2)
        assert ratios(answer)["latency x concurrency"] == pytest.approx(0.2)
        (row,) = (line for line in ask("plan", *flags).out.splitlines() if line.startswith("latency x concurrency"))
        assert row.split()[-4:] == ["200.00", "ms", "binds", "first"]

    def test_a_recorded_mix_moves_bytes(self) -> None:
        rate = planned("--mountstats", *MIXED)
        payload = rate["read_bytes_per_second"] + rate["written_bytes_per_second"]
        answer = planned("--mountstats", *MIXED, "--bytes", "1TiB")
        seconds = ratios(rate)["IOPS"] * (1 << 40) / payload  # type: ignore[operator]
        assert answer["job_seconds"] == pytest.approx(seconds)
        assert answer["is_job"]

    @pytest.mark.parametrize(
        ("size", "concurrency", "seconds", "iops"),
        [("4k", 1, 2.5, 100), ("1000k", 1, 0.1, 10), ("4k", 125, 0.02, 12_500), ("8k", 125, 0.015, 8_333)],
    )
    def test_the_four_solutions_of_apsara_nas(self, size: str, concurrency: int, seconds: float, iops: float) -> None:
        flags = ("--bytes", "1000KiB", "--write-size", size, "--concurrency", str(concurrency))
        answer = ask("plan", "--service", "apsara-nas", "--type", "capacity", *flags, "--output", "json").document
        assert answer["job_seconds"] == pytest.approx(seconds)
        assert answer["operations"] / answer["job_seconds"] == pytest.approx(iops, rel=0.001)

    def test_a_job_needs_no_number_of_mount_targets_and_says_the_time_if_both_directions_share_the_bandwidth(
        self, tmp_path: Path
    ) -> None:
        no_iops_ceiling = tmp_path / "limits.yml"
        no_iops_ceiling.write_text("limits: {shapes: {standard: {iops: null}}}\n")
        flags = ("--bytes", "1TB", "--reads", "1", "--writes", "1", "--config.file", no_iops_ceiling)
        answer = planned(*flags)
        assert answer["mount_targets"] is answer["mount_targets_at_upper_bound"] is answer["scaling_out_costs"] is None
        assert answer["attainable"]["read_bytes_per_second"] == pytest.approx(1e9)
        (said,) = (line for line in answer["sentences"] if line.startswith("bandwidth, reads and writes together"))
        assert said.endswith("If both directions share the bandwidth, the job takes 16.7 min")
        shared = planned(*flags, "--mount-targets", "2")
        assert any(line.endswith("the job takes 8.3 min") for line in shared["sentences"])
        iops_binds = planned(
            "--bytes", "1TB", "--reads", "1", "--read-size", "4k", "--writes", "1", "--write-size", "4k"
        )
        assert not any("together" in line for line in iops_binds["sentences"])

    def test_an_idle_mount_target_beside_does_not_prevent_the_job_of_another(self) -> None:
        folder = RECORDINGS / "n_v4.1"
        flags = ("--mountstats", folder / "before.txt", folder / "after.txt", "--bytes", "1GiB")
        assert planned(*flags, "--address", "10.80.3.30")["job_seconds"]
        answer = ask("plan", *flags)
        assert answer.code == 2
        assert "--bytes: 10.80.1.10 reads and writes nothing. Name another mount target with --address" in answer.err

    def test_a_what_if_that_makes_the_time_known_says_the_time(self) -> None:
        flags = ("--bytes", "1TB", "--reads", "1")
        out = ask("plan", *flags, "--shape", "none", "--what-if", "shape=standard").out
        assert "time: unknown to 16.7 min, set by read bandwidth" in out
        out = ask("plan", *flags, "--shape", "none", "--latency", "1ms", "--what-if", "concurrency=1").out
        assert "time: unknown to 15.9 min, set by latency x concurrency" in out

    def test_connections_set_no_time(self, tmp_path: Path) -> None:
        limits = tmp_path / "limits.yml"
        limits.write_text(
            "limits: {shapes: {standard: {iops: null, read_bytes_per_second: null, write_bytes_per_second: null}}}\n"
        )
        answer = planned("--bytes", "1TB", "--reads", "1", "--clients", "5", "--config.file", limits)
        assert ratios(answer)["connections"]
        assert (answer["job_seconds"], answer["binds_first"]) == (None, None)

    def test_without_any_bound_no_time_is_made_up(self) -> None:
        assert "time: not known" in ask("plan", "--bytes", "1GiB", "--read-size", "1m", "--shape", "none").out
