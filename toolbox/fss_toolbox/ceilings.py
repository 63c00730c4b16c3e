# SPDX-License-Identifier: Apache-2.0
"""The ceilings that a command compares the load of a client with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING

from fss_exporter.model.limits import SHAPES, Limits
from fss_exporter.model.service_table import OCI_FSS, SeriesKey
from fss_exporter.model.thresholds import WARNING_RATIO
from fss_exporter.model.traffic import Traffic
from fss_exporter.nfs.mount_services import MountStorage
from fss_exporter.nfs.mount_settings import NO_MOUNT_SETTINGS, MountSettings, mount_settings
from fss_exporter.served_ceilings import ServedCeilings
from fss_toolbox.sizing.uses import Use, known_uses, uses

if TYPE_CHECKING:
    from fss_exporter.settings import Settings

Comparison = Callable[[Traffic], tuple[Use, ...]]


class JudgedBy(StrEnum):
    """Where the ceilings of an address come from."""

    PAGE = "the exporter's page"
    CONFIGURATION = "the configuration"
    SHAPE = "--shape"
    NOTHING = "no known service"


@dataclass(frozen=True, slots=True)
class Judge:
    """Ceilings by address."""

    shape: str  # the shape assumed of every mount target
    limits: Limits  # its ceilings
    by_address: Mapping[str, Limits] = field(default_factory=dict)  # ceilings of single mount targets
    mounts: MountSettings = NO_MOUNT_SETTINGS
    served: Mapping[str, ServedCeilings] = field(default_factory=dict)  # ceilings that the exporter serves
    warning_ratio: float = WARNING_RATIO  # share of a ceiling that is near, by the configuration

    def at(self, address: str) -> Limits:
        """Return ceilings of the mount target at an address."""
        return self.by_address.get(address, self.limits)

    def source(self, mount: SeriesKey) -> JudgedBy:
        """Where the ceilings of a mount come from."""
        if mount.address in self.by_address:
            return JudgedBy.CONFIGURATION
        if mount.address in self.served:
            return JudgedBy.PAGE
        storage = self._storage(mount)
        if storage.service is OCI_FSS:
            return JudgedBy.SHAPE
        return JudgedBy.CONFIGURATION if storage.stated else JudgedBy.NOTHING

    def _storage(self, mount: SeriesKey) -> MountStorage:
        """Return the service of a mount. An NFSv4 mount of no known service is not of OCI File Storage."""
        return self.mounts.services.of(mount, "nfs" if mount.service == OCI_FSS.name else "nfs4")

    def stated(self, mount: SeriesKey) -> Limits:
        """Return the ceilings of a mount that the configuration states. Empty without any."""
        if self.source(mount) is not JudgedBy.CONFIGURATION:
            return Limits()
        return self.by_address.get(mount.address) or self._storage(mount).ceilings

    def near_at(self, mount: SeriesKey) -> float:
        """Return the share at which a ceiling of a mount is near, by who states the ceiling."""
        return self.served[mount.address].warning_ratio if self.source(mount) is JudgedBy.PAGE else self.warning_ratio

    def of(self, mount: SeriesKey) -> Comparison:
        """Return the comparison of traffic with the ceilings of a mount. Of another service, only known ceilings count."""
        served = self.served.get(mount.address)
        if served is not None and self.source(mount) is JudgedBy.PAGE:
            return partial(uses if served.service == OCI_FSS.name else known_uses, limits=served.limits)
        storage = self._storage(mount)
        if storage.service is OCI_FSS:
            return partial(uses, limits=self.at(mount.address))
        return partial(known_uses if storage.stated else uses, limits=storage.ceilings)


def judge(shape: str, settings: "Settings | None") -> Judge:
    """Return the ceilings of a shape, replaced by the configuration. No document has ceilings of an unknown shape."""
    limits = SHAPES[shape].limits if shape in SHAPES else Limits()
    if settings is None:
        return Judge(shape, limits)
    limits = settings.limits.of_shape(shape, limits)
    by_address = {
        settings.addresses[name]: replace(limits, **ceilings.given)
        for name, ceilings in settings.limits.mount_targets.items()
        if name in settings.addresses
    }
    return Judge(shape, limits, by_address, mount_settings(settings), warning_ratio=settings.warning_ratio)
