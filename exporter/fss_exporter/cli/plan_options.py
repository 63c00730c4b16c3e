"""The flags of `plan`."""

from pathlib import Path

import click
from click import option

from fss_exporter import units
from fss_exporter.cli.flags import Command, FiniteRange, with_options
from fss_exporter.cli.saved_files import seconds_option
from fss_exporter.model.capacity import DEFAULT_WINDOW_BYTES
from fss_exporter.model.thresholds import WARNING_RATIO
from fss_exporter.plan.scenario import MOST_CLIENTS, MOST_MOUNT_TARGETS, MOST_REQUESTS

_PATH = click.Path(path_type=Path)


def _operations_of(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> dict[str, float]:
    """Return rates by operation of `NAME=RATE`, for click."""
    found: dict[str, float] = {}
    for value in values:
        name, equals, per_second = value.partition("=")
        if not equals:
            raise click.BadParameter(f"{value!r}: write it like GETATTR=5000")
        found[name.upper()] = found.get(name.upper(), 0.0) + units.rate(per_second)
    return found


_WORKLOAD = (
    option("--reads", type=units.rate, metavar="RATE", help="Reads per second."),
    option("--read-bandwidth", type=units.bandwidth, metavar="RATE", help="In place of --reads, e.g. 500MB/s."),
    option("--read-size", type=units.size, metavar="SIZE", help="Bytes of a read.  [default: 1MiB]"),
    option("--writes", type=units.rate, metavar="RATE", help="Writes per second."),
    option("--write-bandwidth", type=units.bandwidth, metavar="RATE", help="In place of --writes."),
    option("--write-size", type=units.size, metavar="SIZE", help="Bytes of a write.  [default: 1MiB]"),
    option(
        "--operation",
        "operations",
        multiple=True,
        callback=_operations_of,
        metavar="NAME=RATE",
        help="Other operations per second, e.g. GETATTR=5000 or NLM_LOCK=100. Repeatable.",
    ),
    option("--mix", is_flag=True, help="The rates are proportions. --concurrency and --latency set the amount."),
    option(
        "--files",
        type=click.IntRange(1, MOST_REQUESTS),
        metavar="N",
        help="A job of N files: the rates are operations of one file. How long does the job take?",
    ),
    option(
        "--bytes",
        "total_bytes",
        type=units.size,
        metavar="SIZE",
        help="A job of this size: the workload is a mix. How long does the job take?",
    ),
)
_RECORDED = (
    option(
        "--mountstats",
        nargs=2,
        type=_PATH,
        metavar="BEFORE AFTER",
        help="A recorded load: /proc/1/mountstats or output of the tool mountstats, saved twice.",
    ),
    option("--nfsiostat", type=_PATH, metavar="FILE", help="Saved output of nfsiostat. Its last report counts."),
    option("--mountinfo", multiple=True, type=_PATH, help="The mountinfo saved with --mountstats."),
    seconds_option,
    option("--scrapes", nargs=2, type=_PATH, metavar="BEFORE AFTER", help="/metrics of an agent, saved twice."),
    option(
        "--prometheus",
        metavar="URL",
        help="The busiest five minutes of the last week, of clients or else of mount targets.",
    ),
    option("--address", help="Of a recorded load: one mount target, or one file system or volume of --service."),
)
_CLIENTS = (
    option("--concurrency", type=FiniteRange(0, MOST_REQUESTS, min_open=True), help="Requests in flight, all clients."),
    option("--latency", type=units.latency, metavar="TIME", help="Mean time of a request, e.g. 2ms."),
    option("--clients", type=click.IntRange(1, MOST_CLIENTS), help="Hosts that mount the mount target."),
    option("--nconnect", type=click.IntRange(1, 16), default=1, show_default=True, help="Connections of each host."),
    option("--tls", is_flag=True, help="The connections are encrypted in transit."),
    option("--client-bandwidth", type=units.bandwidth, metavar="RATE", help="Network of one host, e.g. 10Gbit/s."),
    option("--network-rtt", type=units.latency, metavar="TIME", help="Round trip of the network, e.g. 300us."),
    option(
        "--tcp-window",
        type=units.size,
        default=str(DEFAULT_WINDOW_BYTES),
        metavar="SIZE",
        help="Bytes that one connection can have in flight.  [default: 3MiB, half of Linux' largest buffer]",
    ),
)
_SERVER = (
    option(
        "--mount-targets",
        type=click.IntRange(1, MOST_MOUNT_TARGETS),
        metavar="N",
        help="Spread the load over N mount targets, and show what 1, 2, 4 and 8 give.",
    ),
    option(
        "--target",
        type=FiniteRange(0, 1, min_open=True),
        default=WARNING_RATIO,
        show_default=True,
        help="Share of every ceiling to stay at or below.",
    ),
    option("--what-if", "changes", multiple=True, metavar="NAME=VALUE", help="Answer again with one thing changed."),
    option("--volumes", type=click.IntRange(1, 1000), help="Block volumes in one self-managed storage server."),
    option("--server-network", type=units.bandwidth, metavar="RATE", help="Network of this server to the clients."),
)


def plan_options(command: Command) -> Command:
    """Adds all flags that only `plan` has."""
    options = (*_WORKLOAD, *_RECORDED, *_CLIENTS, *_SERVER)
    return with_options(command, options)
