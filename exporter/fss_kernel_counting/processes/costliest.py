# SPDX-License-Identifier: Apache-2.0
"""The processes or jobs with the highest cost of each address, in a bounded number of series, now and over time.

Each address has N rows and the row `other`. Three rules keep every counter growing and `increase()` right:

- A process enters if a row is free, or if the process costs twice as much as the cheapest row. The new row starts at 0.
- A row leaves after an hour without load, or for a more expensive process. At most N rows an hour leave for another process.
- The counts of a leaving row end with the series. The counts never move to `other`, because a server has already seen the
  counts, and a jump of `other` would count them twice.

So rates and increases over all rows of an address are right for the address. The sum of the counters has no meaning.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

Labels = tuple[str, ...]  # Labels of a process or a job

IDLE_SECONDS: Final = 3600.0  # A row without load for so long leaves

HALF_LIFE_SECONDS: Final = 600.0  # What a load counts for the order of the rows halves in this time

_DEARER: Final = 2.0
_OUTSIDERS_A_ROW: Final = 20


class Amount(NamedTuple):
    """A load added up."""

    operations: int = 0  # NFS calls
    io_operations: float = 0.0  # mount-target I/O operations; 0 where the service publishes no cost
    read_bytes: int = 0  # requested by READs
    written_bytes: int = 0  # sent by WRITEs

    def plus(self, other: "Amount") -> "Amount":
        """Add two amounts."""
        return Amount(
            self.operations + other.operations,
            self.io_operations + other.io_operations,
            self.read_bytes + other.read_bytes,
            self.written_bytes + other.written_bytes,
        )

    @property
    def weight(self) -> float:
        """Return the sort value of a row: the cost, or the calls if the service publishes no cost."""
        return self.io_operations or float(self.operations)


NO_AMOUNT: Final = Amount()


@dataclass(slots=True)
class TopRow:
    """A process with its own series."""

    total: Amount  # since the row began
    weight: float  # sum of the weights of all loads, each halved every `HALF_LIFE_SECONDS`
    began_at: float
    busy_at: float  # last time with load
    answers: int = 0  # answers to servers so far; a new row shows zeros in its first


@dataclass(slots=True)
class TopOfAddress:
    """The rows of one address."""

    rows: dict[Labels, TopRow] = field(default_factory=dict)  # processes with series of their own
    other: Amount = NO_AMOUNT  # all others
    priced: bool = False  # whether the service behind the address publishes what operations cost
    outsiders: dict[Labels, float] = field(default_factory=dict)  # faded weights of processes without a row
    replacements: float = 0.0  # rows that may leave for another process now
    mounted_at: float = 0.0  # last time with a mount


class TopLoads:
    """Rows by address, at most `most` rows of an address beside `other`."""

    def __init__(self, most: int) -> None:
        self.addresses: dict[str, TopOfAddress] = {}
        self._most = most
        self._at: float | None = None

    def add(self, loads: Mapping[str, Mapping[Labels | None, Amount]], priced: Mapping[str, bool], now: float) -> None:
        """Add one interval. A load of None never gets a row of its own.

        `priced` says for each address of a mount whether the service publishes costs.
        """
        seconds = 0.0 if self._at is None else now - self._at
        self._at = now
        for name, has_cost in priced.items():
            top = self.addresses.setdefault(name, TopOfAddress(replacements=float(self._most), mounted_at=now))
            top.priced, top.mounted_at = has_cost, now
        for name, top in list(self.addresses.items()):
            amounts = {who: amount for who, amount in loads.get(name, {}).items() if who is not None}
            top.other = top.other.plus(loads.get(name, {}).get(None, NO_AMOUNT))
            self._age(top, amounts, seconds, now)
            self._take(top, amounts, now)
            if now - top.mounted_at > IDLE_SECONDS:
                del self.addresses[name]

    def _age(self, top: TopOfAddress, busy: Collection[Labels], seconds: float, now: float) -> None:
        fade = 0.5 ** (seconds / HALF_LIFE_SECONDS)
        top.rows = {who: row for who, row in top.rows.items() if who in busy or now - row.busy_at <= IDLE_SECONDS}
        for row in top.rows.values():
            row.weight *= fade
        top.outsiders = {who: weight * fade for who, weight in top.outsiders.items()}
        top.replacements = min(float(self._most), top.replacements + self._most * seconds / IDLE_SECONDS)

    def _take(self, top: TopOfAddress, amounts: Mapping[Labels, Amount], now: float) -> None:
        for who, amount in amounts.items():
            if who in top.rows:
                top.rows[who].weight += amount.weight
                top.rows[who].busy_at = now
            else:
                top.outsiders[who] = top.outsiders.get(who, 0.0) + amount.weight
        waiting = [who for who in amounts if who not in top.rows]
        for who in sorted(waiting, key=top.outsiders.__getitem__, reverse=True):
            if not self._has_place(top, top.outsiders[who]):
                break
            top.rows[who] = TopRow(NO_AMOUNT, top.outsiders.pop(who), now, now)
        for who, amount in amounts.items():
            if who in top.rows:
                top.rows[who].total = top.rows[who].total.plus(amount)
            else:
                top.other = top.other.plus(amount)
        kept = sorted(top.outsiders, key=top.outsiders.__getitem__, reverse=True)
        for who in kept[self._most * _OUTSIDERS_A_ROW :]:
            del top.outsiders[who]

    def _has_place(self, top: TopOfAddress, weight: float) -> bool:
        """Whether a process gets a row in the table of the top processes. The cheapest row leaves for a process with twice the cost."""
        if len(top.rows) < self._most:
            return True
        cheapest = min(top.rows, key=lambda name: top.rows[name].weight)
        if top.replacements < 1.0 or weight <= _DEARER * top.rows[cheapest].weight:
            return False
        top.replacements -= 1.0
        top.outsiders[cheapest] = top.rows.pop(cheapest).weight
        return True
