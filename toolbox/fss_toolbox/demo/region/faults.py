# SPDX-License-Identifier: Apache-2.0
"""Faults on demand: a kind, the operations that fail, and the number of answers.

    KIND[:OPERATION][,NAME=VALUE]...        429:SummarizeMetricsData,times=3

OPERATION is an API operation, `*` stands for any run of characters. `times=N` heals the fault after N answers.
`match=TEXT` limits the fault to requests with TEXT in target or body (a metric, an OCID).
"""

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from fss_exporter.errors import UsageError


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that the loopback region shows in its answers."""

    kind: str
    operation: str = "*"  # pattern of API operations, e.g. `List*`
    times: int | None = None  # answers until the fault heals; None for ever
    match: str = ""  # text the request must hold
    seconds: float = 0.0  # how slow, how late
    share: float = 0.1  # part of the points that never arrive
    resource: str = ""  # display name or OCID of the deleted resource
    # since, until: epoch minutes between which data are spoilt; `until` is None while the fault is set
    since: int | None = field(default=None, compare=False)
    until: int | None = field(default=None, compare=False)

    def __str__(self) -> str:
        head = self.kind if self.operation == "*" else f"{self.kind}:{self.operation}"
        options = {"times": self.times, "match": self.match, "seconds": self.seconds, "resource": self.resource}
        share = {"share": self.share} if self.kind == "gaps" else {}
        return ",".join((head, *(f"{name}={value}" for name, value in (options | share).items() if value)))


@dataclass(frozen=True, slots=True)
class FaultKinds:
    """The kinds of faults that a region knows, with what each does."""

    wire: Mapping[str, str]  # faults of one answer
    data: Mapping[str, str]  # faults of the data, from the minute they are set
    seconds: Mapping[str, float]  # default of `seconds`, by each kind that has it

    def parse(self, text: str) -> Fault:
        """Read `KIND[:OPERATION][,NAME=VALUE]...`. UsageError for an unknown kind or name, and a value out of range."""
        head, *options = text.split(",")
        kind, _, operation = head.partition(":")
        if kind not in self.wire and kind not in self.data:
            raise UsageError(f"fault {text!r}: no kind {kind!r}. Known are {', '.join((*self.wire, *self.data))}")
        if operation and kind in self.data:
            raise UsageError(f"fault {text!r}: {kind} spoils data, not an operation. Leave out :{operation}")
        fault = Fault(kind, operation or "*", seconds=self.seconds.get(kind, 0.0))
        for option in options:
            fault = self._with_option(fault, option, text)
        if kind == "delete" and not fault.resource:
            raise UsageError(f"fault {text!r}: name the deleted resource, as in delete,resource=mt-idle")
        return fault

    def _with_option(self, fault: Fault, option: str, text: str) -> Fault:
        name, _, value = option.partition("=")
        try:
            match name:
                case "times" if fault.kind in self.wire and int(value) > 0:
                    return replace(fault, times=int(value))
                case "match" if fault.kind in self.wire and value:
                    return replace(fault, match=value)
                case "seconds" if fault.kind in self.seconds and 0 <= abs(float(value)) <= 86400:
                    return replace(fault, seconds=float(value))
                case "share" if fault.kind == "gaps" and 0 <= float(value) <= 1:
                    return replace(fault, share=float(value))
                case "resource" if fault.kind == "delete" and value:
                    return replace(fault, resource=value)
        except ValueError:
            pass
        raise UsageError(f"fault {text!r}: {option!r} is not an option of {fault.kind}, or its value is out of range")


DEMO_KINDS = FaultKinds(
    wire={
        "429": "too many requests",
        "500": "internal server error",
        "503": "service unavailable",
        "401": "the credentials are refused: NotAuthenticated",
        "deny": "a permission is missing: 404 NotAuthorizedOrNotFound",
        "slow": "the answer takes `seconds` (30)",
    },
    data={
        "late": "points arrive up to `seconds` (180) late, two minutes at once",
        "gaps": "a `share` (0.1) of the points never arrives",
        "delete": "the resource called `resource` is gone",
        "by-start": "points are named by the start of their minute and not by its end",
    },
    seconds={"slow": 30.0, "late": 180.0},
)


class FaultBoard:
    """The present and past faults of the loopback region."""

    def __init__(self) -> None:
        self._wire: list[Fault] = []
        self._data: tuple[Fault, ...] = ()
        self._lock = threading.Lock()

    def add(self, fault: Fault, since: int | None = None) -> None:
        """Set a fault. A fault of the data counts from an epoch minute on."""
        with self._lock:
            if since is None:
                self._wire.append(fault)
            else:
                self._data += (replace(fault, since=since),)

    def clear(self, minute: int) -> None:
        """Heal everything. Data of minutes before `minute` stay as spoilt as they are."""
        with self._lock:
            self._wire.clear()
            self._data = tuple(replace(fault, until=minute) if fault.until is None else fault for fault in self._data)

    def active(self) -> list[Fault]:
        """Return the faults that are set now."""
        with self._lock:
            return [*self._wire, *(fault for fault in self._data if fault.until is None)]

    def strike(self, kinds: Iterable[str], operation: str, text: str) -> Fault | None:
        """Return the first fault of these kinds that hits a request. This uses up one of its `times`."""
        with self._lock:
            for at, fault in enumerate(self._wire):
                if fault.kind in kinds and fnmatchcase(operation, fault.operation) and fault.match in text:
                    if fault.times is not None:
                        self._wire[at : at + 1] = [replace(fault, times=fault.times - 1)] if fault.times > 1 else []
                    return fault
        return None

    def spoiling(self, kind: str, minute: int) -> Fault | None:
        """Return the fault of a kind that applies to the data of a minute."""
        for fault in self._data:
            if fault.kind == kind and (fault.since or 0) <= minute and (fault.until is None or minute < fault.until):
                return fault
        return None
