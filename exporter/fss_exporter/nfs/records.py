# SPDX-License-Identifier: Apache-2.0
"""Records of mountstats and mountinfo, in the kernel's own units.

Field meanings: Linux `include/linux/nfs_iostat.h`, `include/linux/sunrpc/metrics.h` and `net/sunrpc/stats.c` (6.12).
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from fss_exporter.model.operations import READ, WRITE

NFS_TYPES = frozenset(("nfs", "nfs4"))
_LONGEST_OPTION = 512

# Most operations of one record, and of the totals of one mount. NFSv4 has 75. Names from damaged records stay out of memory.
MOST_OPERATIONS = 128


@lru_cache(maxsize=256)
def options(text: str) -> Mapping[str, str]:
    """Split a comma list of mount options by name. An option without a value has the empty string.

    Equal lists share one mapping, because every tick reads the lists and the mounts of a host have few different lists.
    """
    options = dict(part.partition("=")[::2] for part in text.split(",") if 0 < len(part) <= _LONGEST_OPTION)
    return MappingProxyType(options)


def is_tcp(options: Mapping[str, str]) -> bool:
    """Whether a mount with these options sends its requests over TCP, as Linux does by default."""
    return options.get("proto", "tcp") in {"tcp", "tcp6"}


def whole_number(text: str | None) -> int:
    """Return the number in a text of at most 18 ASCII digits, such as a mount option. 0 for any other text."""
    return int(text) if text and re.fullmatch("[0-9]{1,18}", text) else 0


class OperationCounters(NamedTuple):
    """One line of the per-op statistics: lifetime totals of one procedure on one superblock."""

    operations: int  # RPC tasks completed, failed tasks included
    transmissions: int  # transmissions of calls
    timeouts: int  # major timeouts
    sent_bytes: int  # bytes sent, headers and retransmissions included
    received_bytes: int  # bytes of accepted replies, headers included
    queue_ms: int  # milliseconds from start to transmission. Negative if the kernel's sum is negative
    rtt_ms: int  # milliseconds from transmission to reply
    execute_ms: int  # milliseconds from start to end
    # operations with an error status. None before kernel 5.3, because the kernel does not count errors there
    errors: int | None


class OperationTable(Mapping[str, OperationCounters]):
    """The counters of a record by procedure name, in the order of the kernel's table.

    A tick needs the completed operations, READ and WRITE. Everything else is parsed when somebody asks, which is much more seldom.

    Attributes:
        names: every procedure.
        completed: operations completed, by the place of the procedure in `names`.
        transfers: counters of READ and WRITE.
    """

    __slots__ = ("_parse", "_rows", "completed", "names", "transfers")

    def __init__(
        self,
        names: tuple[str, ...],
        completed: tuple[int, ...],
        transfers: Mapping[str, OperationCounters],
        parse: Callable[[], Mapping[str, OperationCounters]],
    ) -> None:
        self.names = names
        self.completed = completed
        self.transfers = transfers
        self._parse = parse
        self._rows: Mapping[str, OperationCounters] | None = None

    @classmethod
    def of(cls, rows: Mapping[str, OperationCounters]) -> "OperationTable":
        """Return the table of rows that are parsed. READ and WRITE must be among them."""
        completed = tuple([counters.operations for counters in rows.values()])
        return cls(tuple(rows), completed, {name: rows[name] for name in (READ, WRITE)}, lambda: rows)

    @property
    def rows(self) -> Mapping[str, OperationCounters]:
        """Every counter, parsed at the first look."""
        if self._rows is None:
            self._rows = self._parse()
        return self._rows

    def __getitem__(self, name: str) -> OperationCounters:
        return self.rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


class Transport(NamedTuple):
    """One `xprt:` line: a connection to the server, shared by all mounts of the server."""

    # connections opened, and on some kernels attempts as well. None for a protocol without connections
    connects: int | None
    sends: int | None  # calls sent. None for an unknown layout of the line
    receives: int | None  # replies received. None for an unknown layout of the line


class NfsRecord(NamedTuple):
    """One NFS record of mountstats."""

    device: str  # `server:/export` as the kernel prints the name, unescaped
    mount_point: str  # unescaped
    fstype: str  # `nfs` or `nfs4`
    age_s: int  # age of the superblock, seconds
    options: Mapping[str, str]  # the `opts:` line by name. Flags have an empty value
    revalidations: int | None  # field 1 (inoderevalidate) of `events:`. The kernel adds 1 just before each GETATTR
    vfs_locks: int | None  # field 17 (vfslock) of `events:`. None if the line is shorter
    delays: int | None  # field 25 (delay) of `events:`. None if the line is shorter
    read_bytes: int  # payload of READ replies, field 5 of `bytes:`
    written_bytes: int  # payload of WRITE replies, field 6 of `bytes:`
    transports: tuple[Transport, ...]  # one for each `xprt:` line
    operations: OperationTable  # counters by procedure name


@dataclass(frozen=True, slots=True)
class NfsMount:
    """One NFS line of mountinfo."""

    superblock: str  # `major:minor`, the identity of the counters
    mount_point: str  # unescaped
    device: str  # `server:/export` as the kernel prints the name, unescaped
    fstype: str  # `nfs` or `nfs4`
    address: str  # `addr=` of the super options. Empty if absent
    options: Mapping[str, str]  # super options by name


@dataclass(frozen=True, slots=True)
class Mountstats:
    """All NFS records of one mountstats text, and the reason of each damaged record."""

    records: tuple[NfsRecord, ...]
    skipped: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mountinfo:
    """All NFS mounts of one mountinfo text."""

    mounts: tuple[NfsMount, ...]  # the mounts, in the order of the text
    skipped: tuple[str, ...] = ()  # the reason of each damaged line
    filtered: int = 0  # number of mounts that the operator's filters leave out
    left_out: int = 0  # number of superblocks above the supported number
    unwanted: frozenset[int] = frozenset()  # hashes of the names of all mounts left out
