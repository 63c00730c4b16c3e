"""The flags that name another storage service than OCI File Storage."""

import click

from fss_exporter import units
from fss_exporter.cli.flags import Command, with_options
from fss_exporter.errors import UsageError
from fss_exporter.model.service_table import APSARA_NAS, BLOCK_VOLUME, LUSTRE, SERVICES, ServiceChoice

_OFFERED = (APSARA_NAS.name, LUSTRE.name, BLOCK_VOLUME.name)


def service_options(command: Command) -> Command:
    """Adds --service, --type and --capacity."""
    options = (
        click.option("--service", type=click.Choice(_OFFERED), help="Another storage service than OCI File Storage."),
        click.option("--type", "kind", metavar="TYPE", help="Type of the service. docs/services.md lists the types."),
        click.option("--capacity", type=units.size, metavar="SIZE", help="Capacity of the service, e.g. 10TiB."),
    )
    return with_options(command, options)


def service_choice(service: str | None, kind: str | None, capacity_bytes: float | None) -> ServiceChoice | None:
    """Return the service of the flags; None where the flags name none.

    Raises:
        UsageError: the flags do not fit together.
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
    return ServiceChoice(found, None if kind is None else found.kinds[kind], capacity_bytes)
