# SPDX-License-Identifier: Apache-2.0
"""`iostat --by process`, `--by pod`, `--by unit` and `--by job`: show the present load by process, counted by the kernel."""

import pwd
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce
from typing import Any, Final

from rich.console import Console

from fss_exporter.nfs.superblocks import NO_READING, Reading
from fss_kernel_counting.processes.attribution import KERNEL, UNKNOWN_WRITER, Places
from fss_kernel_counting.processes.costliest import NO_AMOUNT, Amount
from fss_kernel_counting.processes.counting import ProcessCounting, ProcessLoad, by_address
from fss_kernel_counting.processes.identities import SeenThread
from fss_toolbox import printed
from fss_toolbox.iostat.intervals import intervals
from fss_toolbox.tables import Column, Figure, keyed, say, show_figures

GROUPINGS: Final = ("process", "pod", "unit", "job")

_OURS: Final = frozenset((KERNEL.name, UNKNOWN_WRITER.name))


@dataclass(frozen=True, slots=True, order=True)
class Party:
    """A process, pod, unit or job with a line of its own. `where` is the pod or the unit of a process."""

    name: str
    where: str = ""
    user: str = ""


@dataclass(frozen=True, slots=True)
class ProcessReport:
    """One interval: loads by address and party, and whether the service behind an address publishes costs."""

    time: datetime
    seconds: float
    by: str
    loads: Mapping[str, Mapping[Party, Amount]]
    priced: Mapping[str, bool]


def party(seen: SeenThread, by: str) -> Party:
    """Return the process, pod, unit or job of a thread."""
    who = seen.identity
    pod = f"{who.namespace}/{who.pod}".strip("/")
    if by == "process":
        return Party(who.process, pod or who.unit, "" if seen.user is None else _user(seen.user, in_pod=bool(pod)))
    if who.process in _OURS:
        return Party(who.process)
    ended = f"{by} unknown, ended before the first look"
    names = {"pod": pod, "unit": who.unit, "job": seen.job}
    return Party(names[by] or (f"no {by}" if seen.is_placed else ended))


def _user(number: int, *, in_pod: bool) -> str:
    """Return the name of a user of this host. A pod has users of its own."""
    try:
        return str(number) if in_pod else pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def reports(
    counting: ProcessCounting, read: Callable[[], Reading], by: str, interval: float, count: int | None
) -> Iterator[ProcessReport]:
    """Yield `count` reports (None: no end), one each `interval` seconds. `read` reads mountstats once."""
    reading = NO_READING
    loads: list[ProcessLoad] = []

    def collect() -> float:
        nonlocal reading
        reading = read()
        loads.extend(counting.read(reading))
        return time.monotonic()

    start = collect()
    loads.clear()  # calls before the first interval
    for seconds in intervals(collect, start, interval, count):
        priced = Places(reading.superblocks).priced
        yield ProcessReport(datetime.now(UTC), seconds, by, loads_by_party(loads, by), priced)
        loads.clear()


def loads_by_party(loads: Iterable[ProcessLoad], by: str) -> dict[str, dict[Party, Amount]]:
    """Return loads by address and party."""
    return by_address(loads, lambda seen: party(seen, by))


SORTS: Final[Mapping[str, Callable[[Amount], float]]] = {
    "iops": lambda amount: -amount.weight,
    "operations": lambda amount: -amount.operations,
    "read": lambda amount: -amount.read_bytes,
    "write": lambda amount: -amount.written_bytes,
}


@dataclass(frozen=True, slots=True)
class _Line:
    """One line: the whole load of an address, or the part of a process, pod, unit or job."""

    party: Party  # of a whole load with the address as its name
    amount: Amount
    whole: Amount  # load of the address
    seconds: float  # time of the load
    is_priced: bool  # whether the service behind the address publishes costs
    is_part: bool = True


def _rate(of: Callable[[Amount], float]) -> Callable[[_Line], float]:
    return lambda line: of(line.amount) / line.seconds


def _io_operations(line: _Line) -> float | None:
    return line.amount.io_operations / line.seconds if line.is_priced else None


def _share(line: _Line) -> float | None:
    return line.amount.weight / line.whole.weight if line.whole.weight else None


_NAMES: Final = (
    Figure(Column("mount target", left=True), lambda line: f"  {line.party.name}" if line.is_part else line.party.name),
    Figure(Column("pod or unit", 3, left=True), lambda line: line.party.where, key="pod_or_unit"),
    Figure(Column("user", 4, left=True), lambda line: line.party.user, key="user"),
)
_FIGURES: Final = (
    Figure(Column("ops/s", 2), _rate(lambda load: load.operations), printed.number, "operations_per_second"),
    Figure(Column("IOPS"), _io_operations, printed.number, "io_operations_per_second"),
    Figure(Column("share", 1), _share, printed.percent),
    Figure(Column("read MB/s", 5), _rate(lambda load: load.read_bytes), printed.megabytes, "read_bytes_per_second"),
    Figure(
        Column("write MB/s", 5), _rate(lambda load: load.written_bytes), printed.megabytes, "written_bytes_per_second"
    ),
)


def show(out: Console, report: ProcessReport, sort: str, limit: int | None) -> None:
    """Print one report."""
    say(out, f"{report.time:%Y-%m-%dT%H:%M:%SZ}  this host, {report.seconds:.1f} s", "bold", hanging=2)
    lines = [line for whole, parts in _lines(report, sort, limit) for line in (whole, *parts)]
    if not lines:
        say(out, "no NFS calls")
        return
    names = _NAMES if report.by == "process" else _NAMES[:1]
    show_figures(out, (*names, *_FIGURES), lines, lambda line: "" if line.is_part else "bold")
    say(
        out,
        "counted by the kernel; kernel and unknown writer are shown one look later; share: of this client's load",
        "dim",
    )
    say(out, "")


def _lines(report: ProcessReport, sort: str, limit: int | None) -> Iterator[tuple[_Line, list[_Line]]]:
    """Yield the line of each address with the lines of its parties, the largest first."""
    order: Callable[[Amount], float] = SORTS.get(sort, lambda _: 0.0)
    totals = {address: reduce(Amount.plus, loads.values(), NO_AMOUNT) for address, loads in report.loads.items()}
    for address in sorted(totals, key=lambda name: (order(totals[name]), name)):
        whole, is_priced = totals[address], report.priced.get(address, False)
        parties = sorted(report.loads[address].items(), key=lambda load: (order(load[1]), load[0]))
        parts = [_Line(who, amount, whole, report.seconds, is_priced) for who, amount in parties[:limit]]
        yield _Line(Party(address), whole, whole, report.seconds, is_priced, is_part=False), parts


def document(report: ProcessReport, sort: str, limit: int | None) -> dict[str, Any]:
    """Return one report for programs. Every key names its unit, and an unknown value is null."""
    of_part = (*_NAMES, *_FIGURES) if report.by == "process" else _FIGURES
    return {
        "time": report.time.isoformat(timespec="milliseconds"),
        "source": "this host",
        "seconds": report.seconds,
        "by": report.by,
        "mount_targets": [
            {
                "address": whole.party.name,
                **keyed(_FIGURES, whole),
                "lines": [{report.by: part.party.name} | keyed(of_part, part) for part in parts],
            }
            for whole, parts in _lines(report, sort, limit)
        ],
    }
