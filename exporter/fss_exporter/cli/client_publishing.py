# SPDX-License-Identifier: Apache-2.0
"""Wires the posts of an agent: waiting clients as custom metrics of OCI Monitoring. The module needs the OCI SDK."""

import logging
import math
import socket
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from fss_exporter.addresses import NetworkAddress
from fss_exporter.background import Worker
from fss_exporter.cli.account_sessions import sessions_of
from fss_exporter.cli.runtime import Component
from fss_exporter.errors import SourceError
from fss_exporter.oci.calls import FailureLog
from fss_exporter.oci.client import Credentials, SdkClient, Session, read_credentials
from fss_exporter.oci.publish.client_waits import ClientWaits
from fss_exporter.oci.publish.publisher import Poster
from fss_exporter.ocid import looks_like_ocid
from fss_exporter.settings import Settings

_INTERVAL_SECONDS: Final = 60.0
_TRIAL_SECONDS: Final = 3600.0  # after a post, until the agent tries again whether it can post
_STOP_SECONDS: Final = 0.3

log = logging.getLogger(__name__)


class ClientPublishing:
    """The loop that posts. `waited` returns the seconds of waiting so far by network and address."""

    def __init__(
        self,
        load: Callable[[], Settings],
        waited: Callable[[], Mapping[NetworkAddress, float]],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._load = load
        self._settings = load()
        self._waited = waited
        self._now = now
        self._held: Credentials | None = None
        self._session: Session | None = None
        self._waits = ClientWaits(socket.gethostname())
        self._poster = Poster(now)
        self._failures: FailureLog | None = None
        self._posted_at = -math.inf  # epoch seconds of the last post, if OCI took it
        self.loop = Worker(
            "client_publish",
            self.run_round,
            interval=lambda: _INTERVAL_SECONDS,
            is_on=lambda: self._settings.oci.publish,
        )

    def reload(self) -> Callable[[], None]:
        """Read the settings again, or raise UsageError for wrong settings. Return the function that puts them in force."""
        return partial(self._replace, self._load())

    def _replace(self, settings: Settings) -> None:
        self._settings, self._held = settings, None  # the next round reads the credentials again

    def run_round(self) -> None:
        """Post the waits since the last round. Without waits, try once an hour whether OCI takes a point.

        Raises:
            FssError: there are no credentials, or OCI did not take all points.
        """
        session = self._connected()
        named = [compartment for compartment in self._settings.oci.compartments if looks_like_ocid(compartment)]
        compartment, now = named[0] if named else session.tenancy_id, self._now()
        points = list(self._waits.points(self._waited(), now, compartment))
        if not points and 0 <= now - self._posted_at < _TRIAL_SECONDS:
            return
        self._posted_at = -math.inf
        points = points or [self._waits.trial(now, compartment)]
        if self._failures is None:
            self._failures = FailureLog(session.region, log)
        if not self._poster.post(points, SdkClient(session), self._failures):
            raise SourceError("not all points could be posted")
        self._posted_at = now

    def _connected(self) -> Session:
        if self._session is None or self._held is None or self._held.are_outdated:
            self._held = read_credentials(self._settings.oci)
            self._session = sessions_of(self._settings, self._held)[0]
            self._posted_at = -math.inf  # with these credentials nothing was posted
        return self._session


def component(load: Callable[[], Settings], waited: Callable[[], Mapping[NetworkAddress, float]]) -> Component:
    """Return the posts as a component of a running agent, or raise UsageError for wrong settings."""
    publishing = ClientPublishing(load, waited)
    loop = publishing.loop
    return Component(
        "client_publish",
        None,
        start=loop.start,
        stop=lambda: loop.stop(_STOP_SECONDS),
        loops=(loop,),
        reload=publishing.reload,
    )
