# SPDX-License-Identifier: Apache-2.0
"""Play recorded NFS clients on a private procfs tree that looks like the kernel's.

A recording holds the mountstats of a real Linux 6.1 client at work against a real server, about once a second. Playing adds
the differences between two readings to running totals, second by second and from the start again. So the counters grow
while the demo runs and show only counts of a real kernel.
"""

import gzip
import re
from dataclasses import dataclass
from importlib.resources import files
from itertools import cycle, pairwise
from pathlib import Path

from fss_exporter.background import Worker

# A number that stands alone is a counter; the numbers inside options, names and versions are not.
_COUNTER = re.compile(r"(?<![\w.=/,:-])\d+(?![\w.=/,:-])")

_RECORDED_DEVICE, _RECORDED_MOUNT_POINT, _RECORDED_ADDRESS = "10.80.1.10:/export/a", "/mnt/a", "10.80.1.10"


@dataclass(frozen=True, slots=True)
class ClientMount:
    """A recording and the mount it plays on."""

    recording: str  # file name in `recordings/` without `.txt.gz`
    address: str  # of the mount target
    export: str  # path of the export
    server: str = ""  # name in the mount command. Empty for the address

    @property
    def device(self) -> str:
        """The device name of the kernel."""
        return f"{self.server or self.address}:{self.export}"

    @property
    def mount_point(self) -> str:
        """The mount point of the demo's client."""
        return f"/mnt/{self.address.replace('.', '-')}{self.export.replace('/', '-')}"


# Mounts of the demo's client: mixed work, rm -rf, stat, 1 MiB random reads, random writes of several sizes. The last mount
# has the address of Apsara NAS, and plays the recording of a client of an NFSv3 server of Linux, as all do.
CLIENT_MOUNTS = (
    ClientMount("k_mixed", "10.80.1.10", "/export/a"),
    ClientMount("h_rmrf", "10.80.1.10", "/export/b"),
    ClientMount("i2_stat_storm", "10.80.1.11", "/export/b"),
    ClientMount("c_randread_1m", "10.80.2.20", "/export/a"),
    ClientMount("d6_randwrite_mix", "10.80.3.30", "/export/a"),
    ClientMount("c_randread_1m", "10.90.0.5", "/share", "0a1b2c-demo.cn-hangzhou.nas.aliyuncs.com"),
)


class _Playback:
    """One mount with the running totals of the recording."""

    def __init__(self, mount: ClientMount) -> None:
        packed = files("fss_toolbox.demo").joinpath("recordings", f"{mount.recording}.txt.gz").read_bytes()
        looks = [part.partition("\n")[2] for part in gzip.decompress(packed).decode().split("@@ ")[1:]]
        text = looks[0].replace(_RECORDED_DEVICE, mount.device).replace(_RECORDED_ADDRESS, mount.address)
        self._text = text.replace(f" on {_RECORDED_MOUNT_POINT} with ", f" on {mount.mount_point} with ")
        self._totals = _counters(looks[0])
        numbers = [_counters(look) for look in looks]
        self._steps = cycle([[new - old for old, new in zip(*pair, strict=True)] for pair in pairwise(numbers)])

    def advance(self) -> None:
        # The seconds since the last use of a connection are no counter: they may fall, but not below 0.
        self._totals = [max(0, total + step) for total, step in zip(self._totals, next(self._steps), strict=True)]

    def __str__(self) -> str:
        totals = iter(self._totals)
        head, _, body = self._text.partition("\n")
        return f"{head}\n{_COUNTER.sub(lambda _: str(next(totals)), body)}"


def _counters(look: str) -> list[int]:
    return [int(number) for number in _COUNTER.findall(look.partition("\n")[2])]


class Clients:
    """A thread that writes `<root>/1/mountstats` below an empty directory every `interval_s` seconds.

    The recordings have an interval of 1 s.
    """

    def __init__(self, root: Path, mounts: tuple[ClientMount, ...] = CLIENT_MOUNTS, interval_s: float = 1.0) -> None:
        self.root = root
        self._playbacks = [_Playback(mount) for mount in mounts]
        self._worker = Worker("demo_clients", self.advance, interval=lambda: interval_s)
        (root / "1").mkdir(parents=True)
        lines = (_mountinfo_line(number, mount) for number, mount in enumerate(mounts))
        (root / "1" / "mountinfo").write_text("".join(lines))
        self._write()

    def start(self) -> None:
        """Begin to play."""
        self._worker.start()

    def stop(self) -> None:
        """Stop playing. The files stay as they are."""
        self._worker.stop()

    def advance(self, readings: int = 1) -> None:
        """Play some readings of every mount, and show the last."""
        for playback in self._playbacks:
            for _ in range(readings):
                playback.advance()
        self._write()

    def _write(self) -> None:
        # A reader sees one look or the next, never half of one.
        fresh = self.root / "1" / "mountstats.new"
        fresh.write_text("".join(map(str, self._playbacks)))
        fresh.replace(self.root / "1" / "mountstats")


def _mountinfo_line(number: int, mount: ClientMount) -> str:
    return (
        f"{100 + number} 20 0:{40 + number} / {mount.mount_point} rw,relatime - nfs {mount.device} "
        "rw,vers=3,rsize=1048576,wsize=1048576,namlen=255,hard,noacl,proto=tcp,timeo=600,retrans=2,sec=sys,"
        f"mountaddr={mount.address},mountvers=3,mountport=20048,mountproto=tcp,local_lock=none,addr={mount.address}\n"
    )
