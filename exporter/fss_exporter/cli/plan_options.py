"""The flags of `plan` as they belong together."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from fss_exporter import units
from fss_exporter.errors import UsageError
from fss_exporter.model.capacity import Clients

_RECORDED = "--mountstats, --scrapes or --prometheus"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The flags of `plan`; rates per second, sizes in bytes, times in seconds."""

    reads: float | None
    read_bandwidth: float | None
    read_size: int | None
    writes: float | None
    write_bandwidth: float | None
    write_size: int | None
    operations: Mapping[str, float]
    mountstats: tuple[Path, Path] | None
    mountinfo: tuple[Path, ...]
    seconds: float | None
    scrapes: tuple[Path, Path] | None
    prometheus: str | None
    address: str | None
    concurrency: float | None
    latency: float | None
    clients: int | None
    nconnect: int
    client_bandwidth: float | None
    network_rtt: float | None
    tcp_window: int
    target: float
    changes: tuple[str, ...]
    volumes: int | None
    server_network: float | None
    config_file: Path | None

    @property
    def has_rates(self) -> bool:
        """Whether a rate is stated."""
        rates = (self.reads, self.read_bandwidth, self.writes, self.write_bandwidth)
        return bool(self.operations) or any(rate is not None for rate in rates)

    @property
    def is_stated(self) -> bool:
        """Whether the workload is stated in flags."""
        return self.has_rates or self.read_size is not None or self.write_size is not None

    @property
    def brought(self) -> Clients:
        """What the clients bring along."""
        return Clients(
            count=self.clients,
            nconnect=self.nconnect,
            concurrency=self.concurrency,
            latency_seconds=self.latency,
            bandwidth=self.client_bandwidth,
            network_rtt_seconds=self.network_rtt,
            window_bytes=self.tcp_window,
        )


def operations_of(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> dict[str, float]:
    """Rates by operation of `NAME=RATE`, for click."""
    found: dict[str, float] = {}
    for value in values:
        name, equals, per_second = value.partition("=")
        if not equals:
            raise click.BadParameter(f"{value!r}: write it like GETATTR=5000")
        found[name.upper()] = found.get(name.upper(), 0.0) + units.rate(per_second)
    return found


def check(options: Options) -> None:
    """Whether the flags fit together.

    Raises:
        UsageError: they do not.
    """
    recorded = (options.mountstats is not None, options.scrapes is not None, options.prometheus is not None)
    if not options.is_stated and not any(recorded):
        raise UsageError(f"no workload: give rates such as --reads 5000 --read-size 32k, {_RECORDED}")
    if options.is_stated + sum(recorded) > 1:
        raise UsageError(f"more than one workload: give rates, {_RECORDED}")
    if options.mountstats is None and options.mountinfo:
        raise UsageError("--mountinfo goes with --mountstats")
    if options.mountstats is None and options.scrapes is None and options.seconds is not None:
        raise UsageError("--seconds goes with --mountstats or --scrapes")
    if options.is_stated and options.address is not None:
        raise UsageError(f"--address goes with a recorded load: {_RECORDED}")
    if options.reads is not None and options.read_bandwidth is not None:
        raise UsageError("--reads and --read-bandwidth both state the reads: give one")
    if options.writes is not None and options.write_bandwidth is not None:
        raise UsageError("--writes and --write-bandwidth both state the writes: give one")
    if options.volumes is not None and options.server_network is None:
        raise UsageError("--volumes and --server-network speak of one self-managed server: give both")
    if 0 in {options.read_size, options.write_size, options.tcp_window}:
        raise UsageError("--read-size, --write-size and --tcp-window must be more than nothing")
