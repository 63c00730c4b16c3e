"""Counts of the tables between two looks: requests by owner, and the owners with a failed check."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from fss_exporter.errors import RecordError
from fss_exporter.model.operations import class_of
from fss_exporter.nfs.exact.client_owners import Owner, Owners, possible_owners
from fss_exporter.nfs.exact.instance_tables import UNREADABLE, Lost, TablesLook
from fss_exporter.nfs.exact.latency_session import ANSWERED, FINISHED, UNANSWERED, LatencySession
from fss_exporter.nfs.exact.request_durations import NO_DURATIONS, Durations, durations, unanswered
from fss_exporter.nfs.exact.request_totals import NO_REQUESTS, AddressClass, Requests

ByClient = Mapping[tuple[str, str], Requests]  # Requests by RPC client and procedure


def requests_between(session: LatencySession, before: TablesLook, now: TablesLook) -> ByClient:
    """Return the counts of the tables between two looks.

    Raises:
        Lost: a table was replaced, was full, or has keys of another layout.
    """
    try:
        finished = durations(now.since(before, FINISHED))
        answered = durations(now.since(before, ANSWERED)) if ANSWERED in session.tables else {}
        no_reply = unanswered(now.since(before, UNANSWERED)) if UNANSWERED in session.tables else {}
    except RecordError as error:
        raise Lost(UNREADABLE, str(error)) from error
    return {
        place: Requests(
            finished.get(place, NO_DURATIONS), _with_reply(answered.get(place, NO_DURATIONS)), no_reply.get(place, 0)
        )
        for place in finished.keys() | answered.keys() | no_reply.keys()
    }


def _with_reply(rtt: Durations) -> Durations:
    """Leave out class 0. A call without a reply has the round-trip time 0, and no reply comes within a microsecond."""
    return rtt._replace(by_exponent={exponent: calls for exponent, calls in rtt.by_exponent.items() if exponent})


@dataclass(slots=True)
class Attributed:
    """Requests of one interval by owner."""

    places: dict[AddressClass, Requests] = field(default_factory=dict)  # by address and class
    calls: dict[Owner, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))  # by owner and procedure
    # addresses with requests of an RPC client whose number was given to another one in between
    ambiguous: frozenset[str] = frozenset()


def attributed(
    requests: ByClient,
    owners: tuple[Owners, Owners],
    born: Mapping[str, frozenset[str]],
    alive: frozenset[str] | None,
) -> Attributed:
    """Assign the requests of an interval to owners.

    Args:
        requests: requests of the interval.
        owners: owners at the last look and at this look.
        born: addresses of the clients born in the interval, by number.
        alive: numbers of the clients that lived at the last look. None if unknown.
    """
    before, now = owners
    result = Attributed()
    found: dict[str, tuple[Owner | None, frozenset[str]]] = {}
    for (client, procedure), one in requests.items():
        if client not in found:
            lived = alive is None or client in alive
            found[client] = possible_owners(client, before, now, born.get(client, frozenset()), lived=lived)
        owner, several = found[client]
        result.ambiguous |= several
        if owner is not None:
            place = (owner.address, class_of(procedure))
            result.places[place] = result.places.get(place, NO_REQUESTS).plus(one)
            result.calls[owner][procedure] += one.finished.calls
    return result
