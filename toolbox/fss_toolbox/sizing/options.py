# SPDX-License-Identifier: Apache-2.0
"""The ways to buy a ceiling for a load: more mount targets, a larger shape, or a Lustre file system."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final, NamedTuple

from fss_exporter.model.limits import HIGH_PERFORMANCE_DAYS, ROUNDING, SHAPES, STANDARD, Limits
from fss_exporter.model.service_table import GB, LUSTRE
from fss_exporter.model.traffic import Traffic
from fss_toolbox.sizing.capacity import ClientHosts, pieces_for, server_uses
from fss_toolbox.sizing.growth import Growth
from fss_toolbox.sizing.purchase import offers
from fss_toolbox.sizing.uses import BOTH_DIRECTIONS, IOPS, Use, fullest
from fss_toolbox.sizing.workload import plain

_EPOCH: Final = date(1970, 1, 1)


def _lustre_name(kind: str) -> str:
    return f"{LUSTRE.name} {kind}"


OPTIONS: Final = (*SHAPES, *map(_lustre_name, LUSTRE.kinds))
"""The names of all options. Only Lustre has a capacity to buy."""


class Price(NamedTuple):
    """The price of an option for a month, as a row of the table of prices."""

    usd: float  # for each mount target, or for each GB of capacity
    is_per_gb: bool
    source: str
    date: str  # on which somebody read the price, YYYY-MM-DD


@dataclass(frozen=True, slots=True)
class Option:
    """One way to carry a load."""

    name: str  # `standard`, `hpmt-20`, `lustre mbps-per-tb-125`
    uses: tuple[Use, ...]  # the load of one of them against its ceilings
    target: float  # share of a ceiling to stay at or below
    count: int = 1  # mount targets that share the load evenly, or 1 file system
    capacity_bytes: float | None = None  # capacity to buy. None for mount targets
    service_limit: int | None = (
        None  # how many a tenancy may have in an availability domain by default. None if unknown
    )
    commitment_days: int = 0  # least time that is paid. 0 without a commitment
    price: Price | None = None  # None if the price table has none
    full_on: date | None = None  # day of the first ceiling at the present growth. None without growth or history

    @property
    def usd_per_month(self) -> float | None:
        """The price of all of them. None if it is unknown, or for each GB of mount targets, which have no capacity."""
        if self.price is None:
            return None
        if not self.price.is_per_gb:
            return self.price.usd * self.count
        return None if self.capacity_bytes is None else self.price.usd * (self.capacity_bytes / GB)

    @property
    def binds(self) -> Use | None:
        """The fullest ceiling. None if no ceiling is known."""
        return fullest(self.uses)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Resources that the load uses and whose ceiling no document states."""
        return tuple(use.resource for use in self.uses if use.demand and use.limit is None)

    @property
    def has_known_cost(self) -> bool:
        """Whether the I/O operations of the load are known, if they count."""
        return all(use.demand is not None for use in self.uses if use.resource == IOPS)

    @property
    def fits(self) -> bool | None:
        """Whether the load stays at or below the target.

        None if all known ceilings hold, and another is not published or the I/O operations of the load are not known.
        """
        if self.binds is not None and (self.binds.ratio or 0.0) > self.target * (1 + ROUNDING):
            return False
        return True if self.has_known_cost and not self.unknown else None


def options(
    traffic: Traffic,
    limits_of: Callable[[str], Limits],
    clients: ClientHosts,
    target: float,
    prices: Mapping[str, Price],
    growth: Mapping[str, Growth],
) -> list[Option]:
    """Return the options for a load. `limits_of` gives ceilings by shape, `prices` are by name, `growth` by resource.

    Standard mount targets stand twice if one is not enough: one, and the number that is.
    """
    return [
        *_mount_targets(traffic, limits_of, clients, target, prices, growth),
        *_lustre(traffic, target, prices, growth),
    ]


def _mount_targets(
    traffic: Traffic,
    limits_of: Callable[[str], Limits],
    clients: ClientHosts,
    target: float,
    prices: Mapping[str, Price],
    growth: Mapping[str, Growth],
) -> Iterator[Option]:
    for shape in SHAPES.values():
        limits = limits_of(shape.name)
        alone = server_uses(traffic, limits, clients)
        first = fullest(alone)
        needed = pieces_for(first.ratio, target) if first and first.ratio else 1
        for count in sorted({1, needed} if shape is STANDARD else {needed}):
            yield Option(
                shape.name,
                server_uses(traffic, limits, clients, count),
                target,
                count,
                service_limit=shape.default_service_limit,
                commitment_days=0 if shape is STANDARD else HIGH_PERFORMANCE_DAYS,
                price=prices.get(shape.name),
                full_on=_full_on(alone, growth, count),
            )


def _lustre(
    traffic: Traffic, target: float, prices: Mapping[str, Price], growth: Mapping[str, Growth]
) -> Iterator[Option]:
    for offer in offers(plain(traffic), LUSTRE, target):
        size = offer.capacity_bytes
        if size is not None:
            name = _lustre_name(offer.kind.name)
            uses = (Use(BOTH_DIRECTIONS, "B/s", traffic.payload, offer.kind.ceilings(size).bytes_per_second),)
            yield Option(
                name, uses, target, capacity_bytes=size, price=prices.get(name), full_on=_full_on(uses, growth, 1)
            )


def _full_on(alone: tuple[Use, ...], growth: Mapping[str, Growth], count: int) -> date | None:
    """Return the day of the first ceiling of `count` even shares. `alone` has the ceilings of one."""
    days = [
        day
        for use in alone
        if use.limit and use.resource in growth and (day := growth[use.resource].day_of(use.limit * count)) is not None
    ]
    return _EPOCH + timedelta(days=min(days)) if days else None
