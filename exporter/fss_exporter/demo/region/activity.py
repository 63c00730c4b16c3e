"""Who gets how much in which minute: demand that rises and falls on command, and mount targets that cannot give more."""

import threading
from dataclasses import dataclass
from functools import lru_cache
from zlib import crc32

from fss_exporter.demo.region.tenancy import FileSystem, Link, Tenancy
from fss_exporter.demo.region.traffic import wave
from fss_exporter.model.limits import shape_of

_FOREVER = 1 << 62


@dataclass(frozen=True, slots=True)
class Service:
    """How a mount target serves its clients in one minute.

    Attributes:
        share: part of the demand it can serve, 1 while no ceiling is hit.
        pressure: demand over its lowest ceiling; 1 is full, above 1 requests queue.
    """

    share: float
    pressure: float


class Activity:
    """Traffic of a tenancy minute by minute. Deterministic: the same commands give the same minutes.

    Args:
        tenancy: what there is.
        seed: another seed, other noise.
    """

    def __init__(self, tenancy: Tenancy, seed: int = 0) -> None:
        self.tenancy = tenancy
        self.mount_targets = {mount_target.id: mount_target for mount_target in tenancy.mount_targets}
        self.file_systems: dict[str, FileSystem] = {file_system.id: file_system for file_system in tenancy.file_systems}
        self.links_of: dict[str, list[Link]] = {mount_target_id: [] for mount_target_id in self.mount_targets}
        for link in tenancy.links:
            self.links_of[link.mount_target_id].append(link)
        self._seeds = {link.export_id: crc32(link.export_id.encode()) ^ seed for link in tenancy.links}
        self._scales: dict[str, list[tuple[int, float]]] = {}
        self._gone: dict[str, int] = {}
        self._lock = threading.Lock()
        self.service = lru_cache(maxsize=65536)(self._service)

    def scale(self, mount_target_id: str, factor: float, since_minute: int) -> None:
        """From a minute on, clients of a mount target ask `factor` times their usual traffic."""
        if mount_target_id not in self.mount_targets:
            raise LookupError(f"no mount target {mount_target_id}")
        if not 0 <= factor <= 1000:
            raise ValueError(f"a load of {factor} times the usual is not between 0 and 1000")
        with self._lock:
            earlier = [step for step in self._scales.get(mount_target_id, []) if step[0] < since_minute]
            self._scales[mount_target_id] = [*earlier, (since_minute, factor)]
            self.service.cache_clear()

    def remove(self, resource_id: str, since_minute: int) -> None:
        """From a minute on, a resource is gone and publishes nothing."""
        with self._lock:
            self._gone.setdefault(resource_id, since_minute)
            self.service.cache_clear()

    def lives(self, resource_id: str, minute: int = _FOREVER) -> bool:
        """Whether a resource is there in a minute; by default, still."""
        return minute < self._gone.get(resource_id, _FOREVER + 1)

    def demand(self, link: Link, minute: int) -> float:
        """What is asked of a link, as a multiple of its average traffic."""
        if not (self.lives(link.mount_target_id, minute) and self.lives(link.file_system_id, minute)):
            return 0.0
        factor = 1.0
        for since, scaled in self._scales.get(link.mount_target_id, ()):
            factor = scaled if minute >= since else factor
        return factor * wave(self._seeds[link.export_id], minute)

    def served(self, link: Link, minute: int) -> float:
        """What a link is given, as a multiple of its average traffic."""
        return self.demand(link, minute) * self.service(link.mount_target_id, minute).share

    def _service(self, mount_target_id: str, minute: int) -> Service:
        limits = shape_of(self.mount_targets[mount_target_id].observed_gbps).limits
        links = [(link.traffic, self.demand(link, minute)) for link in self.links_of[mount_target_id]]
        asked = (
            (sum(traffic.io_operations * demand for traffic, demand in links), limits.iops),
            (sum(traffic.read_bytes * demand for traffic, demand in links), limits.read_bytes_per_second),
            (sum(traffic.written_bytes * demand for traffic, demand in links), limits.write_bytes_per_second),
        )
        pressure = max((demand / limit for demand, limit in asked if limit), default=0.0)
        return Service(share=min(1.0, 1 / pressure) if pressure else 1.0, pressure=pressure)
