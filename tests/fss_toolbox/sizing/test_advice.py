"""What to change in a fleet, and what each change saves."""

import pytest

from fss_exporter.model.estimate import Bounds
from fss_exporter.model.limits import SHAPES
from fss_exporter.model.traffic import OperationTraffic, Traffic
from fss_toolbox.sizing.advice import Advice, MountLoad, TargetLoad, ranked
from fss_toolbox.sizing.domain_bill import DomainBill
from fss_toolbox.sizing.options import Price
from fss_toolbox.sizing.uses import IOPS, READ_BANDWIDTH, Use
from fss_toolbox.sizing.workload import Transfers, workload

PRICES = {name: Price(0.3, "s", "2026-11-24") for name in SHAPES}


def target(
    name: str,
    place: str,
    iops: float | None,
    limit: float,
    file_systems: dict[str, float],
    exports: dict[str, str],
    *,
    read_bytes: float = 0.0,
    shape: str = "standard",
    bill: DomainBill | None = None,
    network: str = "",
) -> TargetLoad:
    read_limit = SHAPES[shape].limits.read_bytes_per_second
    used = (Use(IOPS, "IOPS", iops, limit), Use(READ_BANDWIDTH, "B/s", read_bytes, read_limit))
    return TargetLoad(name, place, used, file_systems, exports, shape=shape, bill=bill, network=network)


def advice(targets: list[TargetLoad], mounts: list[MountLoad] | None = None) -> list[Advice]:
    return ranked(targets, mounts or [], {}, PRICES)


def of_what_is_there(targets: list[TargetLoad], mounts: list[MountLoad] | None = None) -> list[Advice]:
    return [change for change in advice(targets, mounts) if change.kind not in ("mount-target", "shape")]


HOME = target(
    "mt-home", "10.0.0.1", 45_000, 50_000, {"homes": 25_000, "projects": 20_000}, {"/a": "homes", "/b": "projects"}
)
SPARE = target("mt-spare", "10.0.0.2", 5_000, 50_000, {"projects": 5_000}, {"/b": "projects"})


def mount(traffic: Traffic, **options: int) -> MountLoad:
    return MountLoad("c1:10949", "10.0.0.1", "/b", traffic, **options)


def only(changes: list[Advice], kind: str) -> Advice:
    (change,) = (change for change in changes if change.kind == kind)
    return change


def kinds(traffic: Traffic, **options: int) -> list[str]:
    return [change.kind for change in of_what_is_there([], [mount(traffic, **options)])]


def test_load_moves_to_another_mount_target_of_the_file_system_up_to_equal_shares() -> None:
    change = only(of_what_is_there([HOME, SPARE]), "move")

    assert change.saves_iops == pytest.approx(20_000)
    assert "move 100% of the load of projects from mt-home to mt-spare" in change.text
    assert "mt-home falls from 90% to 50%, mt-spare rises from 10% to 50%" in change.text


def test_no_more_moves_than_the_shared_file_system_has() -> None:
    little = target("mt-home", "10.0.0.1", 45_000, 50_000, {"homes": 40_000, "projects": 5_000}, {})

    assert only(of_what_is_there([little, SPARE]), "move").saves_iops == pytest.approx(5_000)


def test_a_larger_ceiling_takes_more_of_the_load() -> None:
    full = target("mt-full", "10.0.0.1", 45_000, 50_000, {"projects": 45_000}, {})
    large = target("mt-large", "10.0.0.3", 10_000, 100_000, {"projects": 10_000}, {})

    # 18,333 of 50,000 and 36,667 of 100,000 are equal shares.
    assert only(of_what_is_there([full, large]), "move").saves_iops == pytest.approx(26_667, abs=1)


def test_two_full_mount_targets_do_not_both_fill_the_third() -> None:
    loads = {"mt-a": 45_000, "mt-b": 45_000, "mt-c": 5_000}
    targets = [target(name, name, iops, 50_000, {"projects": iops}, {}) for name, iops in loads.items()]
    moves = of_what_is_there(targets)

    assert [change.saves_iops for change in moves] == pytest.approx([20_000, 10_000])
    assert "mt-a falls from 90% to 50%, mt-c rises from 10% to 50%" in moves[0].text
    assert "mt-b falls from 90% to 70%, mt-a rises from 50% to 70%" in moves[1].text


def test_load_moves_to_the_emptiest_of_several() -> None:
    loads = {"mt-a": 45_000, "mt-b": 20_000, "mt-c": 5_000}
    targets = [target(name, name, iops, 50_000, {"projects": iops}, {}) for name, iops in loads.items()]

    (first, *_) = of_what_is_there(targets)
    assert "from mt-a to mt-c" in first.text


def test_an_empty_mount_target_of_other_file_systems_does_not_hide_the_one_that_can_take_load() -> None:
    other = target("mt-other", "10.0.0.9", 0, 50_000, {"archive": 0}, {})

    assert "from mt-home to mt-spare" in only(of_what_is_there([HOME, SPARE, other]), "move").text


@pytest.mark.parametrize(("shared", "number"), [(99, 0), (100, 1)])
def test_a_move_of_a_small_file_system_is_left_out(shared: float, number: int) -> None:
    full = target("mt-home", "10.0.0.1", 45_000, 50_000, {"homes": 45_000 - shared, "projects": shared}, {})

    assert len(of_what_is_there([full, SPARE])) == number


def test_the_largest_clients_that_fit_are_named_first() -> None:
    clients = [
        MountLoad(name, "10.0.0.1", "/b", Traffic({"GETATTR": OperationTraffic(iops, Bounds.exact(iops))}))
        for name, iops in (("small", 4_000.0), ("large", 15_000.0), ("too-large", 21_000.0))
    ]

    assert "first large, small:" in only(of_what_is_there([HOME, SPARE], clients), "move").text


@pytest.mark.parametrize(
    "other",
    [
        target("mt", "10.0.0.9", 5_000, 50_000, {"other": 5_000}, {}),
        target("mt", "10.0.0.9", 40_000, 50_000, {"projects": 40_000}, {}),
        target("mt", "10.0.0.9", 5_000, 50_000, {"projects": 5_000}, {}, network="vcn-b"),
        target("mt", "10.0.0.9", None, 50_000, {"projects": 0}, {}, read_bytes=1e6),
    ],
    ids=["no shared file system", "shares are even", "another network", "its load is not known"],
)
def test_nothing_moves_where_it_would_not_help(other: TargetLoad) -> None:
    assert of_what_is_there([HOME, other]) == []


def test_small_transfers_save_what_the_same_bytes_cost_in_large_ones() -> None:
    reads = workload(Transfers(32_000, 32 * 1024), None, {})
    change = only(ranked([], [mount(reads, rsize=32 * 1024, wsize=1 << 20)], {}, PRICES), "transfer-size")

    assert change.saves_iops == pytest.approx(64_000 - 1_000 * 33)
    assert "without rsize=32768" in change.text


def test_a_program_that_reads_less_than_rsize_is_not_told_to_change_the_mount() -> None:
    reads = workload(Transfers(32_000, 32 * 1024), None, {})

    assert "transfer-size" not in kinds(reads, rsize=1 << 20)
    assert "transfer-size" not in kinds(reads, rsize=256 * 1024)


def test_a_stat_storm_saves_at_most_its_own_cost() -> None:
    traffic = workload(None, None, {"GETATTR": 3_000, "LOOKUP": 500, "CREATE": 100})
    change = only(ranked([], [mount(traffic)], {}, PRICES), "stat-storm")

    assert change.saves_iops == 4_000
    assert "4,000 of 4,400 IOPS" in change.computed


def test_a_storm_of_deletions_is_named_with_its_cost() -> None:
    traffic = workload(None, None, {"REMOVE": 1_000, "RMDIR": 50, "GETATTR": 100})

    assert only(ranked([], [mount(traffic)], {}, PRICES), "delete-storm").saves_iops == 8_200


def test_a_full_network_of_a_client_is_named() -> None:
    changes = ranked([], [], {"c1": (1.1e9, 1.25e9), "c2": (0.2e9, 1.25e9)}, PRICES)

    assert [(change.kind, change.client) for change in changes] == [("network", "c1")]
    assert "1,100 of 1,250 MB/s are used, 88%" in changes[0].text


def test_of_changes_at_one_price_the_one_that_saves_most_comes_first() -> None:
    deleting = mount(workload(None, None, {"REMOVE": 1_000}))

    assert [change.kind for change in ranked([HOME, SPARE], [deleting], {"c1": (1.2e9, 1.25e9)}, PRICES)] == [
        "move",
        "delete-storm",
        "mount-target",
        "network",
    ]


@pytest.mark.parametrize(
    ("operation", "per_second", "expected"),
    [
        ("GETATTR", 99, []),
        ("GETATTR", 100, ["stat-storm"]),
        ("REMOVE", 12, []),  # a REMOVE costs 8
        ("REMOVE", 12.5, ["delete-storm"]),
    ],
)
def test_a_change_that_saves_fewer_than_100_iops_is_left_out(
    operation: str, per_second: float, expected: list[str]
) -> None:
    assert kinds(workload(None, None, {operation: per_second})) == expected


@pytest.mark.parametrize(("of_the_other", "number"), [(35_001, 0), (35_000, 1)])
def test_shares_that_differ_by_20_percent_are_uneven(of_the_other: float, number: int) -> None:
    full = target("mt-a", "10.0.0.1", 45_000, 50_000, {"projects": 45_000}, {})
    other = target("mt-b", "10.0.0.2", of_the_other, 50_000, {"projects": of_the_other}, {})

    assert len(of_what_is_there([full, other])) == number


@pytest.mark.parametrize(
    ("per_second", "in_flight", "expected"),
    [
        (50, 1.0, ["serial"]),
        (49, 1.0, []),
        (50, 0.5, ["serial"]),
        (50, 0.49, []),
        (50, 1.5, ["serial"]),
        (50, 1.51, []),
    ],
)
def test_a_program_is_serial_with_one_request_in_flight_and_50_operations_a_second(
    per_second: float, in_flight: float, expected: list[str]
) -> None:
    traffic = Traffic({"COMMIT": OperationTraffic(per_second, Bounds.exact(per_second), execute_seconds=in_flight)})

    assert kinds(traffic) == expected


def test_the_figures_of_serial_work_follow_littles_law() -> None:
    """100 operations a second with 0.5 in flight take 5 ms each, so 16 at a time reach 3,200."""
    traffic = Traffic({"COMMIT": OperationTraffic(100, Bounds.exact(100), execute_seconds=0.5)})
    change = only(ranked([], [mount(traffic)], {}, PRICES), "serial")

    assert "up to 3,200 operations/s in place of 100" in change.text
    assert "0.5 requests in flight at 5.00 ms each" in change.computed


@pytest.mark.parametrize(("megabytes", "expected"), [(504, ["nconnect"]), (503, [])])
def test_a_connection_is_full_at_80_percent_of_its_window_in_each_round_trip(
    megabytes: float, expected: list[str]
) -> None:
    """A window of 3 MiB every 5 ms is 629 MB/s."""
    reads = OperationTraffic(megabytes, Bounds.exact(1), rtt_seconds=megabytes * 0.005)
    changes = ranked([], [mount(Traffic({"READ": reads}, read_bytes=megabytes * 1e6), nconnect=1)], {}, PRICES)

    assert [change.kind for change in changes] == expected
    assert kinds(Traffic({"READ": reads}, read_bytes=megabytes * 1e6), nconnect=4) == []
    in_a_second = OperationTraffic(10, Bounds.exact(1), rtt_seconds=10.0)
    assert kinds(Traffic({"READ": in_a_second}, read_bytes=0.8 * (3 << 20)), nconnect=1) == ["nconnect"]
    assert all("504 MB/s are 80% of one connection's window" in change.text for change in changes)
    assert all("a window of 3 MiB every 5.0 ms is 629 MB/s" in change.computed for change in changes)


def test_a_full_mount_target_is_never_without_an_advice() -> None:
    (change,) = advice([target("mt-alone", "10.0.0.9", 45_000, 50_000, {}, {})])

    assert (change.kind, change.relieves, change.usd_per_month) == ("mount-target", True, 0)
    assert "add a mount target of standard with the exports of mt-alone" in change.text
    assert "IOPS falls from 90% to 45% of each" in change.text
    assert advice([target("mt-alone", "10.0.0.9", 40_000, 50_000, {}, {})]) == []


def test_a_mount_target_whose_reads_are_full_may_also_become_larger_at_a_price() -> None:
    reads = target("mt-scratch", "10.0.0.9", 31_000, 50_000, {}, {}, read_bytes=0.93e9)
    more, larger = advice([reads])

    assert (more.kind, more.usd_per_month) == ("mount-target", 0)
    assert (larger.kind, larger.usd_per_month) == ("shape", 6_000)
    assert "change mt-scratch to hpmt-20: reads fall from 93% to 37%" in larger.text


def test_data_that_are_stored_already_make_the_larger_shape_cheaper() -> None:
    reads = target(
        "mt-scratch", "10.0.0.9", 31_000, 50_000, {}, {}, read_bytes=0.93e9, bill=DomainBill(stored_bytes=19e12)
    )

    assert only(advice([reads]), "shape").usd_per_month == pytest.approx(300)


def test_reads_that_are_full_move_as_well_as_iops() -> None:
    full = target("mt-a", "10.0.0.1", 30_000, 50_000, {"projects": 30_000}, {}, read_bytes=0.9e9)
    free = target("mt-b", "10.0.0.2", 3_000, 50_000, {"projects": 3_000}, {}, read_bytes=0.1e9)
    change = only(advice([full, free]), "move")

    assert "mt-a falls from 90% to 50%, mt-b rises from 10% to 50%" in change.text
    assert change.relieves


def test_what_brings_a_mount_target_below_80_percent_comes_before_what_saves_more() -> None:
    quiet = target("mt-quiet", "10.0.0.3", 30_000, 50_000, {"homes": 30_000}, {})
    rates = {"REMOVE": OperationTraffic(3_500, Bounds.exact(28_000))}
    storm = MountLoad("c1:10949", "10.0.0.3", "/a", Traffic(rates))
    changes = advice([HOME, SPARE, quiet], [storm])

    assert [(change.kind, change.mount_target) for change in changes] == [
        ("move", "mt-home"),
        ("mount-target", "mt-home"),
        ("delete-storm", "mt-quiet"),
    ]


def test_a_shape_without_a_price_comes_last_and_says_so() -> None:
    reads = target("mt-scratch", "10.0.0.9", 31_000, 50_000, {}, {}, read_bytes=0.93e9)

    assert [change.usd_per_month for change in ranked([reads], [], {}, {"standard": PRICES["standard"]})] == [0, None]
