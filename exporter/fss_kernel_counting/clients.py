# SPDX-License-Identifier: Apache-2.0
"""Find the server of an RPC client of the kernel: in sysfs (5.14 and later), or at the client's birth in tracefs."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from fss_exporter.addresses import AddressMap
from fss_kernel_counting.hist_tables import HistRow, Key, fields_of

# The events of a finished call and of a new client.
CALLS: Final = "sunrpc/rpc_stats_latency"
BIRTHS: Final = "sunrpc/rpc_clnt_new"

# What `dstaddr` shows of a transport that is being destroyed. Linux 5.14 to 5.17 shows nothing then, and sends a NUL behind each
# address. Source: net/sunrpc/sysfs.c.
_CLOSED: Final = "<closed>"


class ClientAddresses:
    """Server address by the number of an RPC client. The kernel gives a free number to the next client at once, so numbers stay few."""

    def __init__(self, sysfs: Path, address_map: AddressMap) -> None:
        self._clients = sysfs / "kernel" / "sunrpc" / "rpc-clients"
        self._address_map = address_map
        self._addresses: dict[str, str] = {}

    def learn(self, births: Iterable[tuple[Key, HistRow]]) -> Mapping[str, frozenset[str]]:
        """Learn of new RPC clients from the growth of their table. Return the addresses of the clients by number.

        Raises:
            Lost: a key has another layout.
        """
        born: dict[str, set[str]] = defaultdict(set)
        for key, _ in births:
            client, address = fields_of(key, 2)
            born[client].add(self._address_map.mount_target(address))
        for client, addresses in born.items():
            self._addresses.pop(client, None)
            if not self.of(client) and len(addresses) == 1:
                self._addresses[client] = next(iter(addresses))
        return {client: frozenset(addresses) for client, addresses in born.items()}

    def learn_all(self) -> None:
        """Read the present clients from sysfs, because the tables miss older clients."""
        for client in self.alive():
            self.of(client)

    def alive(self) -> frozenset[str]:
        """Return the present clients. Empty if sysfs lacks the clients."""
        return frozenset(folder.name.removeprefix("clnt-") for folder in self._clients.glob("clnt-*"))

    def of(self, client: str) -> str:
        """Return the address of the server. Empty if unknown."""
        if client not in self._addresses:
            address = self._looked_up(client)
            if not address:
                return ""
            self._addresses[client] = self._address_map.mount_target(address)
        return self._addresses[client]

    def _looked_up(self, client: str) -> str:
        try:
            places = sorted((self._clients / f"clnt-{client}").glob("switch/xprt-*/dstaddr"))
            shown = places[0].read_text() if places else ""
        except OSError:
            return ""
        address = shown.rstrip("\0\n")
        return "" if address == _CLOSED else address
