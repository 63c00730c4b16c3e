"""What `/metrics` shows of a client, and what it shows when the client's files cannot be read."""

import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace

import pytest
from tests.exposition_text import collected
from tests.fss_exporter.nfs.records import OPTIONS, Names, mountinfo, mountstats
from tests.processes import require
from tools.generate.golden import GOLDEN, scrape

from fss_exporter.catalogue import CLIENT, EXPORTER
from fss_exporter.errors import SourceError
from fss_exporter.model.client_state import JudgedRequests
from fss_exporter.model.operations import OPERATION_CLASSES
from fss_exporter.nfs.collector import NfsCollector
from fss_exporter.nfs.mount_services import Claim, Services
from fss_exporter.nfs.mount_settings import mount_settings
from fss_exporter.nfs.mountinfo import parse_mountinfo
from fss_exporter.nfs.mountstats import parse_mountstats
from fss_exporter.nfs.superblocks import Reading, join
from fss_exporter.nfs.ticker import Ticker
from fss_exporter.settings import Settings


def test_the_scrape_of_the_fixture_host_is_the_golden_one() -> None:
    assert scrape() == GOLDEN.read_text(), "if the change is meant: make golden"


def test_promtool_finds_nothing_to_complain_about() -> None:
    promtool = require("promtool", "prometheus")
    lint = subprocess.run([promtool, "check", "metrics"], input=scrape(), capture_output=True, text=True, check=False)

    assert (lint.returncode, lint.stdout, lint.stderr) == (0, "", "")


def families(collector: NfsCollector) -> dict[str, list[tuple[dict[str, str], float]]]:
    return {
        family.name: [(dict(sample.labels), sample.value) for sample in family.samples]
        for family in collected(collector)
    }


def test_the_collector_exports_every_client_row_of_the_catalogue_and_nothing_else() -> None:
    exported = {line.split()[2] for line in scrape().splitlines() if line.startswith("# TYPE")}

    elsewhere = (
        "fss_exporter_",
        "fss_collector_",
        "fss_client_network_",
        "fss_client_latency_objective_seconds",
        "fss_cost_model_",
        "fss_nfs_fstab_",
        "fss_nfs_search_",
        "fss_oci_leader",
        "process_",
    )
    assert exported == {metric.name for metric in (*CLIENT, *EXPORTER) if not metric.name.startswith(elsewhere)}


def test_every_sample_has_the_labels_of_its_row() -> None:
    labels = {metric.name: set(metric.labels) for metric in (*CLIENT, *EXPORTER)}
    collector = NfsCollector(_ticked(reading()))

    for family in collected(collector):
        for sample in family.samples:
            assert set(sample.labels) == labels[sample.name]


@pytest.mark.parametrize(
    ("is_of_host", "success", "seen"),
    [
        (True, True, {"mount_namespace": 1, "mounts": 1}),
        (False, False, {"mount_namespace": 0, "mounts": 1}),
        (None, True, {}),
    ],
    ids=["host", "own mounts though the host's were wanted", "own mounts as asked for"],
)
def test_an_agent_that_does_not_see_the_host_says_so(
    is_of_host: bool | None, success: bool, seen: dict[str, float]
) -> None:
    collector = NfsCollector(_ticked(reading()._replace(is_of_host=is_of_host)), boot_hash="0123456789ab")
    exported = families(collector)

    assert collector.success is success
    assert exported["fss_nfs_superblocks"] == [({"boot_hash": "0123456789ab" if is_of_host else ""}, 1)]
    assert {labels["part"]: value for labels, value in exported.get("fss_coverage_seen", [])} == seen
    assert {labels["part"]: value for labels, value in exported.get("fss_coverage_expected", [])} == dict.fromkeys(
        seen, 1
    )


def test_a_mount_without_a_readable_record_is_expected_and_not_seen() -> None:
    unread = join(parse_mountstats(""), parse_mountinfo(mountinfo()))
    exported = families(NfsCollector(_ticked(unread._replace(is_of_host=True))))

    assert ({"tenancy": "", "region": "", "part": "mounts"}, 1) in exported["fss_coverage_expected"]
    assert ({"tenancy": "", "region": "", "part": "mounts"}, 0) in exported["fss_coverage_seen"]


@pytest.mark.parametrize(
    ("objectives", "judged", "coverage"),
    [
        ({}, {}, {}),
        ({"read": 0.05}, {}, {"fss_coverage_expected": 1, "fss_coverage_seen": 0}),
        ({"read": 0.05}, {"10.0.0.9": {}}, {"fss_coverage_expected": 1, "fss_coverage_seen": 0}),
        ({"read": 0.05}, {"10.0.0.3": {}}, {"fss_coverage_expected": 1, "fss_coverage_seen": 1}),
    ],
    ids=["no objective", "no exact mode", "durations paused", "judged"],
)
def test_an_address_whose_requests_no_p99_objective_can_judge_is_expected_and_not_seen(
    objectives: Mapping[str, float], judged: Mapping[str, Mapping[str, JudgedRequests]], coverage: Mapping[str, float]
) -> None:
    ticker = _ticked(reading()._replace(is_of_host=True))
    ticker.accounts.states.tails = SimpleNamespace(objectives=objectives, judged=lambda: judged)
    exported = families(NfsCollector(ticker))
    parts = {"tenancy": "", "region": "", "part": "p99_latency"}

    assert {
        name: value
        for name in ("fss_coverage_expected", "fss_coverage_seen")
        for labels, value in exported[name]
        if labels == parts
    } == coverage


def reading() -> Reading:
    return join(parse_mountstats(mountstats({"READ": 5})), parse_mountinfo(mountinfo()))


def _ticked(
    *readings: Reading | SourceError,
    clock: Callable[[], float] = time.monotonic,
    each: Callable[[], object] = lambda: None,
) -> Ticker:
    """Return a ticker after a tick for each reading. `each` runs after every tick."""
    remaining = iter(readings)

    def read() -> Reading:
        look = next(remaining)
        if isinstance(look, SourceError):
            raise look
        return look

    ticker = Ticker(read, 1.0, clock)
    for _ in readings:
        ticker.tick()
        each()
    return ticker


def test_a_source_that_was_never_read_exports_no_numbers_and_no_success() -> None:
    collector = NfsCollector(_ticked(SourceError("cannot read")))

    assert not collector.success
    exported = families(collector)
    assert exported["fss_client_operations"] == []
    assert "fss_nfs_superblocks" not in exported


def test_a_source_that_fails_later_keeps_the_counters_and_drops_what_describes_the_mounts() -> None:
    collector = NfsCollector(_ticked(reading(), SourceError("cannot read")))

    assert not collector.success
    assert families(collector)["fss_client_operations"]
    assert families(collector)["fss_client_mount"] == []


@pytest.mark.parametrize(
    ("then", "later_s", "samples"),
    [(reading(), 0.0, 1), (SourceError("gone"), 0.0, 0), (reading(), 30.0, 1), (reading(), 60.0, 0)],
    ids=["readable", "unreadable", "late", "stalled"],
)
def test_no_state_wait_or_peak_of_an_address_stays_while_nobody_reads_the_counters(
    then: Reading | SourceError, later_s: float, samples: int
) -> None:
    """Alerts would read on in the last figures, and a hang that began since would be fine."""
    at = [0.0]
    ticker = _ticked(*[reading()] * 12, then, clock=lambda: at[0], each=lambda: at.append(at.pop() + 1.0))
    at[0] += later_s
    exported = families(NfsCollector(ticker))
    for name in ("fss_client_address_state", "fss_client_unanswered_seconds", "fss_client_peak_estimated_iops"):
        assert len(exported[name]) == samples, name


def test_a_source_that_recovers_says_so(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    collector = NfsCollector(_ticked(reading(), SourceError("gone"), SourceError("gone"), reading()))

    assert collector.success
    assert [record.message for record in caplog.records] == ["no NFS counters: gone", "NFS counters can be read again"]


def test_a_record_with_more_operations_than_any_kernel_has_costs_itself_and_no_scrape() -> None:
    odd = mountstats({}).replace(
        "per-op statistics\n", "per-op statistics\n" + "".join(f"O{n}: 0 0 0 0 0 0 0 0 0\n" for n in range(200))
    )
    ticker = _ticked(join(parse_mountstats(odd), parse_mountinfo(mountinfo())))

    assert families(NfsCollector(ticker))["fss_nfs_records_skipped"] == [({"reason": "too_many_operations"}, 1)]


def test_unreadable_errors_and_locks_are_absent_and_not_zero() -> None:
    old = join(parse_mountstats(mountstats({"READ": 5}, columns=8)), parse_mountinfo(mountinfo()))
    exported = families(NfsCollector(_ticked(old)))

    assert exported["fss_client_errors"] == []
    assert exported["fss_client_timeouts"] != []


def test_the_options_a_user_set_are_on_the_mount() -> None:
    options = "rw,vers=3,rsize=65536,wsize=32768,soft,proto=tcp,nconnect=8,timeo=50,retrans=5,sec=krb5,local_lock=all"
    stats, info = mountstats({"READ": 5}, options=options), mountinfo(options=options)
    ((labels, value),) = families(NfsCollector(_ticked(join(parse_mountstats(stats), parse_mountinfo(info)))))[
        "fss_client_mount"
    ]

    assert value == 1
    assert labels.items() >= {
        "rsize": "65536", "wsize": "32768", "hard": "false", "nconnect": "8", "timeo": "50", "retrans": "5",
        "sec": "krb5", "local_lock": "all", "mount_point": "/mnt/a", "protocol": "tcp", "nfs_version": "3",
    }.items()  # fmt: skip


def test_each_scrape_tells_the_mounts_of_its_moment() -> None:
    soft = OPTIONS.replace("hard", "soft")
    first, second = mountinfo(), mountinfo(mount_point="/mnt/b", superblock="0:41", device="10.0.0.3:/b")
    a, b = mountstats({}), mountstats({}, mount_point="/mnt/b", device="10.0.0.3:/b")
    looks = [
        (a, first),
        (a, first),
        (a.replace(OPTIONS, soft), first.replace(OPTIONS, soft)),
        (a + b, first + second),
        (b, second),
        ("", ""),
    ]
    now = iter(join(parse_mountstats(stats), parse_mountinfo(info)) for stats, info in looks)
    ticker = Ticker(lambda: next(now), 1.0)
    collector = NfsCollector(ticker)

    told = []
    for _ in looks:
        ticker.tick()
        told.append([(mount["mount_point"], mount["hard"]) for mount, _ in families(collector)["fss_client_mount"]])

    on_a, on_b = ("/mnt/a", "true"), ("/mnt/b", "true")
    assert told == [[on_a], [on_a], [("/mnt/a", "false")], [on_a, on_b], [on_b], []]


def test_ceilings_are_exported_by_address_unless_exports_of_one_address_differ() -> None:
    claims = [
        Claim("block-volume", "vpu-20", 400e9, address="10.0.0.3"),
        Claim("block-volume", "vpu-10", 50e9, address="10.0.0.4", export="/a"),
        Claim("block-volume", "vpu-10", 100e9, address="10.0.0.4", export="/b"),
    ]
    mounts: list[Names] = [
        {"device": f"{address}:/{export}", "mount_point": f"/mnt/{address}-{export}"}
        for address, export in (("10.0.0.3", "a"), ("10.0.0.3", "b"), ("10.0.0.4", "a"), ("10.0.0.4", "b"))
    ]
    info = [
        mountinfo(superblock=f"0:{40 + at}", address=names["device"].partition(":")[0], **names)
        for at, names in enumerate(mounts)
    ]
    look = join(
        parse_mountstats("".join(mountstats({}, **names) for names in mounts)),
        parse_mountinfo("".join(info)),
        services=Services(claims),
    )

    by_name = families(NfsCollector(_ticked(look)))

    assert by_name["fss_client_iops_limit"] == [({"network": "unknown", "address": "10.0.0.3"}, 30_000)]
    assert by_name["fss_client_bytes_per_second_limit"] == [({"network": "unknown", "address": "10.0.0.3"}, 240e6)]
    assert "fss_client_read_bytes_per_second_limit" not in by_name
    assert [labels["kind"] for labels, _ in by_name["fss_client_service"]] == [
        "vpu-20",
        "vpu-20",
        "vpu-10",
        "vpu-10",
    ]


def _named(*addresses: str) -> Iterator[Names]:
    return ({"device": f"{address}:/a", "mount_point": f"/mnt/{address}"} for address in addresses)


def test_what_one_client_was_seen_to_reach_is_an_objective_where_its_document_says_so() -> None:
    """Apsara NAS of type performance: 14,000 reads and 10,000 writes of 4 KiB, 300 MiB/s either way."""
    nas, volume = _named("10.0.0.3", "10.0.0.4")
    claims = [Claim("apsara-nas", "performance", address="10.0.0.3"), Claim("block-volume", "vpu-20", 400e9)]
    info = (
        mountinfo(superblock=f"0:{40 + at}", address=f"10.0.0.{3 + at}", **names)
        for at, names in enumerate((nas, volume))
    )
    stats = "".join(mountstats({}, **names) for names in (nas, volume))
    look = join(parse_mountstats(stats), parse_mountinfo("".join(info)), services=Services(claims))

    by_name = families(NfsCollector(_ticked(look)))

    read, write = (
        {"network": "unknown", "address": "10.0.0.3", "operation": operation} for operation in ("READ", "WRITE")
    )
    assert by_name["fss_client_objective_operations_per_second"] == [(read, 14_000), (write, 10_000)]
    assert by_name["fss_client_objective_bytes_per_second"] == [(read, 300 * 1024**2), (write, 300 * 1024**2)]


def test_a_host_without_other_services_has_no_series_of_them() -> None:
    by_name = families(NfsCollector(_ticked(reading())))

    of_services = {name for name in by_name if "service" in name or "limit" in name or "objective" in name}
    assert of_services == {"fss_client_latency_objective_ratio"}  # by the default objectives


def two_looks(before: str, after: str) -> dict[str, list[tuple[dict[str, str], float]]]:
    looks = [join(parse_mountstats(text), parse_mountinfo(mountinfo())) for text in (before, after)]
    return families(NfsCollector(_ticked(*looks), zero_answers=0))


def by_class(exported: dict[str, list[tuple[dict[str, str], float]]], name: str) -> dict[str, float]:
    return {labels["class"]: value for labels, value in exported[name]}


def test_every_series_of_a_mount_is_there_at_zero_from_its_first_sight() -> None:
    exported = families(NfsCollector(_ticked(reading())))

    assert len(exported["fss_client_operations"]) == 22
    assert {labels["class"] for labels, _ in exported["fss_client_operations"]} == set(OPERATION_CLASSES)
    for name in (
        "requests",
        "estimated_io_operations",
        "rtt_seconds",
        "queue_seconds",
        "execute_seconds",
        "retransmissions",
        "errors",
    ):
        assert by_class(exported, f"fss_client_{name}") == dict.fromkeys(OPERATION_CLASSES, 0)
    for name in ("lower", "upper"):
        assert by_class(exported, f"fss_client_estimated_io_operations_{name}_bound") == {"read": 0, "write": 0}
    labels = [labels for name, series in exported.items() if name.startswith("fss_client_") for labels, _ in series]
    operations, classes, transfers = (
        22,
        8 * len(OPERATION_CLASSES),
        2 * 2,
    )  # 8 figures by class, 2 bounds of READ and WRITE
    info, of_the_mount = 1, 5  # bytes read and written, unexpected errors, delays, costs of locks
    assert sum("export" in own for own in labels) == info + operations + classes + transfers + of_the_mount
    times, of_the_address = 6, 4  # time by verdict. Requests, cost, peak, wait
    assert sum("export" not in own for own in labels) == times + of_the_address


def test_a_class_is_the_sum_of_its_operations() -> None:
    after = mountstats({"READ": 5, "LOOKUP": 3, "GETATTR": 2, "RENAME": 4}, age=1001)
    exported = two_looks(mountstats({}), after)

    assert by_class(exported, "fss_client_estimated_io_operations") == {
        "read": 10, "write": 0, "metadata_read": 8, "metadata_write": 32
    }  # fmt: skip
    assert by_class(exported, "fss_client_rtt_seconds") == {
        "read": 0.01, "write": 0, "metadata_read": 0.01, "metadata_write": 0.008
    }  # fmt: skip
    counted = {labels["operation"]: value for labels, value in exported["fss_client_operations"] if value}
    assert counted == {"READ": 5, "LOOKUP": 3, "GETATTR": 2, "RENAME": 4}


def test_errors_of_operations_on_a_name_are_expected_and_errors_of_all_others_are_not() -> None:
    after = mountstats({"LOOKUP": 9, "REMOVE": 9, "GETATTR": 9, "COMMIT": 9}, age=1001)
    for name, errors in (("LOOKUP", 1), ("REMOVE", 2), ("GETATTR", 4), ("COMMIT", 8)):
        after = after.replace(f"{name}: 9 9 0 936 1008 9 18 36 0", f"{name}: 9 9 0 936 1008 9 18 36 {errors}")
    exported = two_looks(mountstats({}), after)

    assert by_class(exported, "fss_client_errors") == {"read": 0, "write": 0, "metadata_read": 5, "metadata_write": 10}
    assert [value for _, value in exported["fss_client_unexpected_errors"]] == [12]


def test_stated_latency_objectives_are_exported_by_address_and_class() -> None:
    ticker = _ticked(reading())
    assert "fss_client_latency_objective_seconds" not in families(NfsCollector(ticker))
    ticker.accounts.states.stated = {"read": 0.02, "metadata_read": 0.005}
    exported = families(NfsCollector(ticker))

    assert exported["fss_client_latency_objective_seconds"] == [
        ({"network": "unknown", "address": "10.0.0.3", "class": "read"}, 0.02),
        ({"network": "unknown", "address": "10.0.0.3", "class": "metadata_read"}, 0.005),
    ]


def test_of_objectives_by_size_the_largest_counts_for_the_class() -> None:
    given = {"read": {"0B_to_8KiB": "10ms", "64KiB_to_1MiB": "40ms"}, "metadata": "5ms"}
    settings = Settings.model_validate({"latency_objectives": given})

    assert mount_settings(settings).latency_objectives == {
        "read": 0.04,
        "metadata_read": 0.005,
        "metadata_write": 0.005,
    }
    assert mount_settings(None).latency_objectives == {}


def test_a_p99_objective_of_metadata_holds_for_both_classes_and_none_is_set_by_default() -> None:
    settings = Settings.model_validate({"latency_objectives": {"p99": {"write": "0.2s", "metadata": "50ms"}}})

    assert mount_settings(settings).p99_objectives == {"write": 0.2, "metadata_read": 0.05, "metadata_write": 0.05}
    assert mount_settings(Settings()).p99_objectives == mount_settings(None).p99_objectives == {}
