"""`fss-exporter plan`: a workload stated or recorded in files, and what it needs."""

import re
from pathlib import Path
from typing import Any

import pytest
from tests.cli.prompt import RECORDINGS, ROOT, ask, ask_process

MIXED = (RECORDINGS / "k_mixed/before.txt", RECORDINGS / "k_mixed/after.txt")


def planned(*flags: object) -> dict[str, Any]:
    answer = ask("plan", *flags, "--output", "json")
    assert answer.code == 0, answer.err
    (only,) = answer.document["plans"]
    assert isinstance(only, dict)
    return only


def ratios(found: dict[str, Any]) -> dict[str, float | None]:
    return {use["resource"]: use["ratio"] for use in (*found["mount_target"], *found["clients"])}


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        ((), "no workload"),
        (("--concurrency", "4"), "no workload"),
        (("--read-size", "32k"), "no rate: give --reads"),
        (("--reads", "-5"), "is not a rate"),
        (("--reads", "nan"), "is not a rate"),
        (("--reads", "0"), "every rate is 0"),
        (("--reads", "0", "--operation", "GETATTR=0", "--mix"), "every rate is 0"),
        (("--reads", "5", "--target", "nan"), "'nan' is not a number in the range 0.0001<=x<=1"),
        (("--reads", "5", "--concurrency", "inf"), "not in the range"),
        (("--reads", "5", "--concurrency", "4"), "--concurrency needs --latency"),
        (("--reads", "1e400"), "is not a rate"),
        (("--reads", "5", "--read-size", "0"), "more than nothing"),
        (("--reads", "5", "--read-size", "4 parsecs"), "is not a size"),
        (("--reads", "5", "--read-bandwidth", "1GB/s"), "both state the reads"),
        (("--writes", "5", "--write-bandwidth", "1GB/s"), "both state the writes"),
        (("--reads", "5", "--write-size", "4k"), "--write-size goes with --writes or --write-bandwidth"),
        (("--operation", "GETATTR=5", "--read-size", "4k"), "--read-size goes with --reads or --read-bandwidth"),
        (("--read-bandwidth", "fast"), "is not a bandwidth"),
        (("--read-bandwidth", "500"), "'500' has no unit. Write it like 500MB/s"),
        (("--operation", "GETATTR"), "write it like GETATTR=5000"),
        (("--operation", "READ=5"), "READ costs by its size"),
        (("--operation", "FROB=5"), "FROB is no operation of NFSv3"),
        (("--reads", "5", "--latency", "2"), "is not a length of time"),
        (("--reads", "5", "--latency", "0ms"), "is not a length of time"),
        (("--reads", "5", "--target", "0"), "not in the range"),
        (("--reads", "5", "--nconnect", "17"), "not in the range"),
        (("--reads", "5", "--shape", "huge"), "is not one of"),
        (("--reads", "5", "--prometheus", "http://host"), "more than one workload"),
        (("--reads", "5", "--address", "10.0.0.1"), "--address goes with a recorded load"),
        (("--reads", "5", "--mountinfo", "x"), "goes with --mountstats"),
        (("--prometheus", "host:9090"), "give a URL like"),
        (("--reads", "5", "--what-if", "nconnect"), "write it like nconnect=16"),
        (("--reads", "5", "--what-if", "nconnect=64"), "64 is not in the range 1<=x<=16"),
        (("--reads", "5", "--what-if", "nconnect=0"), "0 is not in the range"),
        (("--reads", "5", "--what-if", "nconnect=many"), "not a valid integer"),
        (("--reads", "5", "--what-if", "target=2"), "2.0 is not in the range 0.0001<=x<=1"),
        (("--reads", "5", "--what-if", "concurrency=inf"), "not in the range"),
        (("--reads", "5", "--what-if", "concurrency=1e308"), "not in the range"),
        (("--reads", "5", "--target", "1e-300"), "not in the range 0.0001<=x<=1"),
        (("--reads", "5", "--latency", "1s", "--concurrency", "1e-300"), "not in the range 0.0001<=x"),
        (("--reads", "5", "--what-if", "target=1e-300"), "not in the range 0.0001<=x<=1"),
        (("--reads", "5", "--what-if", f"clients={'9' * 400}"), "not in the range"),
        (("--reads", "5", "--clients", "9" * 400), "not in the range"),
        (("--read-size", "1", "--concurrency", "1e308", "--latency", "1us"), "not in the range"),
        (("--reads", "5", "--what-if", "latency=slow"), "is not a length of time"),
        (("--reads", "5", "--what-if", "shape=none"), "not a shape"),
        (("--reads", "5", "--what-if", "luck=7"), "known are nconnect"),
        (("--reads", "5", "--what-if", "client-bandwidth=0MB/s"), "must be more than 0"),
        (("--reads", "5", "--clients", "1", "--client-bandwidth", "0MB/s"), "must be more than 0"),
        (("--reads", "5", "--what-if", "mount-targets=0"), "0 is not in the range 1<=x<=1000"),
        (("--reads", "5", "--mount-targets", "0"), "not in the range"),
        (("--reads", "5", "--files", "5", "--bytes", "5"), "both state the job"),
        (("--read-size", "4k", "--files", "5"), "--files needs operations of one file"),
        (("--operation", "GETATTR=1", "--bytes", "1GiB"), "reads and writes nothing"),
        (("--reads", "5", "--bytes", "0"), "more than nothing"),
        (("--reads", "5", "--mix", "--files", "5"), "give one"),
        (("--reads", "5", "--mix"), "--mix needs rates"),
        (("--reads", "5", "--mix", "--concurrency", "5"), "--mix needs rates"),
    ],
)
def test_what_cannot_be_planned_says_why(flags: tuple[str, ...], why: str) -> None:
    answer = ask("plan", *flags)
    assert answer.code == 2
    assert answer.out == ""
    assert why in " ".join(answer.err.split())


def test_swapped_files_are_refused() -> None:
    answer = ask("plan", "--mountstats", MIXED[1], MIXED[0])
    assert answer.code == 2
    assert "swapped" in answer.err


def test_a_mount_target_that_is_not_in_the_files_is_refused() -> None:
    answer = ask("plan", "--mountstats", *MIXED, "--address", "10.9.9.9")
    assert answer.code == 2
    assert "not in this load. It has 10.80.1.10" in answer.err


def test_rates_and_bandwidths_state_the_same_workload() -> None:
    by_rate = planned("--reads", "1000", "--read-size", "64k", "--writes", "500", "--write-size", "32KiB")
    by_bandwidth = planned(
        *("--read-bandwidth", "65536000B/s", "--read-size", "64KiB"),
        *("--write-bandwidth", "16.384MB/s", "--write-size", "32k"),
    )
    assert by_rate["operations"] == by_bandwidth["operations"]
    assert by_rate["operations"]["READ"]["iops"]["point"] == 3000
    assert by_rate["operations"]["WRITE"]["iops"]["point"] == 2000


def test_latency_and_concurrency_state_a_rate() -> None:
    found = planned("--read-size", "32k", "--concurrency", "32", "--latency", "1ms")
    assert found["operations"]["READ"]["per_second"] == pytest.approx(32_000)
    assert found["binds_first"] == "IOPS"


def test_more_requests_in_flight_are_a_larger_workload_where_they_state_it() -> None:
    flags = ("--read-size", "32k", "--concurrency", "10", "--latency", "2ms", "--what-if", "concurrency=40")
    found = planned(*flags)
    assert ratios(found)["IOPS"] == pytest.approx(0.2)
    assert ratios(found["what_if"][0])["IOPS"] == pytest.approx(0.8)
    assert ratios(found["what_if"][0])["latency x concurrency"] == pytest.approx(1.0)


def test_a_serial_program_is_told_that_mount_targets_do_not_help() -> None:
    flags = ("--operation", "GETATTR=5000", "--concurrency", "1", "--latency", "1ms")
    assert planned(*flags)["latency_bound"]
    assert "more mount targets do not help the clients. The clients get 1,000 operations/s" in ask("plan", *flags).out


def test_scaling_out_costs_the_cache_and_says_so() -> None:
    answer = ask("plan", "--reads", "30000", "--read-size", "32k")
    assert "of every ceiling: 2\nscaling out costs: a mount target does not cache" in answer.out
    assert "scaling out" not in ask("plan", "--reads", "3", "--read-size", "32k").out


def test_what_if_shows_only_what_changes() -> None:
    flags = ("--reads", "500", "--clients", "1", "--network-rtt", "20ms", "--what-if", "nconnect=16")
    out = ask("plan", *flags).out.partition("What if nconnect=16\n")[2]
    assert "TCP window / network RTT: 333.3 % to 20.8 %" in out
    assert "binds first: read bandwidth in place of TCP window / network RTT" in out
    assert "IOPS" not in out


def test_what_if_without_an_effect_says_so() -> None:
    assert "nothing changes. Give --clients" in ask("plan", "--reads", "5", "--what-if", "nconnect=16").out
    assert ask("plan", "--reads", "5", "--what-if", "target=0.9").out.rstrip().endswith("nothing changes")


@pytest.mark.parametrize(
    ("change", "resource", "ratio"),
    [
        ("shape=hpmt-40", "read bandwidth", 1000 * (1 << 20) / 5e9),
        ("clients=50", "connections", 50 / 100_000),
        ("concurrency=100", "latency x concurrency", 0.1),
        ("latency=1ms", "latency x concurrency", 0.1),
        ("client-bandwidth=100Gbit/s", "client network", 1000 * (1 << 20) / 125e9),
        ("network-rtt=1ms", "TCP window / network RTT", 1000 * (1 << 20) / (10 * 3 * (1 << 20) / 0.001)),
    ],
)
def test_everything_the_help_names_can_be_changed(change: str, resource: str, ratio: float) -> None:
    flags = ("--reads", "1000", "--concurrency", "10", "--latency", "10ms", "--clients", "10")
    (other,) = planned(*flags, "--what-if", change)["what_if"]
    assert other["change"] == change
    assert ratios(other)[resource] == pytest.approx(ratio)


def test_another_target_changes_the_number_of_mount_targets() -> None:
    found = planned("--operation", "GETATTR=45000", "--what-if", "target=0.95")
    assert found["mount_targets"] == 2
    assert found["what_if"][0]["mount_targets"] == 1


def test_an_unpublished_ceiling_is_named_and_not_judged() -> None:
    out = ask("plan", "--reads", "1000", "--shape", "hpmt-40").out
    assert "of every ceiling that is known: 1" in out
    assert "not judged, because no document states a ceiling: IOPS, write bandwidth" in out


def test_a_load_whose_cost_is_not_known_is_not_judged_by_every_ceiling() -> None:
    folder = RECORDINGS / "n_v4.1"
    flags = ("--mountstats", folder / "before.txt", folder / "after.txt", "--address", "10.80.3.30")
    found = planned(*flags)
    assert "mount targets for at most 80.0 % of every ceiling that is known: 1" in found["sentences"]
    assert "not judged, because the cost of the load is not known: IOPS" in found["sentences"]


def test_a_shape_without_ceilings_has_a_cost_and_no_verdict() -> None:
    out = ask("plan", "--reads", "1000", "--shape", "none").out
    assert "33,000" in out
    assert "nothing is judged" in out


def test_the_configuration_replaces_ceilings_also_of_what_if(tmp_path: Path) -> None:
    settings = tmp_path / "settings.yml"
    settings.write_text("limits:\n  shapes:\n    standard: {iops: 100000}\n    hpmt-20: {iops: 200000}\n")
    found = planned("--operation", "GETATTR=50000", "--config.file", settings, "--what-if", "shape=hpmt-20")
    assert ratios(found)["IOPS"] == pytest.approx(0.5)
    assert ratios(found["what_if"][0])["IOPS"] == pytest.approx(0.25)


def test_recorded_files_are_planned_by_mount_target() -> None:
    found = planned("--mountstats", *MIXED)
    shown = ask("iostat", "--from", MIXED[0], "--to", MIXED[1], "--output", "json").document["mount_targets"][0]
    assert found["address"] == "10.80.1.10"
    assert sum(part["iops"]["point"] for part in found["operations"].values()) == pytest.approx(
        shown["estimated_iops"]["point"]
    )
    assert ratios(found)["IOPS"] == pytest.approx(shown["share"]["IOPS"])
    assert found["estimated_lock_iops"] == pytest.approx(shown["estimated_lock_iops"])


def test_it_runs_as_a_process() -> None:
    answer = ask_process("plan", "--reads", "1000", COLUMNS="70")
    assert answer.code == 0
    assert "binds first: read bandwidth, at 104.9 %" in answer.out
    assert "\x1b" not in answer.out


class TestSeveralMountTargets:
    def test_the_load_is_spread_evenly_and_so_are_the_clients(self) -> None:
        flags = ("--reads", "100000", "--read-size", "32k", "--clients", "100", "--mount-targets", "4")
        found = planned(*flags)
        assert ratios(found)["IOPS"] == pytest.approx(1.0)
        assert ratios(found)["connections"] == pytest.approx(25 / 100_000)
        assert (found["mount_targets_given"], found["mount_targets"]) == (4, 5)
        out = ask("plan", *flags).out
        assert "4 given: 1 too few" in out
        assert re.search(r"^ +4 +100.0 % +200,000 +3,276.80 +25.0 +IOPS *$", out, re.MULTILINE)
        assert re.search(r"^ +8 +50.0 % +400,000 +6,553.60 +12.5 +IOPS *$", out, re.MULTILINE)

    def test_more_of_them_give_no_more_to_a_client_that_waits(self) -> None:
        flags = ("--reads", "9000", "--read-size", "32k", "--concurrency", "8", "--latency", "1ms")
        out = ask("plan", *flags, "--mount-targets", "8").out
        assert re.search(r"^ +1 +36.0 % +16,000 .*latency x concurrency *$", out, re.MULTILINE)
        assert re.search(r"^ +8 +4.5 % +16,000 .*latency x concurrency *$", out, re.MULTILINE)

    def test_what_if_changes_their_number(self) -> None:
        found = planned("--operation", "GETATTR=100000", "--what-if", "mount-targets=4")
        assert ratios(found)["IOPS"] == pytest.approx(2.0)
        assert ratios(found["what_if"][0])["IOPS"] == pytest.approx(0.5)
        assert found["what_if"][0]["mount_targets_given"] == 4

    @pytest.mark.parametrize(("reads", "named"), [("40000", False), ("240000", True)])
    def test_more_than_the_default_limit_come_with_the_limit_to_raise(self, reads: str, *, named: bool) -> None:
        out = " ".join(ask("plan", "--reads", reads, "--read-size", "32k").out.split())
        assert ("the service limit is 2 in each availability domain by default" in out) is named
        assert ("of every ceiling: 12" in out) is named


class TestBothDirections:
    def test_reads_and_writes_together_get_a_sentence(self) -> None:
        flags = ("--read-bandwidth", "700MB/s", "--write-bandwidth", "400MB/s")
        assert planned(*flags)["both_directions"]["ratio"] == pytest.approx(1.1)
        out = " ".join(ask("plan", *flags).out.split())
        assert "1,100.00 MB/s are 110.0 % of 1,000.00 MB/s" in out
        assert "prints one bandwidth and measured one direction at a time" in out
        assert "If both directions share the bandwidth, 2 mount targets are needed" in out

    @pytest.mark.parametrize(
        "flags", [("--read-bandwidth", "990MB/s"), ("--reads", "5", "--writes", "5", "--shape", "hpmt-20")]
    )
    def test_one_direction_or_unlike_ceilings_get_none(self, flags: tuple[str, ...]) -> None:
        assert planned(*flags)["both_directions"] is None
        assert "measured one direction" not in ask("plan", *flags).out


class TestConnections:
    def test_both_directions_get_no_sentence_where_each_mount_target_has_room(self) -> None:
        flags = ("--read-bandwidth", "700MB/s", "--write-bandwidth", "400MB/s", "--mount-targets")
        found = planned(*flags, "4")
        assert found["both_directions"]["ratio"] == pytest.approx(0.275)
        assert not any("together" in line for line in found["sentences"])
        one = ask("plan", *flags, "1").out
        assert "If both directions share the bandwidth, 2 mount targets are needed" in " ".join(one.split())

    def test_encrypted_connections_have_a_ceiling_of_their_own(self) -> None:
        found = planned("--reads", "5", "--clients", "512", "--nconnect", "16", "--tls")
        assert ratios(found)["encrypted connections"] == pytest.approx(2.0)
        assert found["binds_first"] == "encrypted connections"
        assert "encrypted connections" not in ratios(planned("--reads", "5", "--clients", "512"))

    def test_the_configuration_replaces_the_ceiling_of_encrypted_connections(self, tmp_path: Path) -> None:
        settings = tmp_path / "settings.yml"
        settings.write_text("limits:\n  shapes:\n    standard: {encrypted_connections: 64}\n")
        found = planned("--reads", "5", "--clients", "64", "--tls", "--config.file", settings)
        assert ratios(found)["encrypted connections"] == pytest.approx(1.0)

    def test_clients_times_nconnect_are_said_with_how_many_such_clients_fit(self) -> None:
        out = " ".join(ask("plan", "--reads", "5", "--clients", "200", "--nconnect", "16").out.split())
        assert "200 clients x nconnect 16 = 3,200. One mount target takes 100,000, so 6,250 such clients" in out


class TestJobs:
    """The examples of the papers, as docs/services.md and docs/commands/plan.md show them."""

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
        found = planned(*flags)
        assert found["job_seconds"] / 60 == pytest.approx(39, rel=0.001)
        assert found["iops"]["point"] / found["job_seconds"] == pytest.approx(1300, rel=0.001)
        assert found["what_if"][0]["job_seconds"] / 60 == pytest.approx(15, rel=0.001)
        out = " ".join(ask("plan", *flags).out.split())
        assert "time: 39.0 min, set by latency x concurrency: 325 operations/s, 1,300 IOPS on average" in out
        assert "partar for tar, parcp for cp, parrm for rm" in out

    def test_the_ceiling_bounds_a_job_with_requests_enough(self) -> None:
        found = planned(*self.TAR, "--concurrency", "1000")
        assert found["binds_first"] == "IOPS"
        assert found["job_seconds"] == pytest.approx(380_250 * 8 / 50_000)
        assert planned(*self.TAR, "--concurrency", "1000", "--mount-targets", "2")["job_seconds"] == pytest.approx(
            380_250 * 8 / 100_000
        )

    def test_a_recorded_mix_moves_bytes(self) -> None:
        rate = planned("--mountstats", *MIXED)
        payload = rate["read_bytes_per_second"] + rate["written_bytes_per_second"]
        found = planned("--mountstats", *MIXED, "--bytes", "1TiB")
        seconds = ratios(rate)["IOPS"] * (1 << 40) / payload  # type: ignore[operator]
        assert found["job_seconds"] == pytest.approx(seconds)
        assert found["is_job"]

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
        found = planned(*flags)
        assert found["mount_targets"] is found["mount_targets_at_upper_bound"] is found["scaling_out_costs"] is None
        assert found["attainable"]["read_bytes_per_second"] == pytest.approx(1e9)
        (said,) = (line for line in found["sentences"] if line.startswith("bandwidth, reads and writes together"))
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

    def test_without_any_bound_no_time_is_made_up(self) -> None:
        assert "time: not known" in ask("plan", "--bytes", "1GiB", "--read-size", "1m", "--shape", "none").out


def test_concurrency_drives_a_mix_of_operations() -> None:
    mix = ("--operation", "GETATTR=3", "--operation", "LOOKUP=1", "--mix", "--concurrency", "8", "--latency", "1ms")
    found = planned(*mix, "--what-if", "concurrency=16")
    assert found["operations"]["GETATTR"]["per_second"] == pytest.approx(6000)
    assert found["operations"]["LOOKUP"]["per_second"] == pytest.approx(2000)
    assert found["latency_bound"]
    assert ratios(found["what_if"][0])["IOPS"] == pytest.approx(2 * (6000 + 4000) / 50_000)


@pytest.mark.parametrize(
    ("rtt", "said"),
    [
        (
            "80ms",
            "at most 12.5 a second. White paper: do not mount across regions: run the program on an instance near",
        ),
        ("5ms", "another availability domain"),
        ("300us", ""),
    ],
)
def test_a_long_round_trip_is_called_what_it_is(rtt: str, said: str) -> None:
    out = " ".join(ask("plan", "--reads", "5", "--clients", "1", "--network-rtt", rtt).out.split())
    assert said in out
    assert bool(said) == ("White paper:" in out)


NFS_UTILS = ROOT / "tests/fixtures/nfs-utils"


@pytest.mark.parametrize("scenario", ["k_mixed", "d4_randwrite_36k"])
def test_saved_output_of_nfsiostat_is_a_workload_with_bounds(scenario: str) -> None:
    files = (RECORDINGS / scenario / "before.txt", RECORDINGS / scenario / "after.txt")
    found, recorded = planned("--nfsiostat", NFS_UTILS / scenario / "nfsiostat.txt"), planned("--mountstats", *files)
    assert found["address"] == recorded["address"] == "10.80.1.10"
    for name in {"READ", "WRITE"} & recorded["operations"].keys():
        seen, real = found["operations"][name], recorded["operations"][name]
        assert seen["per_second"] == pytest.approx(real["per_second"], rel=0.01)
        assert seen["iops"]["lower"] * 0.99 <= real["iops"]["point"] <= seen["iops"]["upper"] * 1.01
    assert found["read_bytes_per_second"] == pytest.approx(recorded["read_bytes_per_second"], rel=0.02)
    assert "note: " in ask("plan", "--nfsiostat", NFS_UTILS / scenario / "nfsiostat.txt").err


def test_two_outputs_of_the_tool_mountstats_are_a_workload(tmp_path: Path) -> None:
    later = NFS_UTILS / "k_mixed/mountstats.txt"
    earlier = tmp_path / "earlier.txt"
    text = later.read_text().replace("NFS mount age: 0:01:05", "NFS mount age: 0:00:05")
    earlier.write_text(re.sub(r"(?m)^\t(\d+) ops", lambda found: f"\t{int(found[1]) // 2} ops", text))
    found = planned("--mountstats", earlier, later)
    assert found["operations"]["CREATE"]["per_second"] == pytest.approx(3681 / 2 / 60, rel=0.01)


@pytest.mark.parametrize("file", ["k_mixed/mountstats.txt", "../fio/normal.txt"])
def test_another_file_than_nfsiostats_is_refused_with_what_to_give(file: str) -> None:
    answer = ask("plan", "--nfsiostat", NFS_UTILS / file)
    assert answer.code == 2
    assert "not the output of nfsiostat. Give two looks at mountstats with --mountstats" in answer.err
