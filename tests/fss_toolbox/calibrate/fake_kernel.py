"""The whole command on a kernel of this process, which has the mountstats of a client and the counters of a server.

A local folder stands for an NFS mount. The kernel counts each request of the command on both sides, as a kernel with NFSv3
does. The rounds themselves do nothing here: test_nfs_requests.py runs them on a real file system. The demo region charges the mount target from the server's counters by a hidden table, so the command finds the
costs of that table or it is wrong.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from tests.fss_toolbox.calibrate.fake_procfs import procfs_with_mount
from tests.fss_toolbox.calibrate.simulated_client import UNCOUNTED, FastClock
from tests.prompt import Answer, ask
from tests.region import Region

from fss_exporter.model.operations import FIXED_COSTS, READ, WRITE
from fss_toolbox.calibrate import calibration_run
from fss_toolbox.calibrate.calibration_steps import PAST_THE_END, CalibrationStep
from fss_toolbox.calibrate.nfs_requests import NfsRequests
from fss_toolbox.cli import calibrate as command
from fss_toolbox.demo.region.charges import ChargeTable, RealRequests
from fss_toolbox.demo.server_meter import PROCEDURES, ServerMeter

MOUNT_TARGET, ADDRESS = "mt-idle", "10.80.4.40"
_MIB = 1 << 20
_PAGE = 4096

# Requests with their bytes beside those of a step, as counted on Linux 6.1 (docs/commands/calibrate.md).
_BESIDE: Mapping[str, tuple[tuple[str, int], ...]] = {"CREATE": (("SETATTR", 0),), "COMMIT": ((WRITE, _PAGE),)}


def hidden_costs(seed: int) -> dict[str, Any]:
    """A table that no part of the program knows: each cost is 0.5 to 2 times the white paper's."""
    chance = Random(seed)  # the test repeats

    def some(cost: float) -> float:
        return round(cost * chance.uniform(0.5, 2.0), 2)

    fixed = {name: some(cost) for name, cost in FIXED_COSTS.items()}
    transfers = {name: {"request": some(factor), "block": some(factor)} for name, factor in ((READ, 1), (WRITE, 2))}
    return fixed | transfers | {"NLM": some(4), "NFSACL": some(1)}


def true_cost(table: ChargeTable, step: CalibrationStep) -> float:
    """The hidden cost of one request of a step. A server counts the bytes that a READ past the end returns."""
    return table.cost(step.operation, _PAGE if step.name == PAST_THE_END else step.size)


class FakeKernel:
    """Counts requests as the client's mountstats and the server's /proc/net/rpc/nfsd do."""

    def __init__(self, folder: Path, region: Region) -> None:
        self.mount = folder / "mount"
        self.mount.mkdir()
        self.procfs = procfs_with_mount(folder / "proc", self.mount, ADDRESS)
        self._mountstats = self.procfs / "self" / "mountstats"
        self._region = region
        self._calls: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()
        self.show()

    def count(self, operation: str, size: int = 0, calls: int = 1) -> None:
        """Count calls. What no counter has is charged as a packet capture would charge it."""
        if operation in UNCOUNTED:
            self._region.charge(MOUNT_TARGET, [RealRequests(operation, 0, calls)])
            return
        self._calls[operation] += calls
        self._bytes[operation] += size * calls

    def preparation(self, step: CalibrationStep) -> None:
        """Count what makes the files of a step."""
        for name in ("LOOKUP", "CREATE", "SETATTR") if step.operation else ():
            self.count(name)
        if step.name == PAST_THE_END:
            self.count(WRITE, _PAGE)
        elif step.operation == READ:
            self.count(WRITE, _MIB, 16)
        self.show()

    def round(self, step: CalibrationStep) -> Counter[str]:
        """Count one round of a step. Return the calls that mountstats does not count."""
        self.count(step.operation, _PAGE if step.name == PAST_THE_END else step.size, step.calls)
        if step.operation in UNCOUNTED:
            return Counter({step.operation: step.calls})
        for name, size in _BESIDE.get(step.operation, ()):
            self.count(name, size)
        return Counter()

    def show(self) -> None:
        """Write mountstats, as a read of the file finds it."""
        lines = self._mountstats.read_text().splitlines()
        for at, line in enumerate(lines):
            name = line.strip().partition(":")[0]
            if name in PROCEDURES and at > lines.index("\tper-op statistics"):
                calls = self._calls[name]
                lines[at] = f"\t{name}: {calls} {calls} 0 0 0 0 0 0 0"
        self._mountstats.write_text("\n".join(lines) + "\n")

    def server(self) -> str:
        """The server's counters."""
        calls = " ".join(str(self._calls[name]) for name in PROCEDURES)
        return f"io {self._bytes[READ]} {self._bytes[WRITE]}\nproc3 {len(PROCEDURES)} {calls}\n"


class MeteredClock(FastClock):
    """A clock whose seconds let the meter of the demo look."""

    meter: ServerMeter | None = None

    def wait_until(self, moment: float) -> None:
        if self.meter is not None and int(moment) != int(self.time):
            self.meter.read()
        super().wait_until(moment)


@contextmanager
def kernel_of(folder: Path, region: Region, clock: MeteredClock) -> Iterator[FakeKernel]:
    """The command runs on a kernel and a clock of this process."""
    kernel = FakeKernel(folder, region)
    clock.meter = ServerMeter(kernel.server, lambda requests: region.charge(MOUNT_TARGET, requests))

    class Requests(NfsRequests):
        """Requests that the kernel counts."""

        def prepare(self, step: CalibrationStep) -> None:
            kernel.preparation(step)
            super().prepare(step)

        def counts(self, step: CalibrationStep) -> dict[str, float]:
            kernel.show()
            return super().counts(step)

        def operations(self) -> dict[str, int]:
            kernel.show()
            return super().operations()

        def send(self, step: CalibrationStep) -> Counter[str]:
            return kernel.round(step)

    with (
        patch.object(calibration_run, "WallClock", lambda: clock),
        patch.object(command, "NfsRequests", Requests),
    ):
        yield kernel


def calibrated_in(folder: Path, region: Region, clock: MeteredClock, *flags: str) -> Answer:
    """The answer of `fss-exporter calibrate` in a folder: the JSON document."""
    keys = folder / "keys"
    keys.mkdir()
    credentials = region.account.write_config(keys, region.tenancy.region)
    account = ("--oci.endpoint", region.url, "--oci.config-file", str(credentials))
    with kernel_of(folder, region, clock) as kernel:
        counters = ("--path.procfs", str(kernel.procfs), "--nfs.exact=off")
        return ask("calibrate", str(kernel.mount), *account, *counters, "--output=json", *flags)


def is_inside(row: Mapping[str, Any], truth: float) -> bool:
    """Whether the cost of a row of the document is inside the stated error. The document has four digits."""
    uncertainty: float = row["uncertainty"] * (row["io_operations_by_table"] or 1.0)
    measured: float = row["io_operations_measured"]
    return abs(measured - truth) <= uncertainty + 0.0002
