# SPDX-License-Identifier: Apache-2.0
"""Seconds of each address by verdict: the agent judges each look of ten seconds once.

A single tick of a second has too few requests for a mean, and a minute is long for a page.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Final

from fss_exporter.model.client_verdict import AddressWork, ClassWork, verdict_on
from fss_exporter.model.operations import FAIL_IN_ORDINARY_WORK, class_of
from fss_exporter.nfs.records import OperationCounters
from fss_exporter.nfs.totals import AddressTotals

LOOK_SECONDS: Final = 10.0


class AddressVerdicts:
    """Collects the work of each address, and adds the seconds of each look to the totals of the address.

    `stated` are latency objectives of the configuration in seconds by class. They can change between two looks.
    """

    def __init__(self, stated: Mapping[str, float] | None = None) -> None:
        self.stated = stated or {}
        self._work: dict[str, AddressWork] = defaultdict(AddressWork)
        self._judged_until: float | None = None

    def add(
        self, address: str, operation: str, old: OperationCounters, now: OperationCounters, payload_bytes: int
    ) -> None:
        """Note the change of one operation on one mount. A counter that falls adds nothing."""
        work = self._work[address]
        of_class = work.classes.setdefault(class_of(operation), ClassWork())
        of_class.requests += max(0, now.operations - old.operations)
        of_class.rtt_ms += max(0, now.rtt_ms - old.rtt_ms)
        of_class.payload_bytes += payload_bytes
        if operation not in FAIL_IN_ORDINARY_WORK:
            work.unexpected_errors += max(0, (now.errors or 0) - (old.errors or 0))

    def end_tick(
        self, waits: Mapping[str, float], mounted: Collection[str], totals: Mapping[str, AddressTotals], at: float
    ) -> None:
        """End a tick, `at` seconds of a monotonic clock. A look that is full is judged.

        Args:
            waits: seconds without any reply by address.
            mounted: addresses with a mount now. Others have no time.
            totals: totals by address.
            at: time of the tick.
        """
        for address, seconds in waits.items():
            if seconds:
                work = self._work[address]
                work.longest_wait_seconds = max(work.longest_wait_seconds, seconds)
        if self._judged_until is None:
            self._judged_until = at
        seconds = at - self._judged_until
        if seconds < LOOK_SECONDS:
            return
        for address in mounted:
            total = totals[address]
            has_defaults = total.io_operations is not None  # only a service with a cost table has default objectives
            total.seconds[verdict_on(self._work[address], self.stated, has_defaults=has_defaults)] += seconds
        self._work.clear()
        self._judged_until = at
