"""A client whose calls both mountstats and the kernel's tables see, and the cost that is the truth."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from prometheus_client.core import Metric
from tests.exposition_text import collected
from tests.fss_exporter.nfs.records import mountinfo, mountstats
from tests.fss_kernel_counting.kernel import ROOT, Kernel

from fss_exporter.addresses import NO_ADDRESSES, AddressMap
from fss_exporter.model.operations import READ, WRITE, read_io_operations, write_io_operations
from fss_exporter.nfs.accounts import Accounts
from fss_exporter.nfs.collector import NfsCollector
from fss_exporter.nfs.mountinfo import parse_mountinfo
from fss_exporter.nfs.mountstats import parse_mountstats
from fss_exporter.nfs.superblocks import Reading, join
from fss_kernel_counting.sizes.counted_costs import CountedCosts, CountedTotals
from fss_kernel_counting.sizes.size_counts import Counts
from fss_kernel_counting.sizes.size_reader import ExactReader
from fss_kernel_counting.tracefs import OF_SIZES, Sources

EVENTS = {READ: "nfs/nfs_readpage_done", WRITE: "nfs/nfs_writeback_done"}
REQUESTS = {READ: "nfs/nfs_initiate_read", WRITE: "nfs/nfs_initiate_write"}
KIB = 1024
SIZES = (1, 4 * KIB, 32 * KIB - 1, 32 * KIB, 32 * KIB + 1, 64 * KIB, 100_000, 1024 * KIB - 1, 1024 * KIB)
COST = {READ: read_io_operations, WRITE: write_io_operations}


@dataclass
class Mount:
    """One superblock: what mountstats counts of it."""

    number: int
    address: str = "10.0.0.3"
    visible: bool = True
    fstype: str = "nfs"
    age: int = 1000
    readable: bool = True
    operations: Counter[str] = field(default_factory=Counter)
    payload: Counter[str] = field(default_factory=Counter)
    resent: int = 0

    @property
    def device(self) -> str:
        return f"{self.address}:/export-{self.number}"

    @property
    def mount_point(self) -> str:
        return f"/mnt/{self.number}"


class Host:
    def __init__(
        self,
        *mounts: Mount,
        kernel: Kernel | None = None,
        sysfs: Path = Path("/nowhere"),
        address_map: AddressMap = NO_ADDRESSES,
    ) -> None:
        self.kernel = kernel or Kernel()
        self.mounts = {mount.number: mount for mount in mounts or (Mount(40),)}
        self.truth: Counter[str] = Counter()
        self.now = 0.0
        self.slip: list[tuple[int, str, int]] = []
        sources = Sources(tracefs=(ROOT,), sysfs=sysfs, files=self.kernel)
        self.reader = ExactReader(self._read, sources, address_map, clock=lambda: self.now)
        self.costs = CountedCosts(self.reader)
        self.accounts = Accounts(self.costs)

    def call(self, number: int, operation: str, size: int, carried: int | None = None) -> None:
        """One answered READ or WRITE."""
        payload = size if carried is None else carried
        mount = self.mounts[number]
        mount.operations[operation] += 1
        mount.payload[operation] += payload
        self.truth[operation] += COST[operation](size)
        self.kernel.fire(EVENTS[operation], dev=number, arg_count=size, res_count=payload)
        self.kernel.fire(REQUESTS[operation], dev=number, count=size)

    def late(self, number: int, operation: str, size: int) -> None:
        """One that is answered between the look at mountstats and that at the tables."""
        self.slip.append((number, operation, size))

    @property
    def totals(self) -> CountedTotals:
        """Everything counted."""
        return self.costs.totals

    def tick(self) -> Counts:
        """A second later: one look; what was counted since the last one."""
        self.now += 1.0
        for mount in self.mounts.values():
            mount.age += 1
        reading = self.reader.read()
        self.accounts.apply(reading, self.now)
        return self.reader.counts

    def cost(self, operation: str) -> tuple[float, float, float]:
        """Bounds and point, all mounts together: lower, point, upper."""
        costs = [mount.operations[operation].cost or (0.0, 0.0, 0.0) for mount in self.accounts.mounts.values()]
        lower, point, upper = (sum(values) for values in zip(*costs, strict=True))
        return lower, point, upper

    def families(self, collector: NfsCollector) -> list[Metric]:
        """One answer to a scrape: the families of the NFS collector and those of exact mode."""
        return [*collected(collector), *self.costs.families(collector.answer)]

    @property
    def failed(self) -> Counter[str]:
        return self.totals.failed

    def _read(self) -> Reading:
        reading = reading_of(self.mounts.values())
        slip, self.slip = self.slip, []
        for number, operation, size in slip:
            self.call(number, operation, size)
        return reading


def reading_of(mounts: Iterable[Mount]) -> Reading:
    """Mountstats and mountinfo with the visible mounts."""
    visible = [mount for mount in mounts if mount.visible]
    info = "".join(
        mountinfo(
            superblock=f"0:{mount.number}",
            device=mount.device,
            mount_point=mount.mount_point,
            fstype=mount.fstype,
            address=mount.address,
        )
        for mount in visible
    )
    return join(parse_mountstats("".join(map(_record, visible))), parse_mountinfo(info))


def _record(mount: Mount) -> str:
    text = mountstats(
        mount.operations,
        device=mount.device,
        mount_point=mount.mount_point,
        fstype=mount.fstype,
        age=mount.age,
        read_bytes=mount.payload[READ],
        written_bytes=mount.payload[WRITE],
    )
    if mount.resent:
        count = mount.operations[READ]
        text = text.replace(f"        READ: {count} {count} ", f"        READ: {count} {count + mount.resent} ")
    return text if mount.readable else text.replace("age:\t", "age:\t?")


def exact(counts: Counts) -> frozenset[str]:
    """The superblocks whose READs and WRITEs were counted."""
    return counts.superblocks


def work(host: Host, number: int = 40) -> None:
    """READs and WRITEs of every size at which the cost takes a step."""
    for size in SIZES:
        host.call(number, READ, size)
        host.call(number, WRITE, size)


def ready(host: Host) -> Host:
    """A host whose triggers are set and whose first look is taken."""
    host.tick()
    assert host.kernel.instances.keys() == {OF_SIZES}
    return host


def assert_true_to_the_unit(host: Host) -> None:
    for operation in (READ, WRITE):
        assert host.cost(operation) == (host.truth[operation],) * 3
