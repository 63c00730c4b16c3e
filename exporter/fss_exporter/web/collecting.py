# SPDX-License-Identifier: Apache-2.0
"""Combine several collectors into a single collector that cannot fail. A failing collector does not affect the others."""

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from typing import Final, Protocol

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from fss_exporter import REVISION, __version__
from fss_exporter.background import Heartbeat, Worker
from fss_exporter.catalogue import PreparedFamily, family
from fss_exporter.errors import FssError
from fss_exporter.log_once import LogOnce

_LOG = logging.getLogger(__name__)

_BY_COLLECTOR: Final = ("collector",)


# A collection takes less than a second. A longer one hangs, because a loop keeps what the collection needs.
_LONGEST_SECONDS = 10.0


class Turns:
    """Collect for several purposes, one after the other. Knows a collection that hangs."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._lock = threading.Lock()
        self._clock = clock
        self._began: float | None = None

    def collect(self, collector: Collector) -> list[Metric]:
        """Collect all families, of a registry for example."""
        with self._lock:
            self._began = self._clock()
            try:
                return list(collector.collect())
            finally:
                self._began = None

    def stalled(self) -> tuple[str, ...]:
        """Return a part of a sentence about a collection that hangs."""
        began = self._began
        seconds = 0.0 if began is None else self._clock() - began
        return (f"a scrape hangs for {seconds:.0f} s",) if seconds > _LONGEST_SECONDS else ()


class Source(Collector, Protocol):
    """A collector that reads its source in the background and knows whether the last reading worked.

    Collecting returns families from the last reading, and touches neither file nor network.
    """

    @property
    def success(self) -> bool | None:
        """Whether the last attempt to read the source worked. None if there is nothing to read now."""

    @property
    def duration_seconds(self) -> float:
        """How long the last attempt took."""


class Collectors(Collector):
    """The collector of all sources in a registry. Report for each source whether it works, and the time of the last reading.

    A source with nothing to read, such as a poller that stands by, has no `fss_collector_success`, and no loop that is switched
    off has one. A source or loop whose first round runs has `fss_collector_starting` in its place, until the round ends or stalls.

    A collector that raises keeps the completed families, gets `fss_collector_success` 0 and costs the others nothing. The log
    has the first failure and the recovery, and no repetition.

    Args:
        sources: by the value of the `collector` label.
        loops: the background loops, in the order of the output.
        clock: seconds that never go back, as of the loops.
        last_reload: whether the last reload was successful. None for an exporter that does not reload.
    """

    def __init__(
        self,
        sources: Mapping[str, Source],
        loops: Sequence[Worker] = (),
        clock: Callable[[], float] = time.monotonic,
        last_reload: Callable[[], bool] | None = None,
    ) -> None:
        self._sources = sources
        self._loops = loops
        self._clock = clock
        self._last_reload = last_reload
        self._log_once = LogOnce(_LOG, clock=clock)

    def collect(self) -> Iterator[Metric]:
        """Return all families of all sources, then the result of each source, then the version."""
        beats = [loop.heartbeat for loop in self._loops]
        stalled = self._stalled(beats)
        starting = {beat.collector for beat in beats if beat.is_starting and not beat.is_off} - stalled
        success: dict[str, bool] = {}
        seconds: dict[str, float] = {}
        shared = {made.name: made for made in (family("fss_coverage_expected"), family("fss_coverage_seen"))}
        for name, source in self._sources.items():
            families, collected = self._attempt(name, source)
            worked = source.success
            if collected and not worked and any(loop.partition("/")[0] == name for loop in starting):
                starting.add(name)
            elif worked is not None or not collected:
                success[name] = bool(collected and worked and name not in stalled)
            if name not in starting:
                seconds[name] = source.duration_seconds
            for figures in families:
                if isinstance(figures, PreparedFamily) and figures.name in shared:
                    shared[figures.name].extend(figures)  # a family stands once, and agent and poller both have a part
                else:
                    yield figures
        # A loop without families is, for example, the watcher of the web configuration.
        alone = [beat for beat in beats if beat.collector not in self._sources]
        success |= {
            beat.collector: beat.success and beat.collector not in stalled
            for beat in alone
            if beat.collector in stalled or not (beat.is_off or beat.collector in starting)
        }
        yield from (joined for joined in shared.values() if joined.values)
        succeeded = (((name,), float(worked)) for name, worked in success.items())
        yield family("fss_collector_success", succeeded, labels=_BY_COLLECTOR)
        if starting:
            yield family("fss_collector_starting", (((name,), 1.0) for name in sorted(starting)), labels=_BY_COLLECTOR)
        durations = (((name,), value) for name, value in seconds.items())
        yield family("fss_collector_duration_seconds", durations, labels=_BY_COLLECTOR)
        yield from _of_loops(beats)
        if self._last_reload is not None:
            yield family("fss_exporter_config_last_reload_successful", [((), float(self._last_reload()))])
        running = {
            "version": __version__,
            "revision": REVISION,
            "python_version": ".".join(map(str, sys.version_info[:3])),
        }
        yield family("fss_exporter_build_info", [([*running.values()], 1.0)], labels=[*running])

    def _stalled(self, beats: Iterable[Heartbeat]) -> AbstractSet[str]:
        """Return the names of the stalled loops. Log the begin and the end of each stall."""
        now, stalled = self._clock(), set()
        for beat in beats:
            if stall := beat.stall(now):
                stalled.add(beat.collector)
                self._log_once.failed(f"stalled {beat.collector}", stall, level=logging.ERROR)
            else:
                self._log_once.works(f"stalled {beat.collector}", f"loop {beat.collector} ends rounds again")
        return stalled

    def _attempt(self, name: str, source: Source) -> tuple[list[Metric], bool]:
        families: list[Metric] = []
        try:
            for collected in source.collect():
                families.append(collected)  # noqa: PERF402  # list() would lose all families to the last one's failure
        except BaseException as failure:  # noqa: BLE001  # any error costs this collector only, SystemExit too
            is_expected = isinstance(failure, FssError)
            message = f"collector {name} failed: {failure if is_expected else repr(failure)}"
            self._log_once.failed(name, message, level=logging.ERROR, error=None if is_expected else failure)
            return families, False
        self._log_once.works(name, f"collector {name} works again")
        return families, True


def _of_loops(beats: Sequence[Heartbeat]) -> Iterator[Metric]:
    errors = (((beat.collector,), beat.errors) for beat in beats)
    yield family("fss_collector_errors_total", errors, labels=_BY_COLLECTOR)
    times = (((beat.collector,), beat.last_success_timestamp) for beat in beats)
    last = ((labels, timestamp) for labels, timestamp in times if timestamp is not None)
    yield family("fss_collector_last_success_timestamp_seconds", last, labels=_BY_COLLECTOR)
    slowed = [((beat.collector,), beat.slowed_seconds) for beat in beats if beat.slowed_seconds is not None]
    if slowed:
        yield family("fss_collector_slowed_seconds", slowed, labels=_BY_COLLECTOR)
