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
from fss_toolbox.sizing.domain_bill import DomainBill
from fss_toolbox.sizing.growth import Growth
from fss_toolbox.sizing.purchase import offers
from fss_toolbox.sizing.uses import BOTH_DIRECTIONS, IOPS, Use, fullest
from fss_toolbox.sizing.workload import plain

_EPOCH: Final = date(1970, 1, 1)


def _lustre_name(kind: str) -> str:
    return f"{LUSTRE.name} {kind}"


# The names of all options. Only Lustre has a capacity to buy.
OPTIONS: Final = (*SHAPES, *map(_lustre_name, LUSTRE.kinds))


class Price(NamedTuple):
    """The price of an option for a month, as a row of the table of prices."""

    usd_per_gb: float  # of the capacity of a file system, or of the data and the entitlement of mount targets
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
    entitlement_bytes: float = 0.0  # stored data that the price of all of them pays for
    bill: DomainBill | None = None  # of the availability domain today. None for a file system, and if unknown
    price: Price | None = None  # None if the price table has none
    full_on: date | None = None  # day of the first ceiling at the present growth. None without growth or history

    @property
    def usd_per_month(self) -> float | None:
        """The price of the capacity or of the entitlement. None if it is unknown."""
        return self._usd(self.entitlement_bytes if self.capacity_bytes is None else self.capacity_bytes)

    @property
    def extra_usd_per_month(self) -> float | None:
        """What the bill grows by. A file system comes on top. None if the price or the data stored today are unknown."""
        if self.capacity_bytes is not None:
            return self.usd_per_month
        return None if self.bill is None else self._usd(self.bill.extra_bytes(self.entitlement_bytes))

    def _usd(self, amount_bytes: float) -> float | None:
        return None if self.price is None else self.price.usd_per_gb * amount_bytes / GB

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


@dataclass(frozen=True, slots=True)
class LoadToCarry:
    """A load, and what decides between the options for it."""

    traffic: Traffic
    limits_of: Callable[[str], Limits]  # ceilings by shape
    clients: ClientHosts
    target: float  # share of a ceiling to stay at or below
    prices: Mapping[str, Price]  # by name of the option
    growth: Mapping[str, Growth]  # by resource
    bill: DomainBill | None  # of the availability domain today. None if unknown


def options(load: LoadToCarry) -> list[Option]:
    """Return the options for a load. Standard mount targets stand twice if one is not enough: one, and the number that is."""
    return [*_mount_targets(load), *_lustre(load)]


def _mount_targets(load: LoadToCarry) -> Iterator[Option]:
    for shape in SHAPES.values():
        limits = load.limits_of(shape.name)
        alone = server_uses(load.traffic, limits, load.clients)
        first = fullest(alone)
        needed = pieces_for(first.ratio, load.target) if first and first.ratio else 1
        for count in sorted({1, needed} if shape is STANDARD else {needed}):
            yield Option(
                shape.name,
                server_uses(load.traffic, limits, load.clients, count),
                load.target,
                count,
                service_limit=shape.default_service_limit,
                commitment_days=0 if shape is STANDARD else HIGH_PERFORMANCE_DAYS,
                entitlement_bytes=shape.entitlement_bytes * count,
                bill=load.bill,
                price=load.prices.get(shape.name),
                full_on=_full_on(alone, load.growth, count),
            )


def _lustre(load: LoadToCarry) -> Iterator[Option]:
    traffic = load.traffic
    for offer in offers(plain(traffic), LUSTRE, load.target):
        size = offer.capacity_bytes
        if size is not None:
            name = _lustre_name(offer.kind.name)
            uses = (Use(BOTH_DIRECTIONS, "B/s", traffic.payload, offer.kind.ceilings(size).bytes_per_second),)
            yield Option(
                name,
                uses,
                load.target,
                capacity_bytes=size,
                price=load.prices.get(name),
                full_on=_full_on(uses, load.growth, 1),
            )


def _full_on(alone: tuple[Use, ...], growth: Mapping[str, Growth], count: int) -> date | None:
    """Return the day of the first ceiling of `count` even shares. `alone` has the ceilings of one."""
    days = [
        day
        for use in alone
        if use.limit and use.resource in growth and (day := growth[use.resource].day_of(use.limit * count)) is not None
    ]
    return _EPOCH + timedelta(days=min(days)) if days else None
