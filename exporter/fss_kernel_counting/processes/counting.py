# SPDX-License-Identifier: Apache-2.0
"""Loads by process, look after look: triggers, places, attribution and identities put together."""

import logging
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from typing import NamedTuple, TypeVar

from fss_exporter.log_once import LogOnce
from fss_exporter.nfs.mount_settings import MountSettings
from fss_exporter.nfs.superblocks import Reading
from fss_kernel_counting.clients import ClientAddresses
from fss_kernel_counting.instance_tables import RETRY_SECONDS, TriggerSetUp
from fss_kernel_counting.processes import process_session
from fss_kernel_counting.processes.attribution import Attribution, Places, Thread, amount
from fss_kernel_counting.processes.births import FamilyTree
from fss_kernel_counting.processes.costliest import NO_AMOUNT, Amount
from fss_kernel_counting.processes.identities import Identities, Pods, SeenThread
from fss_kernel_counting.processes.job_numbers import JobNumbers
from fss_kernel_counting.processes.process_session import REFUSED, UNREADABLE, ProcessSession
from fss_kernel_counting.tracefs import NotYet, ProcessNames, Sources, Tracefs

_LOG = logging.getLogger(__name__)

INSTANCE, IDENTITIES, POD_NAMES = "instance", "identities", "pod_names"  # Parts beside the parts of the session

WAITS, RENEWED = "waits", "renewed"  # Reasons of a failure beside the reasons of the session

_FEWEST_ROWS, _MOST_ROWS = 4096, 16384


Who = TypeVar("Who", bound=Hashable)


class ProcessLoad(NamedTuple):
    """Load of one thread on one address."""

    address: str
    seen: SeenThread
    amount: Amount


def by_address(loads: Iterable[ProcessLoad], who: Callable[[SeenThread], Who]) -> dict[str, dict[Who, Amount]]:
    """Add up the loads of all threads of a process, pod, unit or job, by address. `who` returns that of a thread."""
    result: dict[str, dict[Who, Amount]] = defaultdict(dict)
    for address, seen, load in loads:
        name = who(seen)
        result[address][name] = result[address].get(name, NO_AMOUNT).plus(load)
    return result


class ProcessCounting:
    """Count the load by process, from the first look until the end.

    Attributes:
        failures: looks by part and reason.
        active: parts that counted at the last look.
        parts: every part that is wanted.
    """

    def __init__(
        self,
        names: ProcessNames,
        *,
        writers: bool,
        sources: Sources,
        mounts: MountSettings,
        has_job_numbers: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Count for one program.

        Args:
            names: names in tracefs of this program.
            writers: whether delayed writes count for the process that wrote.
            sources: places of the kernel's files.
            mounts: mount targets behind TLS forwarders, and measured costs.
            has_job_numbers: whether to look for numbers of Slurm jobs in environments, which hold secrets.
            clock: seconds that never go back.
        """
        self.failures: Counter[tuple[str, str]] = Counter()
        self.active: frozenset[str] = frozenset()
        join = process_session.PARTS if writers else process_session.PARTS_WITHOUT_JOIN
        self.parts = (INSTANCE, *join, IDENTITIES, POD_NAMES)
        self._names = names
        self._writers = writers
        self._overrides = mounts.overrides
        self._clock = clock
        self._attribution = Attribution()
        self._next_renewal = 0.0
        self._log_once = LogOnce(_LOG)
        self._addresses = ClientAddresses(sources.sysfs, mounts.address_map)
        self._pods = Pods(sources.pod_logs)
        self._family_tree = FamilyTree(sources.procfs)
        job_numbers = JobNumbers(sources.procfs) if has_job_numbers else None
        self._identities = Identities(sources.procfs, self._pods, self._family_tree, job_numbers)
        self._triggers = TriggerSetUp(
            self._set_triggers,
            sources,
            _FEWEST_ROWS,
            _MOST_ROWS,
            clock,
            counted="load by process is counted",
            otherwise="no load by process",
        )

    def open(self) -> None:
        """Set the triggers.

        Raises:
            NotYet: the NFS client is not loaded.
            Unavailable: this kernel cannot, or this process may not.
        """
        self._triggers.begin()

    def _set_triggers(self, tracefs: Tracefs, rows: int) -> ProcessSession:
        session = ProcessSession(tracefs, self._names, rows, self._addresses, writers=self._writers)
        self._family_tree.begin()
        for part, reason in session.refused.items():
            self.failures[part, REFUSED] += 1
            self._log_once.failed(part, f"load by process without {part}: {reason}")
        return session

    def close(self) -> None:
        """Remove the triggers for good."""
        self._triggers.close()

    def read(self, reading: Reading) -> list[ProcessLoad]:
        """Return the loads since the last look. Empty while the triggers cannot be set. `reading` names the mounts.

        Raises:
            Lost: a key has another layout. The counts of this look are missing for good, and no part is active.
        """
        try:
            return self._loads(reading)
        except BaseException:
            self.active = frozenset()
            raise

    def _loads(self, reading: Reading) -> list[ProcessLoad]:
        session = self._ready() if reading.superblocks else self._triggers.session
        if session is None:
            self.active = frozenset()
            self._family_tree.forget()  # births go unseen until the triggers are set
            return []
        loads: dict[tuple[str, Thread], Amount] = defaultdict(Amount)
        for (place, thread, kind), count in self._attribution.loads(session.read(Places(reading.superblocks))).items():
            load = loads[place.address, thread]
            loads[place.address, thread] = load.plus(amount(place.rule, kind, count, self._overrides))
        births = session.records()
        if process_session.BIRTHS in session.troubles:
            self._family_tree.forget()
        self._family_tree.learn(births)
        seen = self._identities.find({thread for _, thread in loads})
        self._note(session)
        if session.is_worn and self._clock() >= self._next_renewal:
            # The look above was the last of these tables.
            self.failures[INSTANCE, RENEWED] += 1
            self._next_renewal = self._clock() + RETRY_SECONDS
            if process_session.FULL in session.troubles.values():
                self._triggers.double()
            self._triggers.end()
            self._ready()
        return [ProcessLoad(address, seen[thread], load) for (address, thread), load in loads.items()]

    def _ready(self) -> ProcessSession | None:
        session, refusal = self._triggers.ready(_FEWEST_ROWS), self._triggers.refusal
        if refusal is not None:
            self.failures[INSTANCE, WAITS if isinstance(refusal, NotYet) else REFUSED] += 1
        return session

    def _note(self, session: ProcessSession) -> None:
        """Keep the failures of this look at the tables."""
        failed = dict(session.troubles)
        if not self._identities.is_readable:
            failed[IDENTITIES] = UNREADABLE
        if not self._pods.is_readable:
            failed[POD_NAMES] = UNREADABLE
        self.failures.update(failed.items())
        for part in self.parts:
            if part in failed:
                self._log_once.failed(part, f"load by process: {part} is {failed[part]}")
            elif part in session.active or part in (IDENTITIES, POD_NAMES):
                self._log_once.works(part, f"load by process: {part} works again")
        self.active = frozenset({INSTANCE, IDENTITIES, POD_NAMES} | session.active) - failed.keys()
