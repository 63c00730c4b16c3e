"""Where clients and file systems go, so that each mount target stays below 80 % with the fewest moves."""

from collections.abc import Sequence
from itertools import combinations, product

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


def test_one_large_client_moves_and_not_many_small_ones_that_need_no_export() -> None:
    small = [("f", f"s{number}", 3.0) for number in range(10)]
    full = target("a", [("f", "large", 40), ("f", "middle", 35), *small])
    exporting = target("b", exports={"/f": "f"}, fixed=65)
    answer = placed([full, exporting, target("c")], STANDARD, 0, 0.8)
    assert moved(answer) == [("large", "c", 1.0)]


def test_a_large_fleet_gets_an_answer_in_seconds() -> None:
    fleet = [
        target(f"mt-{number:02}", [("f", f"c{number}-{client}", 3 + client % 7) for client in range(30)])
        for number in range(20)
    ]
    answer = placed(fleet, STANDARD, 100, 0.8)
    assert not answer.stuck
    assert all(share <= 0.8 + 1e-6 for share in shares(answer).values())


def fewest_moves(loads: Sequence[Sequence[int]], room: int) -> int | None:
    """The fewest moves of clients after which no mount target has more than `room`, by trying all. None if none suffice."""
    clients = [(source, size) for source, sizes in enumerate(loads) for size in sizes]
    for count in range(len(clients) + 1):
        for chosen in combinations(clients, count):
            for where in product(range(len(loads)), repeat=count):
                after = [sum(sizes) for sizes in loads]
                for (source, size), to in zip(chosen, where, strict=True):
                    after[source] -= size
                    after[to] += size
                if max(after) <= room:
                    return count
    return None


@given(st.lists(st.lists(st.integers(5, 60), max_size=3), min_size=1, max_size=3), st.integers(0, 1))
@example([[41, 40], [30, 25, 20]], 0)  # the second takes 40 and gives 30 to nobody
@example([[53, 32], [21, 47]], 0)  # the second takes 32 and gives 21 for it
@example([[20], [36, 48], [19, 50, 31]], 0)  # 31 goes to the second, which is too full before
def test_no_placement_of_clients_has_fewer_moves_or_new_mount_targets(loads: list[list[int]], most_new: int) -> None:
    assume(sum(map(len, loads)) <= 6)  # so many moves are all tried
    targets = [
        target(f"t{at}", [("f", f"{at}-{n}", size) for n, size in enumerate(own)], exports={"/f": "f"})
        for at, own in enumerate(loads)
    ]
    answer = placed(targets, STANDARD, most_new, 0.8)
    wanted = next(
        ((new, moves) for new in range(most_new + 1) if (moves := fewest_moves([*loads, *[[]] * new], 80)) is not None),
        None,
    )
    assert answer.is_fewest
    assert (None if answer.stuck else (sum(each.is_new for each in answer.targets), len(answer.moves))) == wanted


@given(st.lists(st.lists(st.integers(5, 60), max_size=6), min_size=1, max_size=5), st.integers(0, 2))
def test_after_the_moves_each_mount_target_is_below_the_bound_or_stuck(loads: list[list[int]], most_new: int) -> None:
    parts = [[("f", f"{at}-{n}", float(size)) for n, size in enumerate(own)] for at, own in enumerate(loads)]
    answer = placed([target(f"t{at}", own) for at, own in enumerate(parts)], STANDARD, most_new, 0.8)
    after = {f"t{at}": float(sum(sizes)) for at, sizes in enumerate(loads)}
    for move in answer.moves:
        amount = move.part.amounts.iops or 0.0
        after[move.source] -= amount
        after[move.target] = after.get(move.target, 0.0) + amount
    assert all(load <= 80 for name, load in after.items() if name not in answer.stuck)
    assert after == {each.name: each.load.iops for each in answer.targets if each.name in after}
    assert len({move.part.client for move in answer.moves}) == len(answer.moves)
