# SPDX-License-Identifier: Apache-2.0
"""Join the records of mountstats to the mounts of mountinfo, by superblock.

A record does not name a superblock. Mount point, device and file system type name the mount in both files. Mounts stacked
on one mount point have the same order in both files. Several mounts of one superblock repeat the counters, so a single
record is enough.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from typing import Any, Final, NamedTuple

from fss_exporter.addresses import NO_ADDRESSES, AddressMap, is_forwarder
from fss_exporter.model.service_table import SeriesKey
from fss_exporter.nfs.mount_services import BY_NAME, MountStorage, Services
from fss_exporter.nfs.mountinfo import split_device
from fss_exporter.nfs.mountstats import IsWanted
from fss_exporter.nfs.records import Mountinfo, Mountstats, NfsMount, NfsRecord, is_tcp

UNMATCHED = "not_in_mountinfo"  # reason of a record whose mount is not in mountinfo


class Superblock(NamedTuple):
    """One set of NFS counters and the mounts that show the counters."""

    number: str  # `major:minor`
    key: SeriesKey  # labels of the series
    encrypted: bool  # True with in-transit TLS
    mounts: tuple[NfsMount, ...]  # every visible mount of the superblock
    storage: MountStorage  # the service behind the superblock
    record: NfsRecord  # the counters
    life: int | None = None  # number that the kernel gives no other life of this device number. None if unknown, or old
    unread_s: float = 0.0  # seconds for which nobody could have read the superblock, if it is younger than these


class Reading(NamedTuple):
    """One reading of the client."""

    superblocks: tuple[Superblock, ...]  # every NFS superblock with a readable record
    present: frozenset[str]  # `major:minor` of every NFS superblock in mountinfo, with a readable record or not
    skipped: tuple[str, ...]  # a reason for each unusable record or line
    unresolved: frozenset[str]  # forwarder addresses without an entry in the address map
    filtered: int = 0  # number of mounts that the operator's filters leave out
    left_out: int = 0  # number of superblocks above the supported number
    detached: int = (
        0  # number of superblocks in use without a mount, as after `umount -l`. 0 where the kernel lists none
    )
    # seconds by which the search for mounts of other namespaces comes later than each minute. None without a search
    search_slowed_s: float | None = None
    is_of_host: bool | None = None  # whether the mounts are the host's. None if others were asked for
    # NFSv3 calls of the host that the kernel has started, by procedure, read before the counters. None if unknown
    started_calls: tuple[int, ...] | None = None

    @property
    def calls_of_its_mounts(self) -> tuple[int, ...] | None:
        """The calls that the kernel has started, if the reading looks for every mount of the host. None if it does not."""
        has_every_mount = self.is_of_host and not self.filtered and not self.left_out
        return self.started_calls if has_every_mount else None

    @property
    def unread(self) -> int:
        """The number of NFS superblocks whose counters are not in `superblocks`."""
        unread = self.present - {superblock.number for superblock in self.superblocks}
        return len(unread) + self.left_out + self.detached


def shared_facts(superblocks: Iterable[Superblock], fact_of: Callable[[MountStorage], Any]) -> dict[str, Any]:
    """Return a fact of the service by address, without an address whose exports differ in the fact."""
    members: dict[str, set[Any]] = defaultdict(set)
    for superblock in superblocks:
        members[superblock.key.address].add(fact_of(superblock.storage))
    return {address: facts.pop() for address, facts in members.items() if len(facts) == 1}


NO_READING: Final = Reading((), frozenset(), (), frozenset())  # a client without mounts


def join(
    mountstats: Mountstats,
    mountinfo: Mountinfo,
    address_map: AddressMap = NO_ADDRESSES,
    services: Services = BY_NAME,
) -> Reading:
    """Return the counters by superblock, of two texts read at nearly the same time. Arguments as of `MountTable`."""
    return MountTable(mountinfo, address_map, services).join(mountstats)


class MountTable:
    """The mounts of a client, prepared once for any number of readings of the counters."""

    def __init__(
        self, mountinfo: Mountinfo, address_map: AddressMap = NO_ADDRESSES, services: Services = BY_NAME
    ) -> None:
        names = _ordinals((mount.mount_point, mount.device, mount.fstype) for mount in mountinfo.mounts)
        self._numbers = dict(zip(names, (mount.superblock for mount in mountinfo.mounts), strict=True))
        mounts: dict[str, list[NfsMount]] = defaultdict(list)
        for mount in mountinfo.mounts:
            mounts[mount.superblock].append(mount)
        self._identities = {number: _identity(tuple(group), address_map, services) for number, group in mounts.items()}
        self.mountinfo = mountinfo
        self._present = frozenset(self._identities)
        self._others: Collection[str] = ()
        self._names_of_others: frozenset[tuple[str, str, str]] = frozenset()
        self._unresolved = frozenset(
            mount.address for mount in mountinfo.mounts if address_map.is_unresolved(mount.address)
        )

    def is_wanted(self, mount_point: str, device: str, fstype: str) -> bool:
        """Whether a record of mountstats belongs to a selected mount."""
        unwanted = self.mountinfo.unwanted
        return not unwanted or hash((mount_point, device, fstype)) not in unwanted

    def wanted_besides(self, others: Collection[str]) -> IsWanted:
        """Return the test of records of selected mounts whose superblocks (`major:minor`) are not all among the others."""
        if others is not self._others:
            unknown = {name for (name, _), number in self._numbers.items() if number not in others}
            self._others = others
            self._names_of_others = frozenset(name for name, _ in self._numbers) - unknown
        names = self._names_of_others
        if not names:
            return self.is_wanted
        return lambda *name: name not in names and self.is_wanted(*name)

    def join(self, mountstats: Mountstats) -> Reading:
        """Return the counters by superblock."""
        superblocks: dict[str, Superblock] = {}
        unmatched: list[str] = []
        names = _ordinals((record.mount_point, record.device, record.fstype) for record in mountstats.records)
        for name, record in zip(names, mountstats.records, strict=True):
            number = self._numbers.get(name)
            if number is None and self.is_wanted(*name[0]):
                unmatched.append(UNMATCHED)
            elif number is None:
                continue
            elif number not in superblocks:
                superblocks[number] = Superblock(number, *self._identities[number], record)
        return Reading(
            superblocks=tuple(superblocks.values()),
            present=self._present,
            skipped=(*mountstats.skipped, *self.mountinfo.skipped, *unmatched),
            unresolved=self._unresolved,
            filtered=self.mountinfo.filtered,
            left_out=self.mountinfo.left_out,
        )


def _ordinals(names: Iterable[tuple[str, str, str]]) -> list[tuple[tuple[str, str, str], int]]:
    """Return each name with the number of earlier equal names, because mounts can be stacked."""
    seen: dict[tuple[str, str, str], int] = defaultdict(int)
    result = []
    for name in names:
        result.append((name, seen[name]))
        seen[name] += 1
    return result


def _identity(
    mounts: tuple[NfsMount, ...], address_map: AddressMap, services: Services
) -> tuple[SeriesKey, bool, tuple[NfsMount, ...], MountStorage]:
    """Return the fields `key` to `storage` of a superblock."""
    address = mounts[0].address
    # A bind mount of a sub-directory names the sub-directory; the export itself is the shortest name around.
    device = min((mount.device for mount in mounts), key=lambda name: (len(name), name))
    server, export = split_device(device)
    key = SeriesKey(address_map.mount_target(address) or server, server, export)
    storage = services.of(key, mounts[0].fstype, is_tcp=is_tcp(mounts[0].options))
    encrypted = is_forwarder(address) or mounts[0].options.get("xprtsec", "none") != "none"
    return key._replace(service=storage.service.name), encrypted, mounts, storage
