# SPDX-License-Identifier: Apache-2.0
"""The part of the configuration that the mounts of a client need: addresses, services, costs and objectives."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from fss_exporter.addresses import NO_ADDRESSES, AddressMap
from fss_exporter.model.cost_overrides import NO_OVERRIDES, CostOverrides
from fss_exporter.model.operations import METADATA_READ, METADATA_WRITE, READ_CLASS, WRITE_CLASS
from fss_exporter.nfs.mount_services import BY_NAME, Claim, Services

if TYPE_CHECKING:
    from fss_exporter.settings import Settings

_CLASSES = {"read": (READ_CLASS,), "write": (WRITE_CLASS,), "metadata": (METADATA_READ, METADATA_WRITE)}


@dataclass(frozen=True, slots=True)
class MountSettings:
    """The part of the configuration that a client needs for its mounts."""

    address_map: AddressMap = NO_ADDRESSES  # mount targets behind TLS forwarders
    services: Services = BY_NAME  # finds the service of a mount
    overrides: CostOverrides = NO_OVERRIDES  # measured costs in place of the white paper's table
    latency_objectives: Mapping[str, float] = field(default_factory=dict)  # stated seconds by class, for the mean
    p99_objectives: Mapping[str, float] = field(default_factory=dict)  # stated seconds by class, for 99 of 100 requests


NO_MOUNT_SETTINGS: Final = MountSettings()


def mount_settings(settings: "Settings | None") -> MountSettings:
    """Return the settings of mounts. Without a configuration the name of the server alone decides about the service."""
    if settings is None:
        return NO_MOUNT_SETTINGS
    claims = [
        Claim(row.service, row.type or "", row.capacity, row.address or "", row.server or "", row.export or "")
        for row in settings.services
    ]
    return MountSettings(
        address_map=AddressMap(settings.address_map),
        services=Services(claims, settings.warning_ratio) if claims else BY_NAME,
        overrides=settings.cost_model.overrides,
        latency_objectives=_objectives(settings.latency_objectives.given),
        p99_objectives=_objectives(settings.latency_objectives.p99.given),
    )


def _objectives(given: Mapping[tuple[str, str], float]) -> dict[str, float]:
    """Return stated latency objectives by class. Of objectives by size the largest counts."""
    objectives: dict[str, float] = {}
    for (kind, _), seconds in given.items():
        for of_class in _CLASSES[kind]:
            objectives[of_class] = max(seconds, objectives.get(of_class, 0.0))
    return objectives
