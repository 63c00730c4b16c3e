"""Where clients and file systems go, so that each mount target stays below 80 % with few moves."""

from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import assume, example, given, strategies as st

from fss_toolbox.sizing.placement import Amounts, MovablePart, PlacedTarget, Placement, placed

STANDARD = Amounts(100.0, 100.0, 100.0)
HPMT = Amounts(None, 250.0, None)
ZONE = ("vcn", "AD-1")


def amounts(iops: float) -> Amounts:
    return Amounts(float(iops), 0.0, 0.0)


def target(
    name: str,
    parts: Sequence[tuple[str, str, float]] = (),
    *,
    zone: tuple[str, ...] = ZONE,
    ceilings: Amounts = STANDARD,
    fixed: float = 0.0,
    exports: dict[str, str] | None = None,
) -> PlacedTarget:
    """A mount target whose parts are file system, client and IOPS. Each file system is exported as `/NAME`."""
    own = tuple(MovablePart(file_system, client, amounts(iops)) for file_system, client, iops in parts)
    paths = {f"/{part.file_system}": part.file_system for part in own} if exports is None else exports
    load = amounts(sum(iops for _, _, iops in parts) + fixed)
    return PlacedTarget(name, zone, ceilings, load, paths, own)


def moved(answer: Placement) -> list[tuple[str, str, float]]:
    return [(move.part.client or move.part.file_system, move.target, move.share) for move in answer.moves]


def shares(answer: Placement) -> dict[str, float]:
    return {each.name: each.share or 0.0 for each in answer.targets}


def test_a_mount_target_whose_ceilings_are_not_known_takes_no_load() -> None:
    answer = placed([target("full", [("a", "c1", 90)]), target("big", ceilings=HPMT)], STANDARD, 0, 0.8)
    assert answer.moves == ()
    assert answer.stuck.keys() == {"full"}


def test_a_mount_target_whose_load_is_not_known_takes_no_load() -> None:
    unknown = PlacedTarget("dark", ZONE, STANDARD, Amounts(None, 0.0, 0.0), {})
    answer = placed([target("full", [("a", "c1", 50), ("a", "c2", 45)]), unknown], STANDARD, 1, 0.8)
    assert moved(answer) == [("c1", "new-1", 1.0)]


def test_load_whose_file_system_is_not_known_does_not_move() -> None:
    answer = placed([target("full", [("a", "c1", 10)], fixed=85), target("free")], STANDARD, 5, 0.8)
    assert answer.moves == ()
    assert answer.stuck == {"full": "85% of a ceiling is load whose file system is not known"}


def test_a_client_that_fits_nowhere_stays_and_the_others_are_placed() -> None:
    full = target("full", [("a", "c1", 50), ("a", "c2", 40)], zone=("vcn", "AD-2"))
    answer = placed([target("giant", [("b", "c3", 130)]), full], STANDARD, 3, 0.8)
    assert answer.stuck.keys() == {"giant"}
    assert moved(answer) == [("c1", "new-1", 1.0)]


def test_load_stays_in_its_network_and_availability_domain() -> None:
    elsewhere = [target("b", zone=("vcn", "AD-2")), target("c", zone=("other", "AD-1"))]
    answer = placed([target("a", [("f", "c1", 45), ("f", "c2", 45)]), *elsewhere], STANDARD, 1, 0.8)
    assert moved(answer) == [("c1", "new-1", 1.0)]


@pytest.mark.parametrize(("most_new", "stuck"), [(2, set()), (1, {"b"})])
def test_all_networks_together_get_at_most_so_many_new_mount_targets(most_new: int, stuck: set[str]) -> None:
    full = [target(name, [("f", f"{name}1", 45), ("f", f"{name}2", 45)], zone=("vcn", name)) for name in "ab"]
    answer = placed(full, STANDARD, most_new, 0.8)
    new = [each.name for each in answer.targets if each.is_new]
    assert (new, set(answer.stuck)) == ([f"new-{number}" for number in range(1, most_new + 1)], stuck)


def test_nothing_moves_where_each_is_at_the_target() -> None:
    assert placed([target("a", [("f", "c", 80)]), target("b")], STANDARD, 5, 0.8).moves == ()


def test_a_mount_target_that_exports_the_file_system_comes_first() -> None:
    exporting = target("b", exports={"/other/way": "f"}, fixed=20)
    answer = placed([target("a", [("f", "c1", 45), ("f", "c2", 45)]), exporting, target("c")], STANDARD, 5, 0.8)
    (move,) = answer.moves
    assert (move.target, move.path, move.needs_export) == ("b", "/other/way", False)


@pytest.mark.parametrize(
    ("path", "there", "free"),
    [
        ("/a", {}, "/a"),
        ("/a", {"/a": "x"}, "/a-2"),
        ("/a", {"/a": "x", "/a-2": "y"}, "/a-3"),
        ("/a/b", {"/a": "x"}, None),
        ("/a", {"/a/b": "x"}, "/a-2"),
        ("/a", {"/ab": "x"}, "/a"),
        ("/", {"/a": "x"}, "/export-2"),
        ("/a", {"/": "x"}, None),
    ],
)
def test_no_export_contains_the_path_of_another_one(path: str, there: dict[str, str], free: str | None) -> None:
    assert target("a", exports=there).free_path(path) == free


def test_clients_that_are_not_scraped_are_divided_so_that_both_are_equally_full() -> None:
    answer = placed([target("a", [("f", "", 90)]), target("b", fixed=10)], STANDARD, 5, 0.8)
    assert moved(answer) == [("f", "b", 0.45)]
    assert shares(answer) == pytest.approx({"a": 0.495, "b": 0.505})


def test_a_file_system_of_three_mount_targets_is_divided_twice() -> None:
    answer = placed([target("a", [("f", "", 210)])], STANDARD, 5, 0.8)
    assert [move.target for move in answer.moves] == ["new-1", "new-2"]
    assert all(share <= 0.8 for share in shares(answer).values())
    assert sum(shares(answer).values()) == pytest.approx(2.1)
    assert sum(move.amounts.iops or 0.0 for move in answer.moves) == pytest.approx(
        210 - (answer.targets[0].load.iops or 0.0)
    )


def test_every_resource_stays_below_its_ceiling() -> None:
    reads = MovablePart("f", "reader", Amounts(10.0, 70.0, 0.0))
    writes = MovablePart("f", "writer", Amounts(75.0, 0.0, 10.0))
    full = PlacedTarget("full", ZONE, STANDARD, Amounts(85.0, 70.0, 10.0), {"/f": "f"}, (reads, writes))
    busy = PlacedTarget("busy", ZONE, STANDARD, Amounts(50.0, 0.0, 0.0), {"/f": "f"})
    answer = placed([full, busy], STANDARD, 0, 0.8)
    assert moved(answer) == [("reader", "busy", 1.0)]


def test_a_mount_target_above_one_ceiling_takes_no_load_of_another_resource() -> None:
    readers = (MovablePart("f", "r1", Amounts(0.0, 50.0, 0.0)), MovablePart("f", "r2", Amounts(0.0, 40.0, 0.0)))
    full = PlacedTarget("full", ZONE, STANDARD, Amounts(0.0, 90.0, 0.0), {"/f": "f"}, readers)
    answer = placed([full, target("busy", fixed=90)], STANDARD, 1, 0.8)
    assert moved(answer) == [("r1", "new-1", 1.0)]


def test_clients_without_a_share_of_the_fullest_ceiling_stay() -> None:
    clients = (MovablePart("f", "c1", amounts(50)), MovablePart("f", "c2", amounts(45)))
    readers = MovablePart("g", "", Amounts(0.0, 50.0, 0.0))
    full = PlacedTarget("full", ZONE, STANDARD, Amounts(95.0, 50.0, 0.0), {"/f": "f", "/g": "g"}, (*clients, readers))
    assert placed([full, target("b", [("h", "c3", 60)])], STANDARD, 0, 0.8).moves == ()


def test_no_share_moves_where_less_than_one_per_cent_has_room() -> None:
    answer = placed([target("a", [("f", "", 90)]), target("b", fixed=79.7)], STANDARD, 0, 0.8)
    assert answer.stuck.keys() == {"a"}


def test_one_large_client_moves_and_not_many_small_ones_that_need_no_export() -> None:
    small = [("f", f"s{number}", 3.0) for number in range(10)]
    full = target("a", [("f", "large", 40), ("f", "middle", 35), *small])
    exporting = target("b", exports={"/f": "f"}, fixed=65)
    answer = placed([full, exporting, target("c")], STANDARD, 0, 0.8)
    assert moved(answer) == [("large", "c", 1.0)]


def test_each_client_gets_a_mount_target_of_its_own_where_no_two_fit_on_one() -> None:
    answer = placed([target("full", [("f", f"c{number}", 41) for number in range(7)])], STANDARD, 100, 0.8)
    assert not answer.stuck
    assert (answer.least_new, len(answer.new), len(answer.moves)) == (3, 6, 6), "all load needs 3.6 of 80"


Loads = list[list[tuple[int, int]]]  # IOPS and bytes read of each client of each mount target
LOADS = st.lists(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=3), min_size=1, max_size=3)


def load_of(clients: Sequence[tuple[int, int]]) -> Amounts:
    return Amounts(float(sum(iops for iops, _ in clients)), float(sum(read for _, read in clients)), 0.0)


def fleet_of(loads: Loads) -> list[PlacedTarget]:
    """A mount target for each list of clients. All clients use one file system."""
    parts = [
        tuple(MovablePart("f", f"{at}-{n}", load_of([client])) for n, client in enumerate(own))
        for at, own in enumerate(loads)
    ]
    return [
        PlacedTarget(f"t{at}", ZONE, STANDARD, load_of(own), {"/f": "f"}, parts[at]) for at, own in enumerate(loads)
    ]


def needed(loads: Loads, most_new: int) -> int | None:
    """The new mount targets without which no placement has at most 80 everywhere, by trying all. None if `most_new` are too few."""
    clients = [client for own in loads for client in own]
    for new in range(most_new + 1):
        for where in product(range(len(loads) + new), repeat=len(clients)):
            sums = [[0, 0] for _ in range(len(loads) + new)]
            for client, at in zip(clients, where, strict=True):
                sums[at] = [total + amount for total, amount in zip(sums[at], client, strict=True)]
            if max(map(max, sums)) <= 80:
                return new
    return None


@given(LOADS, st.integers(0, 2))
@example([[(60, 0), (60, 0)], [(0, 60), (0, 60)]], 1)  # each takes a client of the other, after it has given one
def test_no_placement_needs_fewer_new_mount_targets_than_the_least(loads: Loads, most_new: int) -> None:
    assume(sum(map(len, loads)) <= 5)  # so many are all tried
    answer, fewest = placed(fleet_of(loads), STANDARD, most_new, 0.8), needed(loads, most_new)
    assert fewest is not None or answer.stuck
    assert answer.least_new <= (len(answer.new) if fewest is None else fewest)


@given(LOADS, st.integers(0, 2))
def test_after_the_moves_each_mount_target_is_below_the_bound_or_stuck(loads: Loads, most_new: int) -> None:
    answer = placed(fleet_of(loads), STANDARD, most_new, 0.8)
    after = {f"t{at}": load_of(own) for at, own in enumerate(loads)}
    for move in answer.moves:
        after[move.source] = after[move.source].plus(move.part.amounts, -1.0)
        after[move.target] = after.get(move.target, Amounts(0.0, 0.0, 0.0)).plus(move.part.amounts)
    assert all(max(filter(None, load), default=0.0) <= 80 for name, load in after.items() if name not in answer.stuck)
    assert after == {each.name: each.load for each in answer.targets if each.name in after}
    assert len({move.part.client for move in answer.moves}) == len(answer.moves)
    assert answer.stuck.keys().isdisjoint(
        {move.target for move in answer.moves} | {move.source for move in answer.moves}
    )
