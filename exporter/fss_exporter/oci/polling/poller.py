# SPDX-License-Identifier: Apache-2.0
"""The poller: its accounts, a reload of their settings, and the lease that lets one of several equal pollers lead."""

import os
import re
import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from secrets import token_hex

from fss_exporter.background import Worker, at_once
from fss_exporter.errors import UsageError
from fss_exporter.oci.polling.account import Account, file_name
from fss_exporter.oci.polling.account_loops import STOP_SECONDS, AccountLoops
from fss_exporter.oci.polling.lease import RENEW_SECONDS, Lease
from fss_exporter.oci.settings_checks import check
from fss_exporter.settings import Settings


class Poller:
    """The loops of each account, and the lease if another poller may take its place.

    `now` is epoch seconds, and `clock` never goes back.

    Attributes:
        lease: tells whether this poller leads. None for a poller that never stands by.
        loops: the loops of all accounts, behind that of the lease.

    Raises:
        UsageError: the settings are wrong.
    """

    def __init__(
        self,
        load: Callable[[], Settings],
        *,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], bool | None] | None = None,
    ) -> None:
        self._load = load
        accounts = check(load()).each_account
        self._names = [account.oci.name for account in accounts]
        is_alone = len(accounts) == 1
        self._lease_path, name = _lease_path(accounts), _own_name()
        self.lease = (
            Lease(self._lease_path, name, extent=self._extent, clock=clock, on_change=self._begin_anew)
            if self._lease_path
            else None
        )
        self._accounts = [
            AccountLoops(
                account,
                "" if is_alone else account.oci.name or "",
                now=now,
                clock=clock,
                wait=wait,
                lease=self.lease,
                writer=name,
            )
            for account in accounts
        ]
        self.loops = tuple(loop for loops in self._accounts for loop in loops.loops)
        if self.lease:
            renewals = Worker(
                "oci_lease", self.lease.renew, interval=lambda: RENEW_SECONDS, clock=clock, wall_clock=now
            )
            self.loops = (renewals, *self.loops)

    def accounts(self) -> Sequence[Account]:
        """Return the accounts with the settings in force."""
        return [loops.account for loops in self._accounts]

    def start(self) -> None:
        """Start the loops that list resources, poll metrics and, if the settings say so, publish metrics."""
        for loop in self.loops:
            loop.start()

    def stop(self) -> None:
        """End the loops of all accounts at once."""
        at_once([loops.stop for loops in self._accounts], STOP_SECONDS * len(self._accounts[0].loops))
        if self.lease:
            self.loops[0].stop(STOP_SECONDS)
            self.lease.release()

    def _extent(self) -> str:
        """Return what this poller polls, for the poller that stands by. Empty before all credentials are read."""
        covered = [loops.extent for loops in self._accounts]
        return ", ".join(covered) if all(covered) else ""

    def _begin_anew(self) -> None:
        for loops in self._accounts:
            loops.begin_anew()

    def reload(self) -> Callable[[], None]:
        """Read the settings and the credentials again, and return the function that puts the settings in force.

        Raises:
            UsageError: the settings are wrong, or need a restart; the ones in force stay.
        """
        fresh = check(self._load()).each_account
        if [account.oci.name for account in fresh] != self._names:
            raise UsageError("oci: names of accounts changed, which takes a restart")
        if _lease_path(fresh) != self._lease_path:
            raise UsageError(
                "oci: standby, ledger_directory or shard changed, which takes a restart of a poller with a lease"
            )
        changes = [loops.reload(account) for loops, account in zip(self._accounts, fresh, strict=True)]

        def put_in_force() -> None:
            for change in changes:
                change()

        return put_in_force

    def waits_for(self) -> str:
        """Return what is missing before the poller is ready. Empty if nothing is. A poller that stands by waits for no poll."""
        if self.lease and not self.lease.is_held:
            return "" if self.lease.was_read else f"the first look at {self._lease_path}"
        unready = [loops for loops in self._accounts if not loops.is_ready()]
        names = ", ".join(loops.of for loops in unready if loops.of)
        return "a first answer of OCI in every region" + (names and f" of {names}") if unready else ""


def _lease_path(accounts: Sequence[Settings]) -> Path | None:
    """Return the file that one of several equal pollers holds, or None for a poller that never stands by."""
    oci = accounts[0].oci
    if not (oci.standby and oci.ledger_directory):
        return None
    names = (account.oci.name for account in accounts[1:])
    return oci.ledger_directory / f"{file_name(accounts[0], *names)}.leader"


def _own_name() -> str:
    """Return a name that no other process has."""
    host = re.sub(r"[^A-Za-z0-9.-]", "_", socket.gethostname())
    return f"{host}:{os.getpid()}:{token_hex(4)}"
