"""Records of mountstats and mountinfo, in the kernel's own units.

Field meanings: Linux `include/linux/nfs_iostat.h`, `include/linux/sunrpc/metrics.h` and `net/sunrpc/stats.c` (6.12).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


class OperationCounters(NamedTuple):
    """One line of the per-op statistics: lifetime totals of one procedure on one superblock.

    Attributes:
        operations: RPC tasks completed, failed ones included.
        transmissions: times a call was put on the wire.
        timeouts: major timeouts.
        sent_bytes: bytes sent, headers and retransmissions included.
        received_bytes: bytes of accepted replies, headers included.
        queue_ms: milliseconds from start to transmission. Negative where the kernel's sum is.
        rtt_ms: milliseconds from transmission to reply.
        execute_ms: milliseconds from start to end.
        errors: operations that ended with an error status; None before kernel 5.3, which does not count them.
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
    """One `xprt:` line: a connection to the server, shared by all mounts of that server.

    Attributes:
        protocol: `tcp`, `udp`, `rdma`, `local` or a name this code does not know.
        connects: connections opened, and on some kernels attempts as well; None where there is no such thing.
        sends: calls sent; None where the layout of the line is unknown.
        receives: replies received; None likewise.
    """

    protocol: str
    connects: int | None
    sends: int | None
    receives: int | None


@dataclass(frozen=True, slots=True)
class NfsRecord:
    """One NFS record of mountstats.

    Attributes:
        device: `server:/export` as the kernel prints it, unescaped.
        mount_point: unescaped.
        fstype: `nfs` or `nfs4`.
        age_s: seconds since the superblock came to life.
        options: the `opts:` line by name; flags have an empty value.
        revalidations: field 1 (inoderevalidate) of `events:`, one for each GETATTR that is about to be asked.
        vfs_locks: field 17 (vfslock) of `events:`; None where the line is shorter.
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
        device: `server:/export` as the kernel prints it, unescaped.
        fstype: `nfs` or `nfs4`.
        address: `addr=` of the super options; empty if absent.
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
    """All NFS records of one mountstats text, and the reason of each record that could not be read."""

    records: tuple[NfsRecord, ...]
    skipped: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mountinfo:
    """All NFS mounts of one mountinfo text.

    Attributes:
        mounts: the mounts, in their order.
        skipped: the reason of each line that could not be read.
        filtered: how many mounts the operator's filters leave out.
        left_out: how many superblocks are beyond the most that are supported.
        unwanted: hashes of the names of all mounts left out, for `is_wanted`.
    """

    mounts: tuple[NfsMount, ...]
    skipped: tuple[str, ...] = ()
    filtered: int = 0
    left_out: int = 0
    unwanted: frozenset[int] = frozenset()

    def is_wanted(self, mount_point: str, device: str, fstype: str) -> bool:
        """Whether a record of mountstats belongs to a mount that is not left out."""
        return not self.unwanted or hash((mount_point, device, fstype)) not in self.unwanted
