"""Recordings of a real Linux 6.1 client with the kernel's own size tables, and what a packet capture says they cost.

One folder each: `looks.txt.gz` holds mountstats and the `hist` files about once a second, before and after the workload
too; `mountinfo.txt` the mounts, `clients.txt` the server address of each RPC client, `truth.json` what was on the wire.
"""

import gzip
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prometheus_client.core import Metric
from tests.fss_kernel_counting.kernel import ROOT, Playback

from fss_exporter.model.cost_overrides import NO_OVERRIDES
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.nfs.accounts import Accounts, EstimatedCosts
from fss_exporter.nfs.collector import Answer
from fss_exporter.nfs.mountinfo import parse_mountinfo
from fss_exporter.nfs.mountstats import parse_mountstats
from fss_exporter.nfs.superblocks import Reading, join
from fss_kernel_counting.sizes.counted_costs import CountedCosts, CountedTotals, counted_families
from fss_kernel_counting.sizes.size_reader import ExactReader
from fss_kernel_counting.tracefs import Sources

RECORDINGS = Path(__file__).parent / "fixtures" / "exact"


@dataclass(frozen=True)
class Look:
    """Mountstats and the `hist` files (by event) at one moment, epoch seconds."""

    at: float
    mountstats: str
    tables: Mapping[str, str]


@dataclass(frozen=True)
class ExactRecording:
    """One workload."""

    name: str
    kernel: str
    looks: tuple[Look, ...]
    mountinfo: str
    clients: Mapping[str, str]
    truth: Mapping[str, Any]

    @property
    def cost(self) -> dict[str, int]:
        """Cost on the wire by operation."""
        return {READ: self.truth["read_cost"], WRITE: self.truth["write_cost"]}

    def sysfs(self, root: Path) -> Path:
        """The RPC clients as sysfs has them, below a directory of the test."""
        for number, address in self.clients.items():
            folder = root / "kernel/sunrpc/rpc-clients" / f"clnt-{number}" / "switch" / "xprt-1-tcp"
            folder.mkdir(parents=True)
            (folder / "dstaddr").write_text(f"{address}\n")
        return root

    def accounts(self, sysfs: Path, *, exact: bool = True, looks: tuple[Look, ...] = ()) -> Accounts:
        """What the accounts make of it, look by look.

        Args:
            sysfs: with the RPC clients.
            exact: False to have it estimated.
            looks: some of them; all by default.
        """
        chosen = looks or self.looks
        # Setting up takes a second reading, after the triggers.
        remaining = iter((chosen[0], *chosen) if exact else chosen)
        kernel, mounts, at = Playback(), parse_mountinfo(self.mountinfo), [0.0]

        def read() -> Reading:
            look = next(remaining)
            kernel.now, at[0] = look.tables, look.at
            return join(parse_mountstats(look.mountstats), mounts)

        reader = ExactReader(read, Sources(tracefs=(ROOT,), sysfs=sysfs, files=kernel))
        accounts = Accounts(CountedCosts(reader) if exact else EstimatedCosts())
        for _ in chosen:
            accounts.apply(reader.read() if exact else read(), at[0])
        return accounts

    def counted(self, sysfs: Path) -> CountedTotals:
        """Everything the kernel counted, look by look."""
        return totals(self.accounts(sysfs))

    def families(self, sysfs: Path) -> list[Metric]:
        """The metric families of everything the kernel counted."""
        counted = self.counted(sysfs)
        return list(counted_families(counted, NO_OVERRIDES, Answer(mounts=counted.seconds)))


def totals(accounts: Accounts) -> CountedTotals:
    """What accounts in exact mode have counted beside the costs."""
    assert isinstance(accounts.costs, CountedCosts)
    return accounts.costs.totals


def cost(accounts: Accounts, operation: str) -> tuple[float, float, float]:
    """Lower bound, point and upper bound of an operation, all mounts together."""
    costs = [mount.operations[operation].cost or (0.0, 0.0, 0.0) for mount in accounts.mounts.values()]
    lower, point, upper = (sum(values) for values in zip(*costs, strict=True))
    return lower, point, upper


def load(folder: Path) -> ExactRecording:
    """One recording from its folder."""
    text = gzip.decompress((folder / "looks.txt.gz").read_bytes()).decode()
    clients = dict(line.split() for line in (folder / "clients.txt").read_text().splitlines())
    truth = json.loads((folder / "truth.json").read_text())
    mountinfo = (folder / "mountinfo.txt").read_text()
    return ExactRecording(folder.name, folder.parent.name, tuple(_looks(text)), mountinfo, clients, truth)


def load_all(root: Path = RECORDINGS) -> list[ExactRecording]:
    """Every recording below a directory, in the order of kernel and name."""
    return [load(path.parent) for path in sorted(root.glob("**/truth.json")) if (path.parent / "looks.txt.gz").exists()]


def _looks(text: str) -> Iterator[Look]:
    for part in text.split("@@ ")[1:]:
        stamp, _, body = part.partition("\n")
        mountstats, *tables = re.split(r"(?m)^## ", body)
        yield Look(
            float(stamp), mountstats, {event: hist for event, _, hist in (table.partition("\n") for table in tables)}
        )
