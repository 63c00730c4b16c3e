"""The ways to buy a ceiling for a load: more mount targets, a larger shape, or a Lustre file system."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from fss_exporter.model.limits import (
    BOTH_DIRECTIONS,
    HIGH_PERFORMANCE_DAYS,
    SHAPES,
    STANDARD,
    Limits,
    Use,
    fullest,
)
from fss_exporter.model.service_table import GB, LUSTRE
from fss_exporter.model.traffic import Traffic, plain
from fss_toolbox.sizing.capacity import CONNECTION_BOUNDS, ClientHosts, pieces_for, server_uses
from fss_toolbox.sizing.growth import Growth
from fss_toolbox.sizing.purchase import offers

SOON_DAYS: Final = 3650.0
"""A later date is no forecast."""


class Price(NamedTuple):
    """The price of an option for a month."""

    usd: float  # for each mount target, or for each GB of capacity
    is_per_gb: bool
    source: str
    date: str  # on which somebody read the price, YYYY-MM-DD


@dataclass(frozen=True, slots=True)
class Option:
    """One way to carry a load."""

    name: str  # `standard`, `hpmt-20`, `lustre mbps-per-tb-125`
    count: int  # mount targets that share the load evenly, or 1 file system
    capacity_bytes: float | None  # capacity to buy. None for mount targets
    uses: tuple[Use, ...]  # the load of one of them against its ceilings
    target: float  # share of a ceiling to stay at or below
    service_limit: int | None  # how many a tenancy may have in an availability domain by default. None if unknown
    commitment_days: int  # least time that is paid. 0 without a commitment
    usd_per_month: float | None  # None if the price table has no price
    full_in_days: (
        float | None
    )  # until the first ceiling is reached at the present growth. None without growth or history

    @property
    def binds(self) -> Use | None:
        """The fullest ceiling. None if no ceiling is known."""
        return fullest(self.uses)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Resources that the load uses and whose ceiling no document states."""
        return tuple(use.resource for use in self.uses if use.demand and use.limit is None)

    @property
    def fits(self) -> bool | None:
        """Whether the load stays at or below the target. None if all known ceilings hold and another is not published."""
        if self.binds is not None and (self.binds.ratio or 0.0) > self.target * (1 + 1e-9):
            return False
        return None if self.unknown else True


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
    compared = []
    for shape in SHAPES.values():
        limits = limits_of(shape.name)
        first = fullest(server_uses(traffic, limits, clients))
        needed = pieces_for(first.ratio, target) if first and first.ratio else 1
        for count in sorted({1, needed} if shape is STANDARD else {needed}):
            price = prices.get(shape.name)
            compared.append(
                Option(
                    shape.name,
                    count,
                    None,
                    server_uses(traffic, limits, clients, count),
                    target,
                    shape.default_service_limit,
                    0 if shape is STANDARD else HIGH_PERFORMANCE_DAYS,
                    price.usd * count if price and not price.is_per_gb else None,
                    _full_in_days(server_uses(traffic, limits, clients), growth, count),
                )
            )
    return [*compared, *_lustre(traffic, target, prices, growth)]


def _lustre(
    traffic: Traffic, target: float, prices: Mapping[str, Price], growth: Mapping[str, Growth]
) -> Iterator[Option]:
    for offer in offers(plain(traffic), LUSTRE, target):
        size = offer.capacity_bytes
        if size is None:
            continue
        use = Use(BOTH_DIRECTIONS, "B/s", traffic.payload, offer.kind.ceilings(size).bytes_per_second)
        price = prices.get(name := f"{LUSTRE.name} {offer.kind.name}")
        usd = price.usd * (size / GB if price.is_per_gb else 1) if price else None
        yield Option(name, 1, size, (use,), target, None, 0, usd, _full_in_days((use,), growth, 1))


def _full_in_days(used: tuple[Use, ...], growth: Mapping[str, Growth], count: int) -> float | None:
    """Return the days until the first ceiling of `count` even shares is reached. `one` has the ceilings of one."""
    days = [
        left
        for use in used
        if use.limit
        and use.resource in growth
        and use.resource not in CONNECTION_BOUNDS
        and (left := growth[use.resource].days_until(use.limit * count)) is not None
    ]
    soonest = min(days, default=None)
    return None if soonest is None or soonest > SOON_DAYS else soonest
