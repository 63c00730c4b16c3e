"""Recordings of a real Linux NFS client whose exact costs were taken from the packets.

One folder each: `before.txt`, `after.txt` and `snaps.txt.gz` hold mountstats (the last about once a second, each look
behind a line `@@ <epoch before the read> <epoch after it>`), `mountinfo*.txt` the mounts, `truth.json` what a capture of
the wire says the same workload cost. Kernels 6.1 (Debian 12) and 6.12 (Debian 13), emulated: counts and sizes mean
something, operations per second do not.
"""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fss_exporter.model.estimate import Bounds
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.nfs.accounts import Accounts
from fss_exporter.nfs.mountinfo import parse_mountinfo
from fss_exporter.nfs.mountstats import parse_mountstats
from fss_exporter.nfs.superblocks import Reading, join

RECORDINGS = Path(__file__).parent / "fixtures" / "recordings"

METADATA = "metadata"


@dataclass(frozen=True)
class Recording:
    """One workload: what the client's counters said, and what it really cost."""

    name: str
    kernel: str
    looks: tuple[tuple[float, str], ...]
    mountinfo: str
    truth: dict[str, Any]

    @property
    def exact(self) -> dict[str, int]:
        """Cost on the wire by kind, a READ by its requested size."""
        truth = self.truth
        return {READ: truth["read_cost_requested"], WRITE: truth["write_cost"], METADATA: truth["meta_cost"]}

    def readings(self) -> Iterator[tuple[float, Reading]]:
        """What a reader saw at each look, and when (epoch seconds)."""
        mounts = parse_mountinfo(self.mountinfo)
        for at, text in self.looks:
            yield at, join(parse_mountstats(text), mounts)

    def estimate(self) -> dict[str, Bounds]:
        """Estimated cost by kind, added up over all looks."""
        accounts = Accounts()
        for at, reading in self.readings():
            accounts.apply(reading, at)
        sums = {READ: [0.0] * 3, WRITE: [0.0] * 3, METADATA: [0.0] * 3}
        for mount in accounts.mounts.values():
            for name, totals in mount.operations.items():
                if totals.cost is not None:
                    kind = name if name in sums else METADATA
                    sums[kind] = [left + right for left, right in zip(sums[kind], totals.cost, strict=True)]
        return {kind: Bounds(*values) for kind, values in sums.items()}


def load(folder: Path) -> Recording:
    """One recording from its folder."""
    document = json.loads((folder / "truth.json").read_text())
    # Where the mounts changed under way there are two; the later one names the earlier mounts too.
    mountinfo = min(folder.glob("mountinfo*.txt")).read_text()
    looks = [
        (document["t_before"], (folder / "before.txt").read_text()),
        *_looks(gzip.decompress((folder / "snaps.txt.gz").read_bytes()).decode()),
        (document["t_after"], (folder / "after.txt").read_text()),
    ]
    return Recording(folder.name, folder.parent.name, tuple(looks), mountinfo, document["truth"])


def load_all(root: Path = RECORDINGS) -> list[Recording]:
    """Every recording below a directory, in the order of kernel and name."""
    return [load(path.parent) for path in sorted(root.glob("**/truth.json")) if (path.parent / "snaps.txt.gz").exists()]


def _looks(text: str) -> Iterator[tuple[float, str]]:
    for part in text.split("@@ ")[1:]:
        stamps, _, body = part.partition("\n")
        yield float(stamps.split()[0]), body
