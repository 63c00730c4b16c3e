"""The regions of one account. Credentials are read when they are first needed, and again when their files change."""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from fss_exporter.errors import FssError
from fss_exporter.log_once import LogOnce
from fss_exporter.oci.failure_log import FailureLog
from fss_exporter.oci.inventory_refresh import InventoryRefresh
from fss_exporter.oci.region_poller import RegionPoller

log = logging.getLogger(__name__)


class SignsRequests(Protocol):
    """The credentials, as far as the account needs them."""

    @property
    def are_outdated(self) -> bool:
        """Whether a file they were read from has changed."""


_Held = TypeVar("_Held", bound=SignsRequests)


@dataclass(frozen=True, slots=True)
class MonitoredRegion:
    """One region: its inventory and its poller.

    Attributes:
        name: of the region.
        inventory: keeps the inventory.
        inventory_failures: log of failed inventory calls.
        poller: polls the metrics.
    """

    name: str
    inventory: InventoryRefresh
    inventory_failures: FailureLog
    poller: RegionPoller


class Account(Generic[_Held]):
    """The regions, connected at first use. Any thread may ask for them.

    Args:
        read_credentials: reads the credentials again.
        connect: makes the regions, once, with the first credentials that can be read.
        renew: lets the regions sign with other credentials; what they know stays.
    """

    def __init__(
        self,
        read_credentials: Callable[[], _Held],
        connect: Callable[[_Held], Sequence[MonitoredRegion]],
        renew: Callable[[_Held], None],
    ) -> None:
        self._read_credentials = read_credentials
        self._connect = connect
        self._renew = renew
        self._lock = threading.Lock()
        self._log_once = LogOnce(log)
        self._held: _Held | None = None
        self._regions: Sequence[MonitoredRegion] = ()
        self._must_read = False

    def read_credentials_again(self) -> None:
        """Read the credentials again before the next round, whether or not their files seem to have changed."""
        self._must_read = True

    def regions(self) -> Sequence[MonitoredRegion]:
        """The regions, signing with the newest credentials. Credentials that cannot be read leave the old ones in use.

        Raises:
            FssError: there are no credentials that can be used; this has been logged.
        """
        with self._lock:
            if self._held is None or self._must_read or self._held.are_outdated:
                self._refresh()
            return self._regions

    def _refresh(self) -> None:
        try:
            fresh = self._read_credentials()
            if self._held is None:
                self._regions = self._connect(fresh)
            else:
                self._renew(fresh)
                log.info("the OCI credentials were read again")
        except FssError as error:
            kept = "" if self._held is None else "; the credentials read before stay in use"
            self._log_once.failed(
                f"credentials {error}",
                f"cannot use the OCI credentials, will try again: {error}{kept}",
                level=logging.ERROR,
            )
            if self._held is None:
                raise
        else:
            self._held, self._must_read = fresh, False
