"""Loads by process, look after look: triggers, places, attribution and identities put together."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from fss_exporter.log_once import LogOnce
from fss_exporter.model.cost_overrides import CostOverrides
from fss_exporter.nfs.exact.clients import ClientAddresses
from fss_exporter.nfs.exact.instance_tables import RETRY_SECONDS, TriggerSetUp
from fss_exporter.nfs.exact.tracefs import NotYet, Sources
from fss_exporter.nfs.processes.attribution import Attribution, Place, Places, ThreadLoad
from fss_exporter.nfs.processes.identities import Identities, Pods, Seen
from fss_exporter.nfs.processes.process_session import (
    FULL,
    PARTS,
    PARTS_WITHOUT_JOIN,
    REFUSED,
    UNREADABLE,
    Names,
    ProcessSession,
)
from fss_exporter.nfs.processes.top import Amount
from fss_exporter.nfs.superblocks import Reading

_LOG = logging.getLogger(__name__)

INSTANCE, IDENTITIES, POD_NAMES = "instance", "identities", "pod_names"  # Parts beside those of the session

WAITS, RENEWED = "waits", "renewed"  # Reasons of a failure beside those of the session

_FEWEST_ROWS, _MOST_ROWS = 4096, 16384


class ProcessLoad(NamedTuple):
    """Load of one thread on one address."""

    address: str
    seen: Seen
    amount: Amount


class ProcessCounting:
    """Count the load by process, from the first look until the end. With `writers`, delayed writes count for the process that wrote.

    Attributes:
        parts: parts that can fail separately.
        failures: looks without counts, by part and reason.
        active: parts that counted at the last look.
    """

    def __init__(
        self,
        names: Names,
        *,
        writers: bool,
        sources: Sources,
        address_map: Mapping[str, str],
        overrides: CostOverrides,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.failures: Counter[tuple[str, str]] = Counter()
        self.active: frozenset[str] = frozenset()
        self.parts = (INSTANCE, *(PARTS if writers else PARTS_WITHOUT_JOIN), IDENTITIES, POD_NAMES)
        self._names = names
        self._writers = writers
        self._sources = sources
        self._addresses = ClientAddresses(sources.sysfs, address_map)
        self._pods = Pods(sources.pod_logs)
        self._identities = Identities(sources.procfs, self._pods)
        self._overrides = overrides
        self._clock = clock
        self._triggers = TriggerSetUp(
            self._set_triggers,
            sources,
            (_FEWEST_ROWS, _MOST_ROWS),
            clock,
            counted="load by process is counted",
            otherwise="no load by process",
        )
        self._attribution = Attribution()
        self._next_renewal = 0.0
        self._log_once = LogOnce(_LOG)

    def open(self) -> None:
        """Set the triggers.

        Raises:
            NotYet: the NFS client is not loaded.
            Unavailable: this kernel cannot, or this process may not.
        """
        self._triggers.begin()

    def _set_triggers(self, root: Path, rows: int) -> ProcessSession:
        session = ProcessSession(
            root,
            self._names,
            rows,
            writers=self._writers,
            addresses=self._addresses,
            files=self._sources.files,
        )
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
        if session.is_worn and self._clock() >= self._next_renewal:
            # The look above was the last of these tables.
            self.failures[INSTANCE, RENEWED] += 1
            self._next_renewal = self._clock() + RETRY_SECONDS
            if FULL in session.troubles.values():
                self._triggers.double()
            self._triggers.end()
            self._ready()
        return [
            ProcessLoad(place.address, seen[thread], self._amount(place, load))
            for (place, thread), load in loads.items()
        ]

    def _ready(self) -> ProcessSession | None:
        session, refusal = self._triggers.ready(_FEWEST_ROWS), self._triggers.refusal
        if refusal is not None:
            self.failures[INSTANCE, WAITS if isinstance(refusal, NotYet) else REFUSED] += 1
        return session

    def _note(self, session: ProcessSession) -> None:
        """Keep what failed at this look."""
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

    def _amount(self, place: Place, load: ThreadLoad) -> Amount:
        cost = load.cost(place.rule, self._overrides)
        return Amount(load.operations, cost or 0.0, load.reads.payload_bytes, load.writes.payload_bytes)
