"""A workload to plan for, and what came of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from fss_exporter.cli.what_if import Scenario
from fss_exporter.model.capacity import Plan
from fss_exporter.model.traffic import Traffic


class SizeClass(NamedTuple):
    """Operations of one size class: the largest it holds, in bytes, and their share in all of the operation.

    The last class of a histogram has no bound (infinity); no kernel makes a transfer that large.
    """

    up_to_bytes: float
    share: float


@dataclass(frozen=True, slots=True)
class Load:
    """A workload.

    Attributes:
        source: where it comes from.
        traffic: what it is.
        sizes: where exact mode counted them, the classes of READs and WRITEs by operation.
        shape: of the mount target it was seen at; empty where that is not known.
        connections: of its clients; None where they were not counted.
        remark: what is to be known of its IOPS; where there is one, the operations are not told apart.
    """

    source: str
    traffic: Traffic
    sizes: Mapping[str, tuple[SizeClass, ...]] = field(default_factory=dict)
    shape: str = ""
    connections: float | None = None
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """One workload with its answer.

    Attributes:
        address: of the mount target it was recorded at; empty if it was stated.
        load: the workload.
        scenario: what it runs on.
        answer: what it needs.
        others: the answer again with one thing changed, by what was changed.
    """

    address: str
    load: Load
    scenario: Scenario
    answer: Plan
    others: tuple[tuple[str, Plan], ...]
