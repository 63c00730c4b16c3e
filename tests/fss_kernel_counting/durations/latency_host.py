"""A client whose calls both mountstats and the tables of durations see."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.fss_kernel_counting.host import Mount, reading_of
from tests.fss_kernel_counting.kernel import ROOT, Kernel

from fss_exporter.nfs.collector import Answer
from fss_exporter.nfs.superblocks import Reading
from fss_kernel_counting.durations.latency_reader import LatencyReader
from fss_kernel_counting.durations.request_durations import NO_REQUESTS, Requests
from fss_kernel_counting.tracefs import Sources

CALLS = "sunrpc/rpc_stats_latency"
BIRTHS = "sunrpc/rpc_clnt_new"
HERE = "10.0.0.3"


@dataclass(frozen=True)
class Call:
    client: int
    mount: Mount
    procedure: str = "READ"
    microseconds: int = 1000
    replied: bool = True


class LatencyHost:
    def __init__(
        self,
        sysfs: Path,
        *mounts: Mount,
        kernel: Kernel | None = None,
        rtt: bool = False,
        p99: Mapping[str, float] | None = None,
    ) -> None:
        self.kernel = kernel or Kernel()
        self.mounts = list(mounts)
        self.now = 0.0
        self.between: list[Call] = []
        self.sysfs = sysfs
        self.cpu_s = 0.0
        self.reader = LatencyReader(
            self._read,
            Sources(tracefs=(ROOT,), sysfs=sysfs, files=self.kernel),
            objectives=p99,
            rtt=rtt,
            clock=lambda: self.now,
            cpu_clock=lambda: self.cpu_s,
        )

    def born(self, client: int, address: str = HERE) -> None:
        """A new RPC client, seen by tracefs and listed by sysfs."""
        folder = self.sysfs / f"kernel/sunrpc/rpc-clients/clnt-{client}/switch/xprt-1-tcp"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "dstaddr").write_text(f"{address}\n")
        self.kernel.fire(BIRTHS, client_id=client, addr=address, program="nfs")

    def link(self, client: int, mount: Mount) -> None:
        """The link of newer kernels from a superblock to its client."""
        folder = self.sysfs / f"fs/nfs/0:{mount.number}"
        folder.mkdir(parents=True)
        (folder / "nfs_client").symlink_to(self.sysfs / f"kernel/sunrpc/rpc-clients/clnt-{client}")

    def unlink(self, mount: Mount) -> None:
        """The end of a superblock."""
        (self.sysfs / f"fs/nfs/0:{mount.number}/nfs_client").unlink()

    def call(self, made: Call) -> None:
        made.mount.operations[made.procedure] += 1
        self.trace(made.client, made.procedure, made.microseconds, made.replied)

    def calls(self, *calls: Call) -> None:
        for call in calls:
            self.call(call)

    def trace(self, client: int, procedure: str = "READ", microseconds: int = 1000, replied: bool = True) -> None:
        self.kernel.fire(
            CALLS,
            client_id=client,
            progname="nfs",
            procname=procedure,
            execute=microseconds,
            rtt=microseconds // 2 if replied else 0,
        )

    def tick(self, *between: Call) -> None:
        """Ten seconds later: one look. Calls `between` end after the first reading of mountstats and before the tables."""
        self.now += 10.0
        self.between = list(between)
        self.reader.loop.run_once()

    def requests(self, of_class: str = "read", address: str = HERE) -> Requests:
        return self.reader.totals.requests.get((address, of_class), NO_REQUESTS)

    @property
    def failed(self) -> Mapping[str, int]:
        return self.reader.totals.failed

    def series(self, name: str, **labels: str) -> list[float]:
        """Values of the series with these labels, as a server sees them."""
        addresses = {mount.address for mount in self.mounts}
        return [
            sample.value
            for family in self.reader.families(Answer(addresses=addresses, is_for_server=True))
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        ]

    def _read(self) -> Reading:
        reading = reading_of(self.mounts)
        between, self.between = self.between, []
        self.calls(*between)
        return reading


def ready(
    sysfs: Path, *mounts: Mount, kernel: Kernel | None = None, rtt: bool = False, p99: Mapping[str, float] | None = None
) -> LatencyHost:
    """A host with a client for each mount, numbered as the mount, whose triggers are set and whose first look is taken."""
    host = LatencyHost(sysfs, *(mounts or (Mount(40),)), kernel=kernel, rtt=rtt, p99=p99)
    for mount in host.mounts:
        host.born(mount.number, mount.address)
    host.tick()
    return host
