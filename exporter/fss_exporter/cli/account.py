"""Credentials, regions and sessions of an OCI account, from the settings. The module needs the OCI SDK."""

import threading
import time
from pathlib import Path

from fss_exporter.errors import UsageError
from fss_exporter.oci import calls
from fss_exporter.oci.client import Access, Credentials, Reach, Session, read_credentials
from fss_exporter.settings import Settings


def access_of(settings: Settings) -> Access:
    """Return the place of the credentials."""
    oci = settings.oci
    return Access(oci.auth, Path(oci.config_file), oci.profile, oci.tenancy or "")


def reach_of(settings: Settings) -> Reach:
    """Return the URLs of the services and the time limits of a call."""
    oci = settings.oci
    given = {service: url or oci.endpoint for service, url in oci.endpoints.model_dump().items()}
    endpoints = {service: url for service, url in given.items() if url}
    return Reach(endpoints, oci.connect_timeout, oci.read_timeout, oci.answer_timeout)


def regions_of(settings: Settings, held: Credentials) -> tuple[str, ...]:
    """Return the configured regions, else the region of the credentials.

    Raises:
        UsageError: neither the settings nor the credentials name a region.
    """
    regions = settings.oci.regions or ((held.region,) if held.region else ())
    if not regions:
        raise UsageError(f"oci.regions: the credentials ({held.auth}) do not name the region. Name the regions to poll")
    return regions


def credentials_of(settings: Settings) -> Credentials:
    """Return the configured credentials.

    Raises:
        UsageError: the credentials are unusable.
        Unreachable: no service gives the principal a token.
    """
    return read_credentials(access_of(settings))


def sessions_of(settings: Settings, held: Credentials, further: tuple[str, ...] = ()) -> tuple[Session, ...]:
    """Return a session for each configured region, then for further regions, all under one budget of calls.

    Raises:
        UsageError: no region is configured.
    """
    budget = calls.CallBudget(settings.oci.calls_per_second, clock=time.monotonic, wait=threading.Event().wait)
    regions = dict.fromkeys((*regions_of(settings, held), *further))
    return tuple(Session(held, region, reach_of(settings), budget=budget) for region in regions)
