"""Minutes of series, as Prometheus would have scraped them: mount targets, clients and pollers, for promtool's unit tests.

Each part takes functions of the minute. A value of None is a missing sample. Incidents begin at minute `START`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

START = 30
"""Minute at which an incident begins; everything is well before."""

OfMinute = Callable[[int], float | None]
Value = float | None | OfMinute

CLASSES = ("read", "write", "metadata_read", "metadata_write")
_SIZE = "8KiB_to_64KiB"
_MONITORED = (
    "MountTargetIOPS MountTargetConnections MountTargetReadThroughput MountTargetWriteThroughput MountTargetHealth "
    "FileSystemReadRequestsbySize FileSystemWriteRequestsbySize MetadataIOPS MetadataRequestAverageLatency"
).split()


def after(value: float | None, before: float | None = 0.0, *, start: int = START, minutes: int = 10**6) -> OfMinute:
    """`before`, then `value` for so many minutes from the start of the incident, then `before` again."""
    return lambda minute: value if start <= minute < start + minutes else before


def at(value: Value, minute: int) -> float | None:
    """The value in a minute."""
    return value(minute) if callable(value) else value


@dataclass
class World:
    """All series of a test.

    Attributes:
        minutes: how many minutes there are.
        step: minutes between two samples; more than one for tests of weeks.
        seconds: between two samples, where `step` is 1.
        evaluated: seconds between two evaluations of the rules, where `step` is 1.
        stale: whether Prometheus marks a series that ends, as it does when a scrape fails. Without, Prometheus itself was away.
    """

    minutes: int = START + 30
    step: int = 1
    stale: bool = True
    seconds: int = 60
    evaluated: int = 60
    series: dict[str, list[float | None]] = field(default_factory=dict)

    def add(self, name: str, labels: Mapping[str, object], value: Value) -> None:
        """A gauge."""
        text = ",".join(f'{label}="{text}"' for label, text in labels.items() if text != "")
        self.series[f"{name}{{{text}}}"] = [at(value, minute) for minute in self._grid()]

    def count(self, name: str, labels: Mapping[str, object], per_second: Value, scraped: Value = 1) -> None:
        """A counter that grows by a rate a second; missing where `scraped` is None."""
        total, values = 0.0, []
        for minute in self._grid():
            values.append(total if at(scraped, minute) is not None else None)
            total += (at(per_second, minute) or 0.0) * 60 * self.step
        text = ",".join(f'{label}="{text}"' for label, text in labels.items() if text != "")
        self.series[f"{name}{{{text}}}"] = values

    def inputs(self) -> list[dict[str, str]]:
        """The series in promtool's form."""
        return [{"series": name, "values": " ".join(self._written(values))} for name, values in self.series.items()]

    def halved(self) -> "World":
        """The same with twice the samples. A value between two samples is their mean for a counter, else the earlier one."""
        self.seconds //= 2
        for name, values in self.series.items():
            later = [*values[1:], None]
            between = [
                (a + b) / 2 if "_total{" in name and a is not None and b is not None else a
                for a, b in zip(values, later, strict=True)
            ]
            self.series[name] = [value for pair in zip(values, between, strict=True) for value in pair]
        return self

    def _written(self, values: list[float | None]) -> list[str]:
        gone = "stale" if self.stale else "_"
        return [
            f"{value:.10g}" if value is not None else gone if before is not None else "_"
            for before, value in zip([None, *values], values, strict=False)
        ]

    def _grid(self) -> range:
        return range(0, self.minutes + 1, self.step)


@dataclass
class Poller:
    """A poller of one region.

    Attributes:
        scraped: None where Prometheus has no series of it; `up` stays 0 there unless it is `gone` from discovery.
        arrived: newest minute of OCI's data that is known in a minute.
        clock: seconds its clock is ahead.
        failing: metrics whose queries fail, by minute.
        silent: metrics that OCI stops publishing at the start of the incident.
    """

    world: World
    region: str = "eu-1"
    instance: str = "poller-1:10949"
    job: str = "fss"
    scraped: Value = 1
    gone: bool = False
    arrived: Callable[[int], int] = lambda minute: minute - 1
    clock: Value = 0
    failing: Callable[[int], Iterable[str]] = lambda _: ()
    silent: tuple[str, ...] = ()
    polled: OfMinute = lambda minute: minute

    @property
    def labels(self) -> dict[str, object]:
        return {"job": self.job, "instance": self.instance}

    def there(self, value: Value) -> OfMinute:
        """A value where the poller is scraped."""
        return lambda minute: at(value, minute) if at(self.scraped, minute) is not None else None

    def add(self) -> "Poller":
        """Add what the poller exports about itself."""
        world, labels = self.world, self.labels
        world.add(
            "up", labels, lambda minute: 1 if at(self.scraped, minute) is not None else (None if self.gone else 0)
        )
        world.add("fss_exporter_build_info", {**labels, "version": "1"}, self.there(1))
        own = {**labels, "region": self.region}
        world.add(
            "fss_oci_poll_timestamp_seconds",
            own,
            self.there(lambda minute: (at(self.polled, minute) or 0) * 60 + (at(self.clock, minute) or 0)),
        )
        for metric in _MONITORED:
            named = {**own, "oci_metric": metric}
            world.add("fss_oci_datapoint_age_seconds", named, self.there(partial(self._age, metric)))
            world.add("fss_oci_metric_success", named, self.there(partial(self._answered, metric)))
        for call in ("ListMountTargets", "ListExports"):
            world.add("fss_oci_inventory_success", {**own, "operation": call}, self.there(1))
        world.add("fss_collector_success", {**labels, "collector": "oci"}, self.there(1))
        return self

    def _age(self, metric: str, minute: int) -> float:
        newest = min(self.arrived(minute), START) if metric in self.silent else self.arrived(minute)
        return (minute - newest) * 60 + (at(self.clock, minute) or 0)

    def _answered(self, metric: str, minute: int) -> float:
        return float(metric not in self.failing(minute))


@dataclass
class MountTarget:
    """A mount target as a poller exports it: `iops`, bytes and requests a second, latencies in seconds.

    `shares` are file systems by name with their share of the requests, `slow` latencies of single file systems.
    """

    poller: Poller
    name: str = "mt-a"
    address: str = "10.0.0.1"
    iops: Value = 5000
    read_bytes: Value = 1e8
    write_bytes: Value = 1e8
    connections: Value = 200
    success: Value = 1.0
    requests: Value = 300
    latency: Value = 0.004
    state: str | Callable[[int], str] = "ACTIVE"
    limit: float = 50_000
    known: Value = 1
    oci_id: str = ""
    file_systems: Mapping[str, float] = field(default_factory=lambda: {"fs-1": 1.0})
    slow: Mapping[str, Value] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return self.oci_id or f"ocid1.mounttarget.{self.name}"

    def add(self) -> "MountTarget":
        """Add all series of the mount target."""
        poller, world = self.poller, self.poller.world
        labels = {**poller.labels, "region": poller.region, "mount_target_id": self.key, "mount_target": self.name}

        def newest(value: Value) -> OfMinute:
            return poller.there(
                lambda minute: at(value, poller.arrived(minute)) if at(self.known, minute) is not None else None
            )

        def there(value: Value) -> OfMinute:
            return poller.there(lambda minute: at(value, minute) if at(self.known, minute) is not None else None)

        for state in ("ACTIVE", "FAILED"):
            now = {**labels, "address": self.address, "state": state}
            world.add("fss_mount_target_info", now, poller.there(partial(self._in_state, state)))
        for name, ceiling in (
            ("iops", self.limit),
            ("read_bytes_per_second", 1e9),
            ("write_bytes_per_second", 1e9),
            ("connections", 1e5),
        ):
            world.add(f"fss_mount_target_{name}_limit", labels, there(ceiling))
        for gauge, counter, value in (
            ("iops", "io_operations", self.iops),
            ("read_bytes_per_second", "read_bytes", self.read_bytes),
            ("write_bytes_per_second", "written_bytes", self.write_bytes),
        ):
            world.add(f"fss_mount_target_{gauge}", labels, newest(value))
            world.add(f"fss_mount_target_{counter}_total", labels, self._counted(value))
        world.add("fss_mount_target_connections", labels, newest(self.connections))
        world.add("fss_mount_target_success_ratio", labels, newest(self.success))
        for file_system, share in self.file_systems.items():
            self._file_system(
                {**labels, "file_system_id": file_system, "file_system": file_system}, file_system, share, newest
            )
        return self

    def _in_state(self, state: str, minute: int) -> float | None:
        now = self.state(minute) if callable(self.state) else self.state
        return 1 if now == state and at(self.known, minute) is not None else None

    def _counted(self, value: Value) -> OfMinute:
        arrived, there = self.poller.arrived, self.poller.there
        return there(
            lambda minute: (
                sum((at(value, one) or 0.0) * 60 for one in range(max(0, arrived(minute) + 1)))
                if at(self.known, minute) is not None
                else None
            )
        )

    def _file_system(
        self, labels: dict[str, object], name: str, share: float, newest: Callable[[Value], OfMinute]
    ) -> None:
        world, latency = self.poller.world, self.slow.get(name, self.latency)
        part = newest(lambda minute: (at(self.requests, minute) or 0.0) * share / 3)
        for kind in ("read", "write"):
            sized = {**labels, "size": _SIZE}
            world.add(f"fss_file_system_{kind}_requests_per_second", sized, part)
            world.add(f"fss_file_system_{kind}_latency_seconds", sized, newest(latency))
        metadata = {**labels, "operation": "GETATTR"}
        world.add("fss_file_system_metadata_operations_per_second", metadata, part)
        world.add("fss_file_system_metadata_latency_seconds", metadata, newest(latency))


@dataclass
class Client:
    """A client that an agent reports: operations a second of each class, seconds of round trip, faults.

    `unanswered` is how long it has waited, in seconds. `every` is the number of minutes between two scrapes. Agents before 0.3
    count operations and costs by mount and class alone.
    """

    world: World
    name: str = "web-1"
    address: str = "10.0.0.1"
    job: str = "fss"
    service: str = "oci-fss"
    operations: Value = 50
    rtt: Value = 0.003
    retransmitted: Value = 0
    failing: Value = 0
    unanswered: Value = 0
    scraped: Value = 1
    gone: bool = False
    every: int = 1
    size: float = 32_768
    iops: Value | None = None
    version: str = "0.4.0"

    def add(self) -> "Client":
        """Add all series of the agent on the client."""
        world, labels = self.world, {"job": self.job, "instance": f"{self.name}:10949"}
        world.stale = world.stale and self.every == 1  # A minute without a scrape ends no series.
        there = self.there
        world.add(
            "up",
            labels,
            lambda m: (
                None if m % self.every else (1 if at(self.scraped, m) is not None else (None if self.gone else 0))
            ),
        )
        world.add("fss_exporter_build_info", {**labels, "version": self.version}, there(1))
        world.add("fss_collector_success", {**labels, "collector": "nfs"}, there(1))
        world.add("fss_client_unanswered_seconds", {**labels, "address": self.address}, there(self.unanswered))
        mount = {**labels, "address": self.address, "server": self.address, "export": "/data", "service": self.service}
        for kind in CLASSES:
            self._class({**mount, "class": kind})
        if not self.older():
            self._at_address({**labels, "address": self.address})
        for name in ("read", "written"):
            world.count(
                f"fss_client_{name}_bytes_total", mount, lambda m: (at(self.operations, m) or 0) * self.size, there(1)
            )
        world.count("fss_client_unexpected_errors_total", mount, self.failing, there(1))
        return self

    def older(self) -> bool:
        """Whether the agent lacks the counters that 0.3 introduced."""
        return self.version < "0.3"

    def there(self, value: Value) -> OfMinute:
        """A value where and when the client is scraped."""
        return lambda m: at(value, m) if at(self.scraped, m) is not None and not m % self.every else None

    def _at_address(self, labels: dict[str, object]) -> None:
        counted = self.world.count
        counted(
            "fss_client_address_requests_total",
            labels,
            lambda m: len(CLASSES) * (at(self.operations, m) or 0),
            self.there(1),
        )
        if self.service == "oci-fss":
            counted("fss_client_address_estimated_io_operations_total", labels, self._cost, self.there(1))

    def _class(self, labels: dict[str, object]) -> None:
        world, there = self.world, self.there(1)
        rate = self.operations
        if self.older():
            operation = {"metadata_read": "GETATTR", "metadata_write": "CREATE"}.get(str(labels["class"]), "")
            operation = operation or str(labels["class"]).upper()
            world.count("fss_client_operations_total", {**labels, "operation": operation}, rate, there)
        else:
            world.count("fss_client_requests_total", labels, rate, there)
        if self.service == "oci-fss":
            cost = "fss_client_estimated_io_operations_total"
            world.count(cost, labels, lambda m: self._cost(m) / len(CLASSES), there)
        world.count(
            "fss_client_rtt_seconds_total", labels, lambda m: (at(rate, m) or 0) * (at(self.rtt, m) or 0), there
        )
        if labels["class"] == "read":
            world.count("fss_client_retransmissions_total", labels, self.retransmitted, there)

    def _cost(self, minute: int) -> float:
        """I/O operations a second of all classes."""
        if self.iops is not None:
            return at(self.iops, minute) or 0
        return len(CLASSES) * 2 * (at(self.operations, minute) or 0)
