"""Save a plan in a file. One person reviews the plan, and another person carries out exactly the saved plan, or
nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from fss_exporter.errors import UsageError
from fss_exporter.oci.alarms.alarm_plan import Existing, Plan
from fss_exporter.oci.alarms.pack import KEY_TAG


@dataclass(frozen=True, slots=True)
class SavedPlan:
    """A plan with region and compartment."""

    version: Literal[1]  # of this format
    region: str  # region the alarms are in
    alarm_compartment: str  # OCID of the compartment the alarms are in
    name: str  # whose alarms they are
    plan: Plan  # what to do


_FORMAT = TypeAdapter(SavedPlan)


def dump(saved: SavedPlan) -> bytes:
    """Return the plan as JSON."""
    return _FORMAT.dump_json(saved, indent=2) + b"\n"


def load(source: str, content: bytes) -> SavedPlan:
    """Read a plan from JSON.

    Raises:
        UsageError: the file is no plan of this version.
    """
    try:
        return _FORMAT.validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise UsageError(
            f"{source}: not a plan of this version: {place + ': ' if place else ''}{first['msg']}"
        ) from None


def check_current(saved: SavedPlan, owned: Iterable[Existing]) -> None:
    """Refuse a plan if an alarm of the plan was created after the plan. Etags guard updates and deletions.

    Raises:
        UsageError: an alarm that the plan would create exists now.
    """
    present = {str(existing.body["freeformTags"][KEY_TAG]) for existing in owned}
    for step in saved.plan.of("create"):
        if step.body["freeformTags"][KEY_TAG] in present:
            raise UsageError(f"{step.name} was created after this plan was made. Plan again")
