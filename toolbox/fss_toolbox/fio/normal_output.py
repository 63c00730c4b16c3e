# SPDX-License-Identifier: Apache-2.0
"""Convert fio's normal output, versions 2 and 3, to records. People paste this text.

`name: (g=0): rw=..., bs=..., iodepth=32` announces a job. `name: (groupid=0, jobs=8): err= 0: pid=1` begins the report of
the job, with a line for each direction. The text has figures of three digits.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from fss_exporter.errors import UsageError
from fss_toolbox.sizing.benchmark import Direction, Job

SYNCHRONOUS: Final = frozenset(
    ("sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "null", "ftruncate", "sg", "splice")
)
"""I/O engines of fio that wait for each request, at any iodepth (fio, ioengines.c: FIO_SYNCIO)."""

MOST_IN_FLIGHT: Final = 1.05
"""Largest share of the depth that requests in flight can be, with rounding."""

ALL_CLIENTS: Final = "All clients"  # the sum of the other jobs
_HOST: Final = re.compile(r"^<([^>]+)>\s?")
_HOST_AT_END: Final = re.compile(r"<([^>]+)>\s*$")  # behind the progress line, of the line that follows
_PROGRESS: Final = re.compile(r"^Jobs: \d+ \(f=.*?\[eta [^]]*\]")
_ANNOUNCED: Final = re.compile(r"^\s*(?P<name>.*?): \(g=(?P<group>\d+)\): (?P<options>.*)$")
_REPORTED: Final = re.compile(
    r"^\s*(?P<name>.*?): \(groupid=(?P<group>\d+), jobs=(?P<jobs>\d+)\): err= ?(?P<error>-?\d+)(?:.*pid=(?P<pid>\d+))?"
)
_DIRECTION: Final = re.compile(r"^\s*(?P<way>read|write|trim)\s*:\s*(?P<figures>.*(?:IOPS|iops)=.*)$")
_MARGIN: Final = re.compile(
    r"^(?P<margin>(?!\s*<)[^\n]*?\S)[^\S\n]+(?:<[^>\n]+>[^\S\n]*)?(?:read|write|trim)\s*:\s*(?:io|IOPS)=", re.MULTILINE
)
"""What stands in front of the figures of a direction, without the host."""
_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")
_IOPS: Final = re.compile(r"iops=\s*(\d+(?:\.\d+)?)([kKmM]?)", re.IGNORECASE)
_BANDWIDTH: Final = re.compile(r"bw=\s*(\d+(?:\.\d+)?)\s*([KMGT]?i?B)/s", re.IGNORECASE | re.ASCII)
_RUNTIME: Final = re.compile(r"(?:/|runt=\s*)(\d+)msec")
_LATENCY: Final = re.compile(r"^\s*(?P<what>[sc]?lat) \((?P<unit>[num]?sec)\)\s*:.*?avg=\s*(?P<mean>\d+(?:\.\d+)?)")
_PERCENTILES: Final = re.compile(r"^\s*clat percentiles \((?P<unit>[num]sec)\):")
_PERCENTILE: Final = re.compile(r"(\d+\.\d+)th=\[\s*>?=?(\d+)\]")
_ISSUED: Final = re.compile(r"issued\s*(?:rwts?)?\s*:\s*total=(?P<v2>r=(\d+)/w=(\d+)|)(?:\S*?(\d+),(\d+))?")
_DEPTH: Final = re.compile(r"iodepth=(\d+)")
_SIZE: Final = re.compile(
    r"bs=(?:\(R\)\s*)?(\d+(?:\.\d+)?)([KMG]?i?B?)-(\d+(?:\.\d+)?)([KMG]?i?B?)", re.IGNORECASE | re.ASCII
)
_ENGINE: Final = re.compile(r"ioengine=(\w+)")
_DAMAGED: Final = re.compile(r"\d{16}")  # fio prints no number with 16 digits
_LONGEST_LINE: Final = 2000
"""Characters. fio prints no longer line, and the search for hosts and margins takes time by the square of the length."""

_SECONDS: Final = {"sec": 1.0, "nsec": 1e-9, "usec": 1e-6, "msec": 1e-3}
_THOUSANDS: Final = {"": 1.0, "k": 1e3, "m": 1e6}
_POWERS: Final = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_ROUNDED: Final = 0.03
# Bandwidth and IOPS have three digits each, so their ratio is within 3 % of the size.


@dataclass(slots=True)
class _DirectionLines:
    """One direction of one job while the lines are read. Latencies are seconds."""

    figures: str = ""
    latencies: dict[str, float] = field(default_factory=dict)
    percentiles: dict[float, float] = field(default_factory=dict)
    unit: float = 1.0


@dataclass(slots=True)
class _Result:
    """One reported job while the lines are read."""

    name: str
    host: str
    group: int
    threads: int
    error: int
    parts: dict[str, _DirectionLines] = field(default_factory=dict)
    part: _DirectionLines | None = None
    issued: tuple[int, int] | None = None


def is_normal_output(text: str) -> bool:
    """Whether a text looks like fio's normal output."""
    return any(_REPORTED.match(_HOST.sub("", line)) for line in text.splitlines())


def read_normal_output(source: str, text: str) -> tuple[Job, ...]:
    """Return the jobs of a text. Messages name the source.

    Raises:
        UsageError: no job has a figure.
    """
    options: dict[str, str] = {}
    results: dict[tuple[str, int, str], _Result] = {}
    current: _Result | None = None
    for host, line in _lines(_plain(text)):
        if announced := _ANNOUNCED.match(line):
            options.setdefault(announced["name"], announced["options"])
        elif reported := _REPORTED.match(line):
            group, threads, error = (int(reported[name]) for name in ("group", "jobs", "error"))
            current = _Result(reported["name"], host, group, threads, error)
            # With --status-interval fio reports a job again; the last report has the final figures.
            results[f"{host}/{current.name}", current.group, reported["pid"] or str(len(results))] = current
        elif current is not None:
            _take(current, line)
    jobs = tuple(_job(result, options) for result in results.values() if result.name != ALL_CLIENTS)
    if not any(job.reads.count or job.writes.count for job in jobs):
        raise UsageError(f"{source}: no job has read or written anything")
    return jobs


def _plain(text: str) -> str:
    """Return a text without colours, and without what a log or a mail puts in front of each line. Figures of a margin may change."""
    text = "\n".join(line for line in _COLOURS.sub("", text).splitlines() if len(line) <= _LONGEST_LINE)
    match = _MARGIN.search(text)
    if match is None:
        return text
    margin = re.sub(r"\d", r"\\d", re.escape(match["margin"]))
    return re.sub(rf"^{margin}[^\S\n]?", "", text, flags=re.MULTILINE)


def _take(result: _Result, line: str) -> None:
    """Read a line below the head of a job."""
    part = result.part
    if direction := _DIRECTION.match(line):
        result.part = result.parts[direction["way"]] = _DirectionLines(direction["figures"])
    elif issued := _ISSUED.search(line):
        result.issued = _issued(issued)
    elif part is None:
        return
    elif latency := _LATENCY.match(line):
        part.latencies[latency["what"]] = float(latency["mean"]) * _SECONDS[latency["unit"]]
    elif percentiles := _PERCENTILES.match(line):
        part.unit = _SECONDS[percentiles["unit"]]
    elif line.lstrip().startswith("|"):
        part.percentiles |= {float(key): int(value) * part.unit for key, value in _PERCENTILE.findall(line)}


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Yield host and line, without damaged lines. The host is empty without `fio --client`."""
    before = ""
    for line in text.splitlines():
        if _DAMAGED.search(line):
            continue
        host, at_end = _HOST.match(line), _HOST_AT_END.search(line)
        yield (host[1] if host else before), _PROGRESS.sub("", line[host.end() if host else 0 :])
        before = at_end[1] if at_end else ""


def _issued(match: "re.Match[str]") -> tuple[int, int]:
    reads, writes = (match[2], match[3]) if match["v2"] else (match[4], match[5])
    return int(reads or 0), int(writes or 0)


def _job(result: _Result, options: Mapping[str, str]) -> Job:
    announced = options.get(result.name, "")
    reads, writes = (
        _direction(result.parts.get(way), result.issued[index] if result.issued else 0, announced)
        for index, way in enumerate(("read", "write"))
    )
    remarks = [f"ended with error {result.error}"] if result.error else []
    remarks.append("figures of fio's normal output have three digits. JSON (--output-format=json) has all of them")
    depth, engine = _DEPTH.search(announced), _ENGINE.search(announced)
    requests = int(depth[1]) if depth else None
    if requests is not None and engine and engine[1] in SYNCHRONOUS:
        requests = 1
    job = Job(
        name=f"{result.host}/{result.name}" if result.host else result.name,
        host=result.host,
        group=result.group,
        reads=reads,
        writes=writes,
        depth=None if requests is None else requests * result.threads,
        remarks=tuple(remarks),
    )
    return replace(job, depth=None) if job.depth and (job.in_flight or 0.0) > job.depth * MOST_IN_FLIGHT else job


def _direction(part: _DirectionLines | None, issued: int, announced: str) -> Direction:
    iops, bandwidth = (_figure(pattern, part) for pattern in (_IOPS, _BANDWIDTH))
    if part is None or iops is None or bandwidth is None or not iops or not bandwidth:
        return Direction()
    runtime = _RUNTIME.search(part.figures)
    if issued and runtime and int(runtime[1]):
        iops = issued / (int(runtime[1]) / 1000)
    count = issued or max(1, round(iops * (int(runtime[1]) / 1000 if runtime else 1)))
    size = _one_size(announced, bandwidth / iops)
    mean = part.latencies.get("lat") or part.latencies.get("clat", 0.0) + part.latencies.get("slat", 0.0)
    return Direction(
        operations=iops,
        bytes_per_second=iops * size if size else bandwidth,
        count=count,
        total_bytes=count * size if size else round(count * bandwidth / iops),
        one_size=bool(size),
        mean_seconds=mean or None,
        percentiles=part.percentiles,
    )


def _figure(pattern: "re.Pattern[str]", part: _DirectionLines | None) -> float | None:
    match = pattern.search(part.figures) if part else None
    if match is None:
        return None
    value, unit = float(match[1]), match[2].lower()
    if pattern is _IOPS:
        return value * _THOUSANDS[unit]
    # Version 2 writes KB for 1,024 bytes, version 3 KiB.
    return value * 1024.0 ** _POWERS[unit.rstrip("b").rstrip("i")]


def _one_size(announced: str, mean: float) -> int:
    """Return the size of every request in bytes. 0 if sizes are mixed, or neither stated nor a power of two."""
    match = _SIZE.search(announced)
    if match:
        low, high = (_bytes(*match.group(first, first + 1)) for first in (1, 3))
        return low if low == high else 0
    size = 512
    while size < mean / (1 + _ROUNDED):
        size *= 2
    return size if abs(size / mean - 1) <= _ROUNDED else 0


def _bytes(number: str, unit: str) -> int:
    return round(float(number) * 1024.0 ** _POWERS[unit.lower().rstrip("b").rstrip("i")])
