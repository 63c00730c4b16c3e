"""Compare the scrapes of the agents with the packets of each workload."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from prometheus_client.parser import text_string_to_metric_families
from tools.kernels.wire import calls

_TOTAL = "fss_client_address_estimated_io_operations_total"
_INVISIBLE = "fss_client_invisible_io_operations_total"
_ESTIMATE = "fss_client_estimated_io_operations"
_UNMOUNTS: Final = ("umount",)
"""Workloads that end with an umount. The kernel destroys the counters of a mount at its umount, so the calls since the last look are
lost (docs/cost-model.md, "What counters cannot tell"). Nothing else is excused."""

_SMALLEST_RIGHT: Final = 0.95
"""Smallest share of the load with the right unit or job."""

Growth = Mapping[tuple[str, frozenset[tuple[str, str]]], float]


class Result(NamedTuple):
    """Growth of the agents' counters during one workload, and the truth. Costs are I/O operations; None is not counted."""

    name: str
    packets: float  # cost of all calls on the wire
    locks: float  # of these, cost of lock calls
    estimate: tuple[float, float, float]  # default mode without locks: lower bound, point, upper bound
    exact: float | None  # exact mode, with locks and with mounts that no visible mount names
    calls: int  # NFS calls on the wire
    durations: float | None  # calls in the histograms of durations
    processes: float | None  # sum of the rows by process
    right: float | None  # share of these rows with the right unit or job

    @property
    def bounds_hold(self) -> bool:
        """Whether the truth without locks lies within the bounds of the estimate."""
        return self.estimate[0] <= self.packets - self.locks <= self.estimate[2]

    def misses(self) -> Iterator[str]:
        """Yield what does not hold."""
        if self.name in _UNMOUNTS:
            return
        if not self.bounds_hold:
            yield "the packets lie outside the bounds"
        if self.exact is not None and self.exact != self.packets:
            yield f"exact mode is {self.exact - self.packets:+,.0f} off"
        if self.durations is not None and self.durations != self.calls:
            yield f"durations are {self.durations - self.calls:+,.0f} calls off"
        if self.processes is not None and self.processes != self.packets - self.locks:
            yield f"processes are {self.processes - self.packets + self.locks:+,.0f} off"
        if self.right is not None and self.right < _SMALLEST_RIGHT:
            yield f"only {self.right:.1%} have the right unit or job"


def results(folder: Path) -> Iterator[Result]:
    """Yield the result of each workload of a guest, in the order in which they ran."""
    for place in sorted(folder.glob("*/scenario.json"), key=lambda path: path.stat().st_mtime):
        yield _result(place.parent, json.loads(place.read_text()))


def _result(folder: Path, ran: Mapping[str, str]) -> Result:
    found = calls(folder / "packets.pcap")
    default, exact = (_growth(folder, kind) for kind in ("default", "exact"))
    lower, upper = (_sum(default, f"{_ESTIMATE}_{bound}_bound_total") or 0.0 for bound in ("lower", "upper"))
    fixed = sum(
        _sum(default, f"{_ESTIMATE}_total", **{"class": f"metadata_{kind}"}) or 0.0 for kind in ("read", "write")
    )
    unit, job = _expected(ran["cgroup"])
    rows = "fss_client_job_io_operations_total" if job else "fss_client_process_io_operations_total"
    whole = _sum(exact, rows)
    mine = _sum(exact, rows, **({"jobid": job} if job else {"unit": unit}))
    return Result(
        folder.name,
        packets=sum(call.io_operations for call in found),
        locks=sum(call.io_operations for call in found if call.operation.startswith("NLM_")),
        estimate=(fixed + lower, _sum(default, _TOTAL) or 0.0, fixed + upper),
        exact=None if exact is None else (_sum(exact, _TOTAL) or 0.0) + (_sum(exact, _INVISIBLE) or 0.0),
        calls=sum(not call.operation.startswith("NLM_") and call.operation != "NULL" for call in found),
        durations=_sum(exact, "fss_client_request_duration_seconds_count"),
        processes=_sum(exact, "fss_client_process_io_operations_total"),
        right=None if not whole else (mine or 0.0) / whole,
    )


def _expected(cgroup: str) -> tuple[str, str]:
    job = cgroup.partition("/job_")[2].partition("/")[0]
    return cgroup.rpartition("/")[2], job


def _growth(folder: Path, kind: str) -> Growth | None:
    texts = [folder / f"{kind}-{when}.prom" for when in ("before", "after")]
    if not all(path.exists() and path.stat().st_size for path in texts):
        return None
    before, after = (
        {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for one in text_string_to_metric_families(path.read_text())
            for sample in one.samples
        }
        for path in texts
    )
    return {series: value - before.get(series, 0.0) for series, value in after.items()}


def _sum(growth: Growth | None, name: str, **labels: str) -> float | None:
    """Return the sum of the series with a name and labels. None if there is none."""
    wanted = set(labels.items())
    values = [value for (of, with_labels), value in (growth or {}).items() if of == name and wanted <= with_labels]
    return sum(values) if values else None


_HEAD = (
    "| kernel | workload | packets | locks | estimate | error | bounds | exact | durations / calls | processes | right unit or job |",
    "| --- | --- | ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: |",
)


def table(by_kernel: Mapping[str, list[Result]]) -> str:
    """Return all results as a table in Markdown."""
    lines = list(_HEAD)
    for kernel, found in by_kernel.items():
        for one in found:
            lower, point, upper = one.estimate
            truth = one.packets - one.locks
            cells = (
                kernel,
                one.name,
                f"{one.packets:,.0f}",
                f"{one.locks:,.0f}",
                f"{lower:,.0f} / {point:,.0f} / {upper:,.0f}",
                f"{(point - truth) / truth:+.1%}" if truth else "",
                "hold" if one.bounds_hold else "do not hold",
                "" if one.exact is None else f"{one.exact:,.0f}",
                "" if one.durations is None else f"{one.durations:,.0f} / {one.calls:,}",
                "" if one.processes is None else f"{one.processes:,.0f}",
                "" if one.right is None else f"{one.right:.1%}",
            )
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


class Trial(NamedTuple):
    """What a trial of a guest showed."""

    trial: str
    shown: str
    holds: bool  # whether the trial showed what was wanted. True where only a reader can tell

    def __str__(self) -> str:
        return f"- {self.trial}: {' '.join(self.shown.split())[-400:]}"


def trials(folder: Path) -> Iterator[Trial]:
    """Yield the trials of a guest in their order."""
    file = folder / "trials.jsonl"
    for line in file.read_text().splitlines() if file.exists() else ():
        yield Trial(**json.loads(line))
