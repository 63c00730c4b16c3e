"""An NFS client on a clock of its own, and a mount target whose costs are hidden from the calibration.

Each request takes time, and the mount target is charged in the minute in which the request is sent, whatever it is for.
"""

from collections import Counter
from collections.abc import Mapping

from tests.region import Region

from fss_exporter.model.operations import READ, WRITE
from fss_toolbox.calibrate.calibration_run import WallClock
from fss_toolbox.calibrate.calibration_steps import PAST_THE_END, CalibrationStep, kind_of
from fss_toolbox.demo.region.demo_tenancy import RequestMix, RequestRate

# Requests that a kernel sends beside those of a step.
BESIDE: Mapping[str, tuple[str, ...]] = {
    "CREATE": ("LOOKUP",),
    "REMOVE": ("LOOKUP",),
    "RENAME": ("LOOKUP",),
    "LINK": ("LOOKUP",),
    "SYMLINK": ("LOOKUP",),
    "MKDIR": ("LOOKUP",),
    "RMDIR": ("LOOKUP",),
    "COMMIT": (kind_of("WRITE", 4096),),
}

UNCOUNTED = ("NLM", "NFSACL")  # calls that mountstats does not count

_MIB = 1 << 20

# What `send` returns where mountstats counts every request: made once, for millions of requests.
_ALL_COUNTED: Counter[str] = Counter()


class FastClock(WallClock):
    """Epoch seconds that waiting turns."""

    def __init__(self, now: float) -> None:
        self.time = now

    def __call__(self) -> float:
        return self.time

    def now(self) -> float:
        return self.time

    def wait_until(self, moment: float) -> None:
        self.time = max(self.time, moment)


class SimulatedClient:
    """Counts as mountstats does, and charges the mount target by a hidden table.

    `oci_ahead_s` is how many seconds the clock of OCI is ahead of the client's.
    """

    counts_sizes = True

    def __init__(
        self,
        region: Region,
        mount_target: str,
        clock: FastClock,
        hidden: Mapping[str, float],
        oci_ahead_s: float = 0.0,
    ) -> None:
        self._region, self._target, self._clock, self._hidden = region, mount_target, clock, hidden
        self._oci_ahead_s = oci_ahead_s
        self._counts: Counter[str] = Counter()
        self._charged: Counter[tuple[int, str, int]] = Counter()
        self.sent: list[float] = []

    def prepare(self, step: CalibrationStep) -> None:
        """Make the file of a step, with 16 WRITEs of 1 MiB for a step of READs."""
        kinds = [("LOOKUP", 0), ("CREATE", 0), ("SETATTR", 0)]
        kinds += 16 * [(kind_of(WRITE, _MIB), _MIB)] if step.operation == READ and step.name != PAST_THE_END else []
        for kind, size in kinds:
            self._clock.time += 0.1
            self.request(kind, size)

    def clean_up(self) -> None:
        """Remove what the steps left."""
        for _ in range(500):
            self.request("REMOVE", 0)
        self.counts()

    def send(self, step: CalibrationStep) -> Counter[str]:
        for kind in BESIDE.get(step.name, ()):
            self.request(kind, 0)
        self.sent.append(self._clock.time)
        self.request(step.name, step.size, step.calls)
        return Counter({step.name: step.calls}) if step.operation in UNCOUNTED else _ALL_COUNTED

    def request(self, kind: str, size: int, count: int = 1) -> None:
        """Send requests now."""
        self._charged[int((self._clock.time + self._oci_ahead_s) // 60) + 1, kind, size] += count
        if kind not in UNCOUNTED:
            self._counts[kind] += count

    def operations(self) -> Mapping[str, int]:
        by_procedure: Counter[str] = Counter()
        for kind, count in self._counts.items():
            by_procedure[kind.split()[0]] += count
        return by_procedure

    def counts(self, _: CalibrationStep | None = None) -> Mapping[str, float]:
        for (minute, kind, size), count in self._charged.items():
            rate = RequestRate(kind.split()[0], size, count / 60, self._hidden.get(kind, 0.0))
            self._region.record(self._target, minute, RequestMix((rate,)))
        self._charged.clear()
        return dict(self._counts)
