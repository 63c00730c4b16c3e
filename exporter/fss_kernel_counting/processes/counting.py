"""Loads by process, look after look: triggers, places, attribution and identities put together."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import NamedTuple

from fss_exporter.log_once import LogOnce
from fss_exporter.model.cost_overrides import CostOverrides
from fss_exporter.nfs.superblocks import Reading
from fss_kernel_counting.clients import ClientAddresses
from fss_kernel_counting.instance_tables import RETRY_SECONDS, TriggerSetUp
from fss_kernel_counting.processes import process_session
from fss_kernel_counting.processes.attribution import Attribution, Places
from fss_kernel_counting.processes.identities import Identities, Pods, SeenThread
from fss_kernel_counting.processes.process_session import REFUSED, UNREADABLE, Names, ProcessSession
from fss_kernel_counting.processes.top import Amount
from fss_kernel_counting.tracefs import NotYet, Sources

_LOG = logging.getLogger(__name__)

INSTANCE, IDENTITIES, POD_NAMES = "instance", "identities", "pod_names"  # Parts beside the parts of the session

WAITS, RENEWED = "waits", "renewed"  # Reasons of a failure beside the reasons of the session

_FEWEST_ROWS, _MOST_ROWS = 4096, 16384


class ProcessLoad(NamedTuple):
    """Load of one thread on one address."""

    address: str
    seen: SeenThread
    amount: Amount


@dataclass(eq=False, repr=False)
class ProcessCounting:
    """Count the load by process, from the first look until the end."""

    names: Names  # names in tracefs of this program
    _: KW_ONLY
    writers: bool  # whether delayed writes count for the process that wrote
    sources: Sources  # places of the kernel's files
    address_map: Mapping[str, str]  # mount-target address by TLS forwarder address
    overrides: CostOverrides  # measured costs in place of the white paper's table
    clock: Callable[[], float] = time.monotonic  # seconds that never go back
    failures: Counter[tuple[str, str]] = field(default_factory=Counter, init=False)  # looks by part and reason
    active: frozenset[str] = field(default=frozenset(), init=False)  # parts that counted at the last look
    _attribution: Attribution = field(default_factory=Attribution, init=False)
    _next_renewal: float = field(default=0.0, init=False)
    _log_once: LogOnce = field(default_factory=lambda: LogOnce(_LOG), init=False)

    def __post_init__(self) -> None:
        self.parts = (
            INSTANCE,
            *(process_session.PARTS if self.writers else process_session.PARTS_WITHOUT_JOIN),
            IDENTITIES,
            POD_NAMES,
        )
        self._addresses = ClientAddresses(self.sources.sysfs, self.address_map)
        self._pods = Pods(self.sources.pod_logs)
        self._identities = Identities(self.sources.procfs, self._pods)
        self._triggers = TriggerSetUp(
            self._set_triggers,
            self.sources,
            _FEWEST_ROWS,
            _MOST_ROWS,
            self.clock,
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

    def _set_triggers(self, root: Path, rows: int) -> ProcessSession:
        addresses, files = self._addresses, self.sources.files
        session = ProcessSession(root, self.names, rows, writers=self.writers, addresses=addresses, files=files)
        for part, reason in session.refused.items():
            self.failures[part, REFUSED] += 1
            self._log_once.failed(part, f"load by process without {part}: {reason}")
        return session

    def close(self) -> None:
        """Remove the triggers for good."""
        self._triggers.close()

    def look(self, reading: Reading) -> list[ProcessLoad]:
        """Return the loads since the last look. Empty while the triggers cannot be set. `reading` names the mounts."""
        session = self._ready() if reading.superblocks else self._triggers.session
        if session is None:
            self.active = frozenset()
            return []
        loads = self._attribution.loads(session.look(Places(reading.superblocks)))
        seen = self._identities.look({thread for _, thread in loads})
        self._note(session)
        if session.is_worn and self.clock() >= self._next_renewal:
            # The look above was the last of these tables.
            self.failures[INSTANCE, RENEWED] += 1
            self._next_renewal = self.clock() + RETRY_SECONDS
            if process_session.FULL in session.troubles.values():
                self._triggers.double()
            self._triggers.end()
            self._ready()
        found = []
        for (place, thread), load in loads.items():
            cost = load.cost(place.rule, self.overrides) or 0.0
            amount = Amount(load.operations, cost, load.reads.payload_bytes, load.writes.payload_bytes)
            found.append(ProcessLoad(place.address, seen[thread], amount))
        return found

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
