"""Find server and owner of an RPC client of the kernel.

The server's address comes from sysfs (5.14 and later), or from the client's birth in tracefs. Newer kernels (6.12, not 6.1)
link each superblock to the RPC client: `/sys/fs/nfs/<major:minor>/nfs_client -> clnt-<number>`. Older kernels show only
the address of the client, so all mounts of an address are one owner.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from fss_exporter.addresses import AddressMap
from fss_exporter.nfs.superblocks import Reading
from fss_kernel_counting.hist_tables import HistRow, Key, parts

_MOST_CLIENTS = 10_000


class ClientAddresses:
    """Server address by the number of an RPC client. The kernel gives a free number to the next client at once."""

    def __init__(self, sysfs: Path, address_map: AddressMap) -> None:
        self._clients = sysfs / "kernel" / "sunrpc" / "rpc-clients"
        self._address_map = address_map
        self._known: dict[str, str] = {}

    def learn(self, births: Iterable[tuple[Key, HistRow]]) -> Mapping[str, frozenset[str]]:
        """Learn of new RPC clients from the growth of their table. Return the addresses of the clients by number.

        Raises:
            Lost: a key has another layout.
        """
        born: dict[str, set[str]] = defaultdict(set)
        for key, _ in births:
            client, address = parts(key, 2)
            born[client].add(self._address_map.mount_target(address))
        for client, addresses in born.items():
            self._known.pop(client, None)
            if not self.of(client) and len(addresses) == 1:
                self._remember(client, next(iter(addresses)))
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
        if client not in self._known:
            address = self._looked_up(client)
            if not address:
                return ""
            self._remember(client, self._address_map.mount_target(address))
        return self._known[client]

    def _remember(self, client: str, address: str) -> None:
        self._known[client] = address
        while len(self._known) > _MOST_CLIENTS:
            del self._known[next(iter(self._known))]

    def _looked_up(self, client: str) -> str:
        try:
            places = sorted((self._clients / f"clnt-{client}").glob("switch/xprt-*/dstaddr"))
            return places[0].read_text().strip() if places else ""
        except OSError:
            return ""


class Owner(NamedTuple):
    """The mounts whose calls are counted together."""

    address: str  # address of the mount target
    superblock: str = ""  # `major:minor`. Empty for all mounts of the address without a known client


@dataclass(frozen=True, slots=True)
class Owners:
    """The owners of the clients at one look."""

    of: Mapping[str, Owner]  # owner by client number, without clients of no mount
    superblocks: Mapping[Owner, frozenset[str]]  # `major:minor` of every owner's superblocks

    @property
    def clients(self) -> Mapping[Owner, frozenset[str]]:
        """Client numbers by owner."""
        by_owner: dict[Owner, set[str]] = defaultdict(set)
        for client, owner in self.of.items():
            by_owner[owner].add(client)
        return {owner: frozenset(numbers) for owner, numbers in by_owner.items()}


def superblock_clients(sysfs: Path) -> dict[str, str]:
    """Return the `major:minor` of a superblock by the number of the RPC client. Empty on kernels without these links."""
    superblocks = {}
    for link in (sysfs / "fs" / "nfs").glob("*:*/nfs_client"):
        try:
            client = link.readlink().name
        except OSError:
            continue
        if client.startswith("clnt-"):
            superblocks[client.removeprefix("clnt-")] = link.parent.name
    return superblocks


def owners(
    reading: Reading, clients: Iterable[str], linked: Mapping[str, str], address_of: Callable[[str], str]
) -> Owners:
    """Return the owner of each client. `linked` is the `major:minor` by client number in sysfs. `clients` are further numbers."""
    addresses = {superblock.number: superblock.key.address for superblock in reading.superblocks}
    of = {client: Owner(addresses[number], number) for client, number in linked.items() if number in addresses}
    with_client = {owner.superblock for owner in of.values()}
    superblocks: dict[Owner, set[str]] = {}
    for number, address in addresses.items():
        owner = Owner(address, number if number in with_client else "")
        superblocks.setdefault(owner, set()).add(number)
    for client in clients:
        owner = Owner(address_of(client))
        if client not in linked and owner in superblocks:
            of[client] = owner
    return Owners(of, {owner: frozenset(numbers) for owner, numbers in superblocks.items()})


def possible_owners(
    client: str, before: Owners, now: Owners, born: frozenset[str], *, lived: bool
) -> tuple[Owner | None, frozenset[str]]:
    """Return the owner of a client's calls in an interval, None for an unknown owner, and the addresses of an ambiguous owner.

    `before` and `now` are the owners at the last look and at this look. `born` has the addresses of clients with this number
    that were born in the interval. `lived` says whether a client of this number may have lived at the last look.
    """
    old, new = before.of.get(client), now.of.get(client)
    addresses = born | ({new.address} if new else frozenset())
    if old and (lived or not born):
        addresses = addresses | {old.address}
    if len(addresses) > 1:
        return None, addresses
    return (new or old) if addresses else None, frozenset()
