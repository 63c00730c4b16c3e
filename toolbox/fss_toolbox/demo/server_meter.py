# SPDX-License-Identifier: Apache-2.0
"""Charge a mount target of the demo region with what the NFS server of this host serves, by the server's own counters.

The counters have no sizes. So the READs of a second have the mean size of that second, and the WRITEs as well. The server counts a call
at its start and its bytes at its end. Bytes without a call therefore wait for the next call.
"""

from collections.abc import Callable, Mapping

from fss_exporter.background import Worker
from fss_exporter.errors import UsageError
from fss_toolbox.demo.region.charges import RealRequests

# Order of the `proc3` line of /proc/net/rpc/nfsd: the numbers of the procedures (RFC 1813).
PROCEDURES = (
    "NULL GETATTR SETATTR LOOKUP ACCESS READLINK READ WRITE CREATE MKDIR SYMLINK MKNOD REMOVE RMDIR RENAME LINK READDIR "
    "READDIRPLUS FSSTAT FSINFO PATHCONF COMMIT"
).split()

_WRAP_BYTES = 1 << 32


class ServerMeter:
    """Reads the counters of the kernel's NFS server once a second.

    Args:
        read: returns the text of /proc/net/rpc/nfsd.
        charge: takes the requests since the last look.
        interval_s: seconds between two looks.

    Raises:
        UsageError: the text has no counters of NFSv3.
    """

    def __init__(
        self, read: Callable[[], str], charge: Callable[[list[RealRequests]], None], interval_s: float = 1.0
    ) -> None:
        self._read = read
        self._charge = charge
        self._worker = Worker("demo_server_meter", self.read, interval=lambda: interval_s)
        self._calls, self._bytes = _counters(read())

    def start(self) -> None:
        """Begin to look."""
        self._worker.start()

    def stop(self) -> None:
        """Stop looking."""
        self._worker.stop()

    def read(self) -> None:
        """Charge the requests since the last look."""
        calls, moved = _counters(self._read())
        if any(count < self._calls[name] for name, count in calls.items()):  # the server was started again
            self._calls, self._bytes = dict.fromkeys(calls, 0), dict.fromkeys(moved, 0)
        requests = []
        for name, count in calls.items():
            if more := count - self._calls[name]:
                size = 0
                if name in moved:
                    size = _difference(moved[name], self._bytes[name]) // more
                    self._bytes[name] = moved[name]
                requests.append(RealRequests(name, size, more))
        self._calls = calls
        if requests:
            self._charge(requests)


def _difference(now: int, before: int) -> int:
    """Return the bytes between two looks. Linux before 5.12 counts them in 32 bits, so the counter begins anew at 4 GiB."""
    return now - before if now >= before else now - before + _WRAP_BYTES


def _counters(text: str) -> tuple[Mapping[str, int], dict[str, int]]:
    """Return the calls by procedure, and the bytes of READ and WRITE."""
    lines = {words[0]: words[1:] for line in text.splitlines() if (words := line.split())}
    try:
        read, written = map(int, lines["io"])
        calls = dict(zip(PROCEDURES, map(int, lines["proc3"][1:]), strict=True))
    except (KeyError, ValueError) as damaged:
        raise UsageError("the server's counters have no lines `io` and `proc3` of NFSv3") from damaged
    return calls, {"READ": read, "WRITE": written}
