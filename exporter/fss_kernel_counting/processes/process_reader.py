"""The background loop that counts the load by process, and the metric families of the processes with the highest load."""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from fss_exporter.background import Worker
from fss_exporter.catalogue import Family, family
from fss_exporter.nfs.collector import Answer
from fss_exporter.nfs.superblocks import Reading
from fss_kernel_counting.processes.attribution import Places
from fss_kernel_counting.processes.counting import ProcessCounting, ProcessLoad
from fss_kernel_counting.processes.identities import Identity
from fss_kernel_counting.processes.top import NO_AMOUNT, OTHER, Amount, TopProcesses


def by_address(loads: Iterable[ProcessLoad]) -> dict[str, dict[Identity, Amount]]:
    """Add up the loads of all threads of a process, by address."""
    result: dict[str, dict[Identity, Amount]] = defaultdict(dict)
    for address, seen, amount in loads:
        result[address][seen.identity] = result[address].get(seen.identity, NO_AMOUNT).plus(amount)
    return result


LOOK_SECONDS: Final = 10.0  # Time between two looks at the tables


class ProcessReader:
    """Count the load by process in a separate loop. A failure costs a look and nothing else of the agent."""

    def __init__(
        self,
        counting: ProcessCounting,
        most: int,
        reading: Callable[[], Reading | None],
        zero_answers: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Look at the tables of a counting.

        Args:
            counting: looks at the tables.
            most: processes of each address with separate series.
            reading: returns the last reading of mountstats, if any.
            zero_answers: answers that show a new process at zero, as many as servers scrape this agent.
            clock: seconds that never go back.
        """
        self._counting = counting
        self._reading = reading
        self._zero_answers = zero_answers
        self._clock = clock
        self._lock = threading.Lock()
        self._round_lock = threading.Lock()
        self._top = TopProcesses(most)
        self.loop = Worker("nfs_processes", self._round, interval=lambda: LOOK_SECONDS)

    def start(self) -> None:
        """Set the triggers, and look every ten seconds."""
        self.loop.start()

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
            loads = self._counting.look(reading)
        with self._lock:
            self._top.add(by_address(loads), Places(reading.superblocks).priced, self._clock())

    def families(self, answer: Answer) -> Iterator[Family]:
        """Return the metric families. A new process shows zeros in its first answers to a server."""
        operations, costs, carried = (
            family(f"fss_client_process_{name}_total") for name in ("operations", "io_operations", "bytes")
        )
        with self._lock:
            for address, one in self._top.addresses.items():
                for who, row in (*one.rows.items(), (OTHER, None)):
                    total = one.other if row is None else row.total
                    if row is not None and row.answers < self._zero_answers:
                        total = NO_AMOUNT if answer.is_for_server else total
                        row.answers += answer.is_for_server
                    operations.add_metric((address, *who), total.operations)
                    if one.priced:
                        costs.add_metric((address, *who), total.io_operations)
                    carried.add_metric((address, *who, "read"), total.read_bytes)
                    carried.add_metric((address, *who, "write"), total.written_bytes)
        yield from (operations, costs, carried)
        counting = self._counting
        active = (((part,), float(part in counting.active)) for part in counting.parts)
        yield family("fss_nfs_process_part_active", active)
        yield family("fss_nfs_process_part_failures_total", sorted(dict(counting.failures).items()))
