# SPDX-License-Identifier: Apache-2.0
"""Tell from mountstats how long requests to each address have waited without any reply."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from fss_exporter.model.client_state import NO_WAIT, Wait
from fss_exporter.nfs.records import NfsRecord, whole_number
from fss_exporter.nfs.superblocks import Reading

_GETATTR = "GETATTR"

_Records = Mapping[str, NfsRecord]  # by superblock: all of one server


# A soft mount gives up, and its program may pause for minutes before it tries again. Until a reply arrives, the address stays
# unanswered for this long after the last try. Decision of this project, November 2026.
MEMORY_OF_LAST_TRY_SECONDS: Final = 600.0

# The kernel's values for TCP, if a record has none: three tries of a minute. `timeo` is in tenths of a second (fs/nfs/client.c).
_DEFAULT_TIMEO: Final = 600
_DEFAULT_RETRANS: Final = "2"
_MOST_RETRANS: Final = 64
_LONGEST_TCP_PAUSE_SECONDS: Final = 600.0  # NFS_MAX_TCP_TIMEOUT
_LONGEST_UDP_PAUSE_SECONDS: Final = 60.0  # NFS_MAX_UDP_TIMEOUT


@dataclass(frozen=True, slots=True)
class _Silence:
    """The records of a server since the last reply or the last try that ended without one. Times are seconds of the clock."""

    records: _Records
    since: float | None = None  # start of the wait
    gave_up_at: float | None = None  # when the last try ended without a reply
    is_first: bool = False  # whether no reply has come since the first look, or since a pause, so that a wait may be older than it shows
    unknown_until: float | None = None  # until when a request of before the first look may wait without a sign


class Unanswered:
    """How long requests to each address have waited without any reply, fed with one reading a tick.

    A refused connection carries nothing: `sends` of the transport does not grow, and the kernel counts an operation at the end.
    Three counters still show a waiting request:

    - calls that were sent and whose operation has not ended,
    - attribute checks that began and whose GETATTR has not ended,
    - new connections, because the kernel opens a connection only for a waiting request.

    Some kernels count failed attempts as connections and others do not. So the agent can miss a refused connection while no
    program asks for attributes.

    A request that timed out for good, as on a soft mount, ends without a reply. The wait goes on until a reply arrives, and is
    forgotten some minutes after the last try.

    At the first look more calls sent than answered may be a wait, or calls that were lost in a reconnection long ago. Nobody knows,
    until a reply comes, or one of the three signs. Without any of them for the longest pause of the mount nothing waits.
    """

    def __init__(self) -> None:
        self._silences: dict[tuple[str, str], _Silence] = {}
        self._unread: dict[tuple[str, str], _Silence] = {}  # of servers with mounts and without a readable record
        self._last_at = 0.0  # time of the last reading
        self._at = 0.0  # time of this one
        self._has_paused = False  # whether no reading was taken for a while before this one

    def begin_anew(self) -> None:
        """Note a pause without readings: a wait that shows after it can be of any second of the pause."""
        self._has_paused = True
        self._silences = {server: _after_a_gap(silence) for server, silence in self._silences.items()}

    def add(self, reading: Reading, at: float) -> None:
        """Note one reading, taken at `at` seconds of a monotonic clock."""
        self._last_at, self._at = self._at, at
        servers: dict[tuple[str, str], dict[str, NfsRecord]] = defaultdict(dict)
        for superblock in reading.superblocks:
            record = superblock.record
            if any(line.receives is not None for line in record.transports):
                servers[superblock.key.address, record.options.get("vers", "")][superblock.number] = record
        unread = reading.present - {superblock.number for superblock in reading.superblocks}
        before = self._silences | self._unread
        self._silences = {
            server: self._silence(
                before.get(server), records, is_after_a_gap=self._has_paused or server in self._unread
            )
            for server, records in servers.items()
        }
        # A wait goes on through readings in which its records are damaged, unless a reply came.
        self._unread = {
            server: _after_a_gap(silence)
            for server, silence in before.items()
            if server not in servers and silence.records.keys() & unread
        }
        self._has_paused = False

    def waits(self) -> dict[str, Wait]:
        """Return the wait of each address, in whole seconds."""
        waits: dict[str, Wait] = {}
        for (address, _), silence in self._silences.items():
            waits[address] = max(waits.get(address, NO_WAIT), self._wait(silence), key=_badness)
        return waits

    def _wait(self, silence: _Silence) -> Wait:
        wait = NO_WAIT
        if silence.since is not None and not self._is_forgotten(silence):
            wait = Wait(round(self._at - silence.since), silence.is_first)
        return Wait(None) if silence.unknown_until is not None and not wait.is_hang else wait

    def _is_forgotten(self, silence: _Silence) -> bool:
        return silence.gave_up_at is not None and self._at - silence.gave_up_at > MEMORY_OF_LAST_TRY_SECONDS

    def _silence(self, silence: _Silence | None, records: _Records, *, is_after_a_gap: bool) -> _Silence:
        if silence is None:
            return self._first_look(records)
        if self._is_forgotten(silence):
            return _Silence(records)
        if silence.records.keys() != records.keys():
            silence = self._with_other_mounts(silence, records)
        if silence.since is None and silence.unknown_until is not None and self._at >= silence.unknown_until:
            silence = replace(silence, unknown_until=None)
        if all(_is_idle(silence.records[number], record) for number, record in records.items()):
            return silence
        # All superblocks of a server share the connections, so one record has all of them.
        first = next(iter(silence.records))
        before, now = _connections(silence.records[first]), _connections(records[first])
        if now.receives != before.receives:
            return self._first_look(records) if is_after_a_gap else _Silence(records)
        return self._without_reply(
            silence, records, now.sends - before.sends, has_connected=now.connects > before.connects
        )

    def _first_look(self, records: _Records) -> _Silence:
        now = _connections(next(iter(records.values())))
        may_wait = now.sends > now.receives
        return _Silence(
            records,
            is_first=True,
            unknown_until=self._at + max(map(_longest_pause, records.values())) if may_wait else None,
        )

    def _with_other_mounts(self, silence: _Silence, records: _Records) -> _Silence:
        """Return the silence after a mount came or went. A mount that went may have taken the request that waits with it."""
        kept = {number: record for number, record in silence.records.items() if number in records}
        if not kept or (silence.since is not None and len(kept) < len(silence.records)):
            return self._first_look(records)
        came = {number: record for number, record in records.items() if number not in kept}
        return replace(silence, records=kept | came)

    def _without_reply(self, silence: _Silence, records: _Records, sent: int, *, has_connected: bool) -> _Silence:
        """Return the silence after calls or connections without a reply. `sent` calls were sent since the earlier records."""
        # A wait that shows now began after the last tick. A wait that may be older is at least as long as it shows.
        began = self._at if silence.is_first else self._last_at
        since = began if silence.since is None else silence.since
        tries = _tries(silence.records, records)
        if tries.wanted > 0 or sent > tries.ended or (has_connected and not tries.ended):
            return replace(silence, since=since)
        if tries.timed_out:
            return replace(silence, records=records, since=since, gave_up_at=self._at)
        if not tries.ended:
            return silence
        # The waiting request was killed, and leaves the wait of an earlier try that timed out.
        return replace(silence, records=records, since=None if silence.gave_up_at is None else silence.since)


def _after_a_gap(silence: _Silence) -> _Silence:
    """Return the silence after a time in which nobody looked: a wait that shows now may have begun in that time."""
    return silence if silence.since is not None else replace(silence, is_first=True)


def _badness(wait: Wait) -> float:
    """Return the order of waits of one address. Any wait is worse than what is not known, which is worse than none."""
    return 0.5 if wait.seconds is None else wait.seconds


def _longest_pause(record: NfsRecord) -> float:
    """Return the longest time in seconds between two tries of a request.

    Over TCP the kernel gives a connection up when it had no answer for all tries together. Over UDP it sends again after times that
    double.
    """
    timeo_s = (whole_number(record.options.get("timeo")) or _DEFAULT_TIMEO) / 10
    retrans = min(whole_number(record.options.get("retrans", _DEFAULT_RETRANS)), _MOST_RETRANS)
    if record.options.get("proto", "").startswith("udp"):
        return min(timeo_s * (1 << retrans), _LONGEST_UDP_PAUSE_SECONDS)
    return min(timeo_s * (retrans + 1), _LONGEST_TCP_PAUSE_SECONDS)


def _is_idle(before: NfsRecord, now: NfsRecord) -> bool:
    """Whether nothing was asked, sent or received between two readings. The parser keeps the objects of an unchanged record."""
    return (
        now.operations is before.operations
        and now.transports is before.transports
        and now.revalidations == before.revalidations
    )


class _Transports(NamedTuple):
    """Sums over all connections to one server."""

    connects: int
    sends: int
    receives: int


def _connections(record: NfsRecord) -> _Transports:
    return _Transports(*(sum(getattr(line, name) or 0 for line in record.transports) for name in _Transports._fields))


class _Tries(NamedTuple):
    """Counts between two readings."""

    # transmissions of operations that ended. An operation without a transmission counts as one, as in `sends`
    ended: int
    wanted: int  # GETATTRs that began and did not end
    timed_out: bool  # whether an operation ended after a major timeout


def _tries(before: _Records, now: _Records) -> _Tries:
    ended = wanted = timeouts = 0
    for number, record in now.items():
        old = before[number]
        wanted += (record.revalidations or 0) - (old.revalidations or 0)
        if record.operations is old.operations:
            continue
        for name, counters in record.operations.items():
            past = old.operations.get(name, counters)
            ended += counters.transmissions - past.transmissions
            timeouts += counters.timeouts - past.timeouts
            if name == _GETATTR:
                wanted -= counters.operations - past.operations
    return _Tries(ended, wanted, timeouts > 0)
