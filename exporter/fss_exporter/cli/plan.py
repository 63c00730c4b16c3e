"""`fss-exporter plan`: what a workload costs, what binds it first and how many mount targets it needs."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import click
from click.core import ParameterSource

from fss_exporter.cli import plan_report, plan_service, tables, units
from fss_exporter.cli.ceilings import Judge, judge, shape_option
from fss_exporter.cli.fetch import check_url, get
from fss_exporter.cli.flags import config_option
from fss_exporter.cli.history.busiest import busiest
from fss_exporter.cli.plan_case import Case, Load
from fss_exporter.cli.plan_document import document
from fss_exporter.cli.plan_options import Options, check, operations_of
from fss_exporter.cli.saved_files import saved_interval, seconds_option
from fss_exporter.cli.service_options import Chosen, chosen as chosen_by, service_options
from fss_exporter.cli.what_if import MOST_CLIENTS, MOST_REQUESTS, Scenario, what_if
from fss_exporter.errors import UsageError
from fss_exporter.model.capacity import DEFAULT_WINDOW_BYTES
from fss_exporter.model.limits import SHAPES
from fss_exporter.model.thresholds import WARNING_RATIO
from fss_exporter.model.traffic import Traffic, together
from fss_exporter.model.workload import LARGEST_TRANSFER_BYTES, Transfers, workload
from fss_exporter.nfs.traffic import traffic as traffic_between

_DEFAULT_SIZE = LARGEST_TRANSFER_BYTES


@click.command()
@click.option("--reads", type=units.rate, metavar="RATE", help="Reads per second.")
@click.option("--read-bandwidth", type=units.bandwidth, metavar="RATE", help="In place of --reads, e.g. 500MB/s.")
@click.option("--read-size", type=units.size, metavar="SIZE", help="Bytes of a read.  [default: 1MiB]")
@click.option("--writes", type=units.rate, metavar="RATE", help="Writes per second.")
@click.option("--write-bandwidth", type=units.bandwidth, metavar="RATE", help="In place of --writes.")
@click.option("--write-size", type=units.size, metavar="SIZE", help="Bytes of a write.  [default: 1MiB]")
@click.option(
    "--operation",
    "operations",
    multiple=True,
    callback=operations_of,
    metavar="NAME=RATE",
    help="Other operations per second, e.g. GETATTR=5000 or NLM_LOCK=100; may be repeated.",
)
@click.option("--mountstats", nargs=2, type=click.Path(path_type=Path), metavar="BEFORE AFTER", help="A recorded load.")
@click.option("--mountinfo", multiple=True, type=click.Path(path_type=Path), help="The mountinfo saved with them.")
@seconds_option
@click.option(
    "--prometheus",
    metavar="URL",
    help="The busiest five minutes of the last week, of clients or else of mount targets.",
)
@click.option("--address", help="Of a recorded load: only this mount target.")
@click.option(
    "--concurrency", type=click.FloatRange(0, MOST_REQUESTS, min_open=True), help="Requests in flight, all clients."
)
@click.option("--latency", type=units.latency, metavar="TIME", help="Mean time of a request, e.g. 2ms.")
@click.option("--clients", type=click.IntRange(1, MOST_CLIENTS), help="Hosts that mount it.")
@click.option("--nconnect", type=click.IntRange(1, 16), default=1, show_default=True, help="Connections of each host.")
@click.option("--client-bandwidth", type=units.bandwidth, metavar="RATE", help="Network of one host, e.g. 10Gbit/s.")
@click.option("--network-rtt", type=units.latency, metavar="TIME", help="Round trip of the network, e.g. 300us.")
@click.option(
    "--tcp-window",
    type=units.size,
    default=str(DEFAULT_WINDOW_BYTES),
    metavar="SIZE",
    help="What one connection can have in flight.  [default: 3MiB, half of Linux' largest buffer]",
)
@click.option(
    "--target",
    type=click.FloatRange(0, 1, min_open=True),
    default=WARNING_RATIO,
    show_default=True,
    help="Share of every ceiling to stay at or below.",
)
@click.option("--what-if", "changes", multiple=True, metavar="NAME=VALUE", help="Answer again with one thing changed.")
@service_options
@click.option("--volumes", type=click.IntRange(1, 1000), help="Such volumes in one self-managed storage server.")
@click.option("--server-network", type=units.bandwidth, metavar="RATE", help="Its card towards the clients.")
@shape_option
@config_option
@tables.output_option
def plan(
    *, shape: str, output: str, service: str | None, kind: str | None, capacity: int | None, **flags: object
) -> None:
    """What a workload costs a mount target, what binds it first, and how many mount targets it needs.

    The workload is stated in rates and sizes, or recorded: --mountstats or --prometheus. With --concurrency and
    --latency but no rate, it is what that many requests in flight can do.

    With --service it is what to buy of another storage service.

    --what-if takes nconnect, clients, concurrency, latency, network-rtt, client-bandwidth, target or shape.
    """
    options = Options(**flags)  # type: ignore[arg-type]  # click has made the types
    check(options)
    other = chosen_by(service, kind, capacity)
    if other is not None:
        _answer_for(other, options, output)
        return
    ceilings = judge(shape, options.config_file)
    of_shape = _of_shapes(ceilings, options.config_file)
    loads = _loads(options, ceilings, of_shape)
    if options.address is not None and options.address not in loads:
        raise UsageError(f"--address={options.address}: not in this load; it has {', '.join(sorted(loads)) or 'none'}")
    chosen = {name: load for name, load in loads.items() if options.address in {None, name}}
    cases = [_case(name, load, of_shape, options) for name, load in chosen.items()]
    if output == "json":
        click.echo(tables.as_json({"plans": [document(case) for case in cases]}))
        return
    for case in cases:
        plan_report.show(tables.console(), case)


def _answer_for(other: Chosen, options: Options, output: str) -> None:
    """What to buy of another service."""
    if not options.is_stated or options.operations or options.changes:
        raise UsageError("--service takes a stated workload of reads and writes, such as --read-bandwidth 300MB/s")
    question = plan_service.Question(
        other,
        plan_service.load_of(*_stated(options)),
        options.target,
        options.latency,
        options.volumes,
        options.server_network,
    )
    plan_service.check(question)
    if output == "json":
        click.echo(tables.as_json(plan_service.document(question)))
        return
    plan_service.show(tables.console(), question)


def _loads(options: Options, ceilings: Judge, of_shape: Callable[[str], Judge]) -> dict[str, Load]:
    """The workload by address; one that is stated has none."""
    if options.mountstats is not None:
        return _recorded(options.mountstats, options, ceilings)
    if options.prometheus is not None:
        base = check_url("--prometheus", options.prometheus).rstrip("/")
        return busiest(
            lambda path: get(f"{base}{path}", "application/json"),
            lambda address, shape: of_shape(shape).at(address),
            options.address,
        )
    reads, writes = _stated(options)
    try:
        return {"": Load("as stated", workload(reads, writes, options.operations))}
    except ValueError as wrong:
        raise UsageError(f"--operation: {wrong}") from wrong


def _stated(options: Options) -> tuple[Transfers | None, Transfers | None]:
    """The transfers of the flags; without a rate, what latency and concurrency allow."""
    read_size, write_size = options.read_size or _DEFAULT_SIZE, options.write_size or _DEFAULT_SIZE
    if options.has_rates:
        return (
            _transfers(options.reads, options.read_bandwidth, read_size),
            _transfers(options.writes, options.write_bandwidth, write_size),
        )
    highest = options.brought.highest_rate
    if highest is None:
        raise UsageError("no rate: give --reads, --writes or --operation, or --concurrency and --latency")
    kinds = (options.read_size is not None) + (options.write_size is not None)
    return (
        Transfers(highest / kinds, read_size) if options.read_size is not None else None,
        Transfers(highest / kinds, write_size) if options.write_size is not None else None,
    )


def _transfers(per_second: float | None, bandwidth: float | None, size: int) -> Transfers | None:
    if bandwidth is not None:
        per_second = bandwidth / size
    return None if per_second is None else Transfers(per_second, size)


def _recorded(files: tuple[Path, Path], options: Options, ceilings: Judge) -> dict[str, Load]:
    between = saved_interval(*files, options.mountinfo, options.seconds, ceilings.address_map)
    for line in between.notes:
        tables.note(line)
    mounts: dict[str, list[Traffic]] = {}
    for key, load in traffic_between({}, between.accounts.mounts, between.seconds).items():
        mounts.setdefault(key.address, []).append(load)
    source = f"{files[0]} to {files[1]}, {between.seconds:g} s"
    return {name: Load(source, together(loads)) for name, loads in mounts.items()}


def _of_shapes(ceilings: Judge, config_file: Path | None) -> Callable[[str], Judge]:
    """The ceilings of a mount target of a shape; those of --shape where it is given or the shape is not known."""
    if click.get_current_context().get_parameter_source("shape") is ParameterSource.COMMANDLINE:
        return lambda _: ceilings
    return cache(lambda shape: judge(shape, config_file) if shape in SHAPES else ceilings)


def _case(name: str, load: Load, of_shape: Callable[[str], Judge], options: Options) -> Case:
    closed = options.is_stated and not options.has_rates
    own, clients = of_shape(load.shape), options.brought
    if load.connections and clients.count is None and clients.nconnect == 1:
        clients = replace(clients, count=round(load.connections))
    scenario = Scenario(load.traffic, own.shape, own.at(name), clients, options.target, closed)
    others = tuple(
        (change, what_if(scenario, change, lambda shape: judge(shape, options.config_file).limits).answer())
        for change in options.changes
    )
    return Case(name, load, scenario, scenario.answer(), others)
