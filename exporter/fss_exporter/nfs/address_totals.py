"""Totals since the exporter started and peaks of the last minute, by address, and totals of the network of this host."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(slots=True)
class AddressTotals:
    """Counters of one address."""

    requests: int = 0  # NFS operations completed
    io_operations: float | None = None  # estimated mount-target I/O operations; None where no mount has a known cost
    answers: int = 0  # scrapes that have shown the address

    @property
    def at_zero(self) -> "AddressTotals":
        """The same address before anything happened on it."""
        return AddressTotals(io_operations=None if self.io_operations is None else 0.0)

    def add_cost(self, io_operations: float) -> None:
        """Add estimated I/O operations."""
        self.io_operations = (self.io_operations or 0.0) + io_operations


@dataclass(slots=True)
class NetworkTotals:
    """Bytes on the wire of all mounts together, headers included."""

    sent_bytes: int = 0
    received_bytes: int = 0


WINDOW_SECONDS = 60.0


class Peaks:
    """Estimated IOPS of each tick by address, kept for `WINDOW_SECONDS`.

    Ceilings are per second, and the mean of a minute hides a burst of a second.
    """

    def __init__(self) -> None:
        self._ticks: dict[str, deque[tuple[float, float]]] = {}

    def add(self, iops: Mapping[str, float], at: float) -> None:
        """Note one tick.

        Args:
            iops: I/O operations per second by address. A missing address has no mount any more.
            at: seconds of a monotonic clock.
        """
        for address, value in iops.items():
            self._ticks.setdefault(address, deque()).append((at, value))
        self._ticks = {address: ticks for address, ticks in self._ticks.items() if address in iops}
        for ticks in self._ticks.values():
            while ticks[0][0] <= at - WINDOW_SECONDS:
                ticks.popleft()

    def highest(self) -> dict[str, float]:
        """Return the highest IOPS of a single tick by address. An address without a mount is absent."""
        return {address: max(value for _, value in ticks) for address, ticks in self._ticks.items()}
