"""Recordings of a real Linux NFS client whose exact costs were taken from the packets.

One folder each: `before.txt`, `after.txt` and `snaps.txt.gz` hold mountstats (the last about once a second, each look
behind a line `@@ <epoch before the read> <epoch after it>`), `mountinfo*.txt` the mounts, `truth.json` what a capture of
the wire says the same workload cost. Kernels 6.1 (Debian 12) and 6.12 (Debian 13), emulated: counts and sizes mean
something, operations per second do not.
"""

import gzip
import hashlib
import json
import lzma
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from fss_exporter.model.estimate import Bounds
from fss_exporter.model.operations import READ, WRITE
from fss_exporter.nfs.accounts import Accounts
from fss_exporter.nfs.mountinfo import parse_mountinfo
from fss_exporter.nfs.mountstats import MountstatsParser
from fss_exporter.nfs.superblocks import Reading, join

RECORDINGS = Path(__file__).parent / "fixtures" / "recordings"

METADATA = "metadata"


@dataclass(frozen=True, eq=False)  # one object for a recording, so that what was made of it is kept
class Recording:
    """One workload: what the client's counters said, and what it really cost."""

    name: str
    kernel: str
    looks: tuple[tuple[float, str], ...]
    mountinfo: str
    truth: dict[str, Any]
    kind: str = ""  # of workload, where it was drawn

    @property
    def exact(self) -> dict[str, int]:
        """Cost on the wire by kind, a READ by its requested size."""
        truth = self.truth
        return {READ: truth["read_cost_requested"], WRITE: truth["write_cost"], METADATA: truth["meta_cost"]}

    def readings(self) -> Iterator[tuple[float, Reading]]:
        """What a reader saw at each look, and when (epoch seconds)."""
        mounts, parser = parse_mountinfo(self.mountinfo), MountstatsParser()
        for at, text in self.looks:
            yield at, join(parser.parse(text.encode()), mounts)

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


class RecordingError(Exception):
    """A folder that cannot be read as a recording."""


def load(folder: Path) -> Recording:
    """One recording from its folder.

    Raises:
        RecordingError: a file is missing or is not what the layout says.
    """
    try:
        return _load(folder)
    except OSError as error:
        raise RecordingError(f"{folder}: {error.filename}: {error.strerror or error}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise RecordingError(f"{folder}: not a recording: {type(error).__name__}: {error}") from error


def _load(folder: Path) -> Recording:
    document = json.loads((folder / "truth.json").read_text())
    # Where the mounts changed under way there are two; the later one names the earlier mounts too.
    mounts = sorted(folder.glob("mountinfo*.txt"))
    if not mounts:
        raise RecordingError(f"{folder}: no mountinfo*.txt; copy /proc/self/mountinfo of the client there")
    mountinfo = mounts[0].read_text()
    looks = [
        (document["t_before"], (folder / "before.txt").read_text()),
        *_looks(gzip.decompress((folder / "snaps.txt.gz").read_bytes()).decode()),
        (document["t_after"], (folder / "after.txt").read_text()),
    ]
    return Recording(folder.name, folder.parent.name, tuple(looks), mountinfo, document["truth"])


@cache
def load_all(root: Path = RECORDINGS) -> list[Recording]:
    """Every recording below a directory, in the order of kernel and name, read once.

    Raises:
        RecordingError: the directory does not exist, or holds no recording.
    """
    if not root.is_dir():
        raise RecordingError(f"{root}: no such directory")
    # os.walk follows the links that glob skips.
    folders = sorted(
        Path(at) for at, _, names in os.walk(root, followlinks=True) if {"truth.json", "snaps.txt.gz"} <= {*names}
    )
    if not folders:
        raise RecordingError(f"{root}: no recording: a folder with truth.json and snaps.txt.gz for each")
    return [load(folder) for folder in folders]


PACKED_KERNEL = "6.12"


def load_live() -> list[Recording]:
    """Real programs on kernel 6.12. The rule for one odd size was chosen with them. See fixtures/live-6.12.md."""
    return _packed("live-6.12.json.xz")


def load_repeated() -> list[Recording]:
    """Workloads of the tuning set on another kernel. See fixtures/other-6.12.md."""
    chosen = {recording.name for recording in load_all()}
    return [recording for recording in _packed("other-6.12.json.xz") if recording.name in chosen]


def load_older() -> list[Recording]:
    """Other workloads, which had no part in the choice of the rule. See fixtures/other-6.12.md."""
    chosen = {recording.name for recording in load_all()}
    return [recording for recording in _packed("other-6.12.json.xz") if recording.name not in chosen]


UNSEEN = RECORDINGS.parent / "unseen-6.12.md"
_RULE = Path(__file__).parents[1] / "exporter/fss_exporter/model/estimate.py"


def load_unseen() -> list[Recording]:
    """Workloads drawn by chance and recorded after the rule was frozen. See fixtures/unseen-6.12.md."""
    return _packed("unseen-6.12.json.xz")


def is_frozen() -> bool:
    """Whether the rule is still the one that was frozen before the drawn workloads were recorded."""
    return hashlib.sha256(_RULE.read_bytes()).hexdigest() in UNSEEN.read_text()


@cache
def _packed(name: str) -> list[Recording]:
    entries = json.loads(lzma.decompress((RECORDINGS.parent / name).read_bytes()))
    return [
        Recording(
            entry["name"],
            PACKED_KERNEL,
            tuple((at, text) for at, text in entry["looks"]),
            entry["mountinfo"],
            entry["truth"],
            entry.get("kind", ""),
        )
        for entry in entries
    ]


def _looks(text: str) -> Iterator[tuple[float, str]]:
    for part in text.split("@@ ")[1:]:
        stamps, _, body = part.partition("\n")
        yield float(stamps.split()[0]), body
