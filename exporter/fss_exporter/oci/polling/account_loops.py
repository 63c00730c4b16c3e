# SPDX-License-Identifier: Apache-2.0
"""The loops of one account, and what a reload does to them."""

import logging
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from fss_exporter.background import EndLoop, Worker
from fss_exporter.errors import FssError, UsageError
from fss_exporter.oci.calls import SelfMetrics
from fss_exporter.oci.polling.account import Account, selected
from fss_exporter.oci.polling.lease import Lease
from fss_exporter.oci.rows.mount_target_states import StateTimes
from fss_exporter.settings import Settings

STOP_SECONDS: Final = 0.3  # for each loop; calls under way are left to their daemon threads
_LONGEST_INVENTORY_LOOK: Final = 60.0  # seconds between two looks whether an inventory is due
_PUBLISH_SECONDS: Final = 5.0  # between two looks whether a poll has ended

log = logging.getLogger(__name__)


class AccountLoops:
    """The loops that poll one account. They live as long as the exporter. A reload replaces the work of the loops.

    `of` stands in the names of the loops, if there are several accounts. `now` is epoch seconds, and `clock` never goes back.
    Rounds without the `lease` only read the credentials. None for a poller that never stands by. `writer` is the name of this
    poller in its files.

    Attributes:
        of: as given.
        account: the account with the settings in force.
    """

    def __init__(
        self,
        settings: Settings,
        of: str,
        *,
        now: Callable[[], float],
        clock: Callable[[], float],
        wait: Callable[[float], bool | None] | None,
        lease: Lease | None = None,
        writer: str = "",
    ) -> None:
        self.of = of
        self._lease = lease
        may_keep = lease.holds_now if lease else lambda: True
        self._account_of = partial(
            Account,
            self_metrics=SelfMetrics(),
            now=now,
            clock=clock,
            wait=wait,
            may_keep=may_keep,
            writer=writer,
            times=StateTimes(),
        )
        self.account = self._account_of(settings)
        common: dict[str, Any] = {"of": of, "clock": clock, "wall_clock": now}
        self._inventory = Worker(
            "oci_inventory",
            lambda: self._round(lambda account: account.inventories.run_round()),
            interval=lambda: min(self.account.settings.oci.inventory_interval, _LONGEST_INVENTORY_LOOK),
            **common,
        )
        self._polls = Worker(
            "oci",
            lambda: self._round(Account.poll),
            interval=lambda: self.account.settings.oci.poll_interval,
            **common,
        )
        self._publish = Worker(
            "oci_publish",
            lambda: self._round(lambda account: account.publisher.run_round()),
            interval=lambda: _PUBLISH_SECONDS,
            is_on=lambda: self.account.settings.oci.publish,
            **common,
        )
        ledgers = Worker(
            "oci_ledger",
            lambda: self._round(Account.check_ledgers),
            interval=lambda: self.account.settings.oci.poll_interval,
            is_on=lambda: self.account.settings.oci.ledger_directory is not None,
            **common,
        )
        self.loops = (self._inventory, self._polls, self._publish, ledgers)

    @property
    def extent(self) -> str:
        """Name of the account, else the OCID of its tenancy, the regions, and what the settings select there.

        Empty before the credentials are read.
        """
        account = self.account
        place = f"{account.board.tenancy} in {'+'.join(account.region_names)}"
        return f"{place} {selected(account.settings)}".strip() if account.region_names else ""

    def stop(self) -> None:
        """End the loops. A call under way gets a moment to end, and the poller drops the answer of a longer call."""
        self.account.stopping.set()
        for loop in self.loops:
            loop.stop(STOP_SECONDS)

    def reload(self, fresh: Settings) -> Callable[[], None]:
        """Read the credentials again, and return the function that puts other settings in force.

        Polls go on undisturbed where only limits, objectives or keys changed. Otherwise the last polls are shown until OCI has
        answered with the new settings.

        Raises:
            UsageError: the credentials cannot be used, and those in force can.
        """
        is_equal = fresh.oci == self.account.settings.oci
        if not self.account.region_names:  # no credentials could be used so far, so nothing is lost
            account = self._account_of(fresh, ledgers=self.account.ledgers)
            return partial(self._adjust, fresh, lambda: None) if is_equal else partial(self._start_again, account)
        try:
            sign = self.account.renewal() if is_equal else None
            if sign is not None:
                return partial(self._adjust, fresh, sign)
            account = self._account_of(fresh, ledgers=self.account.ledgers, before=self.account.shown)
            account.regions.all()
        except FssError as error:
            raise UsageError(f"the OCI credentials cannot be used: {error}") from error
        account.polls.go_on_from(self.account.polls)
        return partial(self._start_again, account)

    def _start_again(self, account: Account) -> None:
        self._use(account)
        log.info("the OCI settings changed: polling starts again, and the counters go on")

    def _adjust(self, fresh: Settings, sign: Callable[[], None]) -> None:
        self.account.settings = fresh
        sign()

    def begin_anew(self) -> None:
        """Forget what was polled and counted. The next poll reads the ledger of the last leader."""
        self._use(self._account_of(self.account.settings))

    def _use(self, account: Account) -> None:
        old, self.account = self.account, account
        old.stopping.set()
        for loop in self.loops:
            loop.wake()

    def is_ready(self) -> bool:
        """Return whether OCI has answered a poll in every region, with these settings or those before a reload."""
        return self.account.polls.was_answered

    def _round(self, run: Callable[[Account], None]) -> None:
        """Run a round. A round that ends because of new settings does not end the loop."""
        account = self.account
        try:
            if self._lease and not self._lease.is_held:
                account.regions.all()  # credentials that cannot be used show before this poller has to lead
            else:
                run(account)
        except EndLoop:
            if account is self.account:
                raise
