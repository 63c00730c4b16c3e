"""The ceilings that a command compares with: ceilings of a shape, replaced by the configuration."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fss_exporter.model.cost_overrides import NO_OVERRIDES, CostOverrides
from fss_exporter.model.limits import SHAPES, Limits
from fss_exporter.model.service_table import OCI_FSS, Ceilings
from fss_exporter.nfs.mount_services import BY_NAME, Claim, MountKey, Services

if TYPE_CHECKING:
    from fss_exporter.settings import Settings

NO_SHAPE = "none"

shape_option = click.option(
    "--shape",
    type=click.Choice((*SHAPES, NO_SHAPE)),
    default="standard",
    show_default=True,
    help="Shape of the mount targets, none for storage without a ceiling.",
)


@dataclass(frozen=True, slots=True)
class Judge:
    """Ceilings by address."""

    shape: str  # the shape assumed of every mount target
    limits: Limits  # its ceilings
    by_address: Mapping[str, Limits] = field(default_factory=dict)  # ceilings of single mount targets
    address_map: Mapping[str, str] = field(default_factory=dict)  # mount-target address by TLS forwarder address
    services: Services = BY_NAME  # finds the service of a mount
    overrides: CostOverrides = NO_OVERRIDES  # measured costs in place of the white paper's table

    def at(self, address: str) -> Limits:
        """Return ceilings of the mount target at an address."""
        return self.by_address.get(address, self.limits)

    def of(self, mount: MountKey) -> Limits | Ceilings:
        """Return the ceilings of a mount. Ceilings of a mount target apply to OCI File Storage only."""
        known = self.services.of(mount, "nfs")
        return self.at(mount.address) if known.service is OCI_FSS else known.ceilings


def judge(shape: str, config_file: Path | None) -> Judge:
    """Return the ceilings in force.

    Raises:
        ConfigError: the configuration is wrong.
    """
    limits = Limits() if shape == NO_SHAPE else SHAPES[shape].limits
    if config_file is None:
        return Judge(shape, limits)
    from fss_exporter.settings import load  # noqa: PLC0415  # only where there is a configuration

    settings = load(config_file)
    given = settings.limits.shapes.get(shape)
    if given is not None:
        limits = replace(limits, **given.given)
    by_address = {
        settings.addresses[name]: replace(limits, **ceilings.given)
        for name, ceilings in settings.limits.mount_targets.items()
        if name in settings.addresses
    }
    return Judge(
        shape, limits, by_address, dict(settings.address_map), services_of(settings), settings.cost_model.overrides
    )


def services_of(settings: "Settings | None") -> Services:
    """Return the lookup of services. Without settings the server's name alone decides."""
    if settings is None or not settings.services:
        return BY_NAME
    return Services(
        [
            Claim(one.service, one.type or "", one.capacity, one.address or "", one.server or "", one.export or "")
            for one in settings.services
        ]
    )
