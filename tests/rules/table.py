"""The whole table of incidents: importing this module imports all modules that enter some."""

from tests.rules import (
    budgets,
    ceilings,
    disagreements,
    fleets,
    hosts,
    lateness,
    mounts,
    partial,
    recoveries,
    seasons,
    stores,
    strangers,
    upgrades,
    variants,
    workloads,
)
from tests.rules.incidents import INCIDENTS

__all__ = [
    "INCIDENTS",
    "budgets",
    "ceilings",
    "disagreements",
    "fleets",
    "hosts",
    "lateness",
    "mounts",
    "partial",
    "recoveries",
    "seasons",
    "stores",
    "strangers",
    "upgrades",
    "variants",
    "workloads",
]
