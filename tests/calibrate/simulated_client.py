"""An NFS client on a clock of its own, and a mount target whose costs are hidden from the calibration."""

from collections import Counter
from collections.abc import Mapping

from tests.region import Region

from fss_toolbox.calibrate.calibration_run import WallClock
from fss_toolbox.calibrate.calibration_steps import CalibrationStep, kind_of
from fss_toolbox.demo.region.demo_tenancy import RequestMix, RequestRate

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
"""Requests that a kernel sends beside those of a step."""

_UNCOUNTED = ("NLM", "NFSACL")
"""Calls that mountstats does not count."""

_ALL_COUNTED: Counter[str] = Counter()
"""What `send` returns where mountstats counts every request: made once, for millions of requests."""


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
    """Counts as mountstats does, and charges the mount target by a hidden table."""

    def __init__(self, region: Region, mount_target: str, clock: FastClock, hidden: Mapping[str, float]) -> None:
        self._region, self._target, self._clock, self._hidden = region, mount_target, clock, hidden
        self._counts: Counter[str] = Counter()
        self._charged: Counter[tuple[str, int]] = Counter()
        self.sent: list[float] = []

    def prepare(self, _: CalibrationStep) -> None:
        self._request("LOOKUP", 0)
        self._request("CREATE", 0)

    def send(self, step: CalibrationStep) -> Counter[str]:
        for kind in BESIDE.get(step.name, ()):
            self._request(kind, 0)
        self.sent.append(self._clock.time)
        if step.operation in _UNCOUNTED:
            self._charged[step.name, 0] += step.calls
            return Counter({step.name: step.calls})
        self._request(step.name, step.size)
        return _ALL_COUNTED

    def _request(self, kind: str, size: int) -> None:
        self._charged[kind, size] += 1

    def counts(self, _: CalibrationStep) -> Mapping[str, float]:
        minute = int(self._clock.time // 60) + 1
        rates = tuple(
            RequestRate(kind.split()[0], size, count / 60, self._hidden.get(kind, 0.0))
            for (kind, size), count in self._charged.items()
        )
        self._region.record(self._target, minute, RequestMix(rates))
        for (kind, _size), count in self._charged.items():
            if kind not in _UNCOUNTED:
                self._counts[kind] += count
        self._charged.clear()
        return dict(self._counts)
