"""What the configuration says of services, as the agent and the prompt tools need it."""

from typing import TYPE_CHECKING

from fss_exporter.nfs.mount_services import BY_NAME, Claim, Services

if TYPE_CHECKING:
    from fss_exporter.settings import Settings


def services_of(settings: "Settings | None") -> Services:
    """Tells the service of a mount; by its name alone where there are no settings."""
    if settings is None or not settings.services:
        return BY_NAME
    return Services(
        [
            Claim(one.service, one.type or "", one.capacity, one.address or "", one.server or "", one.export or "")
            for one in settings.services
        ]
    )
