"""`/proc/<pid>/mountinfo`: which mount point shows which superblock, and at which address its server is.

Text in, records out. Layout: proc_pid_mountinfo(5); fields after the optional ones follow a lone `-`.
"""

import re

from fss_exporter.errors import RecordError
from fss_exporter.nfs.escapes import options, unescape
from fss_exporter.nfs.records import Mountinfo, NfsMount

NFS_TYPES = frozenset(("nfs", "nfs4"))
_DEVICE_NUMBER = re.compile(r"[0-9]{1,10}:[0-9]{1,10}")
_LONGEST_LINE = 32_768


def parse_mountinfo(text: str) -> Mountinfo:
    """Every NFS mount of a mountinfo text, in its order. A line that cannot be read costs that line."""
    mounts: list[NfsMount] = []
    skipped: list[str] = []
    for line in text.split("\n"):
        if " - nfs" not in line:
            continue
        try:
            mount = _mount(line)
        except RecordError as error:
            skipped.append(error.reason)
        else:
            if mount.fstype in NFS_TYPES:
                mounts.append(mount)
    return Mountinfo(tuple(mounts), tuple(skipped))


def _mount(line: str) -> NfsMount:
    before, _, after = line.rpartition(" - nfs")
    left, right = before.split(" "), f"nfs{after}".split(" ")
    if len(line) > _LONGEST_LINE or len(left) < 6 or len(right) < 3 or not _DEVICE_NUMBER.fullmatch(left[2]):
        raise RecordError("malformed_mountinfo", line[:120])
    super_options = options(right[2])
    return NfsMount(
        superblock=left[2],
        mount_point=unescape(left[4]),
        device=unescape(right[1]),
        fstype=right[0],
        address=super_options.get("addr", ""),
        options=super_options,
    )
