"""Totals since the exporter started: of one address with all its mounts, and of the network of this host."""

from dataclasses import dataclass


@dataclass(slots=True)
class AddressTotals:
    """Counters of one address.

    Attributes:
        requests: NFS operations completed.
        io_operations: estimated mount-target I/O operations; None where no mount has a known cost.
        answers: scrapes that have shown the address.
    """

    requests: int = 0
    io_operations: float | None = None
    answers: int = 0

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
