# SPDX-License-Identifier: Apache-2.0
"""Which ceilings of a service the load of clients brings near. Pure.

Clients are a part of the load. So their load can bring a ceiling near, and never tells that a ceiling is far: then nothing is said.
The rule `FssAddressUtilisationHigh` takes the same shares.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from fss_exporter.model.knowledge import FigureSource, KnownFigure
from fss_exporter.model.limits import Limits
from fss_exporter.model.state import CLIENT_CEILINGS, Evidence, State, StateNow, judged
from fss_exporter.model.thresholds import CRITICAL_RATIO, WARNING_RATIO
from fss_exporter.model.traffic import Traffic

_HOST: Final = FigureSource.HOST


@dataclass(frozen=True, slots=True)
class ClientLoad:
    """Load of one host."""

    iops: KnownFigure | None  # mean I/O operations per second. None if unknown
    read_bytes_per_second: float
    written_bytes_per_second: float
    peak_iops: float | None = None  # I/O operations of the busiest second of the last minute. None if unknown

    @classmethod
    def of(cls, traffic: Traffic, peak_iops: float | None = None) -> "ClientLoad":
        """Return the load of traffic, and of its busiest second."""
        iops = None if traffic.iops is None else KnownFigure.of(traffic.iops, _HOST)
        return cls(iops, traffic.read_bytes, traffic.written_bytes, peak_iops)


def near_ceilings(load: ClientLoad, ceilings: Limits, ratio: float = WARNING_RATIO) -> Iterator[Evidence]:
    """Yield evidence for each ceiling that the load of one host brings near.

    Args:
        load: load of the host.
        ceilings: ceilings of the whole load. One that nobody knows is near nothing.
        ratio: share of a ceiling at which it is near.
    """
    peak = None if load.peak_iops is None else KnownFigure(load.peak_iops, _HOST)
    read, written = load.read_bytes_per_second, load.written_bytes_per_second
    compared = {
        "iops": (load.iops, ceilings.iops),
        "peak_iops": (peak, ceilings.iops),
        "read_bandwidth": (KnownFigure.counted(read, _HOST), ceilings.read_bytes_per_second),
        "write_bandwidth": (KnownFigure.counted(written, _HOST), ceilings.write_bytes_per_second),
        "bandwidth": (KnownFigure.counted(read + written, _HOST), ceilings.bytes_per_second),
    }
    for resource, (amount, ceiling) in compared.items():
        if amount is None or not ceiling:
            continue
        subject = CLIENT_CEILINGS[resource].near_at(CRITICAL_RATIO if resource == "peak_iops" else ratio)
        evidence = Evidence(subject, amount.share_of(ceiling))
        if evidence.state is State.NEAR:
            yield evidence


def with_near(now: StateNow, near: Iterable[Evidence]) -> StateNow:
    """Return the state of an address, or near where its load brings a ceiling near and nothing is worse."""
    reasons = judged(near).evidence
    return StateNow(State.NEAR, reasons=reasons) if reasons and now.state < State.NEAR else now
