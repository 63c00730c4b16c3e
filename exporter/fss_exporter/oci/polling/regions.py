# SPDX-License-Identifier: Apache-2.0
"""The regions of one account, under the newest credentials. These are read at the first use, and again after a change of their
files.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fss_exporter.errors import FssError
from fss_exporter.log_once import LogOnce
from fss_exporter.oci.calls import FailureLog
from fss_exporter.oci.inventory.inventory_refresh import InventoryRefresh
from fss_exporter.oci.polling.region_polls import RegionPolls

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AccountRegion:
    """One region of an account: its inventory and its polls."""

    name: str  # name of the region
    inventory: InventoryRefresh
    inventory_failures: FailureLog  # log of failed inventory calls
    polls: RegionPolls


class SignedRegions:
    """The regions of an account, made at the first use and signing with the newest credentials. Any thread may use them.

    Credentials are those of `oci.client`, of which only `are_outdated` is used here.

    Args:
        read_credentials: reads the credentials again.
        make: returns the regions, once, with the first credentials that can be read.
        renew: lets the regions sign with other credentials, and keeps their state.
    """

    def __init__(
        self,
        read_credentials: Callable[[], Any],
        make: Callable[[Any], Sequence[AccountRegion]],
        renew: Callable[[Any], None],
    ) -> None:
        self._read_credentials = read_credentials
        self._make = make
        self._renew = renew
        self._lock = threading.Lock()
        self._log_once = LogOnce(log)
        self._held: Any = None
        self._regions: Sequence[AccountRegion] = ()

    def sign_with(self, fresh: Any) -> None:
        """Sign with other credentials of the same tenancy and regions from now on."""
        with self._lock:
            self._renew(fresh)
            self._held = fresh
            log.info("the OCI credentials were read again")

    def all(self) -> Sequence[AccountRegion]:
        """Return the regions, after a look whether there are newer credentials.

        Unreadable credentials leave the old credentials in use.

        Raises:
            FssError: there are no usable credentials. The log has the reason.
        """
        with self._lock:
            if self._held is None or self._held.are_outdated:
                self._refresh()
            return self._regions

    def _refresh(self) -> None:
        try:
            fresh = self._read_credentials()
            if self._held is None:
                self._regions = self._make(fresh)
            else:
                self._renew(fresh)
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
            self._held = fresh
            self._log_once = LogOnce(log)  # the next failure is a new one
