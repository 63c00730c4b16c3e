"""Whose calls an RPC client of the kernel makes: a superblock's where sysfs says so, else those of a mount target's mounts.

Newer kernels (6.12, not 6.1) link each superblock to its RPC client: `/sys/fs/nfs/<major:minor>/nfs_client -> clnt-<number>`.
On older kernels the address of the client is all there is, so the mounts of an address are one owner.
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
    """Who owns the clients at one look."""

    of: Mapping[str, Owner]  # owner by client number; clients of nobody are left out
    superblocks: Mapping[Owner, frozenset[str]]  # `major:minor` of every owner's superblocks


def superblock_clients(sysfs: Path) -> dict[str, str]:
    """`major:minor` of a superblock by the number of its RPC client. Empty on kernels without these links."""
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
    """Who owns each client.

    Args:
        reading: of mountstats, with the visible mounts.
        clients: numbers that may be anybody's.
        linked: `major:minor` by client number, as sysfs has it.
        address_of: tells the address of a client.
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
    """Whose calls of an interval those of a client are.

    Args:
        client: its number.
        before: owners at the last look.
        now: owners at this look.
        born: addresses for which a client of this number was born in between.
        lived: whether a client of this number may have lived at the last look.

    Returns:
        The owner, None where it is nobody known. And the addresses between which it cannot be told, empty where it can.
    """
    old, new = before.of.get(client), now.of.get(client)
    addresses = born | ({new.address} if new else frozenset())
    if old and (lived or not born):
        addresses = addresses | {old.address}
    if len(addresses) > 1:
        return None, addresses
    return (new or old) if addresses else None, frozenset()
