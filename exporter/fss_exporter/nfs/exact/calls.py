"""Network Lock Manager and NFSACL calls by server address and procedure. mountstats does not show these calls at all."""

from collections import Counter

from fss_exporter.nfs.exact.client_addresses import ClientAddresses
from fss_exporter.nfs.exact.counts import ByAddressAndProcedure
from fss_exporter.nfs.exact.sizes import Grown

CALLS = "sunrpc/rpc_stats_latency"
BIRTHS = "sunrpc/rpc_clnt_new"

LOCKS = 'progname == "lockd"'
ACLS = 'progname == "nfsacl"'
BORN = 'program == "lockd" || program == "nfsacl"'

_NOT_OURS = frozenset(("NULL", "GRANTED", "GRANTED_MSG"))
# A ping costs nothing, and what tells of granted locks is sent by a server of this host to its own clients.


def call_triggers(rows: int) -> dict[str, str]:
    """Triggers of `CALLS` by condition."""
    return {one: f"hist:keys=client_id,procname:size={rows} if {one}" for one in (LOCKS, ACLS)}


def birth_triggers(rows: int) -> dict[str, str]:
    """Triggers of `BIRTHS` by condition."""
    return {BORN: f"hist:keys=client_id,addr:size={rows} if {BORN}"}


def by_address(rows: Grown, addresses: ClientAddresses) -> ByAddressAndProcedure:
    """Return calls with a cost, by server address and procedure."""
    calls: Counter[tuple[str, str]] = Counter()
    for key, row in rows:
        if len(key) == 2 and key[1] not in _NOT_OURS:
            calls[addresses.of(key[0]), key[1]] += row.hits
    return calls
