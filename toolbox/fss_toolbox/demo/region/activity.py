# SPDX-License-Identifier: Apache-2.0
"""The requests of each export minute by minute: a demand that rises and falls on command, and ceilings that cut it."""

import threading
from collections.abc import Callable, Iterable
from functools import lru_cache
from math import inf, pi, sin
from zlib import crc32

from fss_toolbox.demo.region.demo_tenancy import Link, RequestMix, RequestRate, Tenancy


def chance(*parts: int) -> float:
    """Return a number in [0, 1) that depends only on the parts."""
    mixed = 0
    for part in parts:
        mixed = ((mixed ^ part) * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019) & 0xFFFF_FFFF_FFFF_FFFF
        mixed ^= mixed >> 29
    return ((mixed * 0xBF58476D1CE4E5B9 & 0xFFFF_FFFF_FFFF_FFFF) >> 11) / (1 << 53)


def wave(seed: int, minute: int) -> float:
    """Demand of a minute as a share of the average: a half-hour swing of 4 % with 1.5 % noise."""
    swing = sin(2 * pi * (minute / 30 + chance(seed)))
    return 1 + 0.04 * swing + 0.03 * (chance(seed, minute) - 0.5)


class Activity:
    """The requests of a tenancy. Deterministic: the same commands give the same minutes."""

    def __init__(self, tenancy: Tenancy) -> None:
        self.tenancy = tenancy
        self.mount_targets = {mount_target.id: mount_target for mount_target in tenancy.mount_targets}
        self.file_systems = {file_system.id: file_system for file_system in tenancy.file_systems}
        self.links_of: dict[str, list[Link]] = {mount_target_id: [] for mount_target_id in self.mount_targets}
        for link in tenancy.links:
            self.links_of[link.mount_target_id].append(link)
        self._seeds = {link.id: crc32(link.id.encode()) for link in tenancy.links}
        self._scales: dict[str, list[tuple[int, float]]] = {}
        self._moves: dict[str, list[tuple[int, Link, float]]] = {}  # by export: minute, other export, share of the load
        self._gone: dict[str, int] = {}
        self._charged: dict[tuple[str, int], list[RequestRate]] = {}
        self._lock = threading.Lock()
        self.pressure = lru_cache(maxsize=65536)(self._pressure)

    def scale(self, mount_target_id: str, factor: float, since_minute: int) -> None:
        """From a minute on, clients of a mount target ask `factor` times their usual requests."""
        if mount_target_id not in self.mount_targets:
            raise LookupError(f"no mount target {mount_target_id}")
        if not 0 <= factor <= 1000:
            raise ValueError(f"a load of {factor} times the usual is not between 0 and 1000")
        with self._lock:
            earlier = [step for step in self._scales.get(mount_target_id, []) if step[0] < since_minute]
            self._scales[mount_target_id] = [*earlier, (since_minute, factor)]
            self.pressure.cache_clear()

    def move(self, file_system_id: str, source_id: str, target_id: str, share: float, since_minute: int) -> None:
        """From a minute on, a share of the clients of a file system uses another mount target that exports it.

        Clients that have left cannot move again, so no more than the rest moves.

        Raises:
            LookupError: one of the mount targets does not export the file system.
            ValueError: the share is not between 0 and 1.
        """
        source, target = (self._link(mount_target_id, file_system_id) for mount_target_id in (source_id, target_id))
        if not 0 <= share <= 1:
            raise ValueError(f"a share of {share} is not between 0 and 1")
        with self._lock:
            moves = self._moves.setdefault(source.id, [])
            left = max(0.0, 1.0 - sum(earlier for _, _, earlier in moves))
            moves.append((since_minute, target, min(share, left)))
            self.pressure.cache_clear()

    def _link(self, mount_target_id: str, file_system_id: str) -> Link:
        links = self.links_of.get(mount_target_id, ())
        if link := next((link for link in links if link.file_system_id == file_system_id), None):
            return link
        raise LookupError(f"mount target {mount_target_id} does not export file system {file_system_id}")

    def _requests(self, link: Link, minute: int) -> list[tuple[RequestMix, float]]:
        """Return the requests that clients send to an export, each mix with its multiple of the average."""
        left = 1.0 - sum(share for since, _, share in self._moves.get(link.id, ()) if minute >= since)
        requests = [(link.requests, max(0.0, left) * self._demand(link, minute))]
        for source in self.tenancy.links if self._moves else ():
            for since, target, share in self._moves.get(source.id, ()):
                if target.id == link.id and minute >= since:
                    requests.append((source.requests, share * self._demand(source, minute)))
        return requests

    def charge(self, mount_target_id: str, minute: int, requests: RequestMix) -> None:
        """Add real requests to the first export of a mount target in one minute.

        Raises:
            LookupError: there is no such mount target, or it has no export.
        """
        link = next(iter(self.links_of.get(mount_target_id, ())), None)
        if link is None:
            raise LookupError(f"no mount target with an export: {mount_target_id}")
        with self._lock:
            self._charged.setdefault((link.id, minute), []).extend(requests.rates)

    def _real(self, link: Link, minute: int) -> RequestMix:
        with self._lock:
            return RequestMix(tuple(self._charged.get((link.id, minute), ())))

    def remove(self, resource_id: str, since_minute: int) -> None:
        """From a minute on, a resource is gone and publishes nothing."""
        with self._lock:
            self._gone.setdefault(resource_id, since_minute)
            self.pressure.cache_clear()

    def lives(self, resource_id: str, minute: float = inf) -> bool:
        """Return whether a resource exists in a minute. By default, whether it still exists."""
        return resource_id not in self._gone or minute < self._gone[resource_id]

    def rate(self, links: Iterable[Link], of: Callable[[RequestMix], float]) -> Callable[[int], float]:
        """Return amount per second of some exports together, by minute."""
        chosen = [(link, of(link.requests)) for link in links]

        def value(minute: int) -> float:
            total = sum(of(self._real(link, minute)) for link, _ in chosen) if self._charged else 0.0
            for link, average in chosen:
                asked = average * self._demand(link, minute)
                if self._moves:
                    asked = sum(of(mix) * demand for mix, demand in self._requests(link, minute))
                if asked:
                    total += asked * min(1.0, 1 / (self.pressure(link.mount_target_id, minute) or 1.0))
            return total

        return value

    def _demand(self, link: Link, minute: int) -> float:
        """Return the requests of an export as a multiple of the average."""
        if not (self.lives(link.mount_target_id, minute) and self.lives(link.file_system_id, minute)):
            return 0.0
        factor = 1.0
        for since, scaled in self._scales.get(link.mount_target_id, ()):
            factor = scaled if minute >= since else factor
        return factor * wave(self._seeds[link.id], minute)

    def _pressure(self, mount_target_id: str, minute: int) -> float:
        """Demand on a mount target over the lowest ceiling: 1 is full, above 1 requests queue."""
        asked = [pair for link in self.links_of[mount_target_id] for pair in self._requests(link, minute)]
        ceilings = self.mount_targets[mount_target_id].ceilings
        used: dict[str, float] = {
            name: sum(getattr(requests, name) * demand for requests, demand in asked) for name in ceilings
        }
        return max((used[name] / most for name, most in ceilings.items()), default=0.0)
