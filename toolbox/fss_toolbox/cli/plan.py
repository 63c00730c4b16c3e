# SPDX-License-Identifier: Apache-2.0
"""`fss-exporter plan`: what a workload costs, what binds it first and how many mount targets it needs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any

import click

from fss_exporter.addresses import names_of
from fss_exporter.cli.terminal import GroupedHelp
from fss_exporter.errors import UsageError
from fss_exporter.flag_records import refuse, takes
from fss_exporter.model.limits import SHAPES, STANDARD, Limits
from fss_exporter.model.operations import LARGEST_TRANSFER_BYTES
from fss_exporter.model.service_table import Service
from fss_exporter.nfs.mount_settings import MountSettings, mount_settings
from fss_exporter.terminal_text import first_names
from fss_toolbox import tables
from fss_toolbox.ceilings import judge
from fss_toolbox.cli.toolbox_flags import (
    OFFERED_SERVICES,
    HttpFlags,
    OutputFlags,
    ServiceFlags,
    ShapeFlags,
    is_given,
    server_url,
)
from fss_toolbox.fetch import get
from fss_toolbox.iostat.nfs_utils_output import is_nfsiostat_output, parse_nfsiostat_output, refuse_rows_without_mount
from fss_toolbox.iostat.saved_files import pasted_text_of, report_of_interval, text_of
from fss_toolbox.plan.answer import Section, show
from fss_toolbox.plan.comparison import parse_prices, shipped_prices
from fss_toolbox.plan.domain_bills import with_bills
from fss_toolbox.plan.fleet import fleet_advice
from fss_toolbox.plan.fleet_placement import fleet_placement
from fss_toolbox.plan.history import of_mount_targets, of_service, with_growth
from fss_toolbox.plan.inputs import PlanInputs, check_inputs
from fss_toolbox.plan.load import (
    Load,
    as_job,
    check_recorded,
    loads_by_address,
    stated_load,
    with_stated_latency,
    without_costs,
)
from fss_toolbox.plan.mount_target_answer import advice_section, case_document, case_sections
from fss_toolbox.plan.placement_answer import placement_document, placement_sections
from fss_toolbox.plan.prometheus_api import Prometheus
from fss_toolbox.plan.recorded_mount_targets import other_services, recorded_mount_targets, without_load
from fss_toolbox.plan.scenario import Case, Scenario, what_if
from fss_toolbox.plan.scrape_pair import between_scrapes
from fss_toolbox.plan.service_answer import (
    ceiling_sections,
    ceilings_document,
    service_case,
    service_document,
    service_sections,
)
from fss_toolbox.plan.week_replay import replay_document, replay_sections, replayed_week
from fss_toolbox.sizing.domain_bill import DomainBill
from fss_toolbox.sizing.options import LoadToCarry, Option, Price, options
from fss_toolbox.sizing.service_choice import ServiceChoice
from fss_toolbox.sizing.uses import NO_SHAPE, fullest
from fss_toolbox.sizing.workload import priced

if TYPE_CHECKING:
    from fss_exporter.settings import Settings
    from fss_toolbox.sizing.advice import Advice

SCHEMA = {"schema": "plan", "version": 1}  # First keys of the JSON output, described in docs/schemas/plan.json
_OF_A_DAY_S = 125.0  # Longest answer about a day of a fleet. A Prometheus ends a query after two minutes, and says so
_NAMED = 5  # Mount targets that a note names
_OF_CEILINGS = {"--service", "--type", "--capacity", "--output", "--config.file"}


@dataclass(frozen=True, kw_only=True)
class PlanFlags(PlanInputs, HttpFlags, ServiceFlags, ShapeFlags, OutputFlags):
    """The flags of `plan`, with ceilings and output."""


class _PlanHelp(GroupedHelp):
    groups = (
        (("--read", "--write", "--operation", "--mix", "--files", "--bytes"), "Workload in rates and sizes"),
        (("--mountstats", "--mountinfo", "--nfsiostat", "--scrapes", "--elapsed"), "Recorded workload in files"),
        (("--prometheus", "--http-config", "--address"), "Recorded workload in Prometheus"),
        (("--client", "--nconnect", "--concurrency", "--latency"), "Clients"),
        (("--network-rtt", "--tcp-window", "--tls", "--stunnel"), "Network"),
        (("--mount-targets", "--target", "--shape", "--config.file"), "Mount targets and ceilings"),
        (("--what-if", "--compare", "--prices", "--stored", "--advice"), "Compare and change"),
        (("--replay", "--place", "--new-address"), "A fleet in Prometheus"),
        (("--service", "--type", "--capacity", "--volumes", "--server-network"), "Another storage service"),
        ("", "Further options"),
    )


_EXAMPLES = """\b
Examples:
  fss-exporter plan --reads 5000 --read-size 32k --writes 2000 --write-size 4k
  fss-exporter plan --mountstats before.txt after.txt --what-if nconnect=8
  fss-exporter plan --prometheus http://prometheus.example.com:9090 --compare"""


@click.command(cls=_PlanHelp, epilog=_EXAMPLES)
@takes(PlanFlags)
def plan(flags: PlanFlags) -> None:
    """Show the cost of a workload, the ceiling it meets first, and the number of mount targets it needs.

    Give the workload in rates and sizes, or a recorded workload with --mountstats, --nfsiostat, --scrapes or --prometheus.
    Sizes with --concurrency and --latency, without a rate, answer how much the requests in flight achieve. --files or
    --bytes answer how long a job takes.

    With --service the answer is the capacity to buy of another storage service for the reads and writes of the workload.
    --service and --capacity without a workload answer what this capacity gives.

    --what-if takes nconnect, clients, concurrency, latency, network-rtt, client-bandwidth, mount-targets, target or
    shape.
    """
    choice = flags.service_choice()
    if choice is not None and choice.capacity_bytes and not flags.has_workload:
        _refuse_without_effect()
        _print(flags, ceilings_document(choice), ceiling_sections(choice))
        return
    check_inputs(flags)
    if choice is not None:
        _answer_for_service(choice, flags)
        return
    refuse(
        {
            "--volumes and --server-network go with --service block-volume": flags.volumes is not None,
            "--concurrency needs --latency: requests in flight over their mean time are the rate": (
                flags.concurrency is not None
                and flags.latency is None
                and not any(change.startswith("latency=") for change in flags.changes)
            ),
        }
    )
    prices = _prices(flags) if flags.compare or flags.advice else {}
    settings = flags.configuration()
    ceilings, mounts, prometheus = _Ceilings(flags.shape, settings), mount_settings(settings), _prometheus(flags)
    advice: list[Advice] = []
    if prometheus is not None:
        loads = _of_week(prometheus, ceilings, flags.address)
        if flags.place:
            _print_placement(flags, prometheus, loads, ceilings)
            return
        if prices:
            loads = with_bills(prometheus, loads)
        if flags.advice:
            advice = fleet_advice(prometheus, loads, prices, flags.target)
        if flags.compare:
            loads = with_growth(prometheus, loads)
    elif flags.is_stated:
        loads = {"": stated_load(flags, overrides=mounts.overrides)}
    else:
        loads = _recorded(flags, mounts)
    cases = [_case(name, load, ceilings, flags, prices) for name, load in _chosen(loads, flags)]
    cases.sort(key=_share, reverse=True)
    if prometheus and flags.replay:
        _print_replay(flags, prometheus, cases)
        return
    _print_cases(flags, cases, advice)


def _print(flags: PlanFlags, document: Mapping[str, Any], sections: Iterable[Section]) -> None:
    if flags.output == "json":
        click.echo(tables.as_json({**SCHEMA, **document}))
    else:
        show(tables.console(), sections)


def _refuse_without_effect() -> None:
    """Refuse flags about a load where only the ceilings of a capacity are asked for."""
    given = [param.opts[0] for param in click.get_current_context().command.params if is_given(param.name or "")]
    idle = [name for name in given if name not in _OF_CEILINGS]
    if idle:
        raise UsageError(
            f"{idle[0]} has no effect without a workload: --service and --capacity alone give the ceilings"
        )


class _Ceilings:
    """The ceilings of mount targets: stated at the prompt or in the configuration, else those that Prometheus has."""

    def __init__(self, stated: str, settings: "Settings | None") -> None:
        self._stated = stated
        self._is_stated = is_given("shape")
        self._judge = cache(lambda shape: judge(shape, settings))

    def shape(self, recorded: str) -> str:
        """Return the shape to plan with. `--shape` on the command line wins, and its default stands for no known shape."""
        return self._stated if self._is_stated or not recorded else recorded

    def of_shape(self, shape: str) -> Limits:
        """Return the ceilings of a shape."""
        return self._judge(shape).limits

    def at(self, address: str, shape: str, recorded: Limits | None) -> Limits:
        """Return the ceilings of a mount target with a shape and ceilings in Prometheus. The shape has those that are missing."""
        own = self._judge(self.shape(shape))
        if recorded is None or self._is_stated or address in own.by_address:
            return own.at(address)
        present = {name: ceiling for name, ceiling in asdict(recorded).items() if ceiling is not None}
        return replace(own.limits, **present) if shape else recorded


def _of_week(prometheus: Prometheus, ceilings: _Ceilings, address: str | None) -> dict[str, Load]:
    """Return the busiest five minutes of each mount target. Notes name those without figures and of other services."""
    elsewhere = other_services(prometheus, address)
    names = names_of(elsewhere)
    for place, service in elsewhere.items():
        is_offered = service in OFFERED_SERVICES
        further = f"{service}: ask with --service {service} --prometheus" if is_offered else "no known service"
        tables.note(f"{names[place]} is of {further}")
    recorded = recorded_mount_targets(prometheus, address)
    loads = of_mount_targets(prometheus, recorded, ceilings.at, address, elsewhere)
    missing = without_load(recorded.values(), loads.values())
    if missing:
        tables.note(
            "left out, because Prometheus has neither bandwidth nor clients of the last week:"
            f" {first_names(missing, _NAMED)}"
        )
    return loads


def _print_placement(flags: PlanFlags, prometheus: Prometheus, loads: Mapping[str, Load], ceilings: _Ceilings) -> None:
    if flags.mount_targets is not None and flags.mount_targets < len(loads):
        raise UsageError(
            f"--mount-targets={flags.mount_targets}: Prometheus has {len(loads)}. Give {len(loads)} or more"
        )
    taken = {_address(name, load) for name, load in loads.items()} & set(flags.new_addresses)
    if taken or len(set(flags.new_addresses)) < len(flags.new_addresses):
        raise UsageError(
            f"--new-address: {', '.join(sorted(taken)) or 'an address'} is in use. Give a free address for each"
        )
    for name, load in loads.items():
        check_recorded(name, load)
    fleet = fleet_placement(
        prometheus,
        loads,
        ceilings.of_shape(STANDARD.name),
        flags.target,
        flags.mount_targets,
        flags.new_addresses,
    )
    _print(flags, {"placement": placement_document(fleet)}, placement_sections(fleet, flags.target))


def _print_cases(flags: PlanFlags, cases: list[Case], advice: "list[Advice]") -> None:
    document: dict[str, Any] = {"plans": [case_document(case) for case in cases]}
    sections = [section for case in cases for section in case_sections(case)]
    if flags.advice:
        document["advice"] = [asdict(advised) for advised in advice]
        sections.append(advice_section(advice, cases[0]))
    _print(flags, document, sections)


def _print_replay(flags: PlanFlags, prometheus: Prometheus, cases: Sequence[Case]) -> None:
    of_clients = [case.address for case in cases if not case.scenario.load.mount_target_id]
    if of_clients:
        tables.note(f"not replayed, because only scraped clients are known: {', '.join(of_clients)}")
    weeks = replayed_week(prometheus, cases)
    _print(flags, {"replay": replay_document(weeks)}, replay_sections(weeks))


def _prices(flags: PlanFlags) -> Mapping[str, Price]:
    return shipped_prices() if flags.prices is None else parse_prices(str(flags.prices), text_of(flags.prices))


def _share(case: Case) -> float:
    first = fullest(case.scenario.answer().mount_target)
    return (first.ratio or 0.0) if first else 0.0


def _answer_for_service(choice: ServiceChoice, flags: PlanFlags) -> None:
    refuse(
        {
            "--service is about reads and writes, stated such as --read-bandwidth 300MB/s or recorded: leave out"
            " --operation and --what-if": bool(flags.operations or flags.changes),
            "--compare, --advice, --place and --replay are about mount targets: leave out --service": (
                flags.compare or flags.advice or flags.place or flags.replay
            ),
            "--shape is about mount targets of OCI File Storage: with --service give --type": is_given("shape"),
        }
    )
    inputs, prometheus = with_stated_latency(flags, choice), _prometheus(flags)
    if prometheus is not None:
        loads = of_service(prometheus, choice.service.name, choice.ceilings, inputs.address)
    elif inputs.is_stated:
        largest = max(inputs.read_size or 0, inputs.write_size or 0, LARGEST_TRANSFER_BYTES)
        loads = {"": stated_load(inputs, largest)}
    else:
        loads = _recorded(inputs, mount_settings(flags.configuration()), choice.service)
    cases = [service_case(choice, inputs, name, load) for name, load in _chosen(loads, inputs)]
    documents = [service_document(case) for case in cases]
    document = documents[0] if inputs.is_stated else {"plans": documents}
    _print(flags, document, [section for case in cases for section in service_sections(case)])


def _prometheus(flags: PlanFlags) -> Prometheus | None:
    if flags.prometheus is None:
        refuse({"--http-config goes with --prometheus": flags.http_config is not None})
        return None
    base, access = server_url("--prometheus", flags.prometheus).rstrip("/"), flags.access()

    queries = count(1)

    def answer(path: str) -> str:
        with tables.progress() as progress:
            progress.phase(f"query {next(queries)} to Prometheus")
            return get(f"{base}{path}", "application/json", access, _OF_A_DAY_S if "/query_range?" in path else None)

    return Prometheus(answer, note=tables.note)


def _recorded(inputs: PlanInputs, mounts: MountSettings, service: Service | None = None) -> dict[str, Load]:
    """Return the workload of saved files by address, of the mounts of a service if the files have any."""
    if inputs.scrapes is not None:
        before, after = inputs.scrapes
        return between_scrapes((str(before), str(after)), (text_of(before), text_of(after)), inputs.seconds, service)
    if inputs.mountstats is not None:
        report = report_of_interval(*inputs.mountstats, inputs.mountinfo, inputs.seconds, mounts)
        source, traffic = f"{report.source}, {report.seconds:g} s", report.traffic
    else:
        assert inputs.nfsiostat is not None  # noqa: S101  # check_inputs() let no other workload pass
        source, text = str(inputs.nfsiostat), pasted_text_of(inputs.nfsiostat)
        refuse_rows_without_mount(source, text)
        if not is_nfsiostat_output(text):
            raise UsageError(f"{source}: not the output of nfsiostat. Give two looks at mountstats with --mountstats")
        report = parse_nfsiostat_output(source, text)
        traffic = {key: priced(of_mount, mounts.overrides) for key, of_mount in report.traffic.items()}
    for line in report.notes:
        tables.note(line)
    return loads_by_address(source, traffic, service)


def _chosen(loads: Mapping[str, Load], inputs: PlanInputs) -> list[tuple[str, Load]]:
    """Return the loads of `--address`, or all loads. With --files or --bytes as jobs."""
    if inputs.address is not None and inputs.address not in {_address(name, load) for name, load in loads.items()}:
        raise UsageError(f"--address={inputs.address}: not in this load. It has {', '.join(sorted(loads)) or 'none'}")
    # The queries to Prometheus name the address, and several loads can have the address.
    every = inputs.prometheus is not None or inputs.address is None
    chosen = [(name, load) for name, load in loads.items() if every or name == inputs.address]
    if inputs.recordings:
        for name, load in chosen:
            check_recorded(name, load)
    return [(name, as_job(name, load, inputs)) for name, load in chosen] if inputs.is_job else chosen


def _address(name: str, load: Load) -> str:
    """Return the address of a load's mount target, or its name if the load has no place."""
    return name if load.place is None else load.place.address


def _case(name: str, load: Load, ceilings: _Ceilings, flags: PlanFlags, prices: Mapping[str, Price]) -> Case:
    shape, address = ceilings.shape(load.shape), _address(name, load)
    clients = replace(flags.hosts, counted_connections=load.connections)
    load = without_costs(load) if shape == NO_SHAPE else load
    limits = load.limits or ceilings.at(address, load.shape, None)
    scenario = Scenario(load, shape, limits, clients, flags.target, flags.mount_targets)
    changed = tuple((change, what_if(scenario, change, ceilings.of_shape)) for change in flags.changes)
    offered: list[Option] = []
    if flags.compare:
        offered = options(
            LoadToCarry(
                load.traffic,
                lambda other: limits if other == shape else ceilings.of_shape(other),
                clients,
                flags.target,
                prices,
                load.growth,
                load.bill if flags.stored is None else _stated_bill(flags.stored, shape),
            )
        )
    return Case(name, scenario, changed, tuple(offered))


def _stated_bill(stored_bytes: float, shape: str) -> DomainBill:
    """Return the bill of a domain with this mount target alone."""
    own = SHAPES[shape].entitlement_bytes if shape in SHAPES else 0.0
    return DomainBill(stored_bytes, own, own)
