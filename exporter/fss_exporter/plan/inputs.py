"""The flags of `plan` as one record, with a check of the combination."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fss_exporter.errors import UsageError
from fss_exporter.model.capacity import DEFAULT_WINDOW_BYTES, ClientHosts

_RECORDED = "--mountstats, --nfsiostat, --scrapes or --prometheus"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanInputs:
    """The flags of `plan`. Rates per second, sizes in bytes, times in seconds. None for a flag that is not given."""

    reads: float | None
    read_bandwidth: float | None
    read_size: int | None
    writes: float | None
    write_bandwidth: float | None
    write_size: int | None
    operations: Mapping[str, float]
    mix: bool
    files: int | None
    total_bytes: int | None
    mountstats: tuple[Path, Path] | None
    mountinfo: tuple[Path, ...]
    seconds: float | None
    nfsiostat: Path | None
    scrapes: tuple[Path, Path] | None
    prometheus: str | None
    address: str | None
    concurrency: float | None
    latency: float | None
    clients: int | None
    nconnect: int
    tls: bool
    client_bandwidth: float | None
    network_rtt: float | None
    tcp_window: int
    mount_targets: int | None
    target: float
    changes: tuple[str, ...]
    volumes: int | None
    server_network: float | None
    config_file: Path | None

    @property
    def has_rates(self) -> bool:
        """Whether a rate is stated."""
        return bool(self.operations) or any(rate is not None for rate in self.transfer_rates)

    @property
    def transfer_rates(self) -> tuple[float | None, ...]:
        """Return the rates of reads and writes."""
        return self.reads, self.read_bandwidth, self.writes, self.write_bandwidth

    @property
    def is_stated(self) -> bool:
        """Whether the workload is stated in flags."""
        return self.has_rates or self.read_size is not None or self.write_size is not None

    @property
    def is_job(self) -> bool:
        """Whether the workload is a number of files or bytes."""
        return self.files is not None or self.total_bytes is not None

    @property
    def hosts(self) -> ClientHosts:
        """Return the clients of the flags."""
        return ClientHosts(
            count=self.clients,
            nconnect=self.nconnect,
            concurrency=self.concurrency,
            latency_seconds=self.latency,
            bandwidth=self.client_bandwidth,
            network_rtt_seconds=self.network_rtt,
            window_bytes=self.tcp_window,
            encrypted=self.tls,
        )


def check_inputs(inputs: PlanInputs) -> None:
    """Refuse a wrong combination of flags.

    Raises:
        UsageError: the message names the flags.
    """
    for wrong, message in _conflicts(inputs):
        if wrong:
            raise UsageError(message)


def _conflicts(inputs: PlanInputs) -> tuple[tuple[bool, str], ...]:
    recorded = sum(one is not None for one in (inputs.mountstats, inputs.nfsiostat, inputs.scrapes, inputs.prometheus))
    no_interval = inputs.mountstats is None and inputs.scrapes is None
    return (
        (
            not inputs.is_stated and not recorded,
            f"no workload: give rates such as --reads 5000 --read-size 32k, {_RECORDED}",
        ),
        (
            inputs.has_rates and not any((*inputs.transfer_rates, *inputs.operations.values())),
            "no workload: every rate is 0",
        ),
        (inputs.is_stated + recorded > 1, f"more than one workload: give rates, {_RECORDED}"),
        (inputs.mountstats is None and bool(inputs.mountinfo), "--mountinfo goes with --mountstats"),
        (no_interval and inputs.seconds is not None, "--seconds goes with --mountstats or --scrapes"),
        (
            inputs.is_stated and inputs.address is not None,
            f"--address goes with a recorded load: {_RECORDED}",
        ),
        (
            inputs.reads is not None and inputs.read_bandwidth is not None,
            "--reads and --read-bandwidth both state the reads: give one",
        ),
        (
            inputs.writes is not None and inputs.write_bandwidth is not None,
            "--writes and --write-bandwidth both state the writes: give one",
        ),
        (
            inputs.files is not None and inputs.total_bytes is not None,
            "--files and --bytes both state the job: give one",
        ),
        (inputs.mix and inputs.is_job, "--mix states a rate, --files and --bytes state a job: give one"),
        (
            inputs.files is not None and not inputs.has_rates,
            "--files needs operations of one file, e.g. --operation CREATE=1",
        ),
        (
            inputs.mix and (not inputs.has_rates or inputs.hosts.highest_rate is None),
            "--mix needs rates such as --reads 7 --writes 3, and --concurrency and --latency",
        ),
        (
            (inputs.volumes is None) != (inputs.server_network is None),
            "--volumes and --server-network describe one self-managed server: give both",
        ),
        (
            inputs.tcp_window != DEFAULT_WINDOW_BYTES and inputs.network_rtt is None,
            "--tcp-window goes with --network-rtt",
        ),
        (
            0 in {inputs.read_size, inputs.write_size, inputs.tcp_window, inputs.total_bytes},
            "--read-size, --write-size, --bytes and --tcp-window must be more than nothing",
        ),
    )
