# SPDX-License-Identifier: Apache-2.0
"""Sessions of an OCI account, from the settings. The module needs the OCI SDK."""

import threading
import time

from fss_exporter.oci import calls
from fss_exporter.oci.client import Credentials, Session, regions_of
from fss_exporter.settings import Settings


def sessions_of(settings: Settings, held: Credentials, further: tuple[str, ...] = ()) -> tuple[Session, ...]:
    """Return a session for each configured region, then for further regions, all under one budget of calls.

    Raises:
        UsageError: no region is configured.
    """
    budget = calls.CallBudget(settings.oci.calls_per_second, clock=time.monotonic, wait=threading.Event().wait)
    regions = dict.fromkeys((*regions_of(settings.oci, held), *further))
    return tuple(Session(held, region, settings.oci, budget=budget, now=time.time) for region in regions)
