# SPDX-License-Identifier: Apache-2.0
"""Place the clients of file systems on mount targets, so that the share of every known ceiling stays at or below a bound.

Each move takes from the fullest mount target what helps most at this moment. A new mount target is added where no present one
has room. Better placements can exist, so a placement has the least number of new mount targets that is proven to be needed.

A part of a load adds to a mount target what it takes from another one. Each mount target counts in its own busiest five
minutes, so the shares of a placement are at most these.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from fss_exporter.model.limits import ROUNDING, Limits
from fss_toolbox.sizing.uses import IOPS, READ_BANDWIDTH, WRITE_BANDWIDTH, even_move

_LEAST_SHARE: Final = 0.01  # of a part that is divided


class Amounts(NamedTuple):
    """A load, or the ceilings of a mount target, per second. None for an unknown figure."""

    iops: float | None
    read_bytes: float | None
    written_bytes: float | None

    @classmethod
    def ceilings(cls, limits: Limits, count: int = 1) -> "Amounts":
        """Return the ceilings of a number of mount targets together."""
        each = (limits.iops, limits.read_bytes_per_second, limits.write_bytes_per_second)
        return cls(*(None if ceiling is None else count * ceiling for ceiling in each))

    def plus(self, other: "Amounts", share: float = 1.0) -> "Amounts":
        """Return the load with a share of one more. A load is never below 0, as estimates of parts can exceed the whole."""
        return Amounts(
            *(
                None if own is None else max(0.0, own + share * (more or 0.0))
                for own, more in zip(self, other, strict=True)
            )
        )


_NOTHING: Final = Amounts(0.0, 0.0, 0.0)

RESOURCES: Final = (IOPS, READ_BANDWIDTH, WRITE_BANDWIDTH)  # names of the amounts, in their order


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

    moves: tuple[Move, ...] = ()
    targets: tuple[PlacedTarget, ...] = ()  # after the moves
    least_new: int = 0  # lower bound of the new mount targets that this load needs, however it is placed
    stuck: Mapping[str, str] = field(default_factory=dict)  # why a mount target stays above, by name

    @property
    def new(self) -> tuple[PlacedTarget, ...]:
        """The new mount targets."""
        return tuple(each for each in self.targets if each.is_new)


def placed(targets: Sequence[PlacedTarget], new: Amounts, most_new: int, most_share: float) -> Placement:
    """Return a placement of all zones up to `most_share` of each ceiling, with at most `most_new` mount targets with the ceilings `new`.

    Mount targets that no move brings down are in `stuck`, and the others are placed.
    """
    whole = Placement()
    for zone in sorted({each.zone for each in targets}):
        own = tuple(each for each in targets if each.zone == zone)
        spare = tuple(
            PlacedTarget(f"new-{number}", zone, new, _NOTHING, {}, is_new=True)
            for number in range(len(whole.new) + 1, most_new + 1)
        )
        answer = _placed_in_zone(own, spare, new, most_share)
        whole = Placement(
            whole.moves + answer.moves,
            whole.targets + answer.targets,
            whole.least_new + answer.least_new,
            {**whole.stuck, **answer.stuck},
        )
    return whole


def _placed_in_zone(
    own: tuple[PlacedTarget, ...], spare: tuple[PlacedTarget, ...], new: Amounts, most_share: float
) -> Placement:
    stuck: dict[str, str] = {}
    while True:
        least = _least_new(own, stuck, new, most_share)
        answer = _brought_down(Placement(targets=own, least_new=least, stuck=stuck), spare, most_share)
        if isinstance(answer, Placement):
            return answer
        stuck[answer] = _why_stuck(next(each for each in own if each.name == answer), most_share)


def _brought_down(start: Placement, spare: tuple[PlacedTarget, ...], most_share: float) -> Placement | str:
    """Return the placement after all moves, or the name of a mount target that no move brings down."""
    used = start.least_new  # each placement needs so many
    targets, moves = (*start.targets, *spare[:used]), []
    while full := _fullest((each for each in targets if each.name not in start.stuck), most_share):
        move = _best_move(full, targets, most_share)
        if move is None and used < len(spare):
            targets = (*targets, spare[used])
            used += 1
            move = _best_move(full, targets, most_share)
        if move is None:
            return full.name
        moves.append(move)
        targets = _after(targets, move)
    return replace(start, moves=tuple(moves), targets=targets)


def _least_new(targets: Sequence[PlacedTarget], stuck: Collection[str], new: Amounts, most_share: float) -> int:
    """Return new mount targets below which the load above `most_share` has no room, however it is placed.

    The load of the `stuck` mount targets stays.
    """
    least = 0
    for resource, ceiling_of_new in enumerate(new):
        excess = [(each, _excess(each, resource, most_share)) for each in targets]
        # A mount target whose ceilings or load are not known takes nothing.
        room = sum(max(0.0, -amount) for each, amount in excess if None not in each.shares)
        beyond = sum(max(0.0, amount) for each, amount in excess if each.name not in stuck) - room
        if ceiling_of_new:
            least = max(least, math.ceil(beyond / (most_share * ceiling_of_new) - ROUNDING))
    return least


def _excess(each: PlacedTarget, resource: int, most_share: float) -> float:
    """Return the load above a share of a ceiling, negative below it. 0 if one of them is not known."""
    load, ceiling = each.load[resource], each.ceilings[resource]
    return 0.0 if load is None or ceiling is None else load - most_share * ceiling


def _fullest(targets: Iterable[PlacedTarget], most_share: float) -> PlacedTarget | None:
    """Return the fullest mount target above a share. None without any."""
    return max(
        (each for each in targets if _is_above(each, most_share)), key=lambda each: each.share or 0.0, default=None
    )


def _is_above(each: PlacedTarget, most_share: float) -> bool:
    return (each.share or 0.0) > most_share * (1 + ROUNDING)


def _why_stuck(each: PlacedTarget, most_share: float) -> str:
    rest = each.load
    for part in each.parts:
        rest = rest.plus(part.amounts, -1.0)
    fixed = replace(each, load=rest)
    if _is_above(fixed, most_share):
        return f"{fixed.share:.0%} of a ceiling is load whose file system is not known"
    return "found no room for its clients in its network and availability domain"


def _best_move(full: PlacedTarget, targets: Sequence[PlacedTarget], most_share: float) -> Move | None:
    """Return the move that helps a mount target most. None without any.

    Of moves that suffice alone, one without a new export comes first, then one of a whole part. Otherwise the largest comes first.
    """
    resource = full.fullest

    def amount(move: Move) -> float:
        return move.amounts[resource] or 0.0

    moves = list(_moves(full, targets, most_share))
    enough = [move for move in moves if amount(move) >= _excess(full, resource, most_share * (1 + ROUNDING))]
    if enough:
        return min(enough, key=lambda move: (move.needs_export, move.share < move.part.remaining, -amount(move)))
    return max(moves, key=lambda move: (amount(move), not move.needs_export), default=None)


def _moves(full: PlacedTarget, targets: Sequence[PlacedTarget], most_share: float) -> Iterator[Move]:
    """Yield the moves of each part to the emptiest mount target with room, of those with an export of its file system and of others.

    New mount targets come after present ones. A part that can be divided needs room for a share of it.
    """
    may_take = (each for each in targets if None not in each.shares and not _is_above(each, most_share))
    takers = sorted(may_take, key=lambda each: (each.is_new, each.share))
    for part in full.parts:
        if not part.amounts[full.fullest]:
            continue
        for needs_export in (False, True):
            for taker in takers:
                if (part.file_system in taker.exports.values()) is not needs_export:
                    share = _movable_share(part, full, taker, most_share)
                    path = taker.path_of(part.file_system) or taker.free_path(full.path_of(part.file_system) or "/")
                    if share and path is not None:
                        yield Move(part, share * part.remaining, full.name, taker.name, path, needs_export)
                        break


def _movable_share(part: MovablePart, full: PlacedTarget, taker: PlacedTarget, most_share: float) -> float:
    """Return the share of a part to move: all of a client, or what makes both mount targets equally full. 0 without room."""
    resource, bound = full.fullest, most_share * (1 + ROUNDING)
    rooms = (-_excess(taker, at, bound) / amount for at, amount in enumerate(part.amounts) if amount)
    room, amount = min(rooms, default=0.0), part.amounts[resource] or 0.0
    if room < (1.0 if part.client else _LEAST_SHARE):
        return 0.0
    if part.client:
        return 1.0
    load, ceiling = full.load[resource] or 0.0, full.ceilings[resource] or math.inf
    even = even_move(load, ceiling, taker.load[resource] or 0.0, taker.ceilings[resource] or 0.0)
    wanted = max(even, _excess(full, resource, bound)) / amount
    return min(1.0, math.ceil(wanted * 100) / 100, math.floor(room * 100) / 100)


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
