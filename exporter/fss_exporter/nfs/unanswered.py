"""Seconds that requests to an address have waited without any reply.

A refused connection carries nothing: `sends` of the transport does not grow, and the kernel counts an operation at the end.
Three counters still show a waiting request:

- calls that were sent and whose operation has not ended,
- attribute checks that began and whose GETATTR has not ended,
- new connections, because the kernel opens a connection only for a waiting request.

Some kernels count failed attempts as connections and others do not. So the agent can miss a refused connection while no
program asks for attributes.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from fss_exporter.nfs.records import NfsRecord
from fss_exporter.nfs.superblocks import Reading

_GETATTR = "GETATTR"

_Records = Mapping[str, NfsRecord]
# By superblock: all of one server.


@dataclass(slots=True)
class _Silence:
    """The records of a server at the last answer, and the start of the wait in seconds of the clock."""

    records: _Records
    since: float | None = None


class Unanswered:
    """The wait for each address, fed with one reading a tick."""

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
        self._silences = {server: self._silence(server, records) for server, records in servers.items()}
        self._at = at

    def seconds(self) -> dict[str, int]:
        """Return whole seconds by address. 0 if replies arrive or no request is known to wait."""
        waits: dict[str, int] = {}
        for (address, _), silence in self._silences.items():
            wait = 0 if silence.since is None else round(self._at - silence.since)
            waits[address] = max(wait, waits.get(address, 0))
        return waits

    def _silence(self, server: tuple[str, str], records: _Records) -> _Silence:
        known = self._silences.get(server)
        if known is None or known.records.keys() != records.keys():
            return _Silence(records)
        # Connections belong to the server: the record of any superblock tells of all of them.
        one = next(iter(records))
        before, now = _Connections.of(known.records[one]), _Connections.of(records[one])
        if now.receives != before.receives:
            return _Silence(records)
        ended, wanted = _operations(known.records, records)
        if wanted > 0 or now.sends - before.sends > ended or (not ended and now.connects > before.connects):
            known.since = self._at if known.since is None else known.since
            return known
        # What waited was killed, or a soft mount gave up: it waits no more.
        return _Silence(records) if ended else known


@dataclass(frozen=True, slots=True)
class _Connections:
    """All connections to one server."""

    connects: int
    sends: int
    receives: int

    @classmethod
    def of(cls, record: NfsRecord) -> "_Connections":
        lines = record.transports
        return cls(
            sum(line.connects or 0 for line in lines),
            sum(line.sends or 0 for line in lines),
            sum(line.receives or 0 for line in lines),
        )


def _operations(before: _Records, now: _Records) -> tuple[int, int]:
    """Return two counts between two readings: transmissions of ended operations, and GETATTRs that began and did not end.

    An operation that ended without a transmission counts as one transmission, as in the kernel's `sends`.
    """
    ended = wanted = 0
    for number, record in now.items():
        old = before[number]
        wanted += (record.revalidations or 0) - (old.revalidations or 0)
        if record.operations is old.operations:
            continue
        for name, counters in record.operations.items():
            past = old.operations.get(name, counters)
            ended += counters.transmissions - past.transmissions
            if name == _GETATTR:
                wanted -= counters.operations - past.operations
    return ended, wanted
