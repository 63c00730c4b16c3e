"""The whole table of incidents: importing this module imports all modules that enter some."""

from tests.rules import ceilings, fleets, hosts, lateness, recoveries, seasons, variants
from tests.rules.incidents import INCIDENTS

__all__ = ["INCIDENTS", "ceilings", "fleets", "hosts", "lateness", "recoveries", "seasons", "variants"]
