"""The true number of requests on one mount, by kind: from mountstats, and by size if exact mode counts sizes."""

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

from fss_exporter.calibrate.calibration_steps import NFSACL, CalibrationStep, kind_of
from fss_exporter.errors import SourceError, UsageError
from fss_exporter.model.cost_overrides import NLM
from fss_exporter.model.operations import BLOCK_BYTES, READ, WRITE, blocks
from fss_exporter.nfs.exact.size_counts import NO_TRANSFERS, ByAddressAndProcedure, Counts
from fss_exporter.nfs.superblocks import Reading, Superblock

_PAGE_BYTES: Final = 4096


class RequestCounts:
    """Requests of the superblock of a directory since the first look.

    `read` reads mountstats once. `counted` returns the counts of exact mode since the last look, if exact mode is on.

    Attributes:
        superblock: superblock at the last look.
        counts_calls: whether lock and ACL calls were counted at the last look.

    Raises:
        UsageError: the directory is not on an NFS mount.
    """

    def __init__(
        self, directory: Path, read: Callable[[], Reading], counted: Callable[[], Counts] | None = None
    ) -> None:
        device = directory.stat().st_dev
        self._number = f"{os.major(device)}:{os.minor(device)}"
        self._directory = directory
        self._read = read
        self._counted = counted
        self._totals: Counter[str] = Counter()
        self._is_ahead = False
        self.counts_calls = False
        self.superblock = self._find()

    def _find(self) -> Superblock:
        for one in self._read().superblocks:
            if one.number == self._number:
                return one
        raise UsageError(f"{self._directory}: not on an NFS mount that mountstats of this host shows")

    def look(self, step: CalibrationStep) -> dict[str, float]:
        """Requests by kind. READs and WRITEs without a counted size have the size of the step.

        Raises:
            SourceError: the mount is gone.
        """
        before = self.superblock.record.operations
        try:
            self.superblock = self._find()
        except UsageError as gone:
            raise SourceError(str(gone)) from gone
        counts = Counts() if self._counted is None else self._counted()
        sizes_known = self._number in counts.superblocks and counts.has_sizes and not self._is_ahead
        # Counts that come late contain an interval that mountstats has told already.
        self._is_ahead = counts.deferred
        for name, counters in self.superblock.record.operations.items():
            grown = counters.operations - (before[name].operations if name in before else 0)
            if name not in (READ, WRITE):
                self._totals[name] += grown
            elif sizes_known:
                self._add_sizes(step, name, counts)
            else:
                other = kind_of(name, _PAGE_BYTES)
                self._totals[step.name if name == step.operation else other] += grown
        self.counts_calls = counts.locks is not None and counts.acls is not None
        self._totals[NLM] += self._calls(counts.locks)
        self._totals[NFSACL] += self._calls(counts.acls)
        return dict(self._totals)

    def _add_sizes(self, step: CalibrationStep, name: str, counts: Counts) -> None:
        transfers = counts.transfers.get(name, {}).get(self._number, NO_TRANSFERS)
        for started, count in transfers.by_blocks.items():
            is_step = name == step.operation and started == blocks(step.size)
            self._totals[step.name if is_step else kind_of(name, started * BLOCK_BYTES)] += count

    def _calls(self, counted: ByAddressAndProcedure | None) -> int:
        address = self.superblock.key.address
        return sum(
            count for (of, procedure), count in (counted or {}).items() if of == address and procedure != "FREE_ALL"
        )
