# SPDX-License-Identifier: Apache-2.0
"""Tell from mountstats how long requests to each address have waited without any reply."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from fss_exporter.nfs.records import NfsRecord
from fss_exporter.nfs.superblocks import Reading

_GETATTR = "GETATTR"

_Records = Mapping[str, NfsRecord]  # by superblock: all of one server


# A soft mount gives up, and its program may pause for minutes before it tries again. Until a reply arrives, the address stays
# unanswered for this long after the last try. Decision of this project, November 2026.
MEMORY_OF_LAST_TRY_SECONDS: Final = 600.0


@dataclass(frozen=True, slots=True)
class _Silence:
    """The records of a server since the last reply or the last try that ended without one. Times are seconds of the clock."""

    records: _Records
    since: float | None = None  # start of the wait
    gave_up_at: float | None = None  # when the last try ended without a reply


class Unanswered:
    """Seconds that requests to each address have waited without any reply, fed with one reading a tick.

    A refused connection carries nothing: `sends` of the transport does not grow, and the kernel counts an operation at the end.
    Three counters still show a waiting request:

    - calls that were sent and whose operation has not ended,
    - attribute checks that began and whose GETATTR has not ended,
    - new connections, because the kernel opens a connection only for a waiting request.

    Some kernels count failed attempts as connections and others do not. So the agent can miss a refused connection while no
    program asks for attributes.

    A request that timed out for good, as on a soft mount, ends without a reply. The wait goes on until a reply arrives, and is
    forgotten some minutes after the last try.
    """

    def __init__(self) -> None:
        self._silences: dict[tuple[str, str], _Silence] = {}
        self._at = 0.0

    def add(self, reading: Reading, at: float) -> None:
        """Note one reading, taken at `at` seconds of a monotonic clock."""
        servers: dict[tuple[str, str], dict[str, NfsRecord]] = defaultdict(dict)
        for superblock in reading.superblocks:
            record = superblock.record
            if any(line.receives is not None for line in record.transports):
                servers[superblock.key.address, record.options.get("vers", "")][superblock.number] = record
        # A wait that shows now began after the last tick.
        self._silences = {server: self._silence(server, records) for server, records in servers.items()}
        self._at = at

    def seconds(self) -> dict[str, int]:
        """Return whole seconds by address. 0 if replies arrive or no request is known to wait."""
        waits: dict[str, int] = {}
        for (address, _), silence in self._silences.items():
            wait = 0 if silence.since is None or self._is_forgotten(silence) else round(self._at - silence.since)
            waits[address] = max(wait, waits.get(address, 0))
        return waits

    def _is_forgotten(self, silence: _Silence) -> bool:
        return silence.gave_up_at is not None and self._at - silence.gave_up_at > MEMORY_OF_LAST_TRY_SECONDS

    def _silence(self, server: tuple[str, str], records: _Records) -> _Silence:
        silence = self._silences.get(server)
        if silence is None or silence.records.keys() != records.keys() or self._is_forgotten(silence):
            return _Silence(records)
        if all(_is_idle(silence.records[number], record) for number, record in records.items()):
            return silence
        # All superblocks of a server share the connections, so one record has all of them.
        first = next(iter(records))
        before, now = _connections(silence.records[first]), _connections(records[first])
        if now.receives != before.receives:
            return _Silence(records)
        return self._without_reply(
            silence, records, now.sends - before.sends, has_connected=now.connects > before.connects
        )

    def _without_reply(self, silence: _Silence, records: _Records, sent: int, *, has_connected: bool) -> _Silence:
        """Return the silence after calls or connections without a reply. `sent` calls were sent since the earlier records."""
        since = self._at if silence.since is None else silence.since
        tries = _tries(silence.records, records)
        if tries.wanted > 0 or sent > tries.ended or (has_connected and not tries.ended):
            return replace(silence, since=since)
        if tries.timed_out:
            return _Silence(records, since, gave_up_at=self._at)
        if not tries.ended:
            return silence
        # The waiting request was killed, and leaves the wait of an earlier try that timed out.
        return _Silence(records) if silence.gave_up_at is None else replace(silence, records=records)


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
