"""Durations of calls: rows of `rpc_stats_latency` by RPC client, procedure and power of two of microseconds.

The kernel keeps the time of a call in whole microseconds. Class n of `.log2` holds the times above 2^(n-1) up to and with
2^n, and class 0 holds 0 and 1. So the upper edge belongs to the class, like the `le` of a Prometheus bucket.
Source: kernel/trace/trace_events_hist.c (6.1, 6.12), compared with raw values on both kernels.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from fss_exporter.errors import RecordError
from fss_exporter.nfs.exact.hist_tables import HistRow, Key

FINISHED: Final = 'progname == "nfs"'  # Condition of the table of every call: time from its start to its end

ANSWERED: Final = 'rtt > 0 && progname == "nfs"'
"""Condition of the table of answered calls: time from the transmission to the reply."""

UNANSWERED: Final = 'rtt == 0 && progname == "nfs"'
"""Condition of the table of calls that ended without a reply, such as those of a soft mount."""

BORN: Final = 'program == "nfs"'  # Condition of the table of new RPC clients

OF_THE_STATE_CLIENT: Final = frozenset(
    "NULL RENEW SETCLIENTID SETCLIENTID_CONFIRM EXCHANGE_ID CREATE_SESSION DESTROY_SESSION DESTROY_CLIENTID SEQUENCE "
    "GET_LEASE_TIME RECLAIM_COMPLETE SECINFO_NO_NAME BIND_CONN_TO_SESSION".split()
)
"""Procedures that keep a connection or a lease. All mounts of a server share the RPC client of these procedures, and mountstats
repeats the counts for each mount. The procedures are no work of a mount and are left out.
"""

_CLASS = re.compile(r"~ 2\^([0-9]{1,2})")


def finished_trigger(rows: int) -> str:
    """Return the trigger that counts every call."""
    return f"hist:keys=client_id,procname,execute.log2:vals=execute:size={rows} if {FINISHED}"


def answered_trigger(rows: int) -> str:
    """Return the trigger that counts answered calls by round-trip time."""
    return f"hist:keys=client_id,procname,rtt.log2:vals=rtt:size={rows} if {ANSWERED}"


def unanswered_trigger(rows: int) -> str:
    """Return the trigger that counts calls without a reply."""
    return f"hist:keys=client_id,procname:size={rows} if {UNANSWERED}"


def birth_trigger(rows: int) -> str:
    """Return the trigger that counts new RPC clients."""
    return f"hist:keys=client_id,addr:size={rows} if {BORN}"


class Durations(NamedTuple):
    """Calls by duration."""

    by_exponent: Mapping[int, int]  # calls by class n, in which a call took at most 2^n microseconds
    microseconds: int  # of all calls together

    @property
    def calls(self) -> int:
        """All calls."""
        return sum(self.by_exponent.values())

    def at_most(self, exponent: int) -> int:
        """Return the calls with at most 2^exponent microseconds."""
        return sum(count for one, count in self.by_exponent.items() if one <= exponent)

    def plus(self, other: "Durations") -> "Durations":
        """Both together."""
        return Durations(Counter(self.by_exponent) + Counter(other.by_exponent), self.microseconds + other.microseconds)


NO_DURATIONS: Final = Durations({}, 0)

ByClient = Mapping[tuple[str, str], Durations]  # Durations by RPC client and procedure


def durations(rows: Iterable[tuple[Key, HistRow]]) -> ByClient:
    """Return the growth of a table of durations, without the procedures of state clients.

    Raises:
        RecordError: a key has another layout.
    """
    sums: dict[tuple[str, str], list[tuple[int, HistRow]]] = defaultdict(list)
    for client, procedure, text, row in _keyed(rows):
        match = _CLASS.fullmatch(text)
        if match is None:
            raise RecordError("malformed_row", text[:120])
        sums[client, procedure].append((int(match[1]), row))
    return {
        place: Durations({exponent: row.hits for exponent, row in found}, sum(row.value for _, row in found))
        for place, found in sums.items()
    }


def _keyed(rows: Iterable[tuple[Key, HistRow]]) -> Iterator[tuple[str, str, str, HistRow]]:
    for key, row in rows:
        if len(key) != 3:
            raise RecordError("malformed_row", str(key)[:120])
        client, procedure, text = key
        if procedure not in OF_THE_STATE_CLIENT:
            yield client, procedure, text, row


def unanswered(rows: Iterable[tuple[Key, HistRow]]) -> Mapping[tuple[str, str], int]:
    """Return the growth of the table of calls without a reply, by RPC client and procedure.

    Raises:
        RecordError: a key has another layout.
    """
    calls: Counter[tuple[str, str]] = Counter()
    for key, row in rows:
        if len(key) != 2:
            raise RecordError("malformed_row", str(key)[:120])
        if key[1] not in OF_THE_STATE_CLIENT:
            calls[key[0], key[1]] += row.hits
    return calls
