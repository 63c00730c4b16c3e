"""`plan --service` and `fio --service`: other storage services at the prompt."""

from pathlib import Path

import pytest
from tests.json_schema import problems, schema_of
from tests.prompt import RECORDINGS, ROOT, ask

from fss_exporter.model.service_table import SERVICES

SERVER = "0a1b.cn-hangzhou.nas.aliyuncs.com"
REPORT = ROOT / "tests/fixtures/fio/nogroup.json"
NAS = ("--service", "apsara-nas", "--type", "capacity")
VOLUME = ("--service", "block-volume", "--type", "vpu-20", "--capacity", "400GB")


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (("plan", "--reads", "5", "--type", "capacity"), "go with --service"),
        (("plan", "--reads", "5", "--service", "nfs"), "is not one of"),
        (("plan", "--reads", "5", "--service", "lustre", "--type", "fast"), "lustre has mbps-per-tb-125"),
        (("plan", "--reads", "5", *NAS, "--capacity", "0"), "more than nothing"),
        (("plan", "--reads", "5", *NAS, "--capacity", "big"), "is not a size"),
        (("plan", *NAS), "no workload"),
        (("plan", "--operation", "GETATTR=5", *NAS), "reads and writes"),
        (("plan", "--reads", "5", "--volumes", "4"), "give both"),
        (("plan", "--reads", "5", *NAS, "--server-network", "25Gbit/s"), "give both"),
        (("plan", "--reads", "5", *NAS, "--volumes", "4", "--server-network", "25Gbit/s"), "say what volumes"),
        (("plan", "--reads", "5", "--volumes", "4", "--server-network", "1Gbit/s"), "go with --service"),
        (("plan", "--reads", "5", "--volumes", "4", "--server-network", "0Gbit/s"), "must be more than 0"),
        (("fio", str(REPORT), "--capacity", "1TB"), "go with --service"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_flags_that_do_not_fit_together_are_refused(flags: tuple[str, ...], why: str) -> None:
    answer = ask(*flags)

    assert answer.code == 2
    assert why in answer.err


def test_capacity_to_buy_for_a_bandwidth_with_the_numbers_of_littles_law() -> None:
    answer = ask(
        "plan", *NAS, "--capacity", "1000GiB", "--write-bandwidth", "300MiB/s", "--target", "1", "--output", "json"
    )

    document = answer.document
    assert document["offers"] == [{"type": "capacity", "capacity_bytes": pytest.approx(2000 * 1024**3)}]
    assert document["share"] == {"bandwidth, reads and writes together": pytest.approx(2.0)}
    assert document["in_flight"] == pytest.approx(30.0)
    assert (document["in_flight_limit"], document["clients"]) == (128, 2)


def test_a_capacity_that_is_too_small_by_its_last_digit_is_not_shown() -> None:
    volumes = ("--volumes", "4", "--server-network", "25Gbit/s")
    load = ("--service", "block-volume", "--type", "vpu-20", "--reads", "20k", "--read-size", "8k")

    assert "vpu-20     86 GB" in ask("plan", *load, "--capacity", "800GB", *volumes).out, "85.33 GB"
    assert "vpu-20      2 GB" in ask("plan", *load[:5], "80", "--read-size", "1k").out, "1.33 GB"


def test_the_answer_shows_its_numbers() -> None:
    out = ask("plan", *NAS, "--write-bandwidth", "300MiB/s").out

    assert "300/s x 100.00 ms = 30.0 requests" in out
    assert "the service takes 128 at a time" in out


def refused(*flags: str) -> str:
    """Why a load cannot be had."""
    answer = ask("plan", *flags, "--output", "json").document
    assert not answer["possible"]
    (why,) = answer["obstacles"]
    assert isinstance(why, str)
    return why


def test_a_serial_writer_cannot_have_what_its_latency_does_not_give() -> None:
    flags = ("--write-bandwidth", "1MiB/s", "--write-size", "4k", "--concurrency", "1")
    why = refused(*NAS, *flags)
    assert why == refused(*NAS, *flags, "--latency", "10ms")
    assert why == "1 in flight at 10.00 ms complete 100 a second, 0.41 MB/s. The load needs 2.6 at a time"
    out = ask("plan", *NAS, *flags).out
    assert f"no: {why}" in out
    assert "with a deeper queue or more processes" in out
    assert "partar" not in out, "a tool for mount targets of OCI File Storage"


def test_a_capacity_without_a_workload_gives_its_ceilings() -> None:
    answer = ask("plan", "--service", "apsara-nas", "--capacity", "10TiB", "--output", "json")

    assert problems(answer.document, schema_of("plan"), schema_of("plan")) == []
    capacity, performance = answer.document["ceilings"]
    assert (capacity["type"], capacity["in_flight"]) == ("capacity", 128)
    assert capacity["bytes_per_second"] == pytest.approx(150 * 1.024 * 10 * 1024**2)
    assert performance["bytes_per_second"] == pytest.approx(600 * 1.024 * 10 * 1024**2)


@pytest.mark.parametrize("flags", [("--volumes", "4", "--server-network", "25Gbit/s"), ("--tls",), ("--clients", "3")])
def test_a_capacity_without_a_workload_takes_no_flag_about_a_load(flags: tuple[str, ...]) -> None:
    answer = ask("plan", *flags, *VOLUME, "--output", "json")
    assert answer.code == 2
    assert f"{flags[0]} has no effect without a workload" in answer.err


def test_a_capacity_that_is_not_on_sale_stands_for_the_next_larger_one() -> None:
    out = ask("plan", "--service", "lustre", "--type", "mbps-per-tb-125", "--capacity", "40TiB").out

    assert "41.6 TiB" in out
    assert "not on sale stands for the next larger one" in out


def test_concurrency_alone_says_what_can_be_had() -> None:
    flags = ("--write-size", "4k", "--concurrency", "1", "--output", "json")
    answer = ask("plan", *NAS, *flags).document
    assert answer["operations_per_second"] == pytest.approx(100)
    assert answer["possible"]


def test_more_requests_than_the_service_takes_are_a_no_and_not_a_purchase() -> None:
    flags = ("--writes", "20000", "--write-size", "4k")
    why = refused(*NAS, *flags)
    assert why == (
        "the service takes 128 requests at a time: 128 in flight at 10.00 ms complete 12,800 a second, 52.43 MB/s."
        " The load needs 200 at a time"
    )
    out = ask("plan", *NAS, *flags).out
    assert "capacity  none: the service takes 128 requests at a time" in out
    document = ask("plan", "--service", "apsara-nas", *flags, "--latency", "10ms", "--output", "json").document
    offers = {offer["type"]: offer["capacity_bytes"] for offer in document["offers"]}
    assert offers["capacity"] is None
    assert offers["performance"]


def test_a_load_between_the_share_to_stay_below_and_the_ceiling_is_not_called_too_much() -> None:
    reads = ("--service", "block-volume", "--type", "vpu-10", "--reads", "22000", "--read-size", "4k")
    out = ask("plan", *reads, "--capacity", "500GB").out

    assert "To buy for at most 80.0 % of each ceiling: OCI Block Volume" in out
    assert "vpu-10  none: 88.0 % of the most it gives" in out
    assert "88.0 % of 25,000 IOPS, more than 80.0 %" in out
    assert "more than" not in ask("plan", *reads[:5], "20000", "--read-size", "4k", "--capacity", "500GB").out
    assert ask("plan", *reads, "--target", "0.9", "--output", "json").document["possible"]


def test_a_load_above_every_capacity_is_a_no() -> None:
    reads = ("--service", "block-volume", "--read-size", "4k", "--reads")
    assert refused(*reads, "30000", "--type", "vpu-10") == (
        "no capacity of vpu-10 keeps the load at or below 80.0 % of each ceiling: it is 120.0 % of the most that vpu-10 gives"
    )
    assert refused(*reads, "3000000") == "no capacity of any type keeps the load at or below 80.0 % of each ceiling"
    assert ask("plan", *reads, "30000", "--output", "json").document["possible"], "a volume with more units carries it"


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (("--clients", "1", "--client-bandwidth", "1Gbit/s"), "client network: 200.00 MB/s of 125.00 MB/s"),
        (("--clients", "1", "--network-rtt", "80ms"), "TCP window / network RTT: 200.00 MB/s of 39.32 MB/s"),
    ],
)
def test_clients_that_cannot_carry_it_are_a_no(flags: tuple[str, ...], why: str) -> None:
    assert refused("--service", "lustre", "--read-bandwidth", "200MB/s", *flags) == why


def test_fewer_clients_than_the_rate_takes_are_a_no() -> None:
    """One client was seen to reach 14,000 reads a second."""
    flags = (*NAS, "--reads", "20000", "--read-size", "4k", "--latency", "1ms")
    assert (
        refused(*flags, "--clients", "1")
        == "1 client(s) given, and the load takes 2: one client was seen to reach no more"
    )
    assert "none: the clients cannot cause this load" in ask("plan", *flags, "--clients", "1").out
    assert ask("plan", *flags, "--clients", "2", "--output", "json").document["possible"]


def test_what_the_clients_carry_is_shown_where_it_is_enough() -> None:
    flags = ("--service", "lustre", "--read-bandwidth", "100MB/s", "--clients", "3", "--client-bandwidth", "1Gbit/s")
    assert "client network: 100.00 MB/s of 375.00 MB/s, 26.7 %" in ask("plan", *flags).out


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--clients", "3"), "--clients has no effect here"),
        (("--tcp-window", "1MiB"), "--tcp-window goes with --network-rtt"),
        (("--nconnect", "4"), "--nconnect needs --network-rtt"),
        (("--client-bandwidth", "1Gbit/s"), "need --clients"),
        (("--network-rtt", "1ms"), "need --clients"),
        (("--concurrency", "4"), "--concurrency needs --latency"),
        (("--tls",), "--tls is about mount targets"),
        (("--shape", "standard"), "--shape is about mount targets"),
        (("--mount-targets", "2"), "--mount-targets is about OCI File Storage"),
        (("--what-if", "clients=2"), "--service is about reads and writes"),
        (("--mountinfo", "x"), "--mountinfo goes with --mountstats"),
        (("--elapsed", "5s"), "--elapsed goes with"),
        (("--address", "10.0.0.1"), "--address goes with a recorded load"),
    ],
)
def test_a_flag_that_would_change_nothing_is_refused(flags: tuple[str, ...], words: str) -> None:
    answer = ask("plan", "--service", "lustre", "--read-bandwidth", "100MB/s", *flags)
    assert answer.code == 2
    assert words in answer.err


def test_volumes_are_judged_together() -> None:
    flags = ("--service", "block-volume", "--type", "vpu-20", "--capacity", "800GB", "--read-bandwidth", "2GB/s")
    answer = ask("plan", *flags, "--volumes", "16", "--server-network", "25Gbit/s", "--output", "json").document
    assert answer["share"]["bandwidth, reads and writes together"] == pytest.approx(2e9 / (16 * 480e6))
    (offer,) = answer["offers"]
    assert offer["capacity_bytes"] == pytest.approx(2e9 / 16 / 0.8 / 0.6e6 * 1e9)
    shown = ask("plan", *flags, "--volumes", "16", "--server-network", "25Gbit/s").out
    assert "of what you have (16 x OCI Block Volume, vpu-20, 800 GB): 26.0 %" in " ".join(shown.split())
    assert "35,000 IOPS and 480 MB/s" in shown


def test_a_self_managed_servers_bound_is_reported() -> None:
    flags = ("--service", "block-volume", "--type", "vpu-10", "--capacity", "800GB", "--read-bandwidth", "5GB/s")
    out = " ".join(ask("plan", *flags, "--volumes", "16", "--server-network", "25Gbit/s").out.split())

    assert (
        "16 x 384.00 MB/s of volumes and 3,125.00 MB/s of network: 3,125.00 MB/s. The load takes 2 such servers, each"
        " at most 80.0 % full" in out
    )


def test_the_network_of_a_self_managed_server_bounds_a_job() -> None:
    flags = ("--service", "block-volume", "--type", "vpu-20", "--capacity", "800GB", "--bytes", "1TB", "--reads", "1")
    server = ("--volumes", "16", "--server-network", "25Gbit/s")
    answer = ask("plan", *flags, *server, "--output", "json").document
    assert answer["job_seconds"] == pytest.approx(1e12 / 3.125e9)
    assert answer["sentences"][0].startswith("time: 5.3 min for 953,674 requests, set by network of the server:")
    assert not any("such server" in line for line in answer["sentences"])
    (rate,) = (
        line
        for line in ask("plan", *flags[:6], "--reads", "1", *server, "--output", "json").document["sentences"]
        if "self-managed" in line
    )
    assert rate.endswith("at most 80.0 % full, with no price known here for instance and volumes")


def test_a_report_is_read_against_the_ceiling_of_its_service() -> None:
    (group,) = ask("fio", REPORT, *VOLUME, "--output", "json").document["groups"]

    measured = sum(job["read"]["operations_per_second"] for job in group["jobs"])
    assert group["mount_target_iops"]["point"] == pytest.approx(measured)
    assert group["share"]["IOPS"] == pytest.approx(measured / 30_000)
    assert group["iops_limit"] == 30_000
    assert group["pace"] == "above the ceiling"
    assert "IOPS of the service" in ask("fio", REPORT, *VOLUME).out


def test_a_report_of_a_service_without_known_ceilings_has_figures_and_no_verdict() -> None:
    (group,) = ask("fio", REPORT, "--service", "lustre", "--output", "json").document["groups"]

    assert group["share"] == {}
    assert group["model_error_ratio"] is None
    out = ask("fio", REPORT, "--service", "lustre").out
    assert "no ceiling is known" in out
    assert "no ceiling met" not in out


class TestARecordedLoad:
    """Two looks at one host whose mount is a NAS, and what another service has to bear for it."""

    @pytest.fixture
    def looks(self, tmp_path: Path) -> tuple[Path, Path]:
        def look(name: str) -> Path:
            text = (RECORDINGS / f"k_mixed/{name}.txt").read_text()
            path = tmp_path / f"{name}.txt"
            path.write_text(text.replace("10.80.1.10:/export/a", f"{SERVER}:/share"))
            return path

        return look("before"), look("after")

    @pytest.fixture
    def configuration(self, tmp_path: Path) -> Path:
        path = tmp_path / "services.yml"
        path.write_text(
            f"services:\n  - server: {SERVER}\n    service: apsara-nas\n    type: capacity\n    capacity: 1000GiB\n"
        )
        return path

    def test_is_counted_by_the_rule_of_the_service_the_configuration_tells(
        self, looks: tuple[Path, Path], configuration: Path
    ) -> None:
        configuration.write_text(configuration.read_text().replace(SERVER, "other.example"))
        address = configuration.with_name("address.yml")
        address.write_text("services:\n  - export: /share\n    service: none\n")
        flags = ("--from", looks[0], "--to", looks[1], "--output", "json", "--config.file")

        (by_name,) = ask("iostat", *flags, configuration).document["mount_targets"]
        (uncounted,) = ask("iostat", *flags, address).document["mount_targets"]
        assert by_name["estimated_iops"] is not None
        assert uncounted["estimated_iops"] is None

    def test_is_what_to_buy_for_with_the_latency_that_was_measured(self, looks: tuple[Path, Path]) -> None:
        seen = ask("iostat", "--from", looks[0], "--to", looks[1], "--by", "operation", "--output", "json")
        (target,) = seen.document["mount_targets"]
        counted = [operation for operation in target["operations"] if operation["operation"] in {"READ", "WRITE"}]

        (plan,) = ask("plan", *NAS, "--mountstats", *looks, "--output", "json").document["plans"]

        operations = sum(operation["operations_per_second"] for operation in counted)
        waits = sum(operation["operations_per_second"] * operation["mean_rtt_seconds"] for operation in counted)
        payload = target["read_bytes_per_second"] + target["written_bytes_per_second"]
        assert plan["name"] == target["address"] == "10.80.1.10"
        assert plan["operations_per_second"] == pytest.approx(operations)
        assert plan["in_flight"] == pytest.approx(waits)
        (offer,) = plan["offers"]
        assert offer["capacity_bytes"] == pytest.approx(payload / 0.8 / (150 << 20) * 1000 * 1024**3)

    def test_needs_only_its_reads_and_writes_in_flight(self) -> None:
        folder = RECORDINGS / "k_mixed"
        flags = ("--mountstats", folder / "before.txt", folder / "after.txt", "--concurrency", "0.5")
        (plan,) = ask("plan", "--service", "lustre", *flags, "--output", "json").document["plans"]
        (why,) = plan["obstacles"]
        assert why.endswith(f"The load needs {plan['in_flight']:.3g} at a time")

    def test_without_reads_and_writes_has_nothing_to_buy_for(self) -> None:
        folder = RECORDINGS / "i2_stat_storm"
        out = ask("plan", "--service", "lustre", "--mountstats", folder / "before.txt", folder / "after.txt").out
        assert "nothing to buy: the load has no reads and writes" in out
        assert "To buy for" not in out

    def test_of_mount_targets_can_move_to_another_service(self) -> None:
        folder = RECORDINGS / "k_mixed"
        looks = (folder / "before.txt", folder / "after.txt")
        (plan,) = ask("plan", "--service", "lustre", "--mountstats", *looks, "--output", "json").document["plans"]

        assert plan["name"] == "10.80.1.10"
        assert {offer["type"] for offer in plan["offers"]} == set(SERVICES["lustre"].kinds)
        shown = ask("plan", "--service", "lustre", "--mountstats", *looks)
        assert f"10.80.1.10: {looks[0]}" in shown.out.replace("\n", "")
        assert len(shown.err.splitlines()) == len(set(shown.err.splitlines())), "a note is told once"
