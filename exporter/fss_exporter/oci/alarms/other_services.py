"""The alarms on ceilings of other storage services, fitted to the file systems and volumes that exist.

Their ceilings grow with the capacity, so there is one alarm for each ceiling that occurs. Reads and writes share a ceiling, and MQL
documents no sum of two metrics, so the queries climb it in quarters: three of reads and one of writes, two and two, and so on. What
fires is above the threshold, however `&&` and `||` bind; what is up to a quarter above it may be missed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from fss_exporter.model.service_table import SERVICES
from fss_exporter.model.thresholds import CRITICAL_RATIO, WARNING_RATIO
from fss_exporter.oci.alarms.fit import narrowed, rescale
from fss_exporter.oci.alarms.pack import Alarm
from fss_exporter.oci.oci_inventory import ServiceResource

STEPS: Final = (1.0, 0.75, 0.5, 0.25)
"""Parts of a threshold that one direction reaches, the other the rest."""

_WINDOW_SECONDS: Final = 300.0  # amounts are per interval, and the queries add up those of five minutes


@dataclass(frozen=True, slots=True)
class OtherCeiling:
    """One kind of ceiling and the alarm of the pack that watches it.

    Attributes:
        key: of the alarm, the model for every other ceiling.
        service: whose it is.
        kind: which ceiling.
        stated: the one the pack's file is made for, in base units.
    """

    key: str
    service: str
    kind: Literal["bytes_per_second", "iops", "capacity"]
    stated: float

    @property
    def ratios(self) -> tuple[float, ...]:
        """Shares of the ceiling that its queries compare with: the whole of what warns and of what is critical, then parts."""
        if self.kind == "capacity":
            return round(1 - WARNING_RATIO, 9), round(1 - CRITICAL_RATIO, 9)  # what is left
        return tuple(round(ratio * step, 9) for step in STEPS for ratio in (WARNING_RATIO, CRITICAL_RATIO))

    def of(self, one: ServiceResource) -> float | None:
        """This ceiling of a file system or volume; None where none is known."""
        if self.kind == "capacity":
            return one.capacity_bytes
        ceilings = SERVICES[one.service].ceilings(one.kind, one.capacity_bytes)
        return ceilings.iops if self.kind == "iops" else ceilings.bytes_per_second

    def compared(self, ceiling: float) -> float:
        """What the query compares with at the whole of the ceiling."""
        return ceiling if self.kind == "capacity" else ceiling * _WINDOW_SECONDS

    def spell(self, compared: float) -> str:
        """A figure of the query as the texts of the pack write it: `4,000 MB/s`, `20,000 IOPS`, `8,000 GB`."""
        if self.kind == "capacity":
            return f"{compared / 1e9:,.12g} GB"
        per_second = compared / _WINDOW_SECONDS
        return f"{per_second:,.12g} IOPS" if self.kind == "iops" else f"{per_second / 1e6:,.12g} MB/s"

    def fitted(self, model: Alarm, ceiling: float) -> Alarm:
        """The alarm for another ceiling."""
        old, new = self.compared(self.stated), self.compared(ceiling)
        return rescale(model, old=old, new=new, ratios=self.ratios, spell=self.spell)


OTHER_CEILINGS: Final = (
    OtherCeiling("lustre-bandwidth", "lustre", "bytes_per_second", 5e9),
    OtherCeiling("lustre-space", "lustre", "capacity", 40e12),
    OtherCeiling("volume-iops", "block-volume", "iops", 25_000.0),
    OtherCeiling("volume-bandwidth", "block-volume", "bytes_per_second", 480e6),
)
"""The files are made for 40 TB of Lustre at 125 MB/s per TB, and for volumes of 10 VPU/GB from 1 TB up."""


def of_other_services(models: Mapping[str, Alarm], stores: Sequence[ServiceResource]) -> Iterator[Alarm]:
    """The alarms there should be for what exists; each names its file systems or volumes, because the next may be larger."""
    for ceiling in OTHER_CEILINGS:
        if ceiling.key in models:
            yield from _of(ceiling, models[ceiling.key], stores)


def _of(ceiling: OtherCeiling, model: Alarm, stores: Sequence[ServiceResource]) -> Iterator[Alarm]:
    by_value: dict[float, list[str]] = {}
    for one in stores:
        value = ceiling.of(one) if one.service == ceiling.service else None
        if value is not None:
            by_value.setdefault(value, []).append(one.id)
    for value, ocids in sorted(by_value.items()):
        key = ceiling.key if value == ceiling.stated else f"{ceiling.key}-{value:.0f}"
        yield from narrowed(ceiling.fitted(model, value), key, sorted(ocids))
