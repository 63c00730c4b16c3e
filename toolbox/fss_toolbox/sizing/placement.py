# SPDX-License-Identifier: Apache-2.0
"""Place the clients of file systems on mount targets, so that the share of every known ceiling stays at or below a bound.

First as few new mount targets as possible, then as few moves. The search tries every placement with few moves, also those in which
a mount target takes a part and gives another one for it. A large fleet ends the search early: then each move takes the largest part
that fits, and the moves may be more than the fewest.

A part of a load adds to a mount target what it takes from another one. Each mount target counts in its own busiest five
minutes, so the shares of a placement are at most these.
"""

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from fss_exporter.model.limits import ROUNDING

_MOST_TRIES: Final = 300_000  # pairs of a part and a mount target that one search looks at, about a second of a CPU
_MOVES_TRIED: Final = 6  # moves up to which every placement is tried. More take too long
_LEAST_SHARE: Final = 0.01  # of a part that is divided


class Amounts(NamedTuple):
    """A load, or the ceilings of a mount target, per second. None for an unknown figure."""

    iops: float | None
    read_bytes: float | None
    written_bytes: float | None

    def plus(self, other: "Amounts", share: float = 1.0) -> "Amounts":
        """Return the load with a share of one more. A load is never below 0, as estimates of parts can exceed the whole."""
        return Amounts(
            *(
                None if own is None else max(0.0, own + share * (more or 0.0))
                for own, more in zip(self, other, strict=True)
            )
        )


_NOTHING: Final = Amounts(0.0, 0.0, 0.0)

RESOURCES: Final = ("IOPS", "read bandwidth", "write bandwidth")  # names of the amounts, in their order


@dataclass(frozen=True, slots=True)
class MovablePart:
    """A load that can move: of one client on a file system, or of all other clients of the file system together."""

    file_system: str  # OCID
    client: str  # empty for the clients that are not scraped. Only these can be divided
    amounts: Amounts  # of the remaining clients, all of them known
    remaining: float = 1.0  # share of the clients that has not moved


@dataclass(frozen=True, slots=True)
class PlacedTarget:
    """A mount target with its load. Mount targets of one `zone` can take over from each other."""

    name: str
    zone: tuple[str, ...]  # network and availability domain
    ceilings: Amounts
    load: Amounts
    exports: Mapping[str, str]  # OCID of the file system by path
    parts: tuple[MovablePart, ...] = ()
    is_new: bool = False

    @property
    def share(self) -> float | None:
        """Share of the fullest ceiling. None if no share is known."""
        return max((share for share in self.shares if share is not None), default=None)

    @property
    def fullest(self) -> int:
        """Place of the fullest ceiling in `RESOURCES`."""
        return max(range(len(RESOURCES)), key=lambda at: self.shares[at] or 0.0)

    @property
    def shares(self) -> tuple[float | None, ...]:
        """Share of each ceiling. None if the load or the ceiling is not known."""
        return tuple(
            load / ceiling if load is not None and ceiling else None
            for load, ceiling in zip(self.load, self.ceilings, strict=True)
        )

    def path_of(self, file_system: str) -> str | None:
        """Return the path of the export of a file system. None without an export."""
        return next((path for path, ocid in self.exports.items() if ocid == file_system), None)

    def free_path(self, path: str) -> str | None:
        """Return the path of a further export, or one like it. None if OCI takes no other one (CreateExport)."""
        # No path may contain all elements of another one.
        own = path.rstrip("/") or "/export"
        tries = (path, *(f"{own}-{number}" for number in range(2, len(self.exports) + 3)))
        return next((free for free in tries if not any(_nested(free, other) for other in self.exports)), None)


def _nested(path: str, other: str) -> bool:
    first, second = f"{path.rstrip('/')}/", f"{other.rstrip('/')}/"
    return first.startswith(second) or second.startswith(first)


@dataclass(frozen=True, slots=True)
class Move:
    """A part of a load that changes its mount target."""

    part: MovablePart
    share: float  # of all clients of the part, above 0 and up to 1
    source: str
    target: str
    path: str  # of the export on the target
    needs_export: bool  # whether the target does not export the file system yet

    @property
    def amounts(self) -> Amounts:
        """The load that moves."""
        return _NOTHING.plus(self.part.amounts, self.share / self.part.remaining)


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the load goes."""

    moves: tuple[Move, ...]
    targets: tuple[PlacedTarget, ...]  # after the moves
    is_fewest: bool = True  # whether neither fewer new mount targets nor fewer moves are enough
    stuck: Mapping[str, str] = field(default_factory=dict)  # why a mount target stays above, by name


def placed(targets: Sequence[PlacedTarget], new: Amounts, most_new: int, most_share: float) -> Placement:
    """Return the placement of all zones up to `most_share` of each ceiling, with at most `most_new` mount targets with the ceilings `new`.

    Mount targets that no move brings down are in `stuck`, and the others are placed.
    """
    whole = Placement((), ())
    for zone in sorted({each.zone for each in targets}):
        own = tuple(each for each in targets if each.zone == zone)
        used = sum(each.is_new for each in whole.targets)
        answer = _placed_in_zone(own, new, range(used + 1, most_new + 1), most_share)
        whole = Placement(
            whole.moves + answer.moves,
            whole.targets + answer.targets,
            whole.is_fewest and answer.is_fewest,
            {**whole.stuck, **answer.stuck},
        )
    return whole


def _placed_in_zone(own: tuple[PlacedTarget, ...], new: Amounts, numbers: range, most_share: float) -> Placement:
    def new_target(number: int) -> PlacedTarget:
        return PlacedTarget(f"new-{number}", own[0].zone, new, _NOTHING, {}, is_new=True)

    homes = [_emptied(each) for each in (*own, *map(new_target, numbers[:1])) if None not in each.shares]
    movable = tuple(_with_movable_parts(each, homes, most_share) for each in own)
    stuck = {each.name: reason for each in own if (reason := _why_stuck(each, most_share))}
    is_fewest = True
    while True:
        full = [each for each in movable if each.name not in stuck and _is_above(each, most_share)]
        # With one for each client, and with one for each share of the other clients, no other one would help.
        most = sum(math.ceil((each.share or 0.0) / most_share) + len(each.parts) for each in full)
        least = _least_new(full, [each for each in movable if each not in full], new, most_share)
        for count in range(least, min(most, len(numbers)) + 1):
            search = _Search(most_share, frozenset(stuck))
            answer = search.answer((*movable, *map(new_target, numbers[:count])))
            is_fewest = is_fewest and search.is_whole
            if answer:
                return replace(answer, stuck=stuck, is_fewest=is_fewest)
        fullest = max(full, key=lambda each: each.share or 0.0)
        stuck[fullest.name] = "no mount target of its network and availability domain has room for its clients"


def _least_new(full: Sequence[PlacedTarget], others: Sequence[PlacedTarget], new: Amounts, most_share: float) -> int:
    """Return new mount targets below which the load has no room, however it is placed."""
    least = 0
    for resource in range(len(RESOURCES)):
        room = sum(
            max(0.0, most_share * (each.ceilings[resource] or 0.0) - (each.load[resource] or 0.0)) for each in others
        )
        excess = sum(
            (each.load[resource] or 0.0) - most_share * ceiling
            for each in full
            if (ceiling := each.ceilings[resource]) is not None and (each.load[resource] or 0.0) > most_share * ceiling
        )
        if ceiling_of_new := new[resource]:
            least = max(least, math.ceil((excess - room) / (most_share * ceiling_of_new) - ROUNDING))
    return least


def _with_movable_parts(each: PlacedTarget, homes: Sequence[PlacedTarget], most_share: float) -> PlacedTarget:
    """Return the mount target without the clients that are too large for each of the empty `homes`."""

    def fits(part: MovablePart) -> bool:
        return not part.client or any(
            not _is_above(replace(home, load=home.load.plus(part.amounts)), most_share) for home in homes
        )

    return replace(each, parts=tuple(filter(fits, each.parts)))


def _is_above(each: PlacedTarget, most_share: float) -> bool:
    return (each.share or 0.0) > most_share * (1 + ROUNDING)


def _why_stuck(each: PlacedTarget, most_share: float) -> str:
    """Return why no moves bring a mount target down. Empty if some can, or if it is not too full."""
    if not _is_above(each, most_share):
        return ""
    fixed = _emptied(each)
    if _is_above(fixed, most_share):
        return f"{fixed.share:.0%} of a ceiling is load whose file system is not known"
    return ""


def _emptied(each: PlacedTarget) -> PlacedTarget:
    """Return the mount target without the load that can move."""
    rest = each.load
    for part in each.parts:
        rest = rest.plus(part.amounts, -1.0)
    return replace(each, load=rest)


class _Search:
    """One search. `stuck` are the mount targets that may stay above the bound.

    Attributes:
        is_whole: whether every placement with fewer moves than the answer was tried.
    """

    def __init__(self, most_share: float, stuck: frozenset[str]) -> None:
        self._most_share = most_share * (1 + ROUNDING)
        self._stuck = stuck
        self._tries = 0
        self._needs_more = False  # whether more moves than allowed could have been enough
        self.is_whole = True

    def answer(self, targets: tuple[PlacedTarget, ...]) -> Placement | None:
        """Return the placement with the fewest moves, or one with few where the search is too long. None without any."""
        if self._least_moves(targets) == math.inf:
            return None
        best = self._straight(targets)
        for may_swap in (False, True):
            best = self._with_fewer_moves(targets, best, may_swap=may_swap) or best
        return best

    def _with_fewer_moves(
        self, targets: tuple[PlacedTarget, ...], best: Placement | None, *, may_swap: bool
    ) -> Placement | None:
        """Return the placement with the fewest moves, if these are fewer than those of the best one. None without any."""
        self.is_whole = True
        least = int(self._least_moves(targets))
        for moves in range(least, len(best.moves) if best else sys.maxsize):
            if moves > _MOVES_TRIED:
                self.is_whole = False
                break
            self._needs_more = False
            if found := self._moved(targets, moves, may_swap=may_swap):
                return found
            if not self._needs_more:
                break
        return None

    def _moved(self, targets: tuple[PlacedTarget, ...], left: int, *, may_swap: bool) -> Placement | None:
        """Return a placement with at most `left` moves. None if these do not suffice."""
        full = self._fullest(targets)
        if full is None:
            return Placement((), targets)
        if self._least_moves(targets) > left:
            self._needs_more = True
            return None
        if self._tries > _MOST_TRIES:
            self.is_whole = False
            return None
        self._tries += len(full.parts) * len(targets)
        for move in self._candidates(full, targets, may_swap=may_swap):
            if found := self._moved(_after(targets, move), left - 1, may_swap=may_swap):
                return Placement((move, *found.moves), found.targets)
        return None

    def _straight(self, targets: tuple[PlacedTarget, ...]) -> Placement | None:
        """Return the moves of which each is the best of its moment. None if these do not suffice."""
        moves: list[Move] = []
        while full := self._fullest(targets):
            move = next(iter(self._candidates(full, targets)), None)
            if move is None:
                return None
            moves.append(move)
            targets = _after(targets, move)
        return Placement(tuple(moves), targets)

    def _fullest(self, targets: Sequence[PlacedTarget]) -> PlacedTarget | None:
        over = [each for each in targets if self._is_over(each)]
        return max(over, key=lambda each: each.share or 0.0, default=None)

    def _is_over(self, each: PlacedTarget) -> bool:
        return each.name not in self._stuck and (each.share or 0.0) > self._most_share

    def _least_moves(self, targets: Sequence[PlacedTarget]) -> float:
        """Return moves below which no placement is possible: the largest parts of each too full mount target."""
        return sum(
            max(self._least_of(each, resource) for resource in range(len(RESOURCES)))
            for each in targets
            if self._is_over(each)
        )

    def _least_of(self, full: PlacedTarget, resource: int) -> float:
        excess = self._excess(full, resource)
        for count, part in enumerate(sorted(full.parts, key=lambda part: -(part.amounts[resource] or 0.0))):
            if excess <= 0:
                return count
            excess -= part.amounts[resource] or 0.0
        return len(full.parts) if excess <= 0 else math.inf

    def _excess(self, full: PlacedTarget, resource: int) -> float:
        load, ceiling = full.load[resource], full.ceilings[resource]
        return 0.0 if load is None or ceiling is None else load - self._most_share * ceiling

    def _candidates(
        self, full: PlacedTarget, targets: Sequence[PlacedTarget], *, may_swap: bool = False
    ) -> Iterator[Move]:
        """Yield moves off a mount target: first those that suffice alone, then those of the largest part, then swaps."""
        resource = full.fullest
        excess = self._excess(full, resource)
        takers = [other for other in self._takers(targets) if other.name != full.name]

        def amount(of: MovablePart | Move) -> float:
            return of.amounts[resource] or 0.0

        enough: list[Move] = []
        others: list[Move] = []
        by_amount = sorted(full.parts, key=amount, reverse=True)
        large = [part for part in by_amount if amount(part) >= excess]
        for part in large:
            for move in self._moves(part, full, takers, resource):
                (enough if amount(move) >= excess else others).append(move)
        # Without a new export, then whole parts.
        yield from sorted(enough, key=lambda move: (move.needs_export, move.share < move.part.remaining, -amount(move)))
        yield from sorted(others, key=amount, reverse=True)
        for part in by_amount[len(large) :]:
            yield from sorted(self._moves(part, full, takers, resource), key=lambda move: move.needs_export)
        if may_swap:
            for part in by_amount:
                yield from self._swaps(part, full, targets)

    def _takers(self, targets: Sequence[PlacedTarget]) -> Iterator[PlacedTarget]:
        """Yield the mount targets that can take load, the emptiest first. Of empty new ones, which are alike, the first."""
        has_new = False
        for other in sorted(targets, key=lambda each: (each.is_new, each.share or 0.0)):
            is_empty_new = other.is_new and not other.exports
            if None in other.shares or (other.share or 0.0) > self._most_share or (is_empty_new and has_new):
                continue
            has_new = has_new or is_empty_new
            yield other

    def _moves(
        self, part: MovablePart, full: PlacedTarget, takers: Sequence[PlacedTarget], resource: int
    ) -> Iterator[Move]:
        """Yield the moves of a part to each mount target that has room for it, or for a share of it if it can be divided."""
        amount = part.amounts[resource] or 0.0
        for other in takers:
            room = self._room(part, other)
            if amount and room >= (1.0 if part.client else _LEAST_SHARE):
                share = 1.0 if part.client else self._divided(full, other, resource, amount, room)
                yield from _to(part, share * part.remaining, full, other)

    def _swaps(self, part: MovablePart, full: PlacedTarget, targets: Sequence[PlacedTarget]) -> Iterator[Move]:
        """Yield the moves of a client to mount targets that have room only after they give parts of their own."""
        if not part.client:
            return
        for other in targets:
            may_give = other.parts and other.name not in {full.name, *self._stuck}
            if (
                may_give
                and None not in other.shares
                and self._room(part, other) < 1 <= self._room(part, _emptied(other))
            ):
                yield from _to(part, 1.0, full, other)

    def _room(self, part: MovablePart, other: PlacedTarget) -> float:
        """Return how often a part fits into what a mount target has left."""
        rooms = (
            (self._most_share * ceiling - load) / amount
            for amount, load, ceiling in zip(part.amounts, other.load, other.ceilings, strict=True)
            if amount and load is not None and ceiling is not None
        )
        return min(rooms, default=0.0)

    def _divided(self, full: PlacedTarget, other: PlacedTarget, resource: int, amount: float, room: float) -> float:
        """Return the share of a part that makes both mount targets equally full, in whole per cent, within the room."""
        load, ceiling = full.load[resource] or 0.0, full.ceilings[resource] or math.inf
        also, other_ceiling = other.load[resource] or 0.0, other.ceilings[resource] or 0.0
        even = (load * other_ceiling - also * ceiling) / (ceiling + other_ceiling) / amount
        wanted = max(even, self._excess(full, resource) / amount)
        return min(1.0, math.ceil(wanted * 100) / 100, math.floor(room * 100) / 100)


def _to(part: MovablePart, share: float, full: PlacedTarget, other: PlacedTarget) -> Iterator[Move]:
    """Yield the move of a share of a part. Nothing if its file system can have no export there."""
    present = other.path_of(part.file_system)
    path = present or other.free_path(full.path_of(part.file_system) or "/")
    if path is not None:
        yield Move(part, share, full.name, other.name, path, needs_export=present is None)


def _after(targets: Sequence[PlacedTarget], move: Move) -> tuple[PlacedTarget, ...]:
    """Return the mount targets after a move. A part that moved does not move again."""
    after = []
    for each in targets:
        if each.name == move.source:
            rest = [part for part in each.parts if part is not move.part]
            if move.share < move.part.remaining:
                left = move.part.amounts.plus(move.amounts, -1.0)
                rest.append(replace(move.part, amounts=left, remaining=move.part.remaining - move.share))
            after.append(replace(each, load=each.load.plus(move.amounts, -1.0), parts=tuple(rest)))
        elif each.name == move.target:
            exports = {**each.exports, move.path: move.part.file_system}
            after.append(replace(each, load=each.load.plus(move.amounts), exports=exports))
        else:
            after.append(each)
    return tuple(after)
