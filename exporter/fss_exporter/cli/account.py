# SPDX-License-Identifier: Apache-2.0
"""Credentials, regions and sessions of an OCI account, from the settings. The module needs the OCI SDK."""

import threading
import time

from fss_exporter.errors import UsageError
from fss_exporter.oci import calls
from fss_exporter.oci.client import Credentials, Session
from fss_exporter.settings import Settings


def regions_of(settings: Settings, held: Credentials) -> tuple[str, ...]:
    """Return the configured regions, else the region of the credentials.

    Raises:
        UsageError: neither the settings nor the credentials name a region.
    """
    regions = settings.oci.regions or ((held.region,) if held.region else ())
    if not regions:
        raise UsageError(f"oci.regions: the credentials ({held.auth}) do not name the region. Name the regions to poll")
    return regions


def sessions_of(settings: Settings, held: Credentials, further: tuple[str, ...] = ()) -> tuple[Session, ...]:
    """Return a session for each configured region, then for further regions, all under one budget of calls.

    Raises:
        UsageError: no region is configured.
    """
    budget = calls.CallBudget(settings.oci.calls_per_second, clock=time.monotonic, wait=threading.Event().wait)
    regions = dict.fromkeys((*regions_of(settings, held), *further))
    return tuple(Session(held, region, settings.oci, budget=budget, now=time.time) for region in regions)
