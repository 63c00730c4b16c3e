"""The flags that say which other storage service a command is about."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import click

from fss_exporter import units
from fss_exporter.errors import UsageError
from fss_exporter.model.service import Ceilings, Kind, Service
from fss_exporter.model.services import APSARA_NAS, BLOCK_VOLUME, LUSTRE, SERVICES

_OFFERED = (APSARA_NAS.name, LUSTRE.name, BLOCK_VOLUME.name)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A service, and what was bought of it as far as that was said."""

    service: Service
    kind: Kind | None
    capacity_bytes: float | None

    @property
    def ceilings(self) -> Ceilings:
        """Its ceilings, as far as kind and capacity tell them."""
        return Ceilings() if self.kind is None else self.kind.ceilings(self.capacity_bytes)

    @property
    def name(self) -> str:
        """As people say it: service, type, capacity."""
        kind = f", {self.kind.name}" if self.kind else ""
        return f"{self.service.title}{kind}" + (f", {capacity(self.capacity_bytes)}" if self.capacity_bytes else "")


def capacity(size_bytes: float) -> str:
    """A capacity in TB, or in GB below one."""
    return f"{size_bytes / 1e12:,.2f} TB" if size_bytes >= 1e12 else f"{size_bytes / 1e9:,.0f} GB"


def service_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --service, --type and --capacity."""
    options = (
        click.option("--service", type=click.Choice(_OFFERED), help="Another storage service than OCI File Storage."),
        click.option("--type", "kind", metavar="TYPE", help="What is bought of it; docs/neighbours.md has the types."),
        click.option("--capacity", type=units.size, metavar="SIZE", help="How much is bought of it, e.g. 10TiB."),
    )
    return reduce(lambda decorated, option: option(decorated), reversed(options), command)


def chosen(service: str | None, kind: str | None, capacity_bytes: float | None) -> Chosen | None:
    """What the flags say; None where they speak of no other service.

    Raises:
        UsageError: they do not fit together.
    """
    if service is None:
        if kind is not None or capacity_bytes is not None:
            raise UsageError("--type and --capacity go with --service")
        return None
    found = SERVICES[service]
    if kind is not None and kind not in found.kinds:
        raise UsageError(f"--type={kind}: {service} has {', '.join(found.kinds)}")
    if capacity_bytes is not None and not capacity_bytes:
        raise UsageError("--capacity must be more than nothing")
    return Chosen(found, None if kind is None else found.kinds[kind], capacity_bytes)
