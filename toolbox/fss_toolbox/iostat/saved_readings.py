# SPDX-License-Identifier: Apache-2.0
"""Read saved mountstats files of one host, for example from a support bundle, and compute the difference of two files.

The files contain no time. The `age:` of the mounts gives the time between two files in whole seconds. The module refuses
files of two hosts, files in the wrong order and files with a restart in between, because such figures would look
plausible and be wrong.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from statistics import median_low
from typing import TYPE_CHECKING, Final

from fss_exporter.addresses import NO_ADDRESSES, AddressMap, ip_text
from fss_exporter.errors import UsageError
from fss_exporter.model.cost_overrides import NO_OVERRIDES, CostOverrides
from fss_exporter.model.operations import NFS3_OPERATIONS
from fss_exporter.model.traffic import Traffic, together
from fss_exporter.nfs.accounts import Accounts
from fss_exporter.nfs.mount_services import ASSUMED_OTHER, BY_NAME, Services
from fss_exporter.nfs.mountinfo import parse_mountinfo, split_device
from fss_exporter.nfs.mountstats import parse_mountstats
from fss_exporter.nfs.records import Mountinfo, Mountstats, NfsMount, NfsRecord
from fss_exporter.nfs.superblocks import NO_READING, UNMATCHED, Reading, Superblock, join
from fss_exporter.terminal_text import first_names
from fss_toolbox.iostat.nfs_utils_output import is_mountstats_output, is_nfsiostat_output, parse_mountstats_output
from fss_toolbox.iostat.rates import traffic
from fss_toolbox.iostat.traffic_report import Report, mount_points

if TYPE_CHECKING:
    from fss_exporter.model.service_table import SeriesKey

_LISTED: Final = 3  # names in a note
_AGE_SLACK_S = 1  # ages are whole seconds, each rounded for itself


@dataclass(frozen=True, slots=True)
class SavedReading:
    """One saved reading."""

    source: str  # the operator's name of the file
    reading: Reading  # the parsed reading
    notes: tuple[str, ...]  # remarks for the reader
    begin: str = "each mount"  # begin of the counts, in words


# The tool prints the age of FILE as the age of the mounts, and no word that tells both apart.
_BEGIN_OF_TOOL: Final = "each mount, or since FILE of mountstats -S FILE"


def read_saved(
    source: str,
    mountstats: str,
    mountinfo: str | None,
    address_map: AddressMap = NO_ADDRESSES,
    services: Services = BY_NAME,
    unprinted_age_s: int | None = None,
) -> SavedReading:
    """Parse one saved reading. Messages name the source. `mountinfo` is of the same moment, or None.

    `unprinted_age_s` is the age of mounts without one, for the tool `mountstats`.

    Raises:
        UsageError: the text is not mountstats, contains no NFS mount or was cut off.
    """
    counters = _counters(source, mountstats, unprinted_age_s)
    mounts = _mounts_of(counters) if mountinfo is None else parse_mountinfo(mountinfo)
    reading = join(counters, mounts, address_map, services)
    if not reading.superblocks:
        raise UsageError(
            f"{source}: none of its mounts are in the mountinfo. Give the mountinfo of the same host and moment"
        )
    notes = [*left_out(source, counters.skipped), *unpriced(reading), *_uncounted(counters.records)]
    notes += _losses(source, mountstats, mountinfo, reading)
    begin = {"begin": _BEGIN_OF_TOOL} if is_mountstats_output(mountstats) else {}
    return SavedReading(source, reading, tuple(notes), **begin)


def left_out(source: str, skipped: Iterable[str]) -> list[str]:
    """Return a note for each reason to leave out records."""
    return [f"{source}: {count} records left out: {reason}" for reason, count in Counter(skipped).items()]


def unpriced(reading: Reading) -> Iterator[str]:
    """Yield a note about the servers of mounts whose operations have no known cost."""
    servers = sorted(
        {superblock.key.server for superblock in reading.superblocks if superblock.storage is ASSUMED_OTHER}
    )
    if servers:
        yield (
            f"{first_names(servers, _LISTED)}: no IOPS, because mounts that are not NFSv3 over TCP are not taken for OCI File Storage."
            " State their service in --config.file"
        )


def _uncounted(records: Iterable[NfsRecord]) -> Iterator[str]:
    """Yield a note for each record without all operations of NFSv3. The kernel prints them all, also those with zeros."""
    for record in records:
        names = sorted(NFS3_OPERATIONS - record.operations.keys()) if record.options.get("vers") == "3" else []
        if names:
            yield (
                f"{record.device} on {record.mount_point}: no rows of {first_names(names, _LISTED)}, so they are not counted."
                " Copy the whole file"
            )


def _losses(source: str, mountstats: str, mountinfo: str | None, reading: Reading) -> Iterator[str]:
    """Yield a message for each part that is missing in saved files."""
    if is_mountstats_output(mountstats):
        yield f"{source}: mountstats prints no bytes on the wire and no locks, so bounds of READ and WRITE are wider"
    if mountinfo is None:
        yield (
            "no mountinfo: addresses are taken from the device names, and mounts of one server with equal counters count"
            " once. Give --mountinfo"
        )
    strangers = reading.skipped.count(UNMATCHED)
    if strangers:
        yield f"{source}: {strangers} records left out: their mounts are not in the mountinfo"


def _counters(source: str, text: str, unprinted_age_s: int | None) -> Mountstats:
    if is_nfsiostat_output(text):
        raise UsageError(
            f"{source}: output of nfsiostat is one report and has rates: give it alone, to iostat --to or plan --nfsiostat"
        )
    if is_mountstats_output(text):
        parsed = parse_mountstats_output(source, text, unprinted_age_s)
    else:
        parsed = parse_mountstats(text)
    if "truncated" in parsed.skipped:
        raise UsageError(f"{source}: cut off in the middle of a record. Copy the whole file")
    if not parsed.records:
        if "\nfss_client_" in text:
            raise UsageError(
                f"{source}: the metrics of an agent. Give two saved pages to `fss-exporter plan --scrapes`"
            )
        why = "no mountstats of an NFS mount in it"
        if parsed.skipped:
            why = f"no record of its NFS mounts can be read ({', '.join(sorted(set(parsed.skipped)))})"
        raise UsageError(f"{source}: {why}. Give a copy of /proc/1/mountstats")
    return parsed


def between(
    before: SavedReading, after: SavedReading, seconds: float | None = None, overrides: CostOverrides = NO_OVERRIDES
) -> Report:
    """Return the report of the interval between two saved readings. `seconds` is for an operator who knows better than the ages of the mounts.

    Raises:
        UsageError: the readings are not of one host in this order.
    """
    before, after = _each_once(before, after)
    old = {superblock.number: superblock for superblock in before.reading.superblocks}
    pairs = [(old[now.number], now) for now in after.reading.superblocks if now.number in old]
    pairs = [(then, now) for then, now in pairs if then.record.device == now.record.device]
    if not pairs:
        raise UsageError(f"{before.source} and {after.source} have no mount in common. Give two readings of one host")
    elapsed = seconds or _aged(pairs)
    if not elapsed:
        raise _not_aged(before.source, after.source, pairs)
    aged = _aged(pairs) or elapsed
    for then, now in pairs:
        if not _is_mounted_again(then, now):
            _check_forward(after.source, then, now)
        elif now.record.age_s > aged + _AGE_SLACK_S:
            raise _younger(after.source, then, now)
    # A mount of unknown earlier counts has no rates, and zeros would say that the mount was idle.
    common = {now.number for _, now in pairs}
    unknown = {
        superblock.number
        for superblock in after.reading.superblocks
        if superblock.number not in common and superblock.record.age_s > aged + _AGE_SLACK_S
    }
    comparable = tuple(superblock for superblock in after.reading.superblocks if superblock.number not in unknown)
    accounts = Accounts(overrides=overrides)
    accounts.apply(before.reading, 0.0)
    accounts.apply(after.reading._replace(superblocks=comparable), aged + _AGE_SLACK_S)
    notes = dict.fromkeys((*before.notes, *after.notes, *_mounts_and_umounts(before, after, pairs, unknown)))
    return Report(
        f"{before.source} to {after.source}",
        traffic({}, accounts.mounts, elapsed),
        mount_points(accounts.superblocks),
        tuple(notes),
        seconds=elapsed,
    )


def _each_once(*readings: SavedReading) -> list[SavedReading]:
    """Return readings of one host in which mounts with equal counters in all readings are one superblock.

    A server has many exports of one file system, and the mounts of these share their counters. Only mountinfo shows it.
    """
    seen: dict[str, list[object]] = defaultdict(list)
    for number, reading in enumerate(readings):
        for superblock in reading.reading.superblocks:
            seen[superblock.number].append((number, _counters_of(superblock.record)))
    groups: dict[tuple[object, ...], list[str]] = defaultdict(list)
    for name, counters in seen.items():
        groups[tuple(counters)].append(name)
    return [
        replace(
            reading, reading=reading.reading._replace(superblocks=_merged(reading.reading.superblocks, groups.values()))
        )
        for reading in readings
    ]


def _counters_of(record: NfsRecord) -> object:
    server, _ = split_device(record.device)
    settings = tuple(sorted(record.options.items()))
    payload = record.read_bytes, record.written_bytes
    return server, settings, record.age_s, payload, record.transports, tuple(record.operations.items())


def _merged(superblocks: Iterable[Superblock], groups: Iterable[list[str]]) -> tuple[Superblock, ...]:
    by_number = {superblock.number: superblock for superblock in superblocks}
    merged = []
    for numbers in groups:
        alike = [by_number[number] for number in numbers if number in by_number]
        if alike:
            export = min(alike, key=lambda one: (len(one.record.device), one.record.device))
            merged.append(export._replace(mounts=tuple(mount for one in alike for mount in one.mounts)))
    return tuple(merged)


def means_since_mount(saved: SavedReading, overrides: CostOverrides = NO_OVERRIDES) -> Report:
    """Return a report of the means since each mount of one saved reading."""
    (once,) = _each_once(saved)
    means = since_mount(
        f"{saved.source} (mountstats)", once.reading, overrides, "an earlier copy with --from", saved.begin
    )
    return replace(means, notes=(*saved.notes, *means.notes))


def since_mount(
    source: str,
    reading: Reading,
    overrides: CostOverrides = NO_OVERRIDES,
    better: str = "an INTERVAL",
    begin: str = "each mount",
) -> Report:
    """Return a report of the means since each mount, whose note names a `better` source, and the `begin` in words."""
    parts: dict[SeriesKey, list[Traffic]] = defaultdict(list)
    for superblock in reading.superblocks:  # each for itself, because superblocks of one export differ in age
        age = superblock.record.age_s
        accounts = Accounts(overrides=overrides)
        accounts.apply(NO_READING, 0.0)
        accounts.apply(reading._replace(superblocks=(superblock,)), age + _AGE_SLACK_S)
        parts[superblock.key].append(traffic({}, accounts.mounts, max(age, 1))[superblock.key])
    rates = {key: together(several) for key, several in parts.items()}
    notes = (f"means since {begin}, whose estimate is coarse: give {better} for what happens now",) if rates else ()
    return Report(source, rates, mount_points(reading.superblocks), notes)


def _aged(pairs: list[tuple[Superblock, Superblock]]) -> float:
    """Return the growth of the mounts' ages in seconds. 0 if no mount has aged."""
    grown = [age for then, now in pairs if (age := now.record.age_s - then.record.age_s) > 0]
    return float(median_low(grown)) if grown else 0.0


def _is_mounted_again(then: Superblock, now: Superblock) -> bool:
    return now.record.age_s < then.record.age_s


def _not_aged(before: str, after: str, pairs: Iterable[tuple[Superblock, Superblock]]) -> UsageError:
    again = next(((then, now) for then, now in pairs if _is_mounted_again(then, now)), None)
    if again is not None:
        return _younger(after, *again)
    return UsageError(f"{before} and {after} are of the same second. Give the time between with --elapsed")


def _check_forward(source: str, then: Superblock, now: Superblock) -> None:
    counted = [("its bytes read", then.record.read_bytes, now.record.read_bytes)]
    counted.append(("its bytes written", then.record.written_bytes, now.record.written_bytes))
    for name, counters in then.record.operations.items():
        if name in now.record.operations:
            counted.append((f"its {name} operations", counters.operations, now.record.operations[name].operations))
    for what, earlier, later in counted:
        if later < earlier:
            raise _went_back(source, now, what, earlier, later)


def _younger(source: str, then: Superblock, now: Superblock) -> UsageError:
    return _went_back(source, now, "its age", then.record.age_s, now.record.age_s)


def _went_back(source: str, superblock: Superblock, what: str, earlier: int, later: int) -> UsageError:
    return UsageError(
        f"{_mount(superblock)}: {what} went back from {earlier} to {later} in {source}. "
        "Are the files swapped or of two hosts, or did the host restart between them?"
    )


def _mount(superblock: Superblock) -> str:
    return f"{superblock.record.device} on {superblock.record.mount_point}"


def _mounts_and_umounts(
    before: SavedReading, after: SavedReading, pairs: list[tuple[Superblock, Superblock]], unknown: Collection[str]
) -> Iterator[str]:
    """Say which mounts came and went in between. `unknown` are the numbers of superblocks without earlier counts."""
    for then, now in pairs:
        if now.record.age_s < then.record.age_s:
            yield f"{_mount(now)}: mounted again in between. The last operations of the old mount are lost"
    common = {now.number for _, now in pairs}
    for superblock in after.reading.superblocks:
        if superblock.number in unknown:
            yield f"{_mount(superblock)}: not in the earlier file, left out"
        elif superblock.number not in common:
            yield f"{_mount(superblock)}: mounted in between, counted from zero"
    numbers = {superblock.number for superblock in after.reading.superblocks}
    for superblock in before.reading.superblocks:
        if superblock.number not in numbers:
            yield f"{_mount(superblock)}: unmounted in between. Its last operations are lost"


def _mounts_of(counters: Mountstats) -> Mountinfo:
    """Derive mountinfo from mountstats. Mounts of one device with equal options and age count as one superblock."""
    first: dict[tuple[str, str, int], str] = {}
    taken: Counter[tuple[str, str]] = Counter()
    mounts = []
    for record in counters.records:
        alike = (record.device, repr(sorted(record.options.items())), record.age_s)
        place = (record.device, record.mount_point)
        number = first.setdefault(alike, f"{record.device} {record.mount_point} {taken[place]}")
        taken[place] += 1
        mounts.append(
            NfsMount(number, record.mount_point, record.device, record.fstype, _address(record), record.options)
        )
    return Mountinfo(tuple(mounts))


def _address(record: NfsRecord) -> str:
    server, _ = split_device(record.device)
    for candidate in (server, record.options.get("mountaddr", "")):
        try:
            return ip_text(candidate)
        except ValueError:
            continue
    return server
