# SPDX-License-Identifier: Apache-2.0
"""The table of what can be left out: limits, filters, refusals and optional permissions, each with metric, finding and alert."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Final, Literal

from fss_exporter.samples import Labels, Samples
from fss_toolbox.doctor.findings import Finding, finding_of

# Findings that doctor has without the table.
_SAID_ANYWAY: Final = frozenset(
    (
        "exporter.failed-loop",
        "exporter.other-namespace",
        "exporter.sees-less",
        "exporter.sees-fewer-mounts",
        "exporter.idle-table",
        "exporter.left-out",
        "exporter.idle-part",
        "exporter.unknown-network",
    )
)

_OF_AGENTS: Final = "fss_nfs_superblocks"  # every agent that reads its host has it


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """One row of `left_out.toml`, whose beginning says what stands in it."""

    name: str
    of: Literal["poller", "agent", "both"]
    limit: str
    metric: str
    bites: Literal["above 0", "0", "present", "absent"]
    subject: tuple[str, ...]
    doctor: str
    alert: str = ""
    no_alert: str = ""
    where: Mapping[str, str] = field(default_factory=dict)

    def bitten(self, samples: Samples) -> Iterator[tuple[str, Labels, float]]:
        """Yield subject, labels and value of each sample that bites."""
        if self.bites == "absent":
            if any(samples.all(_OF_AGENTS)) and not any(samples.all(self.metric)):
                yield "", {}, 0.0
            return
        for labels, value in samples.all(self.metric):
            is_asked_for = all(labels.get(name) == wanted for name, wanted in self.where.items())
            if is_asked_for and (self.bites == "present" or (value > 0) is (self.bites == "above 0")):
                yield " ".join(labels[name] for name in self.subject), labels, value


@cache
def rows() -> tuple[LeftOut, ...]:
    """Return all rows of the table."""
    text = files(__package__).joinpath("left_out.toml").read_text(encoding="utf-8")
    return tuple(
        LeftOut(**{**row, "name": name, "subject": tuple(row["subject"])}) for name, row in tomllib.loads(text).items()
    )


def check_left_out(samples: Samples) -> Iterator[Finding]:
    """Yield a finding for each row of the table that bites, by the metrics of an exporter."""
    findings = (
        finding_of(row.doctor, subject, **{**labels, "count": value})
        for row in rows()
        if row.doctor not in _SAID_ANYWAY
        for subject, labels, value in row.bitten(samples)
    )
    yield from dict.fromkeys(findings)  # several samples, as of the mounts of an address, can say the same
