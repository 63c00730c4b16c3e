# SPDX-License-Identifier: Apache-2.0
"""What the person at the terminal asked `top` for: the table, its order, a text to look for, and the unit of bytes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from fss_exporter.model.state import State
from fss_exporter.web.status.rows import Quantity
from fss_toolbox.top.picture import KINDS, LoadPart, ShownTarget


class ByteUnit(NamedTuple):
    """A unit of bytes per second."""

    name: str
    bytes: float


BYTE_UNITS: Final = (ByteUnit("MB/s", 1e6), ByteUnit("MiB/s", 1 << 20), ByteUnit("Gbit/s", 1e9 / 8))


@dataclass(frozen=True, slots=True)
class View:
    """What the person at the terminal asked for."""

    target: str = ""  # key of the mount target that is open. Empty: all mount targets
    kind: str = KINDS[0]  # kind of the parts of the open mount target
    sorts: tuple[int, int] = (0, 0)  # position in `TARGET_SORTS` and in `PART_SORTS`
    search: str = ""  # only names with this text
    unit: ByteUnit = BYTE_UNITS[0]
    is_paused: bool = False

    def next_sort(self) -> "View":
        """Return the view with the next order of the present table."""
        of_targets, of_parts = self.sorts
        if self.target:
            return replace(self, sorts=(of_targets, (of_parts + 1) % len(PART_SORTS)))
        return replace(self, sorts=((of_targets + 1) % len(TARGET_SORTS), of_parts))

    def next_unit(self) -> "View":
        """Return the view with the next unit of bytes."""
        return replace(self, unit=BYTE_UNITS[(BYTE_UNITS.index(self.unit) + 1) % len(BYTE_UNITS)])

    @property
    def sort(self) -> str:
        """Name of the order of the present table."""
        return list(PART_SORTS)[self.sorts[1]] if self.target else list(TARGET_SORTS)[self.sorts[0]]


def _value(quantity: Quantity) -> Callable[[ShownTarget], float]:
    def value(target: ShownTarget) -> float:
        usage = target.usages.get(quantity)
        return -(usage.value if usage else -1.0)

    return value


def worst_first(target: ShownTarget) -> tuple[int, float, str]:
    """Return a key that puts the worst state first, and then the fullest ceiling."""
    return -target.state.state, -((target.fullest.ratio if target.fullest else None) or 0.0), target.row.shown_name


TARGET_SORTS: Final[Mapping[str, Callable[[ShownTarget], object]]] = {
    "state": worst_first,
    "IOPS": _value(Quantity.IOPS),
    "read": _value(Quantity.READ),
    "write": _value(Quantity.WRITE),
    "name": lambda target: target.row.shown_name,
}

# Orders of parts. The first depends on the ceiling that is fullest.
PART_SORTS: Final[Mapping[str, Callable[[LoadPart, Quantity], object]]] = {
    "state and share of the ceiling": lambda part, of: (
        *_worst_part_first(part),
        -(amount_of(part, of) or 0.0),
        -_cost(part),
    ),
    "IOPS": lambda part, _: -_cost(part),
    "operations": lambda part, _: -(part.operations or 0.0),
    "read": lambda part, _: -(part.read_bytes or 0.0),
    "write": lambda part, _: -(part.written_bytes or 0.0),
    "RTT": lambda part, _: -(part.rtt_seconds or 0.0),
    "name": lambda part, _: part.name,
}


def _worst_part_first(part: LoadPart) -> tuple[float, ...]:
    failed = part.failed if part.state is State.FAILING else None
    return -(part.state or State.FINE), -(part.waiting_seconds or 0.0), -(failed or 0.0)


def _cost(part: LoadPart) -> float:
    return part.iops.point if part.iops else part.operations or 0.0


def amount_of(part: LoadPart, quantity: Quantity) -> float | None:
    """Return what a part takes of a ceiling. None if it is not known."""
    match quantity:
        case Quantity.READ:
            return part.read_bytes
        case Quantity.WRITE:
            return part.written_bytes
        case Quantity.BOTH:
            amounts = [amount for amount in (part.read_bytes, part.written_bytes) if amount is not None]
            return sum(amounts) if amounts else None
        case _:
            return part.iops.point if part.iops else None
