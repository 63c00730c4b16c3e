# SPDX-License-Identifier: Apache-2.0
"""What the load of clients proves about the ceilings of a service. Pure.

Clients are a part of the load, so the whole is at least as large. Their load can prove that a ceiling is near. It never proves that
a ceiling is far, and then nothing is said. The rule `FssAddressUtilisationHigh` takes the same shares.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fss_exporter.model.knowledge import FigureSource, KnownFigure
from fss_exporter.model.limits import Limits
from fss_exporter.model.state import CLIENT_CEILINGS, Evidence, State, StateNow, judged
from fss_exporter.model.thresholds import CRITICAL_RATIO, WARNING_RATIO
from fss_exporter.model.traffic import Traffic


@dataclass(frozen=True, slots=True)
class ClientLoad:
    """Load of one client, or of some. None if unknown."""

    iops: float | None = None  # mean I/O operations per second
    read_bytes_per_second: float | None = None
    written_bytes_per_second: float | None = None
    peak_iops: float | None = None  # I/O operations of the busiest second of the last minute

    @classmethod
    def of(cls, traffic: Traffic, peak_iops: float | None = None) -> "ClientLoad":
        """Return the load of traffic, and of its busiest second."""
        iops = traffic.iops
        return cls(None if iops is None else iops.point, traffic.read_bytes, traffic.written_bytes, peak_iops)

    @property
    def bytes_per_second(self) -> float | None:
        """Payload of both directions."""
        if self.read_bytes_per_second is None or self.written_bytes_per_second is None:
            return None
        return self.read_bytes_per_second + self.written_bytes_per_second


def near_ceilings(load: ClientLoad, ceilings: Limits, ratio: float = WARNING_RATIO) -> Iterator[Evidence]:
    """Yield evidence for each ceiling that the load of one host brings near.

    Args:
        load: load of the host.
        ceilings: ceilings of the whole load. One that nobody knows is near nothing.
        ratio: share of a ceiling at which it is near.
    """
    compared = {
        "iops": (load.iops, ceilings.iops),
        "peak_iops": (load.peak_iops, ceilings.iops),
        "read_bandwidth": (load.read_bytes_per_second, ceilings.read_bytes_per_second),
        "write_bandwidth": (load.written_bytes_per_second, ceilings.write_bytes_per_second),
        "bandwidth": (load.bytes_per_second, ceilings.bytes_per_second),
    }
    for resource, (amount, ceiling) in compared.items():
        if amount is None or not ceiling:
            continue
        subject = CLIENT_CEILINGS[resource].near_at(CRITICAL_RATIO if resource == "peak_iops" else ratio)
        share = KnownFigure(amount / ceiling, FigureSource.HOST)
        evidence = Evidence(subject, share, is_lower_bound=True)
        if evidence.state is State.NEAR:
            yield evidence


def with_near(now: StateNow, near: Iterable[Evidence]) -> StateNow:
    """Return the state of an address, or near where its load proves a ceiling near and nothing is worse."""
    reasons = judged(near).evidence
    return StateNow(State.NEAR, reasons=reasons) if reasons and now.state < State.NEAR else now
