# SPDX-License-Identifier: Apache-2.0
"""Look at the tables of durations, each time between two readings of mountstats that check the counts."""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

from prometheus_client.core import Metric

from fss_exporter.addresses import NO_ADDRESSES, AddressMap
from fss_exporter.background import Worker
from fss_exporter.cpu_pace import CpuPace
from fss_exporter.model.client_state import JudgedRequests
from fss_exporter.nfs.accounts import RETENTION_SECONDS
from fss_exporter.nfs.collector import Answer
from fss_exporter.nfs.superblocks import Reading
from fss_kernel_counting.clients import ClientAddresses
from fss_kernel_counting.durations.latency_interval import (
    ByClient,
    CallAgreement,
    attributed,
    requests_of,
    with_earlier,
)
from fss_kernel_counting.durations.owners import Owners, owners
from fss_kernel_counting.durations.request_durations import (
    ANSWERED,
    BORN,
    FINISHED,
    UNANSWERED,
    AddressClass,
    RequestTotals,
    duration_tables,
    request_families,
)
from fss_kernel_counting.hist_tables import Lost
from fss_kernel_counting.instance_tables import MOST_ROWS, REFUSED_TABLE, InstanceTables, TriggerSetUp
from fss_kernel_counting.tracefs import NotYet, Sources

log = logging.getLogger(__name__)

INTERVAL_SECONDS: Final = 10.0
LARGEST_CPU_SHARE: Final = 0.01  # Of one core for the looks. On a host with very many mounts the agent looks less often

REFUSED, FULL, OPERATIONS, REUSED = "refused", "full", "operations", "client_reused"
NO_MOUNT = "no_mount"
_FRESH_INTERVALS: Final = 3  # an older interval says nothing about now
_FEWEST_ROWS: Final = 2048
_ROWS_OF_A_MOUNT: Final = 160  # a busy superblock has 80 to 120 rows


class _Interval(NamedTuple):
    """What a p99 objective has judged between two looks."""

    at: float  # of the second look, seconds of the clock
    judged: Mapping[
        str, Mapping[str, JudgedRequests]
    ]  # by address and class. An address that is not judged is not there

    @classmethod
    def of(cls, at: float, addresses: Iterable[str], judged: Mapping[AddressClass, JudgedRequests]) -> "_Interval":
        """Return the interval with these addresses."""
        by_address: dict[str, dict[str, JudgedRequests]] = {address: {} for address in addresses}
        for (address, of_class), own in judged.items():
            if address in by_address:
                by_address[address][of_class] = own
        return cls(at, by_address)


class LatencyReader:
    """Count the durations of requests, in a separate loop.

    Attributes:
        totals: the counts so far.
        objectives: p99 objectives in seconds by class, which judge each request from the next look on.
    """

    def __init__(
        self,
        read: Callable[[], Reading],
        sources: Sources,
        address_map: AddressMap = NO_ADDRESSES,
        *,
        objectives: Mapping[str, float] | None = None,
        rtt: bool = False,
        retention_s: float = RETENTION_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        cpu_clock: Callable[[], float] = time.thread_time,
    ) -> None:
        """Count beside a reader of mountstats.

        Args:
            read: reads mountstats once. Raises SourceError.
            sources: places of the kernel's files.
            address_map: mount targets behind TLS forwarders.
            objectives: p99 objectives in seconds by class.
            rtt: whether round-trip times are counted too.
            retention_s: seconds that the totals of an address stay after the last umount, at most.
            clock: seconds that never go back.
            cpu_clock: CPU time of the calling thread, seconds.
        """
        self.totals = RequestTotals()
        self.objectives = objectives or {}
        self._read = read
        self._sysfs = sources.sysfs
        self._retention_s = retention_s
        self._clock = clock
        self._cpu_clock = cpu_clock
        self._owners = Owners({}, {}, None, frozenset())
        self._mounted: Mapping[
            str, str
        ] = {}  # address by `major:minor` of superblocks with a mount since the last look
        self._hidden: ByClient = {}  # requests of clients with a superblock that no reading has had
        self._agreement = CallAgreement()
        self._interval = _Interval(0.0, {})
        self._last_seen: dict[str, float] = {}
        self._pace = CpuPace(INTERVAL_SECONDS, LARGEST_CPU_SHARE)
        self._addresses = ClientAddresses(sources.sysfs, address_map)
        self._triggers = TriggerSetUp(
            partial(duration_tables, rtt=rtt),
            sources,
            _FEWEST_ROWS,
            MOST_ROWS,
            clock,
            counted="durations of requests are counted",
            otherwise="durations of requests are not counted",
        )
        self.loop = Worker("nfs_latency", self._round, interval=self._interval_s, slowed=lambda: self._pace.slowed_s)

    def stop(self) -> None:
        """Stop the loop and remove the triggers."""
        self.loop.stop()
        self.close()

    def close(self) -> None:
        """Remove everything for good. A round in progress sets nothing up again."""
        self._triggers.close()
        self._begin_anew()

    def note(self, reading: Reading) -> None:
        """Note the mounts of a tick, so that the requests of a mount that ends before the next look have an address."""
        self._mounted = {**self._mounted, **{own.number: own.key.address for own in reading.superblocks}}

    def families(self, answer: Answer) -> Iterable[Metric]:
        """Return the metric families of the counts so far."""
        return request_families(self.totals, answer, self.objectives)

    def judged(self) -> Mapping[str, Mapping[str, JudgedRequests]]:
        """Return the requests of the last interval by address and class, unless the interval is long past."""
        interval = self._interval
        return interval.judged if self._clock() - interval.at <= _FRESH_INTERVALS * self._interval_s() else {}

    def _interval_s(self) -> float:
        return self._pace.interval_s

    def _begin_anew(self) -> None:
        self._hidden = {}
        self._interval = _Interval(0.0, {})
        self.totals = replace(self.totals, active=False)

    def _round(self) -> None:
        began, failed = self._cpu_clock(), ""
        reading, session = self._read(), self._triggers.session
        if session is not None and self.totals.active:
            failed = self._try(lambda: self._count(session, reading))
        if not self.totals.active:
            again = self._try(lambda: self._set_up(reading))
            failed = failed or again
        if failed:
            self.totals = self.totals.lost(failed)
        self._forget(reading)
        self._pace.add(self._cpu_clock() - began)

    def _try(self, look: Callable[[], None]) -> str:
        """Take a look at the tables. Return the check that failed, if any. After any error the next look is a first look."""
        try:
            look()
        except Exception as error:
            self._begin_anew()
            if not isinstance(error, Lost):
                raise
            self._triggers.lose(error)
            return error.check
        return ""

    def _count(self, session: InstanceTables, reading: Reading) -> None:
        grown = session.all_added()
        requests = requests_of(grown)
        after = self._read()
        born = self._addresses.learn(grown.get(BORN, ()))
        previous, self._owners = self._owners, self._owners_now(session, after)
        interval = attributed(with_earlier(requests, self._hidden, born), previous, self._owners, born)
        is_lost = not (after.filtered or after.left_out) and self._loses(
            interval.hidden, is_detached=after.detached > 0
        )
        self._hidden = interval.hidden
        failed = self._agreement.check(self._owners, interval.calls, (reading, after), born)
        present = {owner.address for owner in (*previous.superblocks, *self._owners.superblocks)}
        paused = (frozenset(owner.address for owner in failed) | interval.ambiguous) & present
        checks = [OPERATIONS] * len({owner.address for owner in failed}) + [REUSED] * len(interval.ambiguous & present)
        checks += [NO_MOUNT] * is_lost
        for address in sorted(paused - self.totals.paused):
            log.warning("durations of requests to %s are not counted: tables and mountstats disagree", address)
        places = {place: own for place, own in interval.places.items() if place[0] not in paused}
        objectives = self.objectives
        judged = {
            place: own.finished.judged(objectives[place[1]]) for place, own in places.items() if place[1] in objectives
        }
        self._interval = _Interval.of(self._clock(), self._addresses_now() - paused, judged)
        self.totals = self.totals.plus(places, judged, paused, checks)
        if session.is_nearly_full:
            log.info("the tables of durations are nearly full and are set up again")
            self._triggers.double()
            self._triggers.end()
            self.totals = self.totals.lost(FULL)
            self._begin_anew()

    def _loses(self, hidden: ByClient, *, is_detached: bool) -> bool:
        """Whether requests are lost because no search has found a mount of their superblock, or it has ended before."""
        if any(client not in self._owners.linked and client not in self._owners.of for client, _ in self._hidden):
            return True
        return is_detached and any(own != self._hidden.get(place) for place, own in hidden.items())

    def _addresses_now(self) -> frozenset[str]:
        return frozenset(owner.address for owner in self._owners.superblocks)

    def _owners_now(self, session: InstanceTables, reading: Reading) -> Owners:
        # On a kernel without clients in sysfs, the tables name the clients that were born or have called.
        seen = {key[0] for name in session.names & {FINISHED, BORN} for key in session.rows(name)}
        ended, self._mounted = self._mounted, {}
        return owners(reading, seen, self._sysfs, self._addresses, ended)

    def _set_up(self, reading: Reading) -> None:
        """Set the triggers, and take the first look for the next comparison.

        Raises:
            Lost: the look fails.
        """
        session = self._triggers.ready(len(reading.superblocks) * _ROWS_OF_A_MOUNT)
        if session is None:
            if self._triggers.refusal is not None and not isinstance(self._triggers.refusal, NotYet):
                self.totals = self.totals.lost(REFUSED)
            return
        self._addresses.learn_all()
        grown = session.added()
        after = self._read()
        self._addresses.learn(grown.get(BORN, ()))
        self._owners = self._owners_now(session, after)
        self._agreement = CallAgreement()
        self._agreement.check(self._owners, {}, (reading, after))
        self.totals = replace(
            self.totals,
            active=True,
            counts_rtt=ANSWERED in session.names,
            counts_unanswered=UNANSWERED in session.names,
            paused=frozenset(),
        )
        for _ in range(session.refused):
            self.totals = self.totals.lost(REFUSED_TABLE)
        self._interval = _Interval.of(self._clock(), self._addresses_now(), {})
        if self._triggers.session is None:  # closed in the meantime
            self._begin_anew()

    def _forget(self, reading: Reading) -> None:
        """Drop the totals of addresses without a mount, two rounds before the retention ends.

        The accounts drop the address at the end. An address that is back begins at zero, so no old totals may be left.
        """
        now, longest_s = self._clock(), max(0.0, self._retention_s - 2 * self._interval_s())
        for superblock in reading.superblocks:
            self._last_seen[superblock.key.address] = now
        gone = {address for address, at in self._last_seen.items() if now - at > longest_s}
        if gone:
            self.totals = self.totals.without(gone)
            for address in gone:
                del self._last_seen[address]
