"""Records of mountstats and mountinfo, in the kernel's own units.

Field meanings: Linux `include/linux/nfs_iostat.h`, `include/linux/sunrpc/metrics.h` and `net/sunrpc/stats.c` (6.12).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


class OperationCounters(NamedTuple):
    """One line of the per-op statistics: lifetime totals of one procedure on one superblock.

    Attributes:
        operations: RPC tasks completed, failed tasks included.
        transmissions: transmissions of calls.
        timeouts: major timeouts.
        sent_bytes: bytes sent, headers and retransmissions included.
        received_bytes: bytes of accepted replies, headers included.
        queue_ms: milliseconds from start to transmission. Negative if the kernel's sum is negative.
        rtt_ms: milliseconds from transmission to reply.
        execute_ms: milliseconds from start to end.
        errors: operations with an error status. None before kernel 5.3, because the kernel does not count errors there.
    """

    operations: int
    transmissions: int
    timeouts: int
    sent_bytes: int
    received_bytes: int
    queue_ms: int
    rtt_ms: int
    execute_ms: int
    errors: int | None


class Transport(NamedTuple):
    """One `xprt:` line: a connection to the server, shared by all mounts of the server.

    Attributes:
        protocol: `tcp`, `udp`, `rdma`, `local` or an unknown name.
        connects: connections opened, and on some kernels attempts as well. None for a protocol without connections.
        sends: calls sent. None for an unknown layout of the line.
        receives: replies received. None for an unknown layout of the line.
    """

    protocol: str
    connects: int | None
    sends: int | None
    receives: int | None


@dataclass(frozen=True, slots=True)
class NfsRecord:
    """One NFS record of mountstats.

    Attributes:
        device: `server:/export` as the kernel prints the name, unescaped.
        mount_point: unescaped.
        fstype: `nfs` or `nfs4`.
        age_s: age of the superblock, seconds.
        options: the `opts:` line by name. Flags have an empty value.
        revalidations: field 1 (inoderevalidate) of `events:`. The kernel adds 1 just before each GETATTR.
        vfs_locks: field 17 (vfslock) of `events:`. None if the line is shorter.
        read_bytes: payload of READ replies, field 5 of `bytes:`.
        written_bytes: payload of WRITE replies, field 6 of `bytes:`.
        transports: one for each `xprt:` line.
        operations: counters by procedure name.
    """

    device: str
    mount_point: str
    fstype: str
    age_s: int
    options: Mapping[str, str]
    revalidations: int | None
    vfs_locks: int | None
    read_bytes: int
    written_bytes: int
    transports: tuple[Transport, ...]
    operations: Mapping[str, OperationCounters]


@dataclass(frozen=True, slots=True)
class NfsMount:
    """One NFS line of mountinfo.

    Attributes:
        superblock: `major:minor`, the identity of the counters.
        mount_point: unescaped.
        device: `server:/export` as the kernel prints the name, unescaped.
        fstype: `nfs` or `nfs4`.
        address: `addr=` of the super options. Empty if absent.
        options: super options by name.
    """

    superblock: str
    mount_point: str
    device: str
    fstype: str
    address: str
    options: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Mountstats:
    """All NFS records of one mountstats text, and the reason of each damaged record."""

    records: tuple[NfsRecord, ...]
    skipped: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mountinfo:
    """All NFS mounts of one mountinfo text.

    Attributes:
        mounts: the mounts, in the order of the text.
        skipped: the reason of each damaged line.
        filtered: number of mounts that the operator's filters leave out.
        left_out: number of superblocks above the supported number.
        unwanted: hashes of the names of all mounts left out, for `is_wanted`.
    """

    mounts: tuple[NfsMount, ...]
    skipped: tuple[str, ...] = ()
    filtered: int = 0
    left_out: int = 0
    unwanted: frozenset[int] = frozenset()

    def is_wanted(self, mount_point: str, device: str, fstype: str) -> bool:
        """Whether a record of mountstats belongs to a selected mount."""
        return not self.unwanted or hash((mount_point, device, fstype)) not in self.unwanted
