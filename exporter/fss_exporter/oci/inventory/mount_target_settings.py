# SPDX-License-Identifier: Apache-2.0
"""Limits and objectives of one mount target: published or assumed figures, replaced by the configuration. Pure.

The last figure found wins, in this order: shape or default, observed ceiling with `limits: observed`, display name of the mount
target, OCID of the mount target.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from fss_exporter.model.limits import Limits, shape_of
from fss_exporter.model.thresholds import SLO_OBJECTIVES
from fss_exporter.oci.inventory.oci_inventory import MountTarget
from fss_exporter.settings import Settings

_NONE_OBSERVED: Final[Mapping[str, float]] = MappingProxyType({})


def limits_of(target: MountTarget, settings: Settings, observed: Mapping[str, float] = _NONE_OBSERVED) -> Limits:
    """Return the limits of a mount target. A field is None without a known limit. `observed` are ceilings by field."""
    shape, given = shape_of(target.observed_throughput_gbps), settings.limits
    replaced = {**(observed if given.observed else {}), **_of_target(given.mount_targets, target)}
    return replace(given.of_shape(shape.name, shape.limits), **replaced)


def latency_objectives_of(target: MountTarget, settings: Settings) -> dict[tuple[str, str], float]:
    """Return latency objectives in seconds by kind (`read`, `write`, `metadata`) and size bucket, empty for metadata."""
    given = settings.latency_objectives
    return {**given.seconds, **_of_target(given.mount_targets, target)}


def slo_objectives_of(target: MountTarget, settings: Settings) -> dict[str, float]:
    """Return the share of good minutes (0 to 1) by SLO."""
    given = settings.slo_objectives
    return {**SLO_OBJECTIVES, **given.given, **_of_target(given.mount_targets, target)}


def named_targets(settings: Settings) -> frozenset[str]:
    """Return OCIDs and display names with a limit or objective in the configuration."""
    parts = (settings.limits, settings.latency_objectives, settings.slo_objectives)
    return frozenset(name for part in parts for name in part.mount_targets)


def _of_target(by_target: Mapping[str, Any], target: MountTarget) -> dict[Any, Any]:
    """Return the figures that the configuration gives to the name and to the OCID of a mount target."""
    stated = (by_target.get(target.name), by_target.get(target.id))
    return {key: value for setting in stated if setting is not None for key, value in setting.given.items()}
