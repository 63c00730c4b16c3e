# SPDX-License-Identifier: Apache-2.0
"""Triggers that count READs and WRITEs by size, and lock calls. Conversion of the rows to transfers and calls.

There are two forms for sizes. *Buckets* uses two tables: whole multiples of 32 KiB, and all other sizes, each by 32 KiB
class. So every request is in exactly one row with a known number of blocks. *Ladder* is for kernels without `.buckets`
(before 5.15): a table for each bit of the size above 32 KiB, whose counts add up to the blocks. The distribution stays
unknown. mountstats does not show calls of the Network Lock Manager and of NFSACL at all.
"""

import errno
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fss_exporter.model.operations import BLOCK_BYTES, READ, WRITE
from fss_kernel_counting.clients import BIRTHS, CALLS
from fss_kernel_counting.hist_tables import Grown, fields_of, number
from fss_kernel_counting.instance_tables import InstanceTables, TableName
from fss_kernel_counting.sizes.size_counts import ByAddressAndProcedure, CountedTransfers
from fss_kernel_counting.tracefs import OF_SIZES, Instance, Tracefs, Unavailable, advice

LOCKS: TableName = (CALLS, 'progname == "lockd"')
ACLS: TableName = (CALLS, 'progname == "nfsacl"')
BORN: TableName = (BIRTHS, 'program == "lockd" || program == "nfsacl"')

# A ping costs nothing, and a server of this host sends the messages about granted locks to its own clients.
_NOT_OURS = frozenset(("NULL", "GRANTED", "GRANTED_MSG"))

_BELOW_BLOCK = BLOCK_BYTES - 1
_LADDER_BITS = range(6)  # blocks of 32 KiB up to 1 MiB, the kernel's largest transfer

_DEVICE_BYTES = 4


@dataclass(frozen=True, slots=True)
class SizeEvents:
    """The trace events with sizes."""

    events: Mapping[str, str]  # by operation, as `system/event`
    size: str  # field with the bytes asked for
    payload: str  # field with the bytes carried. Equal to `size` where only requests are traced
    answered: bool  # whether the event stands for an answer, so that mountstats can check the counts


# From best to worst: answers since kernel 5.6, requests before.
SIZE_EVENTS = (
    SizeEvents(
        {READ: "nfs/nfs_readpage_done", WRITE: "nfs/nfs_writeback_done"}, "arg_count", "res_count", answered=True
    ),
    SizeEvents({READ: "nfs/nfs_initiate_read", WRITE: "nfs/nfs_initiate_write"}, "count", "count", answered=False),
)


def size_tables(keys: str, size: str, payload: str) -> dict[str, str]:
    """Return the keys of two tables by size class, by condition: of sizes between multiples of 32 KiB, and of whole multiples.

    `keys` come before the class. `size` is the field with the bytes asked for, `payload` that with the bytes carried.
    """
    conditions = (f"{size} & {_BELOW_BLOCK}", f"!({size} & {_BELOW_BLOCK})")
    return dict.fromkeys(conditions, f"{keys},{size}.buckets={BLOCK_BYTES}:vals={payload}")


def blocks_started(lower: int, condition: str) -> int:
    """Return the blocks of 32 KiB that a transfer starts. `lower` is the lower edge of the size class in bytes.

    `condition` is of `size_tables`.
    """
    return max(1, lower // BLOCK_BYTES) if condition.startswith("!") else lower // BLOCK_BYTES + 1


class Buckets:
    """Two tables by 32 KiB class, with `keys` of the rows by condition."""

    has_sizes = True

    def __init__(self, source: SizeEvents) -> None:
        self.keys = size_tables("dev", source.size, source.payload)

    def transfers(self, tables: Mapping[str, Grown]) -> dict[int, CountedTransfers]:
        """Return transfers by device number, from the growth of each table (by condition).

        Raises:
            Lost: a key has another layout.
        """
        blocks: dict[int, Counter[int]] = defaultdict(Counter)
        payload: Counter[int] = Counter()
        for condition, rows in tables.items():
            for key, row in rows:
                device, lower = map(number, fields_of(key, 2))
                blocks[device][blocks_started(lower, condition)] += row.hits
                payload[device] += row.value
        return {device: CountedTransfers.of_sizes(sizes, payload[device]) for device, sizes in blocks.items()}


class Ladder:
    """A table for each bit of the size, with `keys` of the rows by condition."""

    has_sizes = False

    def __init__(self, source: SizeEvents) -> None:
        size = source.size
        self._weights = {f"{size} & {_BELOW_BLOCK}": 1, f"{size} == 0": 1} | {
            f"{size} & {BLOCK_BYTES << bit}": 1 << bit for bit in _LADDER_BITS
        }
        self.keys = {"": f"dev:vals={source.payload}"} | dict.fromkeys(self._weights, "dev")

    def transfers(self, tables: Mapping[str, Grown]) -> dict[int, CountedTransfers]:
        """Return transfers by device number, from the growth of each table (by condition)."""
        sums: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
        for condition, rows in tables.items():
            for key, row in rows:
                own = sums[number(fields_of(key, 1)[0])]
                if condition:
                    own[1] += self._weights[condition] * row.hits
                else:
                    own[0] += row.hits
                    own[2] += row.value
        return {device: CountedTransfers(count, blocks, payload) for device, (count, blocks, payload) in sums.items()}


def calls_by_address(rows: Grown | None, address_of: Callable[[str], str]) -> ByAddressAndProcedure | None:
    """Return lock or NFSACL calls with a cost, by server address and procedure. None if the calls are not counted.

    Raises:
        Lost: a key has another layout.
    """
    if rows is None:
        return None
    calls: Counter[tuple[str, str]] = Counter()
    for key, row in rows:
        client, procedure = fields_of(key, 2)
        if procedure not in _NOT_OURS:
            calls[address_of(client), procedure] += row.hits
    return calls


class SizeSession:
    """Triggers in place that count sizes and lock calls, with tables of `rows` rows.

    Raises:
        NotYet: the NFS client is not loaded.
        Unavailable: this kernel cannot, or this process may not.
    """

    def __init__(self, tracefs: Tracefs, rows: int) -> None:
        self.source = source_of(tracefs)
        self.form, self.tables = _size_tables(tracefs, self.source, rows)
        calls = dict.fromkeys((LOCKS, ACLS), "client_id,procname")
        self.tables.try_to_add(rows, calls, "lock calls are estimated")
        if LOCKS in self.tables.names:
            births = {BORN: "client_id,addr"}
            self.tables.try_to_add(rows, births, "lock calls of short-lived mounts may lack their address")

    def end(self) -> None:
        """Remove the triggers."""
        self.tables.end()

    def transfers(self, grown: Mapping[TableName, Grown]) -> dict[str, dict[int, CountedTransfers]]:
        """Return transfers by operation and device number in the kernel's encoding.

        Raises:
            Lost: a key has another layout.
        """
        return {
            operation: self.form.transfers({condition: grown[event, condition] for condition in self.form.keys})
            for operation, event in self.source.events.items()
        }


def _size_tables(tracefs: Tracefs, source: SizeEvents, rows: int) -> tuple[Buckets | Ladder, InstanceTables]:
    """Set the triggers of sizes, in the first form that the kernel accepts."""
    for form in (Buckets(source), Ladder(source)):
        instance = Instance(tracefs, OF_SIZES)
        tables = InstanceTables(instance)
        try:
            with instance.removed_on_failure():
                for event in source.events.values():
                    tables.add(event, rows, form.keys)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise advice(error, instance.path) from error
        else:
            return form, tables
    raise Unavailable(f"{tracefs.root}: the kernel refuses every known form of counting sizes")


def source_of(tracefs: Tracefs) -> SizeEvents:
    """Return this kernel's events with sizes, without setting a trigger.

    Raises:
        NotYet: the NFS client is not loaded.
        Unavailable: the kernel cannot count sizes, or this process may not.
    """
    tracefs.check_client()
    for source in SIZE_EVENTS:
        formats = [tracefs.event(event).fields for event in source.events.values()]
        needed = {"dev", source.size, source.payload}
        if all(needed <= fields.keys() and fields["dev"].size == _DEVICE_BYTES for fields in formats):
            return source
    raise Unavailable(
        f"{tracefs.root}/events/nfs: no event has the sizes of READ and WRITE. This kernel is too old or too new"
    )
