"""From the dimensions of a stream to the labels of a series, by whose the stream is. Pure.

A key is made of OCIDs and dimension values only, so it never depends on a look-up; the names in the labels come from the inventory,
and a stream whose owner is not in it has no labels.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Final

from fss_exporter.oci.inventory import Inventory
from fss_exporter.oci.metrics import OciMetric, Owner

Key = tuple[str, ...]
Labels = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Rule:
    """Which dimensions tell the owner, and what labels they become; None for an owner that is not there."""

    dimensions: tuple[str, ...]
    labels: Callable[[Inventory, Key], Labels | None]


def _mount_target(inventory: Inventory, key: Key) -> Labels | None:
    target = inventory.mount_targets.get(key[0])
    return None if target is None else (target.id, target.name)


def _file_system(inventory: Inventory, key: Key) -> Labels | None:
    system = inventory.file_systems.get(key[0])
    return None if system is None else (system.id, system.name)


def _behind(inventory: Inventory, key: Key) -> Labels | None:
    target, system = _mount_target(inventory, key), _file_system(inventory, key[1:])
    return None if target is None or system is None else target + system


def _ldap(inventory: Inventory, key: Key) -> Labels | None:
    target = _mount_target(inventory, key)
    return None if target is None else (*target, key[1])


def _replication(inventory: Inventory, key: Key) -> Labels | None:
    """Replication targets are no resource of this region's listings: they go by the name Monitoring gives them."""
    if key[0].startswith("ocid1.replicationtarget."):
        return key[0], key[1] or key[0], "target"
    known = inventory.replications.get(key[0])
    return None if known is None else (known.id, known.name, "source")


def _neighbour(inventory: Inventory, key: Key) -> Labels | None:
    one = inventory.neighbours.get(key[0])
    return None if one is None else (one.service, one.id, one.name)


def _itself(_: Inventory, key: Key) -> Labels:
    return key[:1]


_RULES: Final[Mapping[Owner, _Rule]] = MappingProxyType(
    {
        "mount_target": _Rule(("resourceId",), _mount_target),
        "file_system": _Rule(("resourceId",), _file_system),
        "behind": _Rule(("mountTargetId", "resourceId"), _behind),
        "ldap": _Rule(("mountTargetId", "obcResourceName"), _ldap),
        "replication": _Rule(("resourceId", "resourceName"), _replication),
        "tenancy": _Rule(("tenantId",), _itself),
        "neighbour": _Rule(("resourceId",), _neighbour),
        "lock_mode": _Rule(("lockMode",), _itself),
    }
)


def key_of(metric: OciMetric) -> Callable[[Mapping[str, Any]], Key]:
    """A function from a stream's dimensions to its key; it raises KeyError where a dimension is missing."""
    names = _RULES[metric.owner].dimensions + metric.dimensions
    getter = itemgetter(*names)
    return getter if len(names) > 1 else lambda dimensions: (getter(dimensions),)


def labels_of(metric: OciMetric, region: str, inventory: Inventory, key: Key) -> Labels | None:
    """Label values in the catalogue's order; None for an owner that is not in the inventory."""
    rule = _RULES[metric.owner]
    owner = rule.labels(inventory, key)
    return None if owner is None else (region, *owner, *key[len(rule.dimensions) :])
