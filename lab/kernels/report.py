"""Compare the scrapes of the agents with the packets of each workload."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from lab.kernels.wire import Call, calls
from tests.exposition_text import families_of

_TOTAL = "fss_client_address_estimated_io_operations_total"
_INVISIBLE = "fss_client_invisible_io_operations_total"
_ESTIMATE = "fss_client_estimated_io_operations"
_OPERATIONS = "fss_client_operations_total"
_UNACCOUNTED = "fss_nfs_unaccounted_calls_total"

# Workloads with an umount. The kernel destroys the counters of a mount at its umount, so the calls since the last look are
# lost (docs/cost-model.md, "What counters cannot tell").
_UNMOUNTS: Final = ("umount", "short-mounts", "detached", "beside")

# Workloads on a mount that the agent finds only in its search. A kernel that does not link superblocks to RPC clients (before 6.12)
# cannot tell the calls of the mount from those of other mounts of the server. So the durations of the server pause until the
# search.
_UNSEEN_MOUNTS: Final = ("hidden",)

_WITHOUT_MOUNT: Final = "unaccounted"  # workload whose calls are mostly in the counters of no mount

_LEAST_UNACCOUNTED: Final = 0.5  # smallest share of the calls without a mount that an agent must tell

_SMALLEST_RIGHT: Final = 0.95  # smallest share of the load with the right unit or job

Growth = Mapping[tuple[str, frozenset[tuple[str, str]]], float]


class Result(NamedTuple):
    """Growth of the agents' counters during one workload, and the truth. Costs are I/O operations; None is not counted."""

    name: str
    packets: float  # cost of all calls on the wire
    locks: float  # of these, cost of lock calls
    estimate: tuple[float, float, float]  # default mode without locks: lower bound, point, upper bound
    exact: float | None  # exact mode, with locks and with the invisible
    calls: int  # NFS calls on the wire
    durations: float | None  # calls in the histograms of durations
    processes: float | None  # sum of the rows by process
    right: float | None  # share of these rows with the right unit or job
    links_clients: bool = True  # whether the kernel links superblocks to RPC clients
    invisible: float = 0.0  # READs and WRITEs in exact mode before the agent found their mount. Part of no other metric

    @property
    def without_locks(self) -> float:
        """Cost on the wire that the estimate and the processes can have."""
        return self.packets - self.locks

    @property
    def _of_processes(self) -> float:
        return self.without_locks - self.invisible

    @property
    def error(self) -> float:
        """Signed relative error of the estimate."""
        return self.estimate[1] / self.without_locks - 1 if self.without_locks else 0.0

    @property
    def bounds_hold(self) -> bool:
        """Whether the truth without locks lies within the bounds of the estimate."""
        return self.estimate[0] <= self.without_locks <= self.estimate[2]

    @property
    def counts_hold(self) -> bool | None:
        """Whether exact cost, durations and processes equal the packets. None if the kernel counts nothing."""
        pairs = ((self.exact, self.packets), (self.durations, self.calls), (self.processes, self._of_processes))
        counted = [count == truth for count, truth in pairs if count is not None]
        return all(counted) if counted else None

    def misses(self) -> Iterator[str]:
        """Yield what does not hold."""
        if self.name in _UNMOUNTS:
            return
        if not self.bounds_hold:
            yield "the packets lie outside the bounds"
        if self.exact is not None and self.exact != self.packets:
            yield f"exact mode is {self.exact - self.packets:+,.0f} off"
        durations_pause = self.name in _UNSEEN_MOUNTS and not self.links_clients
        if self.durations is not None and self.durations != self.calls and not durations_pause:
            yield f"durations are {self.durations - self.calls:+,.0f} calls off"
        if self.processes is not None and self.processes != self._of_processes:
            yield f"processes are {self.processes - self._of_processes:+,.0f} off"
        if self.right is not None and self.right < _SMALLEST_RIGHT:
            yield f"only {self.right:.1%} have the right unit or job"


class Trial(NamedTuple):
    """What a trial of a guest showed."""

    trial: str
    shown: str
    holds: bool  # whether the trial showed what was wanted. True where only a reader can tell

    def __str__(self) -> str:
        return f"- {self.trial}: {' '.join(self.shown.split())[-400:]}"


def results(folder: Path) -> Iterator[Result]:
    """Yield the result of each workload of a guest, in the order in which they ran. The one that mounts hardly count has a trial."""
    for place in sorted(folder.glob("*/scenario.json"), key=lambda path: path.stat().st_mtime):
        if place.parent.name != _WITHOUT_MOUNT:
            yield _result(place.parent, json.loads(place.read_text()))


def _result(folder: Path, ran: Mapping[str, Any]) -> Result:
    on_the_wire = calls(folder / "packets.pcap")
    default, exact = (_growth(folder, kind) for kind in ("default", "exact"))
    lower, upper = (_sum(default, f"{_ESTIMATE}_{bound}_bound_total") or 0.0 for bound in ("lower", "upper"))
    fixed = sum(
        _sum(default, f"{_ESTIMATE}_total", **{"class": f"metadata_{kind}"}) or 0.0 for kind in ("read", "write")
    )
    unit, job = _expected(ran["cgroup"])
    rows = "fss_client_job_io_operations_total" if job else "fss_client_process_io_operations_total"
    whole, invisible = _sum(exact, rows), _sum(exact, _INVISIBLE) or 0.0
    mine = _sum(exact, rows, **({"jobid": job} if job else {"unit": unit}))
    return Result(
        folder.name,
        packets=sum(call.io_operations for call in on_the_wire),
        locks=sum(call.io_operations for call in on_the_wire if call.operation.startswith("NLM_")),
        estimate=(fixed + lower, _sum(default, _TOTAL) or 0.0, fixed + upper),
        exact=None if exact is None else (_sum(exact, _TOTAL) or 0.0) + invisible,
        calls=_nfs_calls(on_the_wire),
        durations=_sum(exact, "fss_client_request_duration_seconds_count"),
        processes=_sum(exact, "fss_client_process_io_operations_total"),
        right=None if not whole else (mine or 0.0) / whole,
        links_clients=ran["links_clients"],
        invisible=invisible,
    )


def _nfs_calls(on_the_wire: Iterable[Call]) -> int:
    return sum(not call.operation.startswith("NLM_") and call.operation != "NULL" for call in on_the_wire)


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
            for metric in families_of(path.read_text())
            for sample in metric.samples
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


def table(kernel: str, measured: Iterable[Result]) -> str:
    """Return the results of a kernel as a table in Markdown."""
    lines = list(_HEAD)
    for result in measured:
        lower, point, upper = result.estimate
        cells = (
            kernel,
            result.name,
            f"{result.packets:,.0f}",
            f"{result.locks:,.0f}",
            f"{lower:,.0f} / {point:,.0f} / {upper:,.0f}",
            f"{result.error:+.1%}",
            "hold" if result.bounds_hold else "do not hold",
            "" if result.exact is None else f"{result.exact:,.0f}",
            "" if result.durations is None else f"{result.durations:,.0f} / {result.calls:,}",
            "" if result.processes is None else f"{result.processes:,.0f}",
            "" if result.right is None else f"{result.right:.1%}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


_SUMMARY_HEAD = (
    "| kernel | workloads | mean error | worst | within the bounds | counts equal the packets | least right unit or job | calibrate |",
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
)


def summary(by_release: Mapping[str, tuple[Sequence[Result], Iterable[Trial]]]) -> str:
    """Return a line for each kernel, as a table in Markdown. Workloads that end with an umount are left out."""
    lines = list(_SUMMARY_HEAD)
    for release, (results_of, tried) in by_release.items():
        measured = [result for result in results_of if result.name not in _UNMOUNTS]
        worst = max(measured, key=lambda result: abs(result.error))
        counted = [result.counts_hold for result in measured if result.counts_hold is not None]
        shares = [result.right for result in measured if result.right is not None]
        calibrated = next((trial.shown for trial in tried if trial.trial == "calibrate"), "")
        cells = (
            release,
            str(len(measured)),
            f"{sum(abs(result.error) for result in measured) / len(measured):.1%}",
            f"{worst.error:+.1%} ({worst.name})",
            f"{sum(result.bounds_hold for result in measured)} of {len(measured)}",
            f"{sum(counted)} of {len(counted)}" if counted else "",
            f"{min(shares):.1%}" if shares else "",
            calibrated.partition(" rows")[0],
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def trials(folder: Path) -> Iterator[Trial]:
    """Yield the trials of a guest in their order."""
    file = folder / "trials.jsonl"
    for line in file.read_text().splitlines() if file.exists() else ():
        yield Trial(**json.loads(line))


def unaccounted_calls(folder: Path) -> Iterator[Trial]:
    """Yield what each agent tells of the calls that no mount accounts for. "At least" holds, and more than half is told."""
    place = folder / _WITHOUT_MOUNT
    if not place.exists():
        return
    on_the_wire = _nfs_calls(calls(place / "packets.pcap"))
    for kind in ("default", "exact"):
        if (growth := _growth(place, kind)) is not None:
            yield unaccounted_trial(kind, on_the_wire, growth)


def unaccounted_trial(kind: str, on_the_wire: int, growth: Growth) -> Trial:
    """Compare the calls without a mount that an agent tells with the packets, less the calls that it counts on mounts.

    A NULL keeps a connection and is no call.
    """
    on_mounts = (_sum(growth, _OPERATIONS) or 0.0) - (_sum(growth, _OPERATIONS, operation="NULL") or 0.0)
    told, truth = _sum(growth, _UNACCOUNTED), on_the_wire - on_mounts
    holds = told is not None and _LEAST_UNACCOUNTED * truth < told <= truth
    shown = f"{'no figure' if told is None else f'{told:,.0f}'} of {truth:,.0f} calls, {on_mounts:,.0f} are on a mount"
    return Trial(f"calls without a mount, {kind}", shown, holds)
