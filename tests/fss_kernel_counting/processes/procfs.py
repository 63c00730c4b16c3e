"""A `/proc` in a folder, with the files that name a process."""

from pathlib import Path


def process(
    root: Path,
    number: int,
    name: bytes = b"dd",
    *,
    leader: int | None = None,
    cgroup: str = "/system.slice/backup.service",
    user: int = 1000,
    started: int = 100,
    flags: int = 0x400000,
) -> None:
    """Make or replace the folder of a thread."""
    folder = root / str(number)
    folder.mkdir(parents=True, exist_ok=True)
    zeros = b" ".join([b"0"] * 12)
    (folder / "stat").write_bytes(b"%d (%b) S 1 1 1 0 -1 %d %b %d 0 0\n" % (number, name, flags, zeros, started))
    (folder / "status").write_text(f"Name:\tx\nTgid:\t{leader or number}\nUid:\t{user}\t0\t0\t0\n")
    (folder / "cgroup").write_text(f"0::{cgroup}\n")


def kthreadd(root: Path) -> None:
    """Make the folder of the kernel's second process, which the `/proc` of a host has and that of a container has not."""
    process(root, 2, b"kthreadd", cgroup="/", user=0, flags=0x208040)
