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


@pytest.mark.parametrize(
    ("change", "resource", "ratio"),
    [
        ("shape=hpmt-40", "read bandwidth", 1000 * (1 << 20) / 5e9),
        ("clients=50", "connections", 50 / 100_000),
        ("mount-targets=4", "IOPS", 1000 * 33 / 50_000 / 4),
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


def test_encrypted_connections_have_a_ceiling_of_their_own() -> None:
    answer = planned("--reads", "5", "--clients", "512", "--nconnect", "16", "--tls")
    assert ratios(answer)["encrypted connections"] == pytest.approx(2.0)
    assert answer["binds_first"] == "encrypted connections"
    assert "encrypted connections" not in ratios(planned("--reads", "5", "--clients", "512"))
    assert ratios(planned("--reads", "5", "--clients", "70", "--stunnel"))["encrypted connections"] == 70 / 64


def test_concurrency_drives_a_mix_of_operations() -> None:
    mix = ("--operation", "GETATTR=3", "--operation", "LOOKUP=1", "--mix", "--concurrency", "8", "--latency", "1ms")
    answer = planned(*mix, "--what-if", "concurrency=16")
    assert answer["operations"]["GETATTR"]["per_second"] == pytest.approx(6000)
    assert answer["operations"]["LOOKUP"]["per_second"] == pytest.approx(2000)
    assert answer["latency_bound"]
    assert ratios(answer["what_if"][0])["IOPS"] == pytest.approx(2 * (6000 + 4000) / 50_000)
