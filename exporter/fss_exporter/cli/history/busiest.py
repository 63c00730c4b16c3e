"""The busiest five minutes of the last week in a Prometheus: of clients, or where none are scraped, of mount targets."""

from collections.abc import Callable

from fss_exporter.cli.history.clients import of_clients
from fss_exporter.cli.history.mount_targets import published
from fss_exporter.cli.history.prometheus import Prometheus
from fss_exporter.cli.plan_case import Load
from fss_exporter.errors import SourceError
from fss_exporter.model.limits import Limits


def busiest(
    get: Callable[[str], str], limits: Callable[[str, str], Limits], address: str | None, now: float | None = None
) -> dict[str, Load]:
    """The five minutes in which each mount target was nearest to a ceiling, by address.

    Args:
        get: the text behind a path and query of the Prometheus API.
        limits: ceilings of the mount target at an address, with this shape; an empty shape is not known.
        address: only this one; None for all.
        now: end of the week, epoch seconds; None for now.

    Raises:
        SourceError: Prometheus does not answer, or has no metrics of clients or mount targets of that week.
    """
    prometheus = Prometheus(get, now)
    loads = of_clients(prometheus, lambda where: limits(where, ""), address) or published(prometheus, limits, address)
    if not loads:
        of = f" with address {address}" if address else ""
        raise SourceError(
            f"Prometheus has no fss_client_ and no fss_mount_target_ metrics of the last week{of}; "
            "are the clients, or is a poller, scraped?"
        )
    return loads
