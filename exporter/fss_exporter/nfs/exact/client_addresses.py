"""Find the server of an RPC client of the kernel: from sysfs (5.14 and later), or from the client's birth in tracefs."""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from fss_exporter.nfs.exact.hist_tables import Key, Table

UNKNOWN = ""
_MOST_CLIENTS = 10_000


class ClientAddresses:
    """Server address by the number of an RPC client. The kernel gives a free number to the next client at once.

    Args:
        sysfs: where sysfs is mounted.
        address_map: mount-target address by TLS forwarder address.
    """

    def __init__(self, sysfs: Path, address_map: Mapping[str, str]) -> None:
        self._clients = sysfs / "kernel" / "sunrpc" / "rpc-clients"
        self._address_map = address_map
        self._known: dict[str, str] = {}
        self._births: dict[Key, int] = {}

    def learn(self, births: Table) -> Mapping[str, frozenset[str]]:
        """Read the table of new RPC clients, with keys (number, address).

        Returns:
            the clients born since the last call, each with every address of the number.
        """
        born: dict[str, set[str]] = defaultdict(set)
        for key, row in births.rows.items():
            if len(key) == 2 and row.hits != self._births.get(key, 0):
                born[key[0]].add(self._mapped(key[1]))
        self._births = {key: row.hits for key, row in births.rows.items()}
        for client, addresses in born.items():
            self._known.pop(client, None)
            if self.of(client) == UNKNOWN and len(addresses) == 1:
                self._remember(client, next(iter(addresses)))
        return {client: frozenset(addresses) for client, addresses in born.items()}

    def learn_all(self) -> None:
        """Begin with new tables, and read the present clients from sysfs, because the tables miss older clients."""
        self._births = {}
        for client in self.alive():
            self.of(client)

    def alive(self) -> frozenset[str]:
        """Return the present clients. Empty if sysfs lacks the clients."""
        return frozenset(folder.name.removeprefix("clnt-") for folder in self._clients.glob("clnt-*"))

    def of(self, client: str) -> str:
        """Return the address of the server. Empty if unknown."""
        if client not in self._known:
            address = self._looked_up(client)
            if not address:
                return UNKNOWN
            self._remember(client, self._mapped(address))
        return self._known[client]

    def _remember(self, client: str, address: str) -> None:
        self._known[client] = address
        while len(self._known) > _MOST_CLIENTS:
            del self._known[next(iter(self._known))]

    def _looked_up(self, client: str) -> str:
        try:
            places = sorted((self._clients / f"clnt-{client}").glob("switch/xprt-*/dstaddr"))
            return places[0].read_text().strip() if places else UNKNOWN
        except OSError:
            return UNKNOWN

    def _mapped(self, address: str) -> str:
        return self._address_map.get(address, address)
