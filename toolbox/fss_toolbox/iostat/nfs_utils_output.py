# SPDX-License-Identifier: Apache-2.0
"""Read saved output of `mountstats` and `nfsiostat`, the tools of nfs-utils, as records and as traffic.

`mountstats` prints counts, payload bytes and means. So a record can be rebuilt, except for the bytes on the wire.
`nfsiostat` prints rates of READ and WRITE, or with -a or -d in place of these rates of five more operations. The kilobytes contain headers.
Layouts: nfs-utils 1.3.0 to 2.6.2, tools/mountstats/mountstats.py and tools/nfs-iostat/nfs-iostat.py.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from fss_exporter.errors import UsageError
from fss_exporter.model.estimate import Bounds, estimate_transfers
from fss_exporter.model.operations import FIXED_COSTS, LARGEST_TRANSFER_BYTES, NFS3_OPERATIONS, READ, WRITE
from fss_exporter.model.service_table import SeriesKey
from fss_exporter.model.traffic import OperationTraffic, Traffic, together
from fss_exporter.nfs.mountinfo import split_device
from fss_exporter.nfs.records import Mountstats, NfsRecord, OperationCounters, OperationTable, options
from fss_toolbox.iostat.traffic_report import Report
from fss_toolbox.printed import number

RECORD_INSTEAD: Final = "copy /proc/self/mountstats twice, some time apart"

_STATS_FOR: Final = re.compile(r"(?m)^Stats for (?=\S)")
# A device begins without a colon, so that a long line full of colons has a single place to begin.
_DEVICE: Final = r"[^\s:]+:\S*"
_MOUNTED: Final = re.compile(rf"({_DEVICE}) mounted on (.*):\s*$")
_AGE: Final = re.compile(r"NFS mount age: (?:(\d{1,6}) days?, )?(\d{1,2}):(\d\d):(\d\d)")
_PAYLOAD: Final = re.compile(r"client (read|wrote) (\d{1,20}) bytes via NFS")
_NUMBER: Final = r"(\d{1,15}\.?\d{0,18})"
_OPERATION: Final = re.compile(
    r"(?m)^([A-Z_0-9]{1,40}):\n\t(\d{1,20}) ops \(\d+%\)([^\n]*)\n[^\n]*\n"
    rf"\tbacklog wait: {_NUMBER}\s+RTT: {_NUMBER}\s+total execute time: {_NUMBER}"
)
_COUNTED: Final = re.compile(r"(\d{1,20}) (retrans|major timeouts|errors)")

_NFSIOSTAT: Final = re.compile(rf"(?m)^(?={_DEVICE} mounted on .*:\s*$)")

# Some mail programs and pages break a row into lines, but no number begins with a letter.
_ROW: Final = re.compile(r"(?m)^([a-z]+):\s+ops?/s\s+(kB|MB)/s[^\n]*\n((?:[^\S\n]*[^\sa-z][^\n]*\n?)*)")

_SHARE: Final = re.compile(rf"\(\s*{_NUMBER}\s*%\s*\)?")  # pages lose the last bracket

_HEADING: Final = re.compile(r"\b(?:read|write):\s+ops?/s\s+[kM]B/s")  # of such a row, behind any margin

# Least, likely and most bytes of headers around one operation, call and reply together (NFSv3 with AUTH_SYS).
_HEADERS_BYTES: Final = (200, 240, 500)

_PAGE_BYTES: Final = 4096
_LAST_DIGIT: Final = 0.00051  # half of the last of three decimals, and a little for the arithmetic of floats

_NO_COUNTERS: Final = OperationCounters(0, 0, 0, 0, 0, 0, 0, 0, 0)


def is_mountstats_output(text: str) -> bool:
    """Whether a text is output of the tool `mountstats`, not the kernel's file."""
    return _STATS_FOR.search(text) is not None


def is_nfsiostat_output(text: str) -> bool:
    """Whether a text is output of nfsiostat."""
    return "rpc bklog" in text and _NFSIOSTAT.search(text) is not None


def refuse_rows_without_mount(source: str, text: str) -> None:
    """Raise UsageError if a text has rows of nfsiostat, and no line that names their mount."""
    if _HEADING.search(text) and not is_nfsiostat_output(text):
        raise UsageError(
            f"{source}: rows of nfsiostat without the line of their mount, as in server:/export mounted on /mnt:. Add this line"
        )


def parse_mountstats_output(source: str, text: str, unprinted_age_s: int | None = None) -> Mountstats:
    """Parse the records of saved output of `mountstats`. Messages name the source.

    Args:
        source: the operator's name of the text.
        text: the output.
        unprinted_age_s: age of mounts without one, in seconds, because some versions print none. None if nobody knows.

    Raises:
        UsageError: a mount lacks byte counts, RPC statistics or age.
    """
    return Mountstats(tuple(_record(source, part, unprinted_age_s) for part in _STATS_FOR.split(text)[1:]), ())


def _record(source: str, text: str, unprinted_age_s: int | None) -> NfsRecord:
    head = text.partition("\n")[0]
    mounted = _MOUNTED.match(head)
    if mounted is None:
        raise UsageError(f"{source}: 'Stats for {head[:80]}' is not a line of mountstats. Instead, {RECORD_INSTEAD}")
    payload = {kind: int(number) for kind, number in _PAYLOAD.findall(text)}
    match = re.search(r"NFS mount options: (\S+)", text)
    if match is None or payload.keys() != {"read", "wrote"}:
        option = "--xprt" if "Transport protocol:" in text else "--rpc"
        raise UsageError(f"{source}: no NFS byte counts. Run mountstats without {option}, or {RECORD_INSTEAD}")
    if "RPC statistics" not in text:
        raise UsageError(f"{source}: no RPC statistics. Run mountstats without --nfs, or {RECORD_INSTEAD}")
    if _is_cut_off(text):
        raise UsageError(f"{source}: {mounted[1]}: cut off within the operations. Save the whole output of mountstats")
    stated = options(match[1])
    is_v3 = stated.get("vers", "3").startswith("3")
    operations = dict.fromkeys(NFS3_OPERATIONS if is_v3 else (READ, WRITE), _NO_COUNTERS) | dict(_operations(text))
    return NfsRecord(
        device=mounted[1],
        mount_point=mounted[2],
        fstype="nfs" if is_v3 else "nfs4",
        age_s=_age(source, mounted[1], text, unprinted_age_s),
        # Means of bytes are printed without fractions, so the bytes on the wire are not known to the byte.
        options={name: value for name, value in stated.items() if name != "sec"},
        revalidations=None,
        vfs_locks=None,
        delays=None,
        read_bytes=payload["read"],
        written_bytes=payload["wrote"],
        transports=(),
        operations=OperationTable.of(operations),
    )


def _age(source: str, device: str, text: str, unprinted_age_s: int | None) -> int:
    match = _AGE.search(text)
    if match is not None:
        days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
        return days * 86_400 + hours * 3600 + minutes * 60 + seconds
    if unprinted_age_s is None:
        raise UsageError(
            f"{source}: {device} has no age. Give --elapsed: the time since the mount, or between the two files, or {RECORD_INSTEAD}"
        )
    return unprinted_age_s


def _is_cut_off(text: str) -> bool:
    """Whether operations are missing: the tool sent requests and names no operation, or an operation lacks lines."""
    sent = re.search(r"(\d{1,20}) RPC requests sent", text)
    named = len(re.findall(r"(?m)^[A-Z_0-9]{1,40}:$", text))
    return named != len(_OPERATION.findall(text)) or (not named and sent is not None and int(sent[1]) > 0)


def _operations(text: str) -> Iterator[tuple[str, OperationCounters]]:
    for name, count, more, *means in _OPERATION.findall(text):
        operations = int(count)
        counted = {what: int(number) for number, what in _COUNTED.findall(more)}
        queue, rtt, execute = (round(operations * float(mean)) for mean in means)
        transmissions = operations + counted.get("retrans", 0)
        timeouts, errors = counted.get("major timeouts", 0), counted.get("errors", 0)
        yield name, OperationCounters(operations, transmissions, timeouts, 0, 0, queue, rtt, execute, errors)


def parse_nfsiostat_output(source: str, text: str) -> Report:
    """Parse the last report of saved nfsiostat output. Messages name the source.

    Raises:
        UsageError: no mount has rows of reads and writes, or a row cannot be read.
    """
    before, *after = _NFSIOSTAT.split(text)
    blocks = [_block(source, block) for block in after]
    last = _last_reports(blocks)
    mounts = {place: _mount(rows) for place, rows in last.items() if {READ, WRITE} <= _names(rows)}
    if not mounts:
        raise UsageError(
            f"{source}: no rows read: and write:, as with nfsiostat -a, -d or -p alone. Put the output of nfsiostat"
            f" without these options into the same file, or {RECORD_INSTEAD}"
        )
    notes = [
        f"{source}: nfsiostat gives no cost of operations on metadata and no payload, so bounds are wide. To have both, {RECORD_INSTEAD}"
    ]
    if len(blocks) == sum(map(len, last.values())):
        notes.append(f"{source}: one report only, and the first report of nfsiostat is a mean since each mount")
    if _HEADING.search(before):
        notes.append(f"{source}: rows before the first line of a mount (server:/export mounted on /mnt:) are left out")
    for key, mount_point in dict.fromkeys((block.key, block.mount_point) for block in blocks):
        if (key, mount_point) not in mounts:
            notes.append(f"{key.server}:{key.export} on {mount_point}: no READ and WRITE in the last report, left out")
    loads, mount_points = _each_once(mounts)
    for key, several in loads.items():
        if len(several) > 1:
            notes.append(
                f"{key.server}:{key.export} has different figures at {', '.join(mount_points[key])}, and counts with their"
                " sum. If the share moved from one to the other, leave out the earlier one"
            )
    if merged := sorted({key.export for key, _ in mounts} - {key.export for key in loads}):
        notes.append(f"{', '.join(merged)}: with the figures of another export of the server, so both count once")
    traffic = {key: together(several) for key, several in loads.items()}
    notes += _in_no_row(traffic, last)
    points = {key: tuple(several) for key, several in mount_points.items()}
    return Report(f"{source} (nfsiostat)", traffic, points, tuple(notes))


class _Block(NamedTuple):
    """Rows of one mount in a report."""

    key: SeriesKey
    mount_point: str
    every: float  # operations per second of the connection to the server
    operations: Mapping[str, OperationTraffic]
    payload: Mapping[str, float]  # likely bytes per second, by operation


_Place = tuple[SeriesKey, str]  # export and mount point


def _names(blocks: Iterable[_Block]) -> set[str]:
    return {name for block in blocks for name in block.operations}


def _last_reports(blocks: Iterable[_Block]) -> Mapping[_Place, list[_Block]]:
    """Return what the last report says of each mount. No report names a mount twice.

    nfsiostat prints the rows of -a and of -d in reports of their own, so the last report with each set of rows counts.
    """
    reports: dict[frozenset[str], dict[_Place, _Block]] = {}
    for block in blocks:
        rows, place = frozenset(block.operations), (block.key, block.mount_point)
        if place in reports.get(rows, ()):
            reports[rows] = {}
        reports.setdefault(rows, {})[place] = block
    last: dict[_Place, list[_Block]] = defaultdict(list)
    for report in reports.values():
        for place, block in report.items():
            last[place].append(block)
    return last


def _mount(blocks: Iterable[_Block]) -> Traffic:
    """Return the traffic of one mount, from its rows in all reports."""
    operations = {name: rate for block in blocks for name, rate in block.operations.items()}
    payload = {name: size for block in blocks for name, size in block.payload.items()}
    return Traffic(operations, payload[READ], payload[WRITE])


def _each_once(
    mounts: Mapping[_Place, Traffic],
) -> tuple[Mapping[SeriesKey, list[Traffic]], Mapping[SeriesKey, list[str]]]:
    """Return the different figures of each export, and its mount points.

    Mounts with equal figures are one superblock, also of two exports of one server. nfsiostat repeats the counters for each.
    """
    loads: dict[SeriesKey, list[Traffic]] = defaultdict(list)
    mount_points: dict[SeriesKey, list[str]] = defaultdict(list)
    for (key, mount_point), load in sorted(mounts.items(), key=lambda mount: len(mount[0][0].export)):
        is_idle = not load.all_operations.operations  # equal zeros prove nothing of two exports
        same = (one for one, known in loads.items() if one.address == key.address and load in known)
        owner = key if is_idle else next(same, key)
        mount_points[owner].append(mount_point)
        if load not in loads[owner]:
            loads[owner].append(load)
    return loads, mount_points


def _in_no_row(traffic: Mapping[SeriesKey, Traffic], last: Mapping[_Place, list[_Block]]) -> Iterator[str]:
    """Yield a note for each address with operations that no row shows."""
    for address in dict.fromkeys(key.address for key in traffic):
        every = max(block.every for (key, _), rows in last.items() if key.address == address for block in rows)
        rate = every - sum(load.all_operations.operations for key, load in traffic.items() if key.address == address)
        if rate > _LAST_DIGIT:
            yield (
                f"{address}: {number(rate)} operations/s are in no row. nfsiostat -a and -d show some of them: put their output into"
                f" the same file. They cost 0 to 8 IOPS each, {number(8 * rate)} IOPS at most, which are not included"
            )


def _block(source: str, text: str) -> _Block:
    mounted = _MOUNTED.match(text.partition("\n")[0])
    every = re.search(rf"ops?/s\s+rpc bklog\s+{_NUMBER}", text)
    if mounted is None or every is None:
        raise UsageError(
            f"{source}: a mount without the figures ops/s and rpc bklog. Save the whole output of nfsiostat"
        )
    server, export = split_device(mounted[1])
    operations, payload = {}, {}
    for heading, unit, values in _ROW.findall(text):
        name = heading.upper()
        operations[name], payload[name] = _row(source, name, 1024.0 if unit == "kB" else 1024.0**2, values)
    return _Block(SeriesKey(server, server, export), mounted[2], float(every[1]), operations, payload)


def _row(source: str, name: str, unit_bytes: float, text: str) -> tuple[OperationTraffic, float]:
    """Parse one row: traffic, and the likely payload in bytes per second."""
    try:
        shares = [float(share) / 100 for share in _SHARE.findall(text)]
        rate, units, rtt, execute, *more = _columns(text)
    except ValueError as error:
        raise UsageError(f"{source}: not a row of nfsiostat: {text.strip()[:80]}") from error
    iops, payload = _cost(name, rate, units * unit_bytes, unit_bytes)
    figures = OperationTraffic(
        operations=rate,
        iops=iops,
        retransmissions=rate * shares[0] if shares else None,
        errors=rate * shares[1] if len(shares) > 1 else None,
        queue_seconds=rate * more[0] / 1000 if more else None,
        rtt_seconds=rate * rtt / 1000,
        execute_seconds=rate * execute / 1000,
    )
    return figures, payload


def _columns(text: str) -> list[float]:
    """Parse operations and kilobytes per second, then RTT, execute and optional queue in milliseconds.

    Raises:
        ValueError: the row has other columns.
    """
    rate, units, each, _, *times = map(_finite, _SHARE.sub("", text).split()[:7])
    if units > 1 and not 0.9 < rate * each / units < 1.1 * 1024:
        raise ValueError("kB/s, kB/op and ops/s do not agree")
    return [rate, units, *times]


def _one_page_multiple(rate: float, wire_bytes: float, unit_bytes: float) -> float:
    """Return the size if all operations may have one size in whole pages, else 0. The live agent has this rule too: a header is shorter than a
    page and a multiple of four bytes, so the size is the page multiple below the mean. `unit_bytes` is that of the printed column.
    """
    if not rate or not wire_bytes:
        return 0.0
    least, _, most = _HEADERS_BYTES
    mean = wire_bytes / rate
    pages, header = divmod(mean, _PAGE_BYTES)
    rounded = mean * _LAST_DIGIT * (unit_bytes / wire_bytes + 1 / rate)
    fits = least - rounded <= header <= most + rounded and abs(header - 4 * round(header / 4)) <= rounded
    return pages * _PAGE_BYTES if fits else 0.0


def _finite(text: str) -> float:
    if not re.fullmatch(_NUMBER, text):
        raise ValueError(f"{text} is not a number")
    return float(text)


def _cost(name: str, rate: float, wire_bytes: float, unit_bytes: float) -> tuple[Bounds | None, float]:
    """Cost of an operation at a rate, and the likely payload, from bytes per second with headers in both directions."""
    if name in FIXED_COSTS:
        return Bounds.exact(rate * FIXED_COSTS[name]), 0.0
    if name not in (READ, WRITE):
        return None, 0.0
    # Rates have three decimals: a thousand seconds of them are whole operations.
    count = round(rate * 1000)
    least, likely, most = (max(0, round(1000 * (wire_bytes - rate * header))) for header in reversed(_HEADERS_BYTES))
    likely = round(count * _one_page_multiple(rate, wire_bytes, unit_bytes)) or likely
    low, point, high = (
        estimate_transfers(name, count, payload, LARGEST_TRANSFER_BYTES) for payload in (least, likely, most)
    )
    middle = min(max(point.point, low.lower), high.upper)
    return Bounds(low.lower / 1000, middle / 1000, high.upper / 1000), likely / 1000
