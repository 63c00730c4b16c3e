# SPDX-License-Identifier: Apache-2.0
"""The background loop that counts the load by process, and the metric families of the processes and jobs with the highest load."""

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from prometheus_client.core import Metric

from fss_exporter.background import Worker
from fss_exporter.catalogue import family
from fss_exporter.nfs.collector import Answer, new_since
from fss_exporter.nfs.superblocks import Reading
from fss_kernel_counting.processes.attribution import Places
from fss_kernel_counting.processes.costliest import NO_AMOUNT, Labels, TopLoads
from fss_kernel_counting.processes.counting import ProcessCounting, by_address
from fss_kernel_counting.processes.identities import Identity, SeenThread

_LABELS: Final[Mapping[str, Callable[[SeenThread], Labels | None]]] = {
    "process": lambda seen: seen.identity,
    "job": lambda seen: (seen.job,) if seen.job else None,
}

# Names of these labels.
_NAMES: Final[Mapping[str, Labels]] = {"process": ("process", "pod_namespace", "pod_name", "unit"), "job": ("jobid",)}

# Labels of a thread, and of everything without a row, by kind of the rows.
_OTHER: Final[Mapping[str, Labels]] = {"process": Identity("other"), "job": ("other",)}

READ_SECONDS: Final = 10.0  # Time between two looks at the tables


class ProcessReader:
    """Count the load by process in a separate loop. A failure costs a look and nothing else of the agent."""

    def __init__(
        self,
        counting: ProcessCounting,
        most_processes: int,
        reading: Callable[[], Reading | None],
        zero_answers: int = 1,
        *,
        most_jobs: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Look at the tables of a counting.

        Args:
            counting: looks at the tables.
            most_processes: processes of each address with separate series. 0 for no series by process.
            reading: returns the last reading of mountstats, if any.
            zero_answers: answers that show a new process at zero, as many as servers scrape this agent.
            most_jobs: batch jobs of each address with separate series. 0 for no series by job.
            clock: seconds that never go back.
        """
        self._counting = counting
        self._reading = reading
        self._zero_answers = zero_answers
        self._answered_at = math.inf  # no server has asked yet
        self._clock = clock
        self._lock = threading.Lock()
        self._round_lock = threading.Lock()
        kinds = (("process", most_processes), ("job", most_jobs))
        self._tops = {kind: TopLoads(most) for kind, most in kinds if most}
        self.loop = Worker("nfs_processes", self._round, interval=lambda: READ_SECONDS)

    def stop(self) -> None:
        """Stop the loop and remove the triggers. A look in progress sets no trigger again."""
        self.loop.stop()
        with self._round_lock:
            self._counting.close()

    def _round(self) -> None:
        with self._round_lock:
            reading = self._reading()
            if reading is None:
                return
            loads = self._counting.read(reading)
        priced, now = Places(reading.superblocks).priced, self._clock()
        with self._lock:
            for kind, top in self._tops.items():
                top.add(by_address(loads, _LABELS[kind]), priced, now)

    def families(self, answer: Answer) -> Iterator[Metric]:
        """Return the metric families. A new process or job shows zeros in its first answers to a server."""
        with self._lock:
            now = self._clock()
            since = new_since(self._answered_at, now)
            if answer.is_for_server:
                self._answered_at = now
            for kind, top in self._tops.items():
                yield from self._rows(kind, top, answer, since)
        counting = self._counting
        active = (((part,), float(part in counting.active)) for part in counting.parts)
        yield family("fss_nfs_process_part_active", active, labels=("part",))
        failures = sorted(dict(counting.failures).items())
        yield family("fss_nfs_process_part_failures_total", failures, labels=("part", "reason"))

    def _rows(self, kind: str, top: TopLoads, answer: Answer, since: float) -> tuple[Metric, ...]:
        """Return the families of processes or jobs. A row that began before `since` shows its counts at once."""
        operations, costs, carried = [], [], []
        for address, rows in top.addresses.items():
            for labels, row in (*rows.rows.items(), (_OTHER[kind], None)):
                total = rows.other if row is None else row.total
                if row is not None and row.answers == 0 and row.began_at < since:
                    row.answers = self._zero_answers
                if row is not None and row.answers < self._zero_answers:
                    total = NO_AMOUNT if answer.is_for_server else total
                    row.answers += answer.is_for_server
                series = (answer.network, address, *labels)
                operations.append((series, total.operations))
                if rows.priced:
                    costs.append((series, total.io_operations))
                carried.append(((*series, "read"), total.read_bytes))
                carried.append(((*series, "write"), total.written_bytes))
        names = ("network", "address", *_NAMES[kind])
        return (
            family(f"fss_client_{kind}_operations_total", operations, labels=names),
            family(f"fss_client_{kind}_io_operations_total", costs, labels=names),
            family(f"fss_client_{kind}_bytes_total", carried, labels=(*names, "direction")),
        )
