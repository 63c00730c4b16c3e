# SPDX-License-Identifier: Apache-2.0
"""The flags of `plan` as one record, with a check of the combination."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from fss_exporter import units
from fss_exporter.addresses import ip_text
from fss_exporter.flag_records import FiniteRange, flag, refuse, switch
from fss_exporter.model.thresholds import WARNING_RATIO
from fss_toolbox.iostat.saved_files import SavedFlags
from fss_toolbox.sizing.capacity import DEFAULT_WINDOW_BYTES, ClientHosts

MOST_CLIENTS = 1_000_000
MOST_REQUESTS = 1_000_000_000
MOST_MOUNT_TARGETS = 1000  # Larger figures are typing errors
_LEAST = 0.0001  # Smaller shares and concurrencies are typing errors, and quotients by them overflow

_RECORDED = "--mountstats, --nfsiostat, --scrapes or --prometheus"


def _rates_by_operation(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> dict[str, float]:
    """Return the rates of `NAME=RATE` by operation, for click."""
    rates: dict[str, float] = {}
    for value in values:
        name, equals, per_second = value.partition("=")
        if not equals:
            raise click.BadParameter(f"{value!r}: write it like GETATTR=5000")
        rates[name.upper()] = rates.get(name.upper(), 0.0) + units.rate(per_second)
    return rates


def _files(text: str) -> int:
    count = units.count(text)
    if count > MOST_REQUESTS:
        raise click.BadParameter(f"{text}: more than {MOST_REQUESTS:,} files")
    return count


def _ip_address(text: str) -> str:
    try:
        return ip_text(text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r}: give an address such as 10.0.0.7") from error


def _bandwidth(name: str, text: str) -> Any:
    return flag(name, text, type=units.bandwidth, metavar="RATE")


def _network(name: str, text: str) -> Any:
    return flag(name, text, type=units.network, metavar="RATE")


def _count(name: str, text: str, most: int, metavar: str | None = None) -> Any:
    return flag(name, text, type=click.IntRange(1, most), metavar=metavar)


@dataclass(frozen=True, kw_only=True)
class PlanInputs(SavedFlags):
    """The flags of `plan`. Rates per second, sizes in bytes, times in seconds. None for a flag that is not given."""

    reads: float | None = flag("--reads", "Reads per second.", type=units.rate)
    read_bandwidth: float | None = _bandwidth("--read-bandwidth", "In place of --reads, e.g. 500MB/s.")
    read_size: int | None = flag("--read-size", "Bytes of a read.  [default: 1MiB]", type=units.size)
    writes: float | None = flag("--writes", "Writes per second.", type=units.rate)
    write_bandwidth: float | None = _bandwidth("--write-bandwidth", "In place of --writes.")
    write_size: int | None = flag("--write-size", "Bytes of a write.  [default: 1MiB]", type=units.size)
    operations: Mapping[str, float] = flag(
        "--operation",
        "Other operations per second, e.g. GETATTR=5000 or NLM_LOCK=100. Repeatable.",
        (),
        multiple=True,
        type=str,
        callback=_rates_by_operation,
        metavar="NAME=RATE",
    )
    mix: bool = switch("--mix", "The rates are proportions. --concurrency and --latency set the amount.")
    files: int | None = flag(
        "--files",
        "A job of N files, e.g. 10M: the rates are operations of one file. How long does the job take?",
        type=_files,
        metavar="N",
    )
    total_bytes: int | None = flag(
        "--bytes", "A job of this size: the workload is a mix. How long does the job take?", type=units.size
    )

    mountstats: tuple[Path, Path] | None = flag(
        "--mountstats",
        "A recorded load: /proc/1/mountstats or output of the tool mountstats, saved twice.",
        metavar="BEFORE AFTER",
    )
    nfsiostat: Path | None = flag("--nfsiostat", "Saved output of nfsiostat. Its last report counts.", metavar="FILE")
    mountinfo: tuple[Path, ...] = flag("--mountinfo", "The mountinfo saved with --mountstats.", ())
    scrapes: tuple[Path, Path] | None = flag("--scrapes", "/metrics of an agent, saved twice.", metavar="BEFORE AFTER")
    prometheus: str | None = flag(
        "--prometheus", "The busiest five minutes of the last week, of clients or else of mount targets.", metavar="URL"
    )
    address: str | None = flag(
        "--address", "Of a recorded load: one mount target, or one file system or volume of --service."
    )

    concurrency: float | None = flag(
        "--concurrency", "Requests in flight, all clients.", type=FiniteRange(_LEAST, MOST_REQUESTS)
    )
    latency: float | None = flag(
        "--latency", "Mean time of a request, e.g. 2ms.", type=units.latency, metavar="DURATION"
    )
    clients: int | None = _count("--clients", "Hosts that mount the mount target.", MOST_CLIENTS)
    nconnect: int = flag("--nconnect", "Connections of each host.", 1, type=click.IntRange(1, 16))
    tls: bool = switch("--tls", "The connections are encrypted in transit.")
    stunnel: bool = switch(
        "--stunnel", "Windows with stunnel encrypts the connections. A mount target takes 64 of them."
    )
    client_bandwidth: float | None = _network("--client-bandwidth", "Network of one host, e.g. 10Gbit/s.")
    network_rtt: float | None = flag(
        "--network-rtt", "Round trip of the network, e.g. 300us.", type=units.latency, metavar="DURATION"
    )
    tcp_window: int = flag(
        "--tcp-window",
        "Bytes that one connection can have in flight.  [default: 3MiB, half of Linux' largest buffer]",
        DEFAULT_WINDOW_BYTES,
        written="3MiB",
        show_default=False,
        type=units.size,
    )

    mount_targets: int | None = _count(
        "--mount-targets",
        "Spread the load over N mount targets, and show what 1, 2, 4 and 8 give.",
        MOST_MOUNT_TARGETS,
        "N",
    )
    target: float = flag(
        "--target",
        "Share of every ceiling to stay at or below.",
        WARNING_RATIO,
        type=FiniteRange(_LEAST, 1),
    )
    changes: tuple[str, ...] = flag("--what-if", "Answer again with one thing changed.", (), metavar="NAME=VALUE")
    compare: bool = switch(
        "--compare", "Compare standard and high performance mount targets and Lustre sizes: fit, price, date when full."
    )
    advice: bool = switch(
        "--advice", "With --prometheus: what to change, ranked by the I/O operations that each change saves."
    )
    replay: bool = switch(
        "--replay",
        "With --prometheus: each minute of the last week on --mount-targets, or with --what-if shape=S or mount-targets=N.",
    )
    place: bool = switch(
        "--place",
        "With --prometheus: which clients and file systems go to which mount target, existing or new, and the lines to paste."
        " --mount-targets is the most that may be there.",
    )
    new_addresses: tuple[str, ...] = flag(
        "--new-address",
        "Free address for a new mount target of --place. Repeatable.",
        (),
        type=_ip_address,
        metavar="ADDRESS",
    )
    prices: Path | None = flag(
        "--prices", "Prices in TOML in place of the shipped ones, with --compare and --advice.", metavar="FILE"
    )
    stored: int | None = flag(
        "--stored",
        "Data stored in the availability domain, e.g. 40TB, with --compare. Prometheus has it with --prometheus.",
        type=units.size,
    )
    volumes: int | None = _count("--volumes", "Block volumes in one self-managed storage server.", 1000)
    server_network: float | None = _network("--server-network", "Network of this server to the clients.")

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
    def recordings(self) -> int:
        """How many flags name a recorded workload."""
        return sum(flag is not None for flag in (self.mountstats, self.nfsiostat, self.scrapes, self.prometheus))

    @property
    def has_workload(self) -> bool:
        """Whether the flags state or name a workload."""
        return self.is_stated or self.is_job or self.recordings > 0

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
            stunnel=self.stunnel,
        )


def check_inputs(inputs: PlanInputs) -> None:
    """Refuse a wrong combination of flags.

    Raises:
        UsageError: the message names the flags.
    """
    recorded, stated = inputs.recordings, inputs.is_stated
    no_pair = inputs.mountstats is None and inputs.scrapes is None
    all_zero = inputs.has_rates and not any((*inputs.transfer_rates, *inputs.operations.values()))
    refuse(
        {
            f"no workload: give rates such as --reads 5000 --read-size 32k, {_RECORDED}": not stated and not recorded,
            "no workload: every rate is 0": all_zero,
            f"more than one workload: give rates, {_RECORDED}": stated + recorded > 1,
            "--mountinfo goes with --mountstats": inputs.mountstats is None and bool(inputs.mountinfo),
            "--elapsed goes with --mountstats or --scrapes": no_pair and inputs.seconds is not None,
            f"--address goes with a recorded load: {_RECORDED}": stated and inputs.address is not None,
        }
    )
    _check_amounts(inputs)


def _check_amounts(inputs: PlanInputs) -> None:
    """Refuse flags that state an amount twice, in part or as 0."""
    no_rate_of_mix = not inputs.has_rates or inputs.hosts.highest_rate is None
    one_of_server = (inputs.volumes is None) != (inputs.server_network is None)
    window = inputs.tcp_window != DEFAULT_WINDOW_BYTES
    sizes = {inputs.read_size, inputs.write_size, inputs.tcp_window, inputs.total_bytes}
    two_reads, two_writes = None not in inputs.transfer_rates[:2], None not in inputs.transfer_rates[2:]
    idle_read_size = inputs.has_rates and bool(inputs.read_size) and inputs.transfer_rates[:2] == (None, None)
    idle_write_size = inputs.has_rates and bool(inputs.write_size) and inputs.transfer_rates[2:] == (None, None)
    two_jobs, no_rate = None not in (inputs.files, inputs.total_bytes), not inputs.has_rates
    refuse(
        {
            "--reads and --read-bandwidth both state the reads: give one": two_reads,
            "--writes and --write-bandwidth both state the writes: give one": two_writes,
            "--read-size goes with --reads or --read-bandwidth": idle_read_size,
            "--write-size goes with --writes or --write-bandwidth": idle_write_size,
            "--files and --bytes both state the job: give one": two_jobs,
            "--mix states a rate, --files and --bytes state a job: give one": inputs.mix and inputs.is_job,
            "--files needs operations of one file, e.g. --operation CREATE=1": inputs.files is not None and no_rate,
            "--mix needs rates such as --reads 7 --writes 3, and --concurrency and --latency": (
                inputs.mix and no_rate_of_mix
            ),
            "--advice goes with --prometheus": inputs.advice and inputs.prometheus is None,
            "--replay goes with --prometheus": inputs.replay and inputs.prometheus is None,
            "--replay has a table of its own: leave out --place, --compare, --advice, --files and --bytes": inputs.replay
            and (inputs.place or inputs.compare or inputs.advice or inputs.is_job),
            "--place goes with --prometheus": inputs.place and inputs.prometheus is None,
            "--new-address goes with --place": bool(inputs.new_addresses) and not inputs.place,
            "--place is about all mount targets, as they are: leave out --address, --what-if, --compare, --advice, --files and"
            " --bytes": inputs.place
            and bool(inputs.address or inputs.changes or inputs.compare or inputs.advice or inputs.is_job),
            "--prices goes with --compare and --advice": (
                inputs.prices is not None and not inputs.compare and not inputs.advice
            ),
            "--stored goes with --compare": inputs.stored is not None and not inputs.compare,
            "--compare compares rates: leave out --files and --bytes": inputs.compare and inputs.is_job,
            "--volumes and --server-network describe one self-managed server: give both": one_of_server,
            "--tcp-window goes with --network-rtt": window and inputs.network_rtt is None,
            "--read-size, --write-size, --bytes and --tcp-window must be more than nothing": 0 in sizes,
        }
    )
