"""Which compartments are meant, and how metrics are asked of them. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

ROOT: Final = "root"
"""How the tenancy's own compartment is called."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What one query covers: a compartment, or with `subtree` the whole tenancy."""

    compartment_id: str
    subtree: bool = False


@dataclass(frozen=True, slots=True)
class ChosenCompartments:
    """Compartments that were meant.

    Attributes:
        names: name by OCID; an OCID whose name is not known stands for itself.
        mistakes: one line for each compartment that cannot be made out.
    """

    names: Mapping[str, str]
    mistakes: tuple[str, ...] = ()


def choose(wanted: Iterable[str], tenancy_id: str, tree: Mapping[str, str]) -> ChosenCompartments:
    """The compartments of a tenancy that are wanted.

    Args:
        wanted: OCIDs or names; nothing means all.
        tenancy_id: OCID of the tenancy, which is a compartment as well.
        tree: names of all compartments below the root, by OCID.
    """
    known = {tenancy_id: ROOT, **tree}
    chosen: dict[str, str] = {}
    mistakes: list[str] = []
    for name in wanted:
        meant = [name] if name.startswith("ocid1.") else [key for key, called in known.items() if called == name]
        if len(meant) == 1:
            chosen[meant[0]] = known.get(meant[0], meant[0])
        elif meant:
            mistakes.append(f"oci.compartments: {len(meant)} compartments are called {name!r}; give the OCID")
        else:
            mistakes.append(
                f"oci.compartments: no compartment is called {name!r}, or it may not be seen; give the OCID"
            )
    return ChosenCompartments(chosen or ({} if mistakes else known), tuple(mistakes))


def scopes_of(wanted: Iterable[str], tenancy_id: str, names: Iterable[str]) -> tuple[Scope, ...]:
    """One query for the whole tenancy where all of it is wanted, else one for each compartment."""
    if not tuple(wanted):
        return (Scope(tenancy_id, subtree=True),)
    return tuple(Scope(compartment_id) for compartment_id in names)
