"""The triggers that count by thread. Every form was tried on Linux 6.1 and 6.12. docs/cost-model.md lists the cost of each.

A trigger counts READs and WRITEs by device, thread and size class, in two tables as in `sizes.py` of exact mode. Other
triggers count calls by RPC client, thread and procedure, and calls that a worker of the kernel carries out for a thread.
"""

from collections.abc import Mapping
from typing import Final

from fss_exporter.model.operations import BLOCK_BYTES

READS: Final = "nfs/nfs_initiate_read"
WRITES: Final = "nfs/nfs_initiate_write"
CALLS: Final = "sunrpc/rpc_stats_latency"
BIRTHS: Final = "sunrpc/rpc_clnt_new"
CLAIMED_BY: Final[Mapping[str, str]] = {"RENAME": "nfs/nfs_rename_enter", "OPEN": "nfs/nfs_atomic_open_enter"}
DIRTIED: Final = ("writeback/writeback_dirty_folio", "writeback/writeback_dirty_page")  # Since 5.18, and before

VERSIONS: Final[Mapping[int, str]] = {version: f'progname == "nfs" && version == {version}' for version in (3, 4)}
"""Condition of the table of calls by NFS version."""

BORN: Final = 'program == "nfs"'
NOT_A_DISK: Final = 'name ~ "[0]:*"'
# NFS superblocks have major 0. A pattern that begins with a digit would be an index.

BY_WORKERS: Final = 'comm ~ "kworker*"'
JOIN_FIELDS: Final = "u64 ino; pid_t pid; u32 cnt; u32 dv"
"""Fields of the synthetic event that joins a WRITE of a worker with the thread that dirtied the file."""

_BELOW: Final = BLOCK_BYTES - 1


def conditions(size: str) -> dict[bool, str]:
    """Conditions of two tables of sizes, by whether the sizes are whole multiples of 32 KiB."""
    return {False: f"{size} & {_BELOW}", True: f"!({size} & {_BELOW})"}


def by_size(rows: int) -> dict[str, str]:
    """Return triggers for READs or WRITEs by thread, by condition, for tables with this number of rows."""
    keys = f"dev,common_pid.execname,count.buckets={BLOCK_BYTES}"
    return {one: f"hist:keys={keys}:vals=count:size={rows} if {one}" for one in conditions("count").values()}


def calls(rows: int) -> dict[str, str]:
    """Calls by thread likewise."""
    keys = "client_id,common_pid.execname,procname"
    return {one: f"hist:keys={keys}:size={rows} if {one}" for one in VERSIONS.values()}


def births(rows: int) -> dict[str, str]:
    """Addresses of new RPC clients likewise."""
    return {BORN: f"hist:keys=client_id,addr:size={rows} if {BORN}"}


def claims(rows: int) -> dict[str, str]:
    """Threads whose call a worker will carry out likewise."""
    return {"": f"hist:keys=dev,common_pid.execname:size={rows}"}


def dirtiers(rows: int) -> dict[str, str]:
    """Return the trigger for threads that dirtied pages, with names."""
    return {NOT_A_DISK: f"hist:keys=name,common_pid.execname:size={rows} if {NOT_A_DISK}"}


def remembered(rows: int) -> dict[str, str]:
    """Return the trigger that remembers the last thread that dirtied each file."""
    return {NOT_A_DISK: f"hist:keys=ino:wpid=common_pid:size={rows} if {NOT_A_DISK}"}


def handed_over(rows: int, dirtied: str, joint: str) -> dict[str, str]:
    """Return the trigger that joins WRITEs of workers with the thread that dirtied the file.

    Args:
        rows: rows of the table.
        dirtied: event that remembers the thread.
        joint: name of the synthetic event.
    """
    action = f"onmatch({dirtied.replace('/', '.')}).trace({joint},fileid,$wpid,$c,$d)"
    return {BY_WORKERS: f"hist:keys=fileid:c=count,d=dev:{action}:size={rows} if {BY_WORKERS}"}


def joined(rows: int) -> dict[str, str]:
    """The joined WRITEs by device, thread and class of sizes."""
    keys = f"dv,pid,cnt.buckets={BLOCK_BYTES}"
    return {one: f"hist:keys={keys}:vals=cnt:size={rows} if {one}" for one in conditions("cnt").values()}
