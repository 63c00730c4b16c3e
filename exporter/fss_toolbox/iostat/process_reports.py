"""`iostat --by process`, `--by pod`, `--by unit` and `--by job`: show the present load by process, counted by the kernel."""

import pwd
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce
from typing import Any, Final

from rich.console import Console

from fss_exporter.nfs.superblocks import NO_READING, Reading
from fss_kernel_counting.processes.attribution import KERNEL, UNKNOWN_WRITER, Places
from fss_kernel_counting.processes.costliest import NO_AMOUNT, Amount
from fss_kernel_counting.processes.counting import ProcessCounting, ProcessLoad
from fss_kernel_counting.processes.identities import SeenThread
from fss_toolbox import printed
from fss_toolbox.iostat.intervals import intervals
from fss_toolbox.tables import Column, Row, say, show as show_table

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

    def look() -> float:
        nonlocal reading
        reading = read()
        loads.extend(counting.look(reading))
        return time.monotonic()

    start = look()
    loads.clear()  # calls before the first interval
    for seconds in intervals(look, start, interval, count):
        priced = Places(reading.superblocks).priced
        yield ProcessReport(datetime.now(UTC), seconds, by, loads_by_party(loads, by), priced)
        loads.clear()


def loads_by_party(loads: Iterable[ProcessLoad], by: str) -> dict[str, dict[Party, Amount]]:
    """Return loads by address and party."""
    result: dict[str, dict[Party, Amount]] = defaultdict(dict)
    for address, seen, amount in loads:
        who = party(seen, by)
        result[address][who] = result[address].get(who, NO_AMOUNT).plus(amount)
    return result


SORTS: Final[Mapping[str, Callable[[Amount], float]]] = {
    "iops": lambda amount: -amount.weight,
    "operations": lambda amount: -amount.operations,
    "read": lambda amount: -amount.read_bytes,
    "write": lambda amount: -amount.written_bytes,
}

_NAMES: Final = (Column("mount target", left=True), Column("pod or unit", 3, left=True), Column("user", 4, left=True))
_FIGURES: Final = (
    Column("ops/s", 2),
    Column("IOPS"),
    Column("share", 1),
    Column("read MB/s", 5),
    Column("write MB/s", 5),
)


def show(out: Console, report: ProcessReport, sort: str, limit: int | None) -> None:
    """Print one report."""
    say(out, f"{report.time:%Y-%m-%dT%H:%M:%SZ}  this host, {report.seconds:.1f} s", "bold", hanging=2)
    names = _NAMES if report.by == "process" else _NAMES[:1]
    rows = []
    for address, lines in _ordered(report, sort, limit):
        every = _total(report.loads[address])
        rows.append(_row(address, (address, "", "")[: len(names)], every, every, report, style="bold"))
        for who, amount in lines:
            texts = (f"  {who.name}", who.where, who.user)[: len(names)]
            rows.append(_row(address, texts, amount, every, report))
    if not rows:
        say(out, "no NFS calls")
        return
    show_table(out, (*names, *_FIGURES), rows)
    say(
        out,
        "counted by the kernel; kernel and unknown writer are shown one look later; share: of this client's load",
        "dim",
    )
    say(out, "")


def _row(
    address: str, names: tuple[str, ...], amount: Amount, every: Amount, report: ProcessReport, style: str = ""
) -> Row:
    operations, iops, read, written = _figures(amount, address, report).values()
    share = printed.percent(amount.weight / every.weight if every.weight else None)
    cells = (
        printed.number(operations),
        printed.number(iops),
        share,
        printed.megabytes(read),
        printed.megabytes(written),
    )
    return Row((*names, *cells), style)


def _ordered(report: ProcessReport, sort: str, limit: int | None) -> Iterator[tuple[str, list[tuple[Party, Amount]]]]:
    """Return the addresses with their lines, the largest first."""
    order: Callable[[Amount], float] = SORTS.get(sort, lambda _: 0.0)
    addresses = sorted(report.loads, key=lambda name: (order(_total(report.loads[name])), name))
    for address in addresses:
        lines = sorted(report.loads[address].items(), key=lambda line: (order(line[1]), line[0]))
        yield address, lines[:limit]


def _total(loads: Mapping[Party, Amount]) -> Amount:
    return reduce(Amount.plus, loads.values(), NO_AMOUNT)


def document(report: ProcessReport, sort: str, limit: int | None) -> dict[str, Any]:
    """Return one report for programs. Every key names its unit, and an unknown value is null."""
    return {
        "time": report.time.isoformat(timespec="milliseconds"),
        "source": "this host",
        "seconds": report.seconds,
        "by": report.by,
        "mount_targets": [
            {
                "address": address,
                **_figures(_total(report.loads[address]), address, report),
                "lines": [
                    {report.by: who.name}
                    | ({"pod_or_unit": who.where, "user": who.user} if report.by == "process" else {})
                    | _figures(amount, address, report)
                    for who, amount in lines
                ],
            }
            for address, lines in _ordered(report, sort, limit)
        ],
    }


def _figures(amount: Amount, address: str, report: ProcessReport) -> dict[str, float | None]:
    return {
        "operations_per_second": amount.operations / report.seconds,
        "io_operations_per_second": amount.io_operations / report.seconds if report.priced.get(address) else None,
        "read_bytes_per_second": amount.read_bytes / report.seconds,
        "written_bytes_per_second": amount.written_bytes / report.seconds,
    }
