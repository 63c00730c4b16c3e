"""A procfs tree that shows a local folder as an NFS mount, for code that needs a mount and not a server."""

import os
from pathlib import Path

_OPERATIONS = (
    "NULL GETATTR SETATTR LOOKUP ACCESS READLINK READ WRITE CREATE MKDIR SYMLINK REMOVE RMDIR RENAME LINK FSSTAT COMMIT"
)


def procfs_with_mount(root: Path, folder: Path, address: str) -> Path:
    """A procfs tree whose `self` has one NFS mount: the file system of `folder`."""
    device = folder.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    (root / "self").mkdir(parents=True)
    (root / "self" / "mountinfo").write_text(
        f"100 20 {number} / {folder} rw - nfs {address}:/export/a rw,vers=3,rsize=1048576,wsize=1048576,"
        f"proto=tcp,sec=sys,local_lock=none,addr={address}\n"
    )
    lines = "".join(f"\t{name}: 5 5 0 500 500 0 5 5 0\n" for name in _OPERATIONS.split())
    (root / "self" / "mountstats").write_text(
        f"device {address}:/export/a mounted on {folder} with fstype nfs statvers=1.1\n"
        "\topts:\trw,vers=3,rsize=1048576,wsize=1048576,proto=tcp,sec=sys,local_lock=none\n"
        "\tage:\t100\n\tevents:\t" + "0 " * 27 + "\n\tbytes:\t" + "0 " * 8 + "\n"
        "\tRPC iostats version: 1.1  p/v: 100003/3 (nfs)\n"
        "\txprt:\ttcp 0 0 1 0 0 5 5 0 5 0 2 0 0\n\tper-op statistics\n" + lines + "\n"
    )
    return root
