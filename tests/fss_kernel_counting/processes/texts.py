"""`hist` texts as the kernel prints them (kernel/trace/trace_events_hist.c, Linux 6.1)."""

from collections.abc import Mapping


def thread(name: bytes, number: int) -> bytes:
    """A key `common_pid.execname`."""
    return b"common_pid: %-16b[%10d]" % (name, number)


def table(
    keys: str, rows: Mapping[tuple[bytes, bytes], tuple[int, int]], condition: str = "", dropped: int = 0
) -> bytes:
    """One table, keys as printed."""
    lines = b"".join(
        b"{ %b } hitcount: %10d  count: %10d\n" % (b", ".join(key), hits, value) for key, (hits, value) in rows.items()
    )
    tail = f" if {condition}" if condition else ""
    head = f"hist:keys={keys}:vals=hitcount,count:sort=hitcount:size=2048{tail} [active]"
    foot = f"\nTotals:\n    Hits: {len(rows)}\n    Entries: {len(rows)}\n    Dropped: {dropped}\n"
    return b"# event histogram\n#\n# trigger info: %b\n#\n\n%b%b" % (head.encode(), lines, foot.encode())
