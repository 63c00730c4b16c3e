"""`fss-exporter plan`: what a workload costs, what binds it first and how many mount targets it needs."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import click
from click.core import ParameterSource

from fss_exporter import tables, units
from fss_exporter.cli import plan_report, plan_service
from fss_exporter.cli.ceilings import NO_SHAPE, Judge, judge, shape_option
from fss_exporter.cli.flags import config_option
from fss_exporter.cli.plan_case import Case, Load
from fss_exporter.cli.plan_document import document
from fss_exporter.cli.plan_loads import loads_of, loads_of_service
from fss_exporter.cli.plan_options import Options, check, operations_of
from fss_exporter.cli.saved_files import seconds_option
from fss_exporter.cli.service_options import Chosen, chosen as chosen_by, service_options
from fss_exporter.cli.what_if import MOST_CLIENTS, MOST_REQUESTS, Scenario, what_if
from fss_exporter.errors import UsageError
from fss_exporter.model.capacity import DEFAULT_WINDOW_BYTES
from fss_exporter.model.limits import SHAPES
from fss_exporter.model.thresholds import WARNING_RATIO


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
    "--scrapes",
    nargs=2,
    type=click.Path(path_type=Path),
    metavar="BEFORE AFTER",
    help="Of an agent, /metrics saved twice; sizes where it counts them.",
)
@click.option(
    "--prometheus",
    metavar="URL",
    help="The busiest five minutes of the last week, of clients or else of mount targets.",
)
@click.option(
    "--address", help="Of a recorded load: only this mount target, or this file system or volume of --service."
)
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

    The workload is stated in rates and sizes, or recorded: --mountstats, --scrapes or --prometheus. With
    --concurrency and --latency but no rate, it is what that many requests in flight can do.

    With --service it is what to buy of another storage service for the reads and writes of the workload.

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
    loads = loads_of(options, ceilings, of_shape)
    cases = [_case(name, load, of_shape, options) for name, load in _chosen(loads, options)]
    if output == "json":
        click.echo(tables.as_json({"plans": [document(case) for case in cases]}))
        return
    for case in cases:
        plan_report.show(tables.console(), case)


def _answer_for(other: Chosen, options: Options, output: str) -> None:
    """What to buy of another service."""
    if options.operations or options.changes:
        raise UsageError("--service is about reads and writes, stated such as --read-bandwidth 300MB/s or recorded")
    found = loads_of_service(other, options, judge(NO_SHAPE, options.config_file))
    questions = [plan_service.question_of(other, options, name, load) for name, load in _chosen(found, options)]
    for question in questions:
        plan_service.check(question)
    if output == "json":
        documents = [plan_service.document(question) for question in questions]
        click.echo(tables.as_json(documents[0] if options.is_stated else {"plans": documents}))
        return
    for number, question in enumerate(questions):
        if number:
            click.echo()
        plan_service.show(tables.console(), question)


def _chosen(loads: Mapping[str, Load], options: Options) -> list[tuple[str, Load]]:
    """Those the flags are about."""
    if options.address is not None and options.address not in loads:
        raise UsageError(f"--address={options.address}: not in this load; it has {', '.join(sorted(loads)) or 'none'}")
    return [(name, load) for name, load in loads.items() if options.address in {None, name}]


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
