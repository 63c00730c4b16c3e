"""The whole table of incidents: importing this module imports all modules that enter some."""

from tests.rules import (
    budgets,
    ceilings,
    fleets,
    hosts,
    lateness,
    mounts,
    recoveries,
    seasons,
    stores,
    upgrades,
    variants,
)
from tests.rules.incidents import INCIDENTS

__all__ = [
    "INCIDENTS",
    "budgets",
    "ceilings",
    "fleets",
    "hosts",
    "lateness",
    "mounts",
    "recoveries",
    "seasons",
    "stores",
    "upgrades",
    "variants",
]
