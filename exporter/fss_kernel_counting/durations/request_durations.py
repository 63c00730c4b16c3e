# SPDX-License-Identifier: Apache-2.0
"""Count the durations of requests, and add them up by mount target and class: rows of `rpc_stats_latency` by RPC client, procedure and power of two of microseconds.

The kernel keeps the time of a call in whole microseconds. Class n of `.log2` holds the times above 2^(n-1) up to and with
2^n, and class 0 holds 0 and 1. So the upper edge belongs to the class, like the `le` of a Prometheus bucket.
Source: kernel/trace/trace_events_hist.c (6.1, 6.12), compared with raw values on both kernels.
"""

import errno
import math
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from prometheus_client.core import Metric

from fss_exporter.catalogue import family, histogram
from fss_exporter.model.client_state import JudgedRequests
from fss_exporter.model.operations import OPERATION_CLASSES
from fss_exporter.nfs.collector import Answer
from fss_kernel_counting.clients import BIRTHS, CALLS
from fss_kernel_counting.hist_tables import HistRow, Key, fields_of, number
from fss_kernel_counting.instance_tables import InstanceTables, TableName
from fss_kernel_counting.tracefs import OF_LATENCY, Instance, Tracefs, Unavailable, advice

# The tables, by event and condition: every call by the time from start to end, and three optional tables. Answered calls by the time
# from transmission to reply, calls without a reply (for example of a soft mount), and new RPC clients.
FINISHED: Final[TableName] = (CALLS, 'progname == "nfs"')
ANSWERED: Final[TableName] = (CALLS, 'rtt > 0 && progname == "nfs"')
UNANSWERED: Final[TableName] = (CALLS, 'rtt == 0 && progname == "nfs"')
BORN: Final[TableName] = (BIRTHS, 'program == "nfs"')

# Procedures that keep a connection or a lease. All mounts of a server share the RPC client of these procedures, and mountstats
# repeats the counts for each mount. The procedures are no work of a mount and are left out.
OF_THE_STATE_CLIENT: Final = frozenset(
    "NULL RENEW SETCLIENTID SETCLIENTID_CONFIRM EXCHANGE_ID CREATE_SESSION DESTROY_SESSION DESTROY_CLIENTID SEQUENCE "
    "GET_LEASE_TIME RECLAIM_COMPLETE SECINFO_NO_NAME BIND_CONN_TO_SESSION".split()
)

_NEEDED: Final = {"client_id", "progname", "procname", "execute", "rtt"}
_FEWER: Final = 8  # calls without a reply and new clients are few, so their tables have an eighth of the rows


def duration_tables(tracefs: Tracefs, rows: int, *, rtt: bool = False) -> InstanceTables:
    """Set the triggers that count durations. `rtt` says whether round-trip times are counted too.

    Raises:
        NotYet: the RPC client is not loaded.
        Unavailable: this kernel cannot, or this process may not.
    """
    check_latency(tracefs)
    instance = Instance(tracefs, OF_LATENCY)
    tables = InstanceTables(instance)
    try:
        with instance.removed_on_failure():
            tables.add(CALLS, rows, {FINISHED[1]: "client_id,procname,execute.log2:vals=execute"})
    except OSError as error:
        if error.errno == errno.EINVAL:
            raise Unavailable(
                f"{tracefs.root}: the kernel refuses to count calls by powers of two of their time"
            ) from error
        raise advice(error, instance.path) from error
    few = max(rows // _FEWER, 128)
    tables.try_to_add(few, {UNANSWERED: "client_id,procname"}, "calls without a reply are not counted apart")
    if rtt:
        tables.try_to_add(rows, {ANSWERED: "client_id,procname,rtt.log2:vals=rtt"}, "round-trip times are not counted")
    tables.try_to_add(few, {BORN: "client_id,addr"}, "mounts that come and go may lack their address")
    return tables


def check_latency(tracefs: Tracefs) -> None:
    """Check, without setting a trigger, that this kernel can count durations of calls.

    Raises:
        NotYet: the RPC client is not loaded.
        Unavailable: this kernel cannot, or this process may not.
    """
    tracefs.check_client("sunrpc", "RPC client")
    if missing := _NEEDED - tracefs.event(CALLS).fields.keys():
        raise Unavailable(f"{tracefs.root}/events/{CALLS}: no field {min(missing)}. This kernel is too old or too new")


_MICROSECONDS: Final = 1_000_000


class Durations(NamedTuple):
    """Calls by duration."""

    by_exponent: Mapping[int, int]  # calls by class n, in which a call took at most 2^n microseconds
    microseconds: int  # duration of all calls together

    @property
    def calls(self) -> int:
        """All calls."""
        return sum(self.by_exponent.values())

    def at_most(self, exponent: int) -> int:
        """Return the calls with at most 2^exponent microseconds."""
        return sum(count for edge, count in self.by_exponent.items() if edge <= exponent)

    def judged(self, objective_s: float) -> JudgedRequests:
        """Judge each call. The kernel counts in classes, so the edge at or above the objective counts as the objective."""
        exponent = (math.ceil(round(objective_s * _MICROSECONDS, 3)) - 1).bit_length()
        return JudgedRequests(self.calls, self.calls - self.at_most(exponent))

    def plus(self, other: "Durations") -> "Durations":
        """Return the sum of two counts of durations."""
        return Durations(Counter(self.by_exponent) + Counter(other.by_exponent), self.microseconds + other.microseconds)


NO_DURATIONS: Final = Durations({}, 0)

DurationsByClient = Mapping[tuple[str, str], Durations]  # Durations by RPC client and procedure


def durations(rows: Iterable[tuple[Key, HistRow]]) -> DurationsByClient:
    """Return the growth of a table of durations, without the procedures of state clients.

    Raises:
        Lost: a key has another layout.
    """
    growth: dict[tuple[str, str], Durations] = {}
    for key, row in rows:
        client, procedure, exponent = fields_of(key, 3)
        if procedure not in OF_THE_STATE_CLIENT:
            own = Durations({number(exponent): row.hits}, row.value)
            growth[client, procedure] = growth.get((client, procedure), NO_DURATIONS).plus(own)
    return growth


def unanswered(rows: Iterable[tuple[Key, HistRow]]) -> Mapping[tuple[str, str], int]:
    """Return the growth of the table of calls without a reply, by RPC client and procedure.

    Raises:
        Lost: a key has another layout.
    """
    calls: Counter[tuple[str, str]] = Counter()
    for key, row in rows:
        client, procedure = fields_of(key, 2)
        if procedure not in OF_THE_STATE_CLIENT:
            calls[client, procedure] += row.hits
    return calls


AddressClass = tuple[str, str]  # Address and class of operations


class Requests(NamedTuple):
    """Requests of one class to one address."""

    finished: Durations = NO_DURATIONS  # by the time from start to end, calls without a reply included
    answered: Durations = NO_DURATIONS  # by the time from transmission to reply. Empty if not counted
    unanswered: int = 0  # ended without a reply. 0 if the kernel does not count these requests

    def plus(self, other: "Requests") -> "Requests":
        """Add two records."""
        return Requests(
            self.finished.plus(other.finished), self.answered.plus(other.answered), self.unanswered + other.unanswered
        )


NO_REQUESTS = Requests()


@dataclass(frozen=True, slots=True)
class RequestTotals:
    """Counts so far. Any thread may read the totals, because each look makes a new record."""

    requests: Mapping[AddressClass, Requests] = field(default_factory=dict)  # by address and class
    judged: Mapping[AddressClass, JudgedRequests] = field(default_factory=dict)  # by a p99 objective
    active: bool = False  # whether the triggers are in place and a first look is taken
    counts_rtt: bool = False  # whether round-trip times are counted
    counts_unanswered: bool = False  # whether requests without a reply are counted
    paused: frozenset[str] = frozenset()  # addresses whose last interval could not be counted
    # intervals, of an address or of all, that could not be counted, by check
    failed: Mapping[str, int] = field(default_factory=dict)

    def plus(
        self,
        added: Mapping[AddressClass, Requests],
        judged: Mapping[AddressClass, JudgedRequests],
        paused: frozenset[str],
        failed: Iterable[str],
    ) -> "RequestTotals":
        """Return the totals with the requests of a further interval. `failed` are checks, of `paused` addresses without requests."""
        requests = {place: self.requests.get(place, NO_REQUESTS).plus(own) for place, own in added.items()}
        verdicts = {place: self.judged.get(place, JudgedRequests()).plus(own) for place, own in judged.items()}
        return replace(
            self,
            requests={**self.requests, **requests},
            judged={**self.judged, **verdicts},
            paused=paused,
            failed=Counter(self.failed) + Counter(failed),
        )

    def lost(self, check: str) -> "RequestTotals":
        """Return the totals with a further interval without a valid count."""
        return replace(self, failed=Counter(self.failed) + Counter((check,)))

    def without(self, addresses: Iterable[str]) -> "RequestTotals":
        """Return the totals without addresses that are no longer known."""
        gone = frozenset(addresses)
        return replace(
            self,
            requests={place: own for place, own in self.requests.items() if place[0] not in gone},
            judged={place: own for place, own in self.judged.items() if place[0] not in gone},
        )


# Edges of the histograms: 2^8 microseconds (0.256 ms) to 2^24 (16.8 s). The default objectives of 10, 15, 20, 50 and 80 ms
# lie between the edges 8.2, 16.4, 32.8, 65.5 and 131 ms.
EXPONENTS: Final = range(8, 25)


def edge_seconds(exponent: int) -> float:
    """The upper edge of a class, in seconds."""
    return 2.0**exponent / _MICROSECONDS


def request_families(totals: RequestTotals, answer: Answer, objectives: Container[str] = ()) -> Iterator[Metric]:
    """Return families of the durations of requests. Each address has every class and edge, from zero on.

    `objectives` are the classes with a p99 objective.
    """
    finished, answered, unanswered = [], [], []
    judged: list[tuple[Sequence[str], float]] = []
    for address in sorted(answer.addresses) if totals.active else ():
        for of_class in () if address in totals.paused else OPERATION_CLASSES:
            labels = (answer.network, address, of_class)
            is_new = address in answer.at_zero
            requests = NO_REQUESTS if is_new else totals.requests.get((address, of_class), NO_REQUESTS)
            finished.append(_buckets(labels, requests.finished))
            if of_class in objectives:
                judged += _verdicts(
                    labels, JudgedRequests() if is_new else totals.judged.get((address, of_class), JudgedRequests())
                )
            if totals.counts_rtt:
                answered.append(_buckets(labels, requests.answered))
            if totals.counts_unanswered:
                unanswered.append((labels, requests.unanswered))
    by_class = ("network", "address", "class")
    yield histogram("fss_client_request_duration_seconds", finished, labels=by_class)
    yield histogram("fss_client_request_rtt_seconds", answered, labels=by_class)
    yield family("fss_client_judged_requests_total", judged, labels=(*by_class, "verdict"))
    yield family("fss_client_requests_without_reply_total", unanswered, labels=by_class)
    yield family("fss_nfs_latency_active", [((), float(totals.active))])
    failed = (((check,), count) for check, count in totals.failed.items())
    yield family("fss_nfs_latency_checks_failed_total", failed, labels=("check",))


def _verdicts(labels: tuple[str, ...], judged: JudgedRequests) -> Sequence[tuple[Sequence[str], float]]:
    return [((*labels, "good"), judged.requests - judged.late), ((*labels, "bad"), judged.late)]


def _buckets(labels: Sequence[str], requests: Durations) -> tuple[Sequence[str], Sequence[tuple[float, float]], float]:
    buckets = [(edge_seconds(exponent), requests.at_most(exponent)) for exponent in EXPONENTS]
    return labels, [*buckets, (math.inf, requests.calls)], requests.microseconds / _MICROSECONDS
