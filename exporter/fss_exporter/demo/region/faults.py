"""Faults on demand: what goes wrong, on which operation, how often.

    KIND[:OPERATION][,NAME=VALUE]...        429:SummarizeMetricsData,times=3

OPERATION is an API operation, `*` stands for any run of characters. `times=N` heals the fault after N answers;
`match=TEXT` limits it to requests with TEXT in target or body (a metric, an OCID).
"""

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from types import MappingProxyType

from fss_exporter.errors import UsageError

WIRE_KINDS: Mapping[str, str] = MappingProxyType(
    {
        "429": "too many requests",
        "500": "internal server error",
        "503": "service unavailable",
        "deny": "a permission is missing: 404 NotAuthorizedOrNotFound",
        "slow": "the answer takes `seconds` (30)",
        "cut-off": "the connection breaks in the middle of the answer",
        "not-json": "the answer is a page of HTML",
        "wrong-shape": "the answer is JSON, of another shape",
        "clock-skew": "the service's clock is `seconds` (600) ahead, so every signature is too old",
    }
)
"""Faults of one answer."""

DATA_KINDS: Mapping[str, str] = MappingProxyType(
    {
        "late": "points arrive up to `seconds` (180) late, two minutes at once",
        "gaps": "a `share` (0.1) of the points never arrives",
        "name-case": "metric names are spelt `BySize` where the documentation says `bySize`",
        "delete": "the resource called `resource` is gone",
    }
)
"""Faults of the data; they count from the minute they are set."""

_DEFAULT_SECONDS = {"slow": 30.0, "clock-skew": 600.0, "late": 180.0}


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault.

    Attributes:
        kind: a key of WIRE_KINDS or DATA_KINDS.
        operation: pattern of API operations, e.g. `List*`.
        times: answers it spoils before it heals; None for ever.
        match: text the request must hold.
        seconds: how slow, how late, how far the clock is off.
        share: part of the points that never arrive.
        resource: display name or OCID of what is deleted.
        since: epoch minute from which it spoils data.
        until: epoch minute from which it no longer does; None while it is set.
    """

    kind: str
    operation: str = "*"
    times: int | None = None
    match: str = ""
    seconds: float = 0.0
    share: float = 0.1
    resource: str = ""
    since: int = field(default=0, compare=False)
    until: int | None = field(default=None, compare=False)

    def __str__(self) -> str:
        head = self.kind if self.operation == "*" else f"{self.kind}:{self.operation}"
        options = {"times": self.times, "match": self.match, "seconds": self.seconds, "resource": self.resource}
        share = {"share": self.share} if self.kind == "gaps" else {}
        return ",".join((head, *(f"{name}={value}" for name, value in (options | share).items() if value)))

    def spoils(self, minute: int) -> bool:
        """Whether it applies to the point of a minute."""
        return self.since <= minute and (self.until is None or minute < self.until)


def parse_fault(text: str) -> Fault:
    """Read `KIND[:OPERATION][,NAME=VALUE]...`.

    Raises:
        UsageError: unknown kind or name, or a value out of range.
    """
    head, *options = text.split(",")
    kind, _, operation = head.partition(":")
    if kind not in WIRE_KINDS and kind not in DATA_KINDS:
        raise UsageError(f"fault {text!r}: no kind {kind!r}; there are {', '.join((*WIRE_KINDS, *DATA_KINDS))}")
    if operation and kind in DATA_KINDS:
        raise UsageError(f"fault {text!r}: {kind} spoils data, not an operation; leave out :{operation}")
    fault = Fault(kind, operation or "*", seconds=_DEFAULT_SECONDS.get(kind, 0.0))
    for option in options:
        fault = _with_option(fault, option, text)
    if kind == "delete" and not fault.resource:
        raise UsageError(f"fault {text!r}: say what is gone, as in delete,resource=mt-idle")
    return fault


def _with_option(fault: Fault, option: str, text: str) -> Fault:
    name, _, value = option.partition("=")
    try:
        match name:
            case "times" if fault.kind in WIRE_KINDS and int(value) > 0:
                return replace(fault, times=int(value))
            case "match" if fault.kind in WIRE_KINDS and value:
                return replace(fault, match=value)
            case "seconds" if fault.kind in _DEFAULT_SECONDS and 0 <= abs(float(value)) <= 86400:
                return replace(fault, seconds=float(value))
            case "share" if fault.kind == "gaps" and 0 <= float(value) <= 1:
                return replace(fault, share=float(value))
            case "resource" if fault.kind == "delete" and value:
                return replace(fault, resource=value)
    except ValueError:
        pass
    raise UsageError(
        f"fault {text!r}: {option!r} does not fit {fault.kind}; options are times, match, seconds, share, resource"
    )


class FaultBoard:
    """The faults that are set. Safe to use from several threads."""

    def __init__(self) -> None:
        self._wire: list[Fault] = []
        self._data: tuple[Fault, ...] = ()
        self._lock = threading.Lock()

    def add(self, fault: Fault, minute: int) -> None:
        """Set a fault; one of the data counts from `minute` on."""
        with self._lock:
            if fault.kind in WIRE_KINDS:
                self._wire.append(fault)
            else:
                self._data += (replace(fault, since=minute),)

    def clear(self, minute: int) -> None:
        """Heal everything; data of minutes before `minute` stay as spoilt as they are. What is deleted stays deleted."""
        with self._lock:
            self._wire.clear()
            self._data = tuple(replace(fault, until=minute) if fault.until is None else fault for fault in self._data)

    def active(self) -> list[Fault]:
        """What is set now."""
        with self._lock:
            return [*self._wire, *(fault for fault in self._data if fault.until is None)]

    def strike(self, kinds: Iterable[str], operation: str, text: str) -> Fault | None:
        """The first fault of these kinds that hits a request; it counts as one of its `times`."""
        wanted = set(kinds)
        with self._lock:
            for at, fault in enumerate(self._wire):
                if fault.kind in wanted and fnmatchcase(operation, fault.operation) and fault.match in text:
                    if fault.times is not None:
                        self._wire[at : at + 1] = [replace(fault, times=fault.times - 1)] if fault.times > 1 else []
                    return fault
        return None

    def spoiling(self, kind: str, minute: int) -> Fault | None:
        """The fault of a kind that applies to the data of a minute."""
        return next((fault for fault in self._data if fault.kind == kind and fault.spoils(minute)), None)

    @property
    def spoils_data(self) -> bool:
        """Whether any fault of the data was ever set."""
        return bool(self._data)
