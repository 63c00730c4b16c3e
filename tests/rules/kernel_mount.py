"""The mountstats record of one mount, as a Linux kernel counts it while programs work, wait, fail or give up."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.fss_exporter.nfs.records import OPERATIONS, OPTIONS

# Requests a second of a host in ordinary work.
A_SECOND = {"READ": 20, "WRITE": 8, "GETATTR": 20, "LOOKUP": 8, "ACCESS": 4}

TRANSFER_BYTES = 32_768
WAITING = 4  # requests that wait while a server does not answer: one of each program

# `timeo=600,retrans=2`: three tries of a minute. Then a soft mount gives up, and a hard mount connects and sends again.
GIVE_UP_SECONDS = 180.0

RTT_MS = 3.0

OPS, SENT, TIMEOUTS, BYTES_OUT, BYTES_IN, QUEUE, RTT, WHOLE, ERRORS = range(9)


@dataclass
class KernelMount:
    """Counters of a mount of an address.

    Attributes:
        address: of the mount target.
        export: path of the export.
        options: mount options.
    """

    address: str
    export: str = "/export"
    options: str = OPTIONS
    operations: dict[str, list[float]] = field(default_factory=lambda: {name: [0.0] * 9 for name in OPERATIONS})
    sends: float = 0.0
    receives: float = 0.0
    age: float = 100_000.0
    revalidations: float = 0.0
    delays: float = 0.0
    _waiting: int = 0  # programs that wait
    _waiting_s: float = 0.0
    _sent_again: int = 0
    _pause_s: float = 0.0

    def work(
        self,
        seconds: float,
        *,
        times: Mapping[str, float],
        rtt_ms: float,
        failing: Mapping[str, float],
        again: float,
        asks_to_wait: bool = False,
        late_ms: float = 0.0,
    ) -> None:
        """Let programs work: `times` the ordinary requests, a share `failing`, a share sent `again`. READs take `late_ms` longer in the mean.

        With `asks_to_wait` requests fail by JUKEBOX.

        `times` and `failing` are by procedure, and of `""` for all.
        """
        self._end_waiting()
        self.age += seconds
        for name, a_second in A_SECOND.items():
            count = a_second * seconds * times.get("", 1.0) * times.get(name, 1.0)
            longer_ms = late_ms if name == "READ" else 0.0
            errors = count * failing.get(name, failing.get("", 0.0))
            self.delays += errors if asks_to_wait and name in {"READ", "WRITE"} else 0.0
            self._end(name, count, sent=count * (1 + again), rtt_ms=rtt_ms + longer_ms, errors=errors)
            self.revalidations += count if name == "GETATTR" else 0.0

    def hang(self, seconds: float) -> None:
        """Let programs wait. Each has sent a request, no reply comes, and the kernel sends the requests again."""
        self.age += seconds
        if not self._waiting:
            self._begin_waiting(WAITING)
        self._waiting_s += seconds
        if self._waiting_s >= GIVE_UP_SECONDS * (self._sent_again + 1):
            self._sent_again += 1
            self.sends += self._waiting

    def give_up(self, seconds: float, pause_s: float) -> None:
        """Let the only program try, give up without a reply, and pause."""
        self.age += seconds
        if self._pause_s > 0:
            self._pause_s -= seconds
            return
        if not self._waiting:
            self._begin_waiting(1)
        self._waiting_s += seconds
        if self._waiting_s >= GIVE_UP_SECONDS:
            counters = self.operations["GETATTR"]
            counters[OPS] += 1
            counters[SENT] += 3
            counters[TIMEOUTS] += 3
            counters[WHOLE] += self._waiting_s * 1000
            counters[ERRORS] += 1
            self.sends += 2
            self._waiting, self._pause_s = 0, pause_s

    def _begin_waiting(self, programs: int) -> None:
        self._waiting, self._waiting_s, self._sent_again = programs, 0.0, 0
        self.sends += programs
        self.revalidations += 1

    def _end_waiting(self) -> None:
        """Let the replies come that programs waited for."""
        self._pause_s = 0.0
        if self._waiting:
            sent = self._waiting * (1 + self._sent_again)
            self.sends -= sent  # counted when the requests were sent
            self._end("GETATTR", self._waiting, sent=sent, rtt_ms=self._waiting_s * 1000, errors=0)
            self._waiting = 0

    def _end(self, name: str, count: float, *, sent: float, rtt_ms: float, errors: float) -> None:
        counters = self.operations[name]
        payload = count * TRANSFER_BYTES
        counters[OPS] += count
        counters[SENT] += sent
        counters[BYTES_OUT] += 104 * sent + (payload if name == "WRITE" else 0)
        counters[BYTES_IN] += 112 * count + (payload if name == "READ" else 0)
        counters[QUEUE] += count * 0.1
        counters[RTT] += count * rtt_ms
        counters[WHOLE] += count * (rtt_ms + 0.2)
        counters[ERRORS] += errors
        self.sends += sent
        self.receives += count

    def __str__(self) -> str:
        """The record in mountstats."""
        good = {name: self.operations[name][OPS] - self.operations[name][ERRORS] for name in ("READ", "WRITE")}
        bytes_of = {name: round(count * TRANSFER_BYTES) for name, count in good.items()}
        lines = [
            f"device {self.address}:{self.export} mounted on {self.mount_point} with fstype nfs statvers=1.1",
            f"\topts:\t{self.options}",
            f"\tage:\t{int(self.age)}",
            "\tcaps:\tcaps=0x3fc7,wtmult=512,dtsize=1048576,bsize=0,namlen=255",
            "\tsec:\tflavor=1,pseudoflavor=1",
            f"\tevents:\t{int(self.revalidations)} {' '.join(['0'] * 23)} {int(self.delays)} 0 0 ",
            f"\tbytes:\t0 0 0 0 {bytes_of['READ']} {bytes_of['WRITE']} 0 0 ",
            "\tRPC iostats version: 1.1  p/v: 100003/3 (nfs)",
            f"\txprt:\ttcp 800 1 1 0 3 {int(self.sends)} {int(self.receives)} 0 0 0 2 0 0",
            "\tper-op statistics",
            *(f"\t{name:>12}: {' '.join(str(int(figure)) for figure in of)}" for name, of in self.operations.items()),
        ]
        return "\n".join(lines) + "\n\n"

    @property
    def mount_point(self) -> str:
        """Where the host has mounted the export."""
        return f"/mnt/{self.address}"
