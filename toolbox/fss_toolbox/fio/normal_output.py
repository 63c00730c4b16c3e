# SPDX-License-Identifier: Apache-2.0
"""Convert fio's normal output, versions 2 and 3, to records. People paste this text.

`name: (g=0): rw=..., bs=..., iodepth=32` announces a job. `name: (groupid=0, jobs=8): err= 0: pid=1` begins the report of
the job, with a line for each direction. The text has figures of three digits.
"""

import re
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from fss_exporter.errors import UsageError
from fss_toolbox.fio.percentiles import Percentiles, remarks as percentile_remarks
from fss_toolbox.fio.printed_errors import printed_errors, refuse_nothing_done
from fss_toolbox.pasted_text import without_margin
from fss_toolbox.sizing.benchmark import Direction, Job

# I/O engines of fio that wait for each request, at any iodepth (fio, ioengines.c: FIO_SYNCIO).
SYNCHRONOUS: Final = frozenset(
    ("sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "null", "ftruncate", "sg", "splice")
)

MOST_IN_FLIGHT: Final = 1.05  # largest share of the depth that requests in flight can be, with rounding

ALL_CLIENTS: Final = "All clients"  # the sum of the other jobs
MIXED: Final = "unified_rw_reporting adds reads and writes up, and their costs differ: run fio without it"
_HOST: Final = re.compile(r"^<([^>]+)>\s?")
_HOST_AT_END: Final = re.compile(r"<([^>]+)>\s*$")  # behind the progress line, of the line that follows
_PROGRESS: Final = re.compile(r"^Jobs: \d+ \(f=.*?\[eta [^]]*\]")
_ANNOUNCED: Final = re.compile(r"^\s*(?P<name>.*?): \(g=(?P<group>\d+)\): (?P<options>.*)$")
_REPORTED: Final = re.compile(
    r"^\s*(?P<name>.*?): \(groupid=(?P<group>\d+), jobs=(?P<jobs>\d+)\): err= ?(?P<error>-?\d+)"
    r"(?:.*pid=(?P<pid>\d+)(?:: (?P<time>\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}))?)?"
)
_DIRECTION: Final = re.compile(r"^\s*(?P<way>read|write|trim|mixed)\s*:\s*(?P<figures>.*(?:IOPS|iops)=.*)$")
_SYNCS: Final = "fsync/fdatasync/sync_file_range:"
_RUN_ENDED: Final = "Run status group"

# What stands in front of the figures of a direction, without the host.
_MARGIN: Final = re.compile(
    r"^(?P<margin>(?!\s*<)[^\n]*?\S[^\S\n])[^\S\n]*(?:<[^>\n]+>[^\S\n]*)?(?:read|write|trim|mixed)\s*:\s*(?:io|IOPS)=",
    re.MULTILINE,
)

_IOPS: Final = re.compile(r"iops=\s*(\d+(?:\.\d+)?)([kKmM]?)", re.IGNORECASE)

# A sum of clients has no unit: `BW=29.4Gi (31.6G)`.
_BANDWIDTH: Final = re.compile(
    r"(?P<name>bw)=\s*(?P<figure>\d+(?:\.\d+)?)\s*(?P<power>[KMGT]?)(?P<binary>i?)(?P<unit>B/s|bit/s|(?=[\s(,]))",
    re.IGNORECASE | re.ASCII,
)

_RUNTIME: Final = re.compile(r"(?:/|runt=\s*)(\d+)msec")
_LATENCY: Final = re.compile(
    r"^\s*(?P<what>[sc]?lat|sync) \((?P<unit>[num]?sec)\)\s*:(?:.*?max=\s*(?P<most>\d+(?:\.\d+)?)(?P<power>[kKmM]?)\b)?.*?avg=\s*(?P<mean>\d+(?:\.\d+)?)"
)
_PERCENTILES: Final = re.compile(r"^\s*(?P<what>[sc]?lat|sync) percentiles \((?P<unit>[num]?sec)\):")
_PERCENTILE: Final = re.compile(r"(\d+\.\d+)th=\[\s*>?=?(\d+)\]")
_ISSUED: Final = re.compile(
    r"issued\s*(?:rwts?)?\s*:\s*total=(?:r=(?P<r2>\d+)/w=(?P<w2>\d+)|(?P<r>\d+),(?P<w>\d+)(?:,\d+(?:,(?P<s>\d+))?)?)?"
    r"(?:,?\s+short=(?:r=)?(?P<short>\d+))?"
)
_DEPTH: Final = re.compile(r"iodepth=(\d+)")

# Smallest and largest size. Behind `bs=` stand those of reads, then of writes, in every version.
_SIZES: Final = re.compile(r"(\d+(?:\.\d+)?)([KMG]?i?B?)-(\d+(?:\.\d+)?)([KMG]?i?B?)", re.IGNORECASE | re.ASCII)
_BY_PATTERN: Final = "bs_is_seq_rand"  # the sizes are those of sequential and of random requests

_ENGINE: Final = re.compile(r"ioengine=(\w+)")
_PATTERN: Final = re.compile(r"\brw=(\w+)")
_DAMAGED: Final = re.compile(r"\d{16}")  # fio prints no number with 16 digits

# Characters. fio prints no longer line, and the search for hosts and margins takes time by the square of the length.
_LONGEST_LINE: Final = 2000

# Seconds. fio prints all reports of a run at its end, and each has the time of its printing.
_PRINTED_TOGETHER_S: Final = 2.0

_SECONDS: Final = {"sec": 1.0, "nsec": 1e-9, "usec": 1e-6, "msec": 1e-3}
_THOUSANDS: Final = {"": 1.0, "k": 1e3, "m": 1e6}
_POWERS: Final = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_ROUNDED: Final = 0.03  # bandwidth and IOPS have three digits each, so their ratio is within 3 % of the size


@dataclass(slots=True)
class _DirectionLines:
    """One direction of one job, or its syncs, while the lines are read. Latencies are seconds, by fio's word for them."""

    figures: str = ""
    latencies: dict[str, float] = field(default_factory=dict)
    largest: dict[str, float] = field(default_factory=dict)
    percentiles: dict[str, dict[float, float]] = field(default_factory=dict)
    table: tuple[str, float] | None = None  # word and unit of the percentiles that follow. None before a heading

    @property
    def of_completion(self) -> Percentiles:
        """Percentiles from the completion on, or of the whole latency with `lat_percentiles`."""
        word = "clat" if self.percentiles.get("clat") else "lat"
        values = self.percentiles.get(word, {})
        step = self.table[1] if self.table else 0.0
        return Percentiles(values, self.latencies.get(word, 0.0), self.largest.get(word, 0.0), step)


@dataclass(slots=True)
class _Result:
    """One reported job while the lines are read."""

    name: str
    host: str
    group: int
    threads: int
    error: int
    time: datetime | None  # of the printing
    parts: dict[str, _DirectionLines] = field(default_factory=dict)
    part: _DirectionLines | None = None
    issued: Mapping[str, int] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


_Key = tuple[str, str, int, str]  # host, name, group, process


@dataclass(slots=True)
class _PrintedRun:
    """One run of fio while the lines are read."""

    options: ChainMap[str, str] = field(default_factory=ChainMap)  # options of this run, then those of earlier runs
    results: dict[_Key, _Result] = field(default_factory=dict)
    has_ended: bool = False

    def has(self, key: _Key) -> bool:
        """Whether a report is a later one of a job of this run. A job that waits for its turn has process 0."""
        return key in self.results or (*key[:3], "0") in self.results

    def is_announced_again(self, host: str, group: int) -> bool:
        """Whether a job is one of the next run. A paste can show each group of one run with its announcement."""
        is_old = any(result.group >= group for result in self.results.values())
        return is_old and (not host or self.has_ended)

    def is_over(self, key: _Key, result: _Result) -> bool:
        """Whether a report belongs to the next run. Clients report whenever they end."""
        if not self.results or self.has(key) or result.name == ALL_CLIENTS:
            return False
        last = list(self.results.values())[-1]
        if result.host or last.host or result.time is None or last.time is None:
            return self.has_ended and not result.host
        return self.has_ended or abs((result.time - last.time).total_seconds()) > _PRINTED_TOGETHER_S


def is_normal_output(text: str) -> bool:
    """Whether a text looks like fio's normal output."""
    return any(_REPORTED.match(_HOST.sub("", line)) for line in _lines_of_fio(text))


def read_normal_output(source: str, text: str) -> tuple[Job, ...]:
    """Return the jobs of a text, with the number of their run. Messages name the source.

    Raises:
        UsageError: no job has a figure, or a figure cannot be read.
    """
    jobs = tuple(
        _job(source, result, number, run.options)
        for number, run in enumerate(_runs(text))
        for result in _without_sum(run.results.values())
    )
    failed = {f"{job.name}: {remark}" for job in jobs for remark in job.remarks if remark.startswith("ended")}
    refuse_nothing_done(source, jobs, (*sorted(failed), *printed_errors(text)))
    return jobs


def _lines_of_fio(text: str) -> Iterator[str]:
    return (line for line in text.splitlines() if len(line) <= _LONGEST_LINE)


def _runs(text: str) -> list[_PrintedRun]:
    runs = [_PrintedRun()]
    current: _Result | None = None
    for host, line in _lines(without_margin("\n".join(_lines_of_fio(text)), _MARGIN)):
        run = runs[-1]
        if announced := _ANNOUNCED.match(line):
            if run.is_announced_again(host, int(announced["group"])):
                runs.append(run := _PrintedRun(run.options.new_child()))
            run.options.maps[0].setdefault(announced["name"], announced["options"])
        elif reported := _REPORTED.match(line):
            group, threads, error = (int(reported[name]) for name in ("group", "jobs", "error"))
            current = _Result(reported["name"], host, group, threads, error, _time(reported["time"]))
            # With --status-interval fio reports a job again; the last report has the final figures.
            key = (host, current.name, group, reported["pid"] or f"line {len(run.results)}")
            if run.is_over(key, current):
                runs.append(run := _PrintedRun(run.options.new_child()))
            run.results.pop((*key[:3], "0"), None)
            run.results[key] = current
        elif line.startswith(_RUN_ENDED):
            run.has_ended = True
        elif current is not None:
            _take(current, line)
    return runs


def _time(text: str | None) -> datetime | None:
    try:
        return datetime.strptime(text, "%a %b %d %H:%M:%S %Y") if text else None  # noqa: DTZ007 - only differences count
    except ValueError:
        return None


def _without_sum(results: Iterable[_Result]) -> list[_Result]:
    """Return the jobs of a run without the sum of all clients, unless the text has nothing else."""
    results = list(results)
    return [result for result in results if result.name != ALL_CLIENTS] or results


def _take(result: _Result, line: str) -> None:
    """Read a line below the head of a job."""
    part = result.part
    if direction := _DIRECTION.match(line):
        result.part = result.parts[direction["way"]] = _DirectionLines(direction["figures"])
    elif line.strip() == _SYNCS:
        result.part = result.parts["sync"] = _DirectionLines()
    elif issued := _ISSUED.search(line):
        result.issued = _issued(issued)
    elif part is None:
        return
    elif latency := _LATENCY.match(line):
        unit = _SECONDS[latency["unit"]]
        part.latencies[latency["what"]] = float(latency["mean"]) * unit
        if latency["most"]:
            part.largest[latency["what"]] = float(latency["most"]) * _THOUSANDS[latency["power"].lower()] * unit
    elif percentiles := _PERCENTILES.match(line):
        part.table = percentiles["what"], _SECONDS[percentiles["unit"]]
    elif line.lstrip().startswith("|"):
        _take_percentiles(result, part, line)


def _take_percentiles(result: _Result, part: _DirectionLines, line: str) -> None:
    if part.table is None:
        result.remarks.append("percentiles without the line that names their unit are left out")
        return
    word, unit = part.table
    part.percentiles.setdefault(word, {}).update(
        (float(key), int(value) * unit) for key, value in _PERCENTILE.findall(line)
    )


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Yield host and line, without damaged lines. The host is empty without `fio --client`."""
    before = ""
    for line in text.splitlines():
        if _DAMAGED.search(line):
            continue
        host, at_end = _HOST.match(line), _HOST_AT_END.search(line)
        yield (host[1] if host else before), _PROGRESS.sub("", line[host.end() if host else 0 :])
        before = at_end[1] if at_end else ""


def _issued(match: "re.Match[str]") -> Mapping[str, int]:
    counts = {"read": match["r"] or match["r2"], "write": match["w"] or match["w2"], "sync": match["s"]}
    return {way: int(count or 0) for way, count in {**counts, "short": match["short"]}.items()}


def _job(source: str, result: _Result, run: int, options: Mapping[str, str]) -> Job:
    announced = options.get(result.name, "")
    remarks = [f"ended with error {result.error}"] if result.error else []
    remarks += dict.fromkeys(result.remarks)
    _divide_mixed(source, result, announced)
    reads, writes = (_direction(source, result, way, announced) for way in ("read", "write"))
    syncs = _syncs(result)
    remarks += percentile_remarks(
        **{f"{way}s": result.parts[way].of_completion for way in ("read", "write") if way in result.parts}
    )
    if syncs.count:
        remarks.append(uncounted_syncs(syncs.count))
    remarks.append("figures of fio's normal output have three digits. JSON (--output-format=json) has all of them")
    depth, engine = _DEPTH.search(announced), _ENGINE.search(announced)
    requests = int(depth[1]) if depth else None
    if requests is not None and engine and engine[1] in SYNCHRONOUS:
        requests = 1
    job = Job(
        name=f"{result.host}/{result.name}" if result.host else result.name,
        host=result.host,
        run=run,
        group=result.group,
        reads=reads,
        writes=writes,
        syncs=syncs,
        depth=None if requests is None else requests * result.threads,
        remarks=tuple(remarks),
    )
    return replace(job, depth=None) if job.depth and (job.in_flight or 0.0) > job.depth * MOST_IN_FLIGHT else job


def uncounted_syncs(count: int) -> str:
    """Return the remark of a job with syncs."""
    return f"{count} syncs are not counted, at most one COMMIT (1 I/O operation) each"


def _divide_mixed(source: str, result: _Result, announced: str) -> None:
    """Take the figures of `unified_rw_reporting=mixed` for those of the only direction that the job has."""
    mixed = result.parts.pop("mixed", None)
    if mixed is None or result.parts.keys() & {"read", "write"}:
        return
    pattern = _PATTERN.search(announced)
    way = only_way(pattern[1] if pattern else "")
    if way is None:
        raise UsageError(f"{source}: job {result.name!r}: {MIXED}")
    result.parts[way] = mixed
    result.issued = {**result.issued, way: result.issued.get("read", 0)}  # fio counts all as reads


def only_way(pattern: str) -> str | None:
    """Return the only direction of an access pattern (`rw=`): `read` or `write`. None for both, or an unknown one."""
    return {"read": "read", "randread": "read", "write": "write", "randwrite": "write"}.get(pattern)


def _direction(source: str, result: _Result, way: str, announced: str) -> Direction:
    part, issued = result.parts.get(way), result.issued.get(way, 0)
    if part is None:
        return Direction()
    iops, bandwidth = _iops(part.figures), _bandwidth(part.figures)
    if iops is None or bandwidth is None:
        raise UsageError(
            f"{source}: job {result.name!r}: the figures of its {way}s cannot be read: {part.figures[:80]!r}"
        )
    if not iops or not bandwidth:
        return Direction()
    runtime = _runtime(part)
    if issued and runtime:
        iops = issued / runtime
    count = issued or max(1, round(iops * (runtime or 1)))
    size = _one_size(announced, way, bandwidth / iops)
    mean = part.latencies.get("lat") or part.latencies.get("clat", 0.0) + part.latencies.get("slat", 0.0)
    return Direction(
        operations=iops,
        bytes_per_second=iops * size if size else bandwidth,
        count=count,
        total_bytes=count * size if size else round(count * bandwidth / iops),
        one_size=bool(size),
        mean_seconds=mean or None,
        percentiles=part.of_completion.known,
    )


def _syncs(result: _Result) -> Direction:
    part = result.parts.get("sync")
    # fio has no place for fdatasync in these counts, and prints it in the next one, as short reads (seen with 3.27 and 3.33).
    count = result.issued.get("sync", 0) or (result.issued.get("short", 0) if part else 0)
    runtime = max((_runtime(result.parts[way]) for way in ("read", "write") if way in result.parts), default=0.0)
    if not count or not runtime:
        return Direction()
    return Direction(operations=count / runtime, count=count, mean_seconds=part.latencies.get("sync") if part else None)


def _runtime(part: _DirectionLines) -> float:
    """Return the seconds of a direction. 0 if the text does not say."""
    match = _RUNTIME.search(part.figures)
    return int(match[1]) / 1000 if match else 0.0


def _iops(figures: str) -> float | None:
    match = _IOPS.search(figures)
    return float(match[1]) * _THOUSANDS[match[2].lower()] if match else None


def _bandwidth(figures: str) -> float | None:
    """Return bytes per second. Version 2 writes bw=1KB for 1,024 bytes, version 3 BW=1KiB, and BW=1kB for 1,000 bytes."""
    match = _BANDWIDTH.search(figures)
    if match is None:
        return None
    base = 1000.0 if match["name"] == "BW" and not match["binary"] else 1024.0
    return (
        float(match["figure"])
        * base ** _POWERS[match["power"].lower()]
        / (8 if match["unit"].lower() == "bit/s" else 1)
    )


def _one_size(announced: str, way: str, mean: float) -> int:
    """Return the size of every request of a direction in bytes. 0 if sizes are mixed, or neither stated nor a power of two."""
    stated = [] if _BY_PATTERN in announced else _SIZES.findall(announced.partition("bs=")[2])
    if of_way := dict(zip(("read", "write"), stated, strict=False)).get(way):
        low, high = _bytes(*of_way[:2]), _bytes(*of_way[2:])
        return low if low == high else 0
    size = 512
    while size < mean / (1 + _ROUNDED):
        size *= 2
    return size if abs(size / mean - 1) <= _ROUNDED else 0


def _bytes(number: str, unit: str) -> int:
    return round(float(number) * 1024.0 ** _POWERS[unit.lower().rstrip("b").rstrip("i")])
