# SPDX-License-Identifier: Apache-2.0
"""Convert the dimensions of a stream to the labels of a series. Pure.

The key of a stream consists of OCIDs and dimension values only, and so never depends on a lookup. The names in labels come
from the inventory. A stream whose resource is missing in the inventory has no labels.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from sys import intern
from typing import Any, Final

from fss_exporter.oci.inventory.oci_inventory import Inventory
from fss_exporter.oci.ledger import Key
from fss_exporter.oci.metric_table import OciMetric, Owner
from fss_exporter.ocid import kind_of

Labels = tuple[str, ...]

# Reasons why a stream has no labels.
UNKNOWN: Final = "unknown_resource"
NOT_SELECTED: Final = "not_selected"
OTHER_SHARD: Final = "other_shard"


@dataclass(frozen=True, slots=True)
class _Rule:
    """The dimensions that name the resource, the names of its labels, and a function to their values. None for an unknown resource."""

    dimensions: tuple[str, ...]
    names: tuple[str, ...]
    labels: Callable[[Inventory, Key], Labels | None]
    identity: Callable[[Key], Key] = tuple  # the part of a key that stays the same for the life of the resource
    is_divided: bool = True  # whether the shard of a stream is that of the first OCID in its key


_MOUNT_TARGET: Final = ("mount_target_id", "mount_target")
_FILE_SYSTEM: Final = ("file_system_id", "file_system")


def _mount_target(inventory: Inventory, key: Key) -> Labels | None:
    target = inventory.mount_targets.get(key[0])
    return None if target is None else (target.id, target.name)


def _file_system(inventory: Inventory, key: Key) -> Labels | None:
    system = inventory.file_systems.get(key[0])
    return None if system is None else (system.id, system.name)


def _own_file_system(inventory: Inventory, key: Key) -> Labels | None:
    return _file_system(inventory, key) if inventory.shard.holds(key[0]) else None


def _behind(inventory: Inventory, key: Key) -> Labels | None:
    target, system = _mount_target(inventory, key), _file_system(inventory, key[1:])
    return None if target is None or system is None else target + system


def _ldap(inventory: Inventory, key: Key) -> Labels | None:
    target = _mount_target(inventory, key)
    return None if target is None else (*target, key[1])


def _replication_identity(key: Key) -> Key:
    """Return the key of a replication without the name, because a renamed replication has streams with both names.

    A replication target is in no listing, so the name in labels comes from Monitoring and stays in the key.
    """
    return key if _is_target(key) else (key[0], "", *key[2:])


def _is_target(key: Key) -> bool:
    return kind_of(key[0]) == "replicationtarget"


def _replication(inventory: Inventory, key: Key) -> Labels | None:
    if _is_target(key):
        return key[0], key[1] or key[0], "target"
    replication = inventory.replications.get(key[0])
    return None if replication is None else (replication.id, replication.name, "source")


def _service(inventory: Inventory, key: Key) -> Labels | None:
    resource = inventory.service_resources.get(key[0])
    return None if resource is None else (resource.service, resource.id, resource.name)


def _itself(_: Inventory, key: Key) -> Labels:
    return key[:1]


_RULES: Final[Mapping[Owner, _Rule]] = {
    "mount_target": _Rule(("resourceId",), _MOUNT_TARGET, _mount_target),
    "file_system": _Rule(("resourceId",), _FILE_SYSTEM, _own_file_system),
    "behind": _Rule(("mountTargetId", "resourceId"), (*_MOUNT_TARGET, *_FILE_SYSTEM), _behind),
    "ldap": _Rule(("mountTargetId", "obcResourceName"), (*_MOUNT_TARGET, "outbound_connector"), _ldap),
    "replication": _Rule(
        ("resourceId", "resourceName"),
        ("replication_id", "replication", "side"),
        _replication,
        _replication_identity,
        is_divided=False,
    ),
    "tenancy": _Rule(("tenantId",), ("tenancy_id",), _itself),
    "service": _Rule(("resourceId",), ("service", "resource_id", "resource"), _service),
    "lock_mode": _Rule(("lockMode",), ("lock_mode",), _itself),
}


@dataclass(frozen=True, slots=True)
class LabelledStream:
    """Key of a stream, and the labels of the series, or why there are none."""

    key: Key
    labels: Labels | None
    absence: str | None = None


class RegionLabels:
    """The labels of all streams of one region. Metrics with equal dimensions share the labels. `place` is tenancy and region."""

    def __init__(self, *place: str) -> None:
        self._place = place
        self._inventory = Inventory()
        self._by_dimensions: dict[tuple[str, ...], StreamLabels] = {}

    def of(self, metric: OciMetric) -> "StreamLabels":
        """Return the labels of one metric's streams."""
        shape = (metric.owner, *metric.dimensions)
        if shape not in self._by_dimensions:
            self._by_dimensions[shape] = StreamLabels(
                self._place, _RULES[metric.owner], metric.dimensions, self._inventory
            )
        return self._by_dimensions[shape]

    def use(self, inventory: Inventory) -> None:
        """Use another inventory from now on."""
        self._inventory = inventory
        for labels in self._by_dimensions.values():
            labels.use(inventory)


def _name_of(dimension: str) -> str:
    """Return the label of a dimension: `error_type` for `errorType`."""
    return re.sub(r"[A-Z]", lambda capital: f"_{capital[0].lower()}", dimension)


class StreamLabels:
    """Labels of streams with equal dimensions. `names` are the names of the label values, in their order."""

    def __init__(self, place: Labels, rule: _Rule, dimensions: tuple[str, ...], inventory: Inventory) -> None:
        self._place = place
        self._rule = rule
        self._inventory = inventory
        self._streams: dict[Key, LabelledStream] = {}
        self.names = ("tenancy", "region", *rule.names, *map(_name_of, dimensions))
        names = rule.dimensions + dimensions
        self._length = len(names)
        getter = itemgetter(*names)
        self._key_of: Callable[[Mapping[str, Any]], Key] = (
            getter if len(names) > 1 else lambda values: (getter(values),)
        )

    def absence(self, key: Key) -> str:
        """Return why a stream without labels has none: its shard, the selection, or no listing has its resource."""
        if self._rule.is_divided and not self._inventory.shard.holds(key[0]):
            return OTHER_SHARD
        return UNKNOWN if self._inventory.not_selected.isdisjoint(key) else NOT_SELECTED

    def use(self, inventory: Inventory) -> None:
        """Use another inventory from now on. Unchanged labels stay the same objects."""
        self._inventory = inventory
        for key, stream in list(self._streams.items()):
            labels = self.labels(key)
            if labels is None:
                del self._streams[key]
            elif labels != stream.labels:
                self._streams[key] = LabelledStream(stream.key, labels)

    def labels(self, key: Key) -> Labels | None:
        """Return the labels of a key, None for a resource missing in the inventory, and for a key of another metric."""
        if len(key) != self._length:  # of an edited ledger
            return None
        owner = self._rule.labels(self._inventory, key)
        return None if owner is None else (*self._place, *owner, *key[len(self._rule.dimensions) :])

    def find(self, dimensions: Mapping[str, Any]) -> LabelledStream:
        """Return the stream with these dimensions.

        Raises:
            KeyError: a dimension is missing.
            TypeError: the dimensions, or a value, have the wrong type.
            ValueError: UTF-8 cannot encode a value.
        """
        values = self._key_of(dimensions)
        stream = self._streams.get(values)
        if stream is None:
            "".join(values).encode()  # refuses half a character, which `/metrics` could not show
            key = tuple(map(intern, self._rule.identity(values)))  # the same OCIDs come in every metric
            labels = self.labels(key)
            absence = self.absence(key) if labels is None else None
            stream = self._streams.setdefault(key, LabelledStream(key, labels, absence))
            self._streams[values] = stream
        return stream
