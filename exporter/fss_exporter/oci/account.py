"""The regions of one account. Credentials are read at the first use, and again after a change of their files."""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from fss_exporter.errors import FssError
from fss_exporter.log_once import LogOnce
from fss_exporter.oci.failure_log import FailureLog
from fss_exporter.oci.inventory_refresh import InventoryRefresh
from fss_exporter.oci.region_poller import RegionPoller

log = logging.getLogger(__name__)


class SignsRequests(Protocol):
    """The part of `oci.client.Credentials` that the account uses."""

    @property
    def are_outdated(self) -> bool:
        """Whether a file of the credentials has changed."""


_Held = TypeVar("_Held", bound=SignsRequests)


@dataclass(frozen=True, slots=True)
class MonitoredRegion:
    """One region with inventory and poller."""

    name: str  # of the region
    inventory: InventoryRefresh  # keeps the inventory
    inventory_failures: FailureLog  # log of failed inventory calls
    poller: RegionPoller  # polls the metrics


@dataclass(eq=False, repr=False)
class Account(Generic[_Held]):
    """The regions, connected at the first use. Any thread may use the account."""

    read_credentials: Callable[[], _Held]  # reads the credentials again
    # makes the regions, once, with the first credentials that can be read
    connect: Callable[[_Held], Sequence[MonitoredRegion]]
    renew: Callable[[_Held], None]  # lets the regions sign with other credentials; what they know stays
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _log_once: LogOnce = field(default_factory=lambda: LogOnce(log), init=False)
    _held: _Held | None = field(default=None, init=False)
    _regions: Sequence[MonitoredRegion] = field(default=(), init=False)
    _must_read: bool = field(default=False, init=False)

    def read_credentials_again(self) -> None:
        """Read the credentials again before the next round, whether or not their files seem to have changed."""
        self._must_read = True

    def regions(self) -> Sequence[MonitoredRegion]:
        """Return the regions, with the newest credentials.

        Unreadable credentials leave the old credentials in use.

        Raises:
            FssError: there are no usable credentials. The log has the reason.
        """
        with self._lock:
            if self._held is None or self._must_read or self._held.are_outdated:
                self._refresh()
            return self._regions

    def _refresh(self) -> None:
        try:
            fresh = self.read_credentials()
            if self._held is None:
                self._regions = self.connect(fresh)
            else:
                self.renew(fresh)
                log.info("the OCI credentials were read again")
        except FssError as error:
            kept = "" if self._held is None else ". The credentials read before stay in use"
            self._log_once.failed(
                f"credentials {error}",
                f"cannot use the OCI credentials, will try again: {error}{kept}",
                level=logging.ERROR,
            )
            if self._held is None:
                raise
        else:
            self._held, self._must_read = fresh, False


_Region = TypeVar("_Region")


def each_region(regions: Sequence[_Region], work: Callable[[_Region], None]) -> None:
    """Run the work for each region, several regions at a time, so that a slow region does not delay the others.

    Raises:
        Exception: the first error, after the work of all regions has ended.
    """
    if len(regions) == 1:
        work(regions[0])
        return
    errors: list[BaseException] = []

    def guarded(region: _Region) -> None:
        try:
            work(region)
        except BaseException as error:  # noqa: BLE001  # raised again in the thread of the caller
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(region,), daemon=True) for region in regions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
