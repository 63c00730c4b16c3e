"""Find the owner of an RPC client's calls: a superblock by sysfs, else all mounts of a mount target.

Newer kernels (6.12, not 6.1) link each superblock to the RPC client: `/sys/fs/nfs/<major:minor>/nfs_client -> clnt-<number>`.
Older kernels show only the address of the client, so all mounts of an address are one owner.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from fss_exporter.nfs.superblocks import Reading


class Owner(NamedTuple):
    """Whose calls are counted together."""

    address: str  # of the mount target
    superblock: str = ""  # `major:minor`; empty for all mounts of the address whose own client is unknown


@dataclass(frozen=True, slots=True)
class Owners:
    """The owners of the clients at one look."""

    of: Mapping[str, Owner]  # owner by client number; clients of nobody are left out
    superblocks: Mapping[Owner, frozenset[str]]  # `major:minor` of every owner's superblocks


def superblock_clients(sysfs: Path) -> dict[str, str]:
    """Return the `major:minor` of a superblock by the number of the RPC client. Empty on kernels without these links."""
    found = {}
    for link in (sysfs / "fs" / "nfs").glob("*:*/nfs_client"):
        try:
            client = link.readlink().name
        except OSError:
            continue
        if client.startswith("clnt-"):
            found[client.removeprefix("clnt-")] = link.parent.name
    return found


def owners(
    reading: Reading, clients: Iterable[str], linked: Mapping[str, str], address_of: Callable[[str], str]
) -> Owners:
    """Return the owner of each client.

    Args:
        reading: reading of mountstats, with the visible mounts.
        clients: client numbers of unknown owner.
        linked: `major:minor` by client number, from sysfs.
        address_of: returns the address of a client.
    """
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
    """Return the possible owners of a client's calls in an interval.

    Args:
        client: number of the client.
        before: owners at the last look.
        now: owners at this look.
        born: addresses of clients with this number that were born in the interval.
        lived: whether a client of this number may have lived at the last look.

    Returns:
        the owner, None for an unknown owner, and the addresses of an ambiguous owner, else no address.
    """
    old, new = before.of.get(client), now.of.get(client)
    addresses = born | ({new.address} if new else frozenset())
    if old and (lived or not born):
        addresses = addresses | {old.address}
    if len(addresses) > 1:
        return None, addresses
    return (new or old) if addresses else None, frozenset()
