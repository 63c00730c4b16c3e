"""`fss-exporter plan`: a stated workload, and what it needs."""

import re
from pathlib import Path

import pytest
from tests.fss_toolbox.plan.planned import planned, ratios
from tests.prompt import ask, ask_process

from fss_exporter.model.estimate import Bounds
from fss_exporter.model.limits import SHAPES, Limits
from fss_exporter.model.traffic import OperationTraffic, Traffic
from fss_toolbox.plan.answer_sentences import sentences
from fss_toolbox.plan.load import EVERYTHING, Load
from fss_toolbox.plan.scenario import Scenario
from fss_toolbox.sizing.capacity import ClientHosts


def test_rates_and_bandwidths_state_the_same_workload() -> None:
    by_rate = planned("--reads", "1000", "--read-size", "64k", "--writes", "500", "--write-size", "32KiB")
    by_bandwidth = planned(
        *("--read-bandwidth", "65536000B/s", "--read-size", "64KiB"),
        *("--write-bandwidth", "16.384MB/s", "--write-size", "32k"),
    )
    assert by_rate["operations"] == by_bandwidth["operations"]
    assert by_rate["operations"]["READ"]["iops"]["point"] == 3000
    assert by_rate["operations"]["WRITE"]["iops"]["point"] == 2000


def test_latency_and_concurrency_state_a_rate_and_more_requests_in_flight_a_larger_one() -> None:
    flags = ("--read-size", "32k", "--concurrency", "10", "--latency", "2ms", "--what-if", "concurrency=40")
    answer = planned(*flags)
    assert answer["operations"]["READ"]["per_second"] == pytest.approx(5_000)
    assert ratios(answer)["IOPS"] == pytest.approx(0.2)
    assert ratios(answer["what_if"][0])["IOPS"] == pytest.approx(0.8)
    assert ratios(answer["what_if"][0])["latency x concurrency"] == pytest.approx(1.0)


def test_the_answer_for_a_serial_program_says_that_mount_targets_do_not_help() -> None:
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
    answer = planned("--operation", "GETATTR=45000", "--what-if", "target=0.95")
    assert answer["mount_targets"] == 2
    assert answer["what_if"][0]["mount_targets"] == 1


def test_an_unpublished_ceiling_is_named_and_not_judged() -> None:
    out = ask("plan", "--reads", "1000", "--shape", "hpmt-40").out
    assert "of every ceiling that is known: 1" in out
    assert "not judged, because no document states a ceiling: IOPS, write bandwidth" in out


@pytest.mark.parametrize(
    ("shape", "traffic", "why"),
    [
        ("standard", {"OPEN": OperationTraffic(5.0)}, "the cost of the load is not known, so nothing is judged"),
        ("standard", {EVERYTHING: OperationTraffic(0.0)}, "the cost of the load is not known, so nothing is judged"),
        ("standard", {"OPEN": OperationTraffic(0.0)}, "the load is 0"),
        ("standard", {"GETATTR": OperationTraffic(0.0, Bounds.exact(0))}, "the load is 0"),
        ("hpmt-20", {"GETATTR": OperationTraffic(5.0, Bounds.exact(5))}, "no ceiling that this load uses is published"),
        ("none", {"OPEN": OperationTraffic(5.0)}, "--shape none has no ceiling"),
    ],
    ids=["NFSv4", "not published", "idle NFSv4", "idle", "no ceiling of IOPS", "no shape"],
)
def test_a_load_that_is_not_judged_says_why(shape: str, traffic: dict[str, OperationTraffic], why: str) -> None:
    limits = SHAPES[shape].limits if shape in SHAPES else Limits()
    scenario = Scenario(Load("x", Traffic(traffic)), shape, limits, ClientHosts(), 0.8)

    assert next(sentences(scenario)).startswith(f"binds first: nothing, because {why}")


def test_storage_without_a_shape_has_neither_costs_nor_a_verdict() -> None:
    out = ask("plan", "--reads", "1000", "--shape", "none").out
    assert "1,000" in out
    assert "IOPS" not in out
    assert "nothing is judged" in out


@pytest.mark.parametrize(("files", "operations"), [("10M", 10_000_000), ("5k", 5_000), ("7", 7)])
def test_files_are_counted_as_people_write_numbers(files: str, operations: int) -> None:
    assert planned("--files", files, "--operation", "CREATE=1")["operations"]["CREATE"]["count"] == operations


@pytest.mark.parametrize("files", ["0", "1.5", "10MiB", "2000M", "many"])
def test_a_number_of_files_that_is_none_is_refused(files: str) -> None:
    assert ask("plan", "--files", files, "--operation", "CREATE=1").code == 2


def test_connections_bind_mount_targets_and_not_the_rate() -> None:
    answer = planned("--operation", "GETATTR=100", "--tls", "--clients", "300", "--nconnect", "16")

    assert (answer["binds_first"], answer["mount_targets"]) == ("encrypted connections", 2)
    assert answer["best_of_one_mount_target"]["operations_per_second"] == pytest.approx(50_000)


@pytest.mark.parametrize(
    ("shape", "bandwidth", "allowed"),
    [("standard", "3GB/s", 2), ("hpmt-20", "7GB/s", 2), ("hpmt-40", "9GB/s", 1), ("hpmt-80", "1GB/s", 0)],
)
def test_each_shape_has_its_own_service_limit(shape: str, bandwidth: str, allowed: int) -> None:
    out = " ".join(ask("plan", "--read-bandwidth", bandwidth, "--shape", shape).out.split())

    assert f"the service limit of shape {shape} is {allowed} in each availability domain by default" in out


def test_the_configuration_replaces_ceilings_also_of_what_if(tmp_path: Path) -> None:
    settings = tmp_path / "settings.yml"
    settings.write_text("limits:\n  shapes:\n    standard: {iops: 100000}\n    hpmt-20: {iops: 200000}\n")
    answer = planned("--operation", "GETATTR=50000", "--config.file", settings, "--what-if", "shape=hpmt-20")
    assert ratios(answer)["IOPS"] == pytest.approx(0.5)
    assert ratios(answer["what_if"][0])["IOPS"] == pytest.approx(0.25)


def test_it_runs_as_a_process() -> None:
    answer = ask_process("plan", "--reads", "1000", COLUMNS="70")
    assert answer.code == 0
    assert "binds first: read bandwidth, at 104.9 %" in answer.out
    assert "\x1b" not in answer.out


class TestSeveralMountTargets:
    def test_the_load_is_spread_evenly_and_so_are_the_clients(self) -> None:
        flags = ("--reads", "100000", "--read-size", "32k", "--clients", "100", "--mount-targets", "4")
        answer = planned(*flags)
        assert ratios(answer)["IOPS"] == pytest.approx(1.0)
        assert ratios(answer)["connections"] == pytest.approx(25 / 100_000)
        assert (answer["mount_targets_given"], answer["mount_targets"]) == (4, 5)
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
        answer = planned("--operation", "GETATTR=100000", "--what-if", "mount-targets=4")
        assert ratios(answer)["IOPS"] == pytest.approx(2.0)
        assert ratios(answer["what_if"][0])["IOPS"] == pytest.approx(0.5)
        assert answer["what_if"][0]["mount_targets_given"] == 4

    @pytest.mark.parametrize(("reads", "named"), [("40000", False), ("240000", True)])
    def test_more_than_the_default_limit_come_with_the_limit_to_raise(self, reads: str, *, named: bool) -> None:
        out = " ".join(ask("plan", "--reads", reads, "--read-size", "32k").out.split())
        assert ("the service limit of shape standard is 2 in each availability domain by default" in out) is named
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
        answer = planned(*flags, "4")
        assert answer["both_directions"]["ratio"] == pytest.approx(0.275)
        assert not any("share the bandwidth" in line for line in answer["sentences"])
        assert any("share the bandwidth" in line for line in planned(*flags, "1")["sentences"])

    def test_encrypted_connections_have_a_ceiling_of_their_own(self) -> None:
        answer = planned("--reads", "5", "--clients", "512", "--nconnect", "16", "--tls")
        assert ratios(answer)["encrypted connections"] == pytest.approx(2.0)
        assert answer["binds_first"] == "encrypted connections"
        assert "encrypted connections" not in ratios(planned("--reads", "5", "--clients", "512"))

    def test_the_configuration_replaces_the_ceiling_of_encrypted_connections(self, tmp_path: Path) -> None:
        settings = tmp_path / "settings.yml"
        settings.write_text("limits:\n  shapes:\n    standard: {encrypted_connections: 64}\n")
        answer = planned("--reads", "5", "--clients", "64", "--tls", "--config.file", settings)
        assert ratios(answer)["encrypted connections"] == pytest.approx(1.0)

    def test_clients_times_nconnect_are_said_with_how_many_such_clients_fit(self) -> None:
        out = " ".join(ask("plan", "--reads", "5", "--clients", "200", "--nconnect", "16").out.split())
        assert "200 clients x nconnect 16 = 3,200. One mount target takes 100,000, so 6,250 such clients" in out

    def test_both_ceilings_of_encrypted_connections_are_said(self) -> None:
        out = " ".join(ask("plan", "--reads", "5", "--clients", "70", "--tls").out.split())
        assert (
            "encrypted connections: 70. One mount target takes 4,096 (the white paper states 64 clients with TLS" in out
        )
        assert "Windows with stunnel: 64 connections)" in out

    def test_connections_are_not_called_clients_where_nobody_states_several_for_each_client(self) -> None:
        """A recorded load has the connections that OCI counted. How many clients hold them is not known."""
        out = " ".join(ask("plan", "--reads", "5", "--clients", "90000").out.split())
        assert "connections: 90,000. One mount target takes 100,000 (the white paper" in out


def test_concurrency_drives_a_mix_of_operations() -> None:
    mix = ("--operation", "GETATTR=3", "--operation", "LOOKUP=1", "--mix", "--concurrency", "8", "--latency", "1ms")
    answer = planned(*mix, "--what-if", "concurrency=16")
    assert answer["operations"]["GETATTR"]["per_second"] == pytest.approx(6000)
    assert answer["operations"]["LOOKUP"]["per_second"] == pytest.approx(2000)
    assert answer["latency_bound"]
    assert ratios(answer["what_if"][0])["IOPS"] == pytest.approx(2 * (6000 + 4000) / 50_000)


@pytest.mark.parametrize(
    ("rtt", "said"),
    [
        (
            "80ms",
            "is another region: one request at a time completes at most 12.5 a second. White paper: do not mount across regions",
        ),
        (
            "10ms",
            "is another availability domain: one request at a time completes at most 100 a second. White paper: keep",
        ),
        ("2ms", ""),
    ],
)
def test_a_long_round_trip_is_called_what_it_is(rtt: str, said: str) -> None:
    out = " ".join(ask("plan", "--reads", "5", "--clients", "1", "--network-rtt", rtt).out.split())
    assert said in out
    assert bool(said) == ("White paper:" in out)


def test_what_fits_the_known_ceilings_is_not_called_enough_for_all() -> None:
    flags = ("plan", "--reads", "5000", "--read-size", "32k", "--mount-targets", "2")
    known, unpublished = ask(*flags).out, ask(*flags, "--shape", "hpmt-80").out

    assert "2 given: enough\n" in known
    assert "2 given: enough for the known ceilings\n" in unpublished
    assert "spread evenly, by the known ceilings\n" in unpublished
