# SPDX-License-Identifier: Apache-2.0
"""Convert a report of fio to records: JSON (fio 3.x) or normal output. Terse output is refused.

fio prints warnings around the JSON. A run with `--status-interval` and a loop of runs print one document after the other,
and client mode prints a list of clients. `--output-format=json+` only adds fields.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fss_exporter.errors import UsageError
from fss_toolbox.fio import normal_output
from fss_toolbox.fio.percentiles import Percentiles, remarks as percentile_remarks
from fss_toolbox.fio.printed_errors import printed_errors, refuse_nothing_done
from fss_toolbox.sizing.benchmark import Direction, Job

_NANOSECOND = 1e-9
_NOT_A_NUMBER = re.compile(r'("\s*:\s*)-?(?:nan|inf)\b')  # as fio prints the deviation of one sample. No JSON
_SAME_START_S = (
    1.5  # seconds by which two documents of one run can state other starts, because both times are whole seconds
)
_AROUND_JOBS = re.compile(r": \(g=\d+\): rw=|^[^\S\n]*Run status group \d", re.MULTILINE)  # of the normal output
_TERSE = re.compile(r"^(?:\d;)?(?:terse;)?[2-5];fio-\d|^[2-5];[^;]*;\d+;\d+;\d+;", re.MULTILINE)

Amount = Annotated[float, Field(ge=0, le=1e18, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=10**18)]


class _FioPart(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Latency(_FioPart):
    mean: Amount = 0.0
    most: Amount = Field(default=0.0, alias="max")
    samples: Count = Field(default=0, alias="N")
    percentile: dict[str, Amount] = Field(default_factory=dict)


class _FioDirection(_FioPart):
    io_bytes: Count = 0
    bw_bytes: Amount = 0.0  # absent in old versions such as fio 3.1
    bw: Amount = 0.0  # KiB per second
    iops: Amount = 0.0
    runtime: Count = 0
    total_ios: Count = 0
    short_ios: Count = 0
    lat_ns: _Latency | None = None
    clat_ns: _Latency | None = None


class _FioJob(_FioPart):
    jobname: str = ""
    hostname: str = ""
    groupid: int = 0
    error: int = 0
    elapsed: Count = 0  # seconds since the start of the run
    job_runtime: Count = 0
    options: dict[str, Any] = Field(default_factory=dict, alias="job options")
    read: _FioDirection = _FioDirection()
    write: _FioDirection = _FioDirection()
    trim: _FioDirection = _FioDirection()
    mixed: _FioDirection = _FioDirection()  # reads and writes together
    sync: _FioDirection = _FioDirection()

    @property
    def syncs(self) -> int:
        """Calls of fsync, or of fdatasync, for which fio has no place and counts short reads."""
        return self.sync.total_ios or (self.sync.lat_ns or _Latency()).samples

    @property
    def short(self) -> int:
        """Requests that were cut short."""
        return max(0, self.read.short_ios + self.write.short_ios - (0 if self.sync.total_ios else self.syncs))

    @property
    def done(self) -> int:
        """Reads, writes and trims so far."""
        return sum(part.total_ios for part in (self.read, self.write, self.trim, self.mixed))

    @property
    def runtime_s(self) -> float:
        """Seconds of the longest direction."""
        return max(part.runtime for part in (self.read, self.write, self.trim, self.mixed)) / 1000


class _FioReport(_FioPart):
    version: str = Field(alias="fio version")
    timestamp: Count = 0  # seconds since 1970, of the printing
    shared: dict[str, Any] = Field(default_factory=dict, alias="global options")
    jobs: list[_FioJob] = Field(default_factory=list)
    client_stats: list[_FioJob] = Field(default_factory=list)

    @property
    def entries(self) -> list[_FioJob]:
        """The jobs. The sum of all clients counts only if it is alone."""
        clients = [job for job in self.client_stats if job.jobname != normal_output.ALL_CLIENTS]
        return self.jobs or clients or self.client_stats

    @property
    def start(self) -> float:
        """Seconds since 1970 when the run began, to a second or two."""
        return self.timestamp - max((job.elapsed or job.runtime_s for job in self.entries), default=0.0)


def read_report(source: str, text: str) -> tuple[Job, ...]:
    """Return the jobs of a report: output of fio with `--output-format=json`, `json+` or `normal`. Messages name the source.

    Raises:
        UsageError: the text is no report, cut off, of another fio, or without any figures.
    """
    said = printed_errors(text)
    if '"fio version"' not in text:
        if normal_output.is_normal_output(text):
            return _with_errors(normal_output.read_normal_output(source, text), said)
        if _TERSE.search(text):
            raise UsageError(
                f"{source}: terse output is not read, because its fields have no names and differ between versions of"
                " fio. Run fio with --output-format=json"
            )
        if not said and _AROUND_JOBS.search(text):
            raise UsageError(
                f"{source}: no report of a job, as in name: (groupid=0, jobs=1): err= 0. Give the whole output of fio, at its end"
            )
    reports = _of_each_run([_report(source, document) for document in _documents(source, text)])
    jobs = tuple(job for number, report in enumerate(reports) for job in _jobs(source, report, number))
    failed = {f"{entry.jobname}: error {entry.error}" for report in reports for entry in report.entries if entry.error}
    refuse_nothing_done(source, jobs, (*sorted(failed), *said))
    return _with_errors(jobs, said)


def _with_errors(jobs: Sequence[Job], said: Iterable[str]) -> tuple[Job, ...]:
    """Return jobs that did something, and what fio said beside them. A host whose server failed has no job of its own."""
    first, *others = jobs
    return (replace(first, remarks=(*first.remarks, *(f"fio printed: {line}" for line in said))), *others)


def _report(source: str, document: Mapping[str, Any]) -> _FioReport:
    version = str(document.get("fio version", ""))
    if version and not version.startswith("fio-3"):
        raise UsageError(f"{source}: written by {version[:40]!r}. Reports of fio 3 are read")
    try:
        return _FioReport.model_validate(document)
    except ValidationError as error:
        first, *others = _mistakes(source, error)
        raise UsageError(first, tuple(others)) from error


def _of_each_run(reports: Sequence[_FioReport]) -> list[_FioReport]:
    """Return the last report of each run, with the final figures."""
    last: list[_FioReport] = []
    for report in reports:
        if last and _continues(last[-1], report):
            last.pop()
        last.append(report)
    return last


def _continues(before: _FioReport, after: _FioReport) -> bool:
    """Whether a report is a later one of the same run: the same jobs, whose counts do not fall, since the same start."""
    old, new = ([(job.jobname, job.hostname, job.groupid) for job in report.entries] for report in (before, after))
    if old != new or any(job.done < earlier.done for earlier, job in zip(before.entries, after.entries, strict=True)):
        return False
    if not before.timestamp or not after.timestamp:
        return True
    return abs(after.start - before.start) <= _SAME_START_S


def _jobs(source: str, report: _FioReport, run: int) -> Iterator[Job]:
    copies = Counter((entry.jobname, entry.hostname, entry.groupid) for entry in report.entries)
    for entry in report.entries:
        same = copies[entry.jobname, entry.hostname, entry.groupid]
        options = {**report.shared, **entry.options}
        yield replace(_job(_divided(source, entry, options), options, same), run=run)


def _divided(source: str, entry: _FioJob, options: Mapping[str, Any]) -> _FioJob:
    """Return a job without `unified_rw_reporting=mixed`: its only direction has the figures."""
    if not entry.mixed.total_ios or entry.read.total_ios or entry.write.total_ios:
        return entry
    way = normal_output.only_way(str(options.get("rw") or options.get("readwrite")))
    if way is None:
        raise UsageError(f"{source}: job {entry.jobname!r}: {normal_output.MIXED}")
    return entry.model_copy(update={way: entry.mixed})


def _documents(source: str, text: str) -> list[Mapping[str, Any]]:
    """Return the JSON objects. Text around the objects is skipped."""
    text = _NOT_A_NUMBER.sub(r"\1NaN", text)
    decoder = json.JSONDecoder()
    documents: list[Mapping[str, Any]] = []
    position = 0
    while (start := _next_object(text, position)) is not None:
        try:
            document, position = decoder.raw_decode(text, start)
        except RecursionError as error:
            raise UsageError(f"{source}: nested too deeply for a report of fio") from error
        except ValueError as error:
            line = text.count("\n", 0, getattr(error, "pos", start)) + 1
            raise UsageError(f"{source}: line {line}: not JSON, or cut off: {getattr(error, 'msg', error)}") from error
        if "fio version" in document:
            documents.append(document)
    if not documents:
        said = f" (fio printed: {', '.join(lines)})" if (lines := printed_errors(text)) else ""
        raise UsageError(f"{source}: not a report of fio{said}. Make one with fio --output-format=json --output=FILE")
    return documents


def _next_object(text: str, position: int) -> int | None:
    """Return the start of the next line that opens an object."""
    while True:
        start = text.find("{", position)
        if start < 0:
            return None
        if not text[text.rfind("\n", 0, start) + 1 : start].strip():
            return start
        position = start + 1


def _mistakes(source: str, error: ValidationError) -> Iterator[str]:
    """Yield a line for each of the first five mistakes."""
    for detail in error.errors(include_url=False, include_input=False)[:5]:
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in detail["loc"]).lstrip(".")
        yield f"{source}: {place}: {detail['msg'].removeprefix('Input ')}"


def _job(entry: _FioJob, options: Mapping[str, Any], copies: int) -> Job:
    one_size = not {"bssplit", "bsrange", "blocksize_range"} & options.keys()
    depth, remarks = _depth(entry, options, copies)
    job = Job(
        name=f"{entry.hostname}/{entry.jobname}" if entry.hostname else entry.jobname,
        group=entry.groupid,
        reads=_direction(entry.read, one_size=one_size),
        writes=_direction(entry.write, one_size=one_size),
        syncs=_syncs(entry),
        depth=depth,
        remarks=(*remarks, *_remarks(entry, options)),
        directory=str(options.get("directory") or str(options.get("filename")).rpartition("/")[0]),
        host=entry.hostname,
    )
    if depth is not None and (job.in_flight or 0.0) > depth * normal_output.MOST_IN_FLIGHT:
        unlike = "unlike jobs reported as one: the report has the depth of one of them only"
        return replace(job, depth=None, remarks=(*job.remarks, unlike))
    return job


def _direction(part: _FioDirection, *, one_size: bool) -> Direction:
    mean = (part.lat_ns or part.clat_ns or _Latency()).mean
    return Direction(
        operations=part.iops,
        bytes_per_second=part.bw_bytes or part.bw * 1024,
        count=part.total_ios,
        total_bytes=part.io_bytes,
        one_size=one_size,
        mean_seconds=mean * _NANOSECOND if part.total_ios and mean else None,
        percentiles=_percentiles(part).known,
    )


def _percentiles(part: _FioDirection) -> Percentiles:
    completion, whole = part.clat_ns or _Latency(), part.lat_ns or _Latency()
    of = completion if completion.percentile else whole  # --lat_percentiles=1 --clat_percentiles=0
    seconds = {float(key): value * _NANOSECOND for key, value in of.percentile.items() if _is_percent(key)}
    return Percentiles(seconds, of.mean * _NANOSECOND, of.most * _NANOSECOND, _NANOSECOND)


def _syncs(entry: _FioJob) -> Direction:
    count, seconds = entry.syncs, entry.runtime_s
    if not count or not seconds:
        return Direction()
    mean = (entry.sync.lat_ns or _Latency()).mean
    return Direction(operations=count / seconds, count=count, mean_seconds=mean * _NANOSECOND if mean else None)


def _is_percent(text: str) -> bool:
    try:
        return 0 <= float(text) <= 100
    except ValueError:
        return False


def _depth(entry: _FioJob, options: Mapping[str, Any], copies: int) -> tuple[int | None, Sequence[str]]:
    """Return the configured requests in flight of an entry, with all threads."""
    engine = str(options.get("ioengine", "psync"))
    depth = _whole(options.get("iodepth", "1"))
    if depth is None:
        return None, ()
    remarks = []
    if engine in normal_output.SYNCHRONOUS and depth > 1:
        remarks.append(f"{engine} waits for each request: iodepth={depth} has no effect")
        depth = 1
    return depth * _threads(entry, options, copies), remarks


def _threads(entry: _FioJob, options: Mapping[str, Any], copies: int) -> int:
    """Return the threads of an entry. With group reporting, an entry contains all threads, and the run time is their
    sum.
    """
    if entry.job_runtime and entry.runtime_s:
        return max(1, round(entry.job_runtime / 1000 / entry.runtime_s))
    return max(1, (_whole(options.get("numjobs", "1")) or 1) // copies)


def _whole(value: Any) -> int | None:
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and 0 < len(text) < 10 else None


def _remarks(entry: _FioJob, options: Mapping[str, Any]) -> list[str]:
    remarks = []
    if entry.error:
        remarks.append(f"ended with error {entry.error}")
    if str(options.get("direct", "0")) != "1" and str(options.get("buffered", "1")) != "0":
        remarks.append(
            "buffered: the page cache merges and absorbs requests, so the cost is that of what fio asked for"
        )
    remarks += percentile_remarks(reads=_percentiles(entry.read), writes=_percentiles(entry.write))
    if entry.trim.total_ios:
        remarks.append(f"{entry.trim.total_ios} trims are not judged")
    if entry.syncs:
        remarks.append(normal_output.uncounted_syncs(entry.syncs))
    if entry.short:
        remarks.append(f"{entry.short} requests were cut short: the end of a file, or a full one")
    return remarks
