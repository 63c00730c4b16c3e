# SPDX-License-Identifier: Apache-2.0
"""Find the mounts whose calls an RPC client of the kernel carries.

Newer kernels (6.12, not 6.1) link each superblock to the RPC client: `/sys/fs/nfs/<major:minor>/nfs_client -> clnt-<number>`.
Older kernels show only the address of the client, so all mounts of an address are one owner.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from fss_exporter.nfs.superblocks import Reading
from fss_kernel_counting.clients import ClientAddresses


class Owner(NamedTuple):
    """The mounts whose calls are counted together."""

    address: str  # address of the mount target
    superblock: str = ""  # `major:minor`. Empty for all mounts of the address without a known client


@dataclass(frozen=True, slots=True)
class Owners:
    """The owners of the clients at one look."""

    of: Mapping[str, Owner]  # owner by client number, without clients of no mount
    superblocks: Mapping[Owner, frozenset[str]]  # `major:minor` of every owner's superblocks
    alive: frozenset[str] | None  # numbers of the living clients. None if sysfs lacks the clients
    linked: frozenset[str]  # numbers of the clients of a superblock that sysfs names

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
    reading: Reading,
    seen: Iterable[str],
    sysfs: Path,
    addresses: ClientAddresses,
    ended: Mapping[str, str] = MappingProxyType({}),
) -> Owners:
    """Return the owner of each client.

    Args:
        reading: the present mounts.
        seen: numbers of clients that the tables name.
        sysfs: mount point of sysfs.
        addresses: addresses of clients.
        ended: address by `major:minor` of superblocks that had a mount since the last look.
    """
    linked, alive = superblock_clients(sysfs), addresses.alive()
    mounts = {superblock.number: superblock.key.address for superblock in reading.superblocks}
    known = {**ended, **mounts}
    of = {client: Owner(known[number], number) for client, number in linked.items() if number in known}
    with_client = {owner.superblock for owner in of.values()}
    superblocks: dict[Owner, set[str]] = {}
    for number, address in mounts.items():
        owner = Owner(address, number if number in with_client else "")
        superblocks.setdefault(owner, set()).add(number)
    for client in alive.union(seen) - linked.keys():
        owner = Owner(addresses.of(client))
        if owner in superblocks or owner.address in ended.values():
            of[client] = owner
    by_owner = {owner: frozenset(numbers) for owner, numbers in superblocks.items()}
    return Owners(of, by_owner, alive or None, frozenset(linked))


def possible_owners(
    client: str, before: Owners, now: Owners, born: frozenset[str]
) -> tuple[Owner | None, frozenset[str]]:
    """Return the owner of a client's calls in an interval, None for an unknown owner, and the addresses of an ambiguous owner.

    `before` and `now` are the owners at the last look and at this look. `born` has the addresses of clients with this number
    that were born in the interval.
    """
    old, new = before.of.get(client), now.of.get(client)
    addresses = born | ({new.address} if new else frozenset())
    if old and (before.alive is None or client in before.alive or not born):
        addresses = addresses | {old.address}
    if len(addresses) > 1:
        return None, addresses
    return (new or old) if addresses else None, frozenset()
