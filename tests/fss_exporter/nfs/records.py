"""Mountstats and mountinfo text for tests, in the kernel's layout, from the few numbers a test is about."""

from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

OPERATIONS = (
    "NULL GETATTR SETATTR LOOKUP ACCESS READLINK READ WRITE CREATE MKDIR SYMLINK MKNOD REMOVE RMDIR RENAME LINK READDIR "
    "READDIRPLUS FSSTAT FSINFO PATHCONF COMMIT"
).split()

OPTIONS = "rw,vers=3,rsize=1048576,wsize=1048576,namlen=255,hard,proto=tcp,timeo=600,retrans=2,sec=sys,local_lock=none"


class Names(TypedDict, total=False):
    """What both files say of one mount."""

    device: str
    mount_point: str
    fstype: str


def mountstats(
    operations: Mapping[str, int],
    *,
    device: str = "10.0.0.3:/a",
    mount_point: str = "/mnt/a",
    fstype: str = "nfs",
    age: int = 1000,
    options: str = OPTIONS,
    read_bytes: int = 0,
    written_bytes: int = 0,
    revalidations: int = 0,
    vfs_locks: int = 0,
    delays: int = 0,
    sends: int = 0,
    xprt: tuple[str, ...] | None = None,
    columns: int = 9,
) -> str:
    """One record; each operation was sent once, took 1 ms in the queue, 2 ms on the wire and 4 ms in all."""
    events = [0] * 27
    events[0], events[16], events[24] = revalidations, vfs_locks, delays
    transports = xprt or (f"tcp 800 1 1 0 3 {sends} {sends} 0 0 0 2 0 0",)
    lines = [
        f"device {device} mounted on {mount_point} with fstype {fstype} statvers=1.1",
        f"\topts:\t{options}",
        f"\tage:\t{age}",
        "\tcaps:\tcaps=0x3fc7,wtmult=512,dtsize=1048576,bsize=0,namlen=255",
        "\tsec:\tflavor=1,pseudoflavor=1",
        f"\tevents:\t{' '.join(map(str, events))} ",
        f"\tbytes:\t0 0 0 0 {read_bytes} {written_bytes} 0 0 ",
        "\tRPC iostats version: 1.1  p/v: 100003/3 (nfs)",
        *(f"\txprt:\t{line}" for line in transports),
        "\tper-op statistics",
    ]
    for name in dict.fromkeys((*OPERATIONS, *operations)):
        count = operations.get(name, 0)
        sent = written_bytes + 112 * count if name == "WRITE" else 104 * count
        received = read_bytes + 128 * count if name == "READ" else 112 * count
        numbers = [count, count, 0, sent, received, count, 2 * count, 4 * count, 0][:columns]
        lines.append(f"\t{name:>12}: {' '.join(map(str, numbers))}")
    return "\n".join(lines) + "\n\n"


def mountinfo(
    *,
    superblock: str = "0:40",
    device: str = "10.0.0.3:/a",
    mount_point: str = "/mnt/a",
    fstype: str = "nfs",
    address: str = "10.0.0.3",
    options: str = OPTIONS,
    mount_id: int = 46,
) -> str:
    """One line."""
    addr = f",addr={address}" if address else ""
    return f"{mount_id} 80 {superblock} / {mount_point} rw,relatime shared:1 - {fstype} {device} {options}{addr}\n"


def write_procfs(root: Path, stats: str, info: str, *, pid: str = "1") -> Path:
    """Both files of a process below `root`. A reader sees each as it was before or as it is now, and never half of one."""
    folder = root / pid
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("mountinfo", info), ("mountstats", stats)):
        fresh = folder / f"{name}.new"
        fresh.write_text(text)
        fresh.replace(folder / name)
    return root
