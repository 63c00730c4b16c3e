# SPDX-License-Identifier: Apache-2.0
"""Parse `/proc/<pid>/mountinfo`: the superblock and the server's address of each NFS mount point.

Layout: proc_pid_mountinfo(5). A lone `-` ends the optional fields.
"""

import re
from typing import TYPE_CHECKING, Final

from fss_exporter.addresses import one_spelling
from fss_exporter.errors import RecordError
from fss_exporter.nfs.mountstats import unescape
from fss_exporter.nfs.records import NFS_TYPES, Mountinfo, NfsMount, options

if TYPE_CHECKING:
    from pydantic_core import SchemaValidator

_DEVICE_NUMBER = re.compile(r"[0-9]{1,10}:[0-9]{1,10}")
_LONGEST_LINE = 32_768


def name_expression(text: str) -> "SchemaValidator":
    """Compile a regular expression that matches whole names.

    pydantic-core has the expressions of Rust, which take linear time on a long name. Their syntax is close to RE2, as in Prometheus.

    Raises:
        ValueError: the text is no regular expression of this syntax.
    """
    from pydantic_core import SchemaError, SchemaValidator, core_schema  # noqa: PLC0415  # 4 MiB, and few agents filter

    try:
        SchemaValidator(
            core_schema.str_schema(pattern=text)
        )  # "a)|(b" is refused before the brackets below complete the text
        return SchemaValidator(core_schema.str_schema(pattern=rf"\A(?:{text})\z"))
    except SchemaError as wrong:
        raise ValueError(f"not a regular expression: {str(wrong).splitlines()[-1].strip()}") from wrong


class MountFilter:
    """Select mounts by regular expressions over a whole mount point, export, server or `server:export`.

    Args:
        include: select only matching mounts. None and an empty text select all.
        exclude: leave out matching mounts.
        most: most superblocks of the selected mounts. The filter leaves out the rest.

    Raises:
        ValueError: as `name_expression`.
    """

    def __init__(self, include: str | None = None, exclude: str | None = None, most: int | None = None) -> None:
        self._include = name_expression(include) if include else None
        self._exclude = name_expression(exclude) if exclude else None
        self.most = most

    def wants(self, mount: NfsMount) -> bool:
        """Whether the include and exclude patterns select a mount."""
        server, export = split_device(mount.device)
        names = (mount.mount_point, export, server, mount.device)
        if self._include is not None and not any(map(self._include.isinstance_python, names)):
            return False
        return self._exclude is None or not any(map(self._exclude.isinstance_python, names))


EVERY_MOUNT: Final = MountFilter()


def parse_mountinfo(text: str, wanted: MountFilter = EVERY_MOUNT) -> Mountinfo:
    """Parse the NFS mounts of a mountinfo text, in the order of the text. A damaged line costs only the line."""
    mounts: list[NfsMount] = []
    skipped: list[str] = []
    unwanted: set[int] = set()
    numbers: set[str] = set()
    left_out: set[str] = set()
    filtered = 0
    for line in text.split("\n"):
        if " - nfs" not in line:
            continue
        try:
            mount = _mount(line)
        except RecordError as error:
            skipped.append(error.reason)
            continue
        if mount.fstype not in NFS_TYPES:
            continue
        is_wanted = wanted.wants(mount)
        if is_wanted and (mount.superblock in numbers or wanted.most is None or len(numbers) < wanted.most):
            numbers.add(mount.superblock)
            mounts.append(mount)
            continue
        filtered += not is_wanted
        if is_wanted:
            left_out.add(mount.superblock)
        unwanted.add(hash((mount.mount_point, mount.device, mount.fstype)))
    return Mountinfo(tuple(mounts), tuple(skipped), filtered, len(left_out), frozenset(unwanted))


def split_device(device: str) -> tuple[str, str]:
    """Server and export of a device name: `[::1]:/a`, `10.0.0.3:/a`, `server:/a:b` split at the colon of the server."""
    if device.startswith("["):
        server, _, export = device.partition("]:")
        return server.removeprefix("["), export
    server, slash, export = device.partition(":/")
    return server, f"/{export}" if slash else ""


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
        address=one_spelling(super_options.get("addr", "")),
        options=super_options,
    )
