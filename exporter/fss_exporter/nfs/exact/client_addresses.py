"""Which server an RPC client of the kernel calls: from sysfs (5.14 and later), or from its birth as tracefs saw it."""

from collections.abc import Mapping
from pathlib import Path

from fss_exporter.nfs.exact.hist_tables import Table

UNKNOWN = ""
_MOST_CLIENTS = 10_000


class ClientAddresses:
    """Server address by RPC client number, remembered: a number is not used again while the kernel runs.

    Args:
        sysfs: where sysfs is mounted.
        address_map: mount-target address by TLS forwarder address.
    """

    def __init__(self, sysfs: Path, address_map: Mapping[str, str]) -> None:
        self._clients = sysfs / "kernel" / "sunrpc" / "rpc-clients"
        self._address_map = address_map
        self._known: dict[str, str] = {}

    def learn(self, births: Table) -> None:
        """Take in the table of new RPC clients, keys (number, address)."""
        for key in births.rows:
            if len(key) == 2:
                self._known.setdefault(key[0], self._mapped(key[1]))

    def learn_all(self) -> None:
        """Take in the clients of this moment: clients older than the tables are in sysfs only."""
        for folder in self._clients.glob("clnt-*"):
            self.of(folder.name.removeprefix("clnt-"))

    def of(self, client: str) -> str:
        """Address of the server; empty if it is not known."""
        if client not in self._known:
            address = self._looked_up(client)
            if not address:
                return UNKNOWN
            self._known[client] = self._mapped(address)
            while len(self._known) > _MOST_CLIENTS:
                del self._known[next(iter(self._known))]
        return self._known[client]

    def _looked_up(self, client: str) -> str:
        try:
            places = sorted((self._clients / f"clnt-{client}").glob("switch/xprt-*/dstaddr"))
            return places[0].read_text().strip() if places else UNKNOWN
        except OSError:
            return UNKNOWN

    def _mapped(self, address: str) -> str:
        return self._address_map.get(address, address)
