"""What the alarms of the pack are about: kinds of ceilings, latency objectives, replications, and how texts spell them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from fss_exporter.model.limits import Limits

Kind = Literal["iops", "read_bytes_per_second", "write_bytes_per_second", "connections"]


@dataclass(frozen=True, slots=True)
class Ceiling:
    """One kind of ceiling and the alarm of the pack that watches it.

    Attributes:
        kind: the field of `Limits`.
        stem: what the keys of its alarms begin with.
        key: key of the pack's alarm for the standard shape, the model for every other.
    """

    kind: Kind
    stem: str
    key: str

    @property
    def per_shape(self) -> bool:
        """Whether shapes differ in it, as published."""
        return self.key != self.stem

    def of(self, limits: Limits) -> float | None:
        """This ceiling among all of a mount target."""
        value: float | None = getattr(limits, self.kind)
        return value

    def spell(self, value: float) -> str:
        """A figure as the texts of the pack write it: `40,000 IOPS`, `800 MB/s`, `80,000 connections`."""
        if self.kind.endswith("bytes_per_second"):
            return f"{value / 1e6:,.12g} MB/s"
        return f"{value:,.12g} {'IOPS' if self.kind == 'iops' else 'connections'}"


CEILINGS: Final = (
    Ceiling("iops", "mount-target-iops", "mount-target-iops-standard"),
    Ceiling("read_bytes_per_second", "mount-target-read", "mount-target-read-standard"),
    Ceiling("write_bytes_per_second", "mount-target-write", "mount-target-write-standard"),
    Ceiling("connections", "mount-target-connections", "mount-target-connections"),
)

LATENCIES: Final[Mapping[str, tuple[str, str]]] = {
    "latency-metadata": ("metadata", ""),
    "latency-read-8k": ("read", "0B_to_8KiB"),
    "latency-read-64k": ("read", "8KiB_to_64KiB"),
    "latency-read-1m": ("read", "64KiB_to_1MiB"),
    "latency-write-8k": ("write", "0B_to_8KiB"),
    "latency-write-64k": ("write", "8KiB_to_64KiB"),
    "latency-write-1m": ("write", "64KiB_to_1MiB"),
}
"""Key of the alarm to kind and size of its objective."""


REPLICATION: Final = "replication-age"
"""Key of the alarm on replications of the default interval, the model for every other."""


def spell_latency(seconds: float) -> str:
    """An objective as the texts of the pack write it: `8 ms`."""
    return f"{seconds * 1000:.12g} ms"


def spell_interval(seconds: float) -> str:
    """An age as the text of the pack writes it: `120 minutes`."""
    return f"{seconds / 60:.12g} minutes"
