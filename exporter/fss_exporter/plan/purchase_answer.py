"""The answer of `plan --service`: the capacity to buy of another storage service, or why no capacity helps."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from rich.console import Console

from fss_exporter import units
from fss_exporter.errors import UsageError
from fss_exporter.model.capacity import LATENCY, ClientHosts, client_uses
from fss_exporter.model.concurrency import Flow, network_bytes_per_second, server_bytes_per_second
from fss_exporter.model.distance import distance_advice
from fss_exporter.model.job_time import JobTime, job_time
from fss_exporter.model.purchase import (
    InFlight,
    Offer,
    ServiceLoad,
    clients_needed,
    in_flight,
    latency_of,
    offers,
    service_load,
    service_uses,
)
from fss_exporter.model.storage_service import Ceilings, ServiceChoice, ServiceType
from fss_exporter.model.traffic import added
from fss_exporter.model.utilisation import Use
from fss_exporter.plan.answer_sentences import PARALLEL_TOOLS, amount
from fss_exporter.plan.inputs import PlanInputs
from fss_exporter.plan.load import Load
from fss_exporter.tables import Column, Row, say, show as show_table


def service_title(choice: ServiceChoice) -> str:
    """Service, type and capacity."""
    parts = (
        choice.service.title,
        choice.kind.name if choice.kind else "",
        units.capacity(choice.capacity_bytes) if choice.capacity_bytes else "",
    )
    return ", ".join(filter(None, parts))


@dataclass(frozen=True, slots=True)
class ServiceCase:
    """A load, a service, and all the load runs on.

    Attributes:
        choice: the service.
        name: address or resource of a recorded load; empty for a stated load.
        load: the workload.
        clients: the hosts, with the stated or recorded latency.
        target: share of a ceiling to stay at or below.
        volumes: block volumes of one self-managed server; None where there is no such server.
        server_network: network of this server towards the clients, bytes per second.
    """

    choice: ServiceChoice
    name: str
    load: Load
    clients: ClientHosts
    target: float
    volumes: int | None
    server_network: float | None

    @property
    def wanted(self) -> ServiceLoad:
        """Reads and writes of the load."""
        return service_load(self.load.traffic)

    @property
    def ceilings(self) -> Ceilings:
        """Ceilings of the capacity the operator has, all volumes together."""
        return self.choice.ceilings.times(self.volumes or 1)

    @property
    def title(self) -> str:
        """Service, type, capacity and number of volumes."""
        return (f"{self.volumes} x " if self.volumes else "") + service_title(self.choice)

    def hosts(self, kind: ServiceType | None) -> ClientHosts:
        """The clients as a type of the service lets them work: its latency, and no more requests than it takes."""
        latency = latency_of(self.wanted, kind, self.clients.latency_seconds)
        asked, most = self.clients.concurrency, kind.in_flight if kind else None
        concurrency = min(filter(None, (asked, most)), default=None)
        return replace(self.clients, latency_seconds=latency, concurrency=concurrency)

    def in_flight(self, kind: ServiceType | None) -> InFlight | None:
        """Requests in flight; None for a job, or without a latency."""
        return None if self.load.is_job else in_flight(self.wanted, kind, self.clients.latency_seconds)

    def job_time(self) -> JobTime | None:
        """How long a job takes; None for a rate, or where no bound is known."""
        if not self.load.is_job:
            return None
        hosts = self.hosts(self.choice.kind)
        found = (*service_uses(self.wanted, self.ceilings), *client_uses(self.load.traffic, hosts))
        return job_time(found, self.wanted.operations, hosts)


def service_case(choice: ServiceChoice, inputs: PlanInputs, name: str, load: Load) -> ServiceCase:
    """The case of a load. Without a stated latency, a recorded load brings its own.

    Raises:
        UsageError: a flag has no effect on this service, or a figure is missing.
    """
    rates = (rate for operation, rate in load.traffic.operations.items() if choice.service.prices(operation))
    latency = inputs.latency or added(rates).mean_rtt_seconds or None
    clients = replace(inputs.hosts, latency_seconds=latency)
    case = ServiceCase(choice, name, load, clients, inputs.target, inputs.volumes, inputs.server_network)
    _check(case, inputs)
    return case


def _check(case: ServiceCase, inputs: PlanInputs) -> None:
    hosts = case.hosts(case.choice.kind)
    window = inputs.nconnect > 1 or inputs.network_rtt is not None
    for wrong, message in (
        (inputs.tls, "--tls is about mount targets of OCI File Storage: leave it out with --service"),
        (inputs.mount_targets is not None, "--mount-targets is about OCI File Storage: leave it out with --service"),
        (
            case.volumes is not None and case.choice.ceilings.bytes_per_second is None,
            "--volumes: say what volumes with --service block-volume --type vpu-10 --capacity 800GB",
        ),
        (
            inputs.concurrency is not None and hosts.latency_seconds is None,
            "--concurrency needs --latency, because the service states no latency of this load and type",
        ),
        (
            (inputs.client_bandwidth is not None or inputs.network_rtt is not None) and inputs.clients is None,
            "--client-bandwidth and --network-rtt need --clients: how many hosts share the load",
        ),
        (window and inputs.network_rtt is None, "--nconnect needs --network-rtt and --clients with --service"),
    ):
        if wrong:
            raise UsageError(message)


def show_service(out: Console, case: ServiceCase) -> None:
    """Print the answer."""
    if case.name:
        say(out, f"{case.name}: {case.load.source}", "bold")
    if not case.load.is_job:
        each = " of each" if case.volumes else ""
        columns = (
            Column("type", left=True),
            Column(f"capacity{each} to buy"),
            Column("IOPS then"),
            Column("MB/s then"),
        )
        rows = [_row(case, offer) for offer in _offers(case)]
        show_table(out, columns, rows, f"For this load: {case.choice.service.title}")
        say(out, "")
    for line in sentences(case):
        say(out, line, hanging=2)


def _offers(case: ServiceCase) -> list[Offer]:
    """Capacity of each type for the load; of each volume where several share the load."""
    share = case.wanted.times(1 / (case.volumes or 1))
    every = offers(share, case.choice.service, case.target)
    return [one for one in every if case.choice.kind is None or one.kind is case.choice.kind]


def _row(case: ServiceCase, offer: Offer) -> Row:
    size, found = offer.capacity_bytes, case.in_flight(offer.kind)
    if found is not None and found.exceeded:
        return Row((offer.kind.name, f"none: it takes {found.most} requests at a time", "", ""))
    if _overloaded(case):
        return Row((offer.kind.name, "none: the clients do not bring the load about", "", ""))
    if size is None:
        return Row((offer.kind.name, "no capacity is enough", "", ""))
    then = offer.kind.ceilings(size or None)
    bought = units.capacity(size) if size else "any"
    return Row((offer.kind.name, bought, units.number(then.iops), units.megabytes(then.bytes_per_second)))


def sentences(case: ServiceCase) -> Iterator[str]:
    """The answer, one sentence each."""
    wanted, kind = case.wanted, case.choice.kind
    if case.load.is_job:
        yield from _job(case)
    else:
        yield (
            f"asked for: {units.number(wanted.operations)} reads and writes per second, {units.megabytes(wanted.payload)}"
            f" MB/s; {units.percent(case.target)} of a ceiling is aimed at"
        )
        for use in service_uses(wanted, case.ceilings):
            what = "" if use.unit == "IOPS" else f" of {use.resource}"
            yield f"of what you have ({case.title}): {units.percent(use.ratio)} of {amount(use.limit, use.unit)}{what}"
        yield from _in_flight(case)
    yield from (f"no: {one}" for one in obstacles(case))
    if any(use.resource == LATENCY for use in _overloaded(case)):
        yield PARALLEL_TOOLS
    needed = None if kind is None or case.load.is_job else clients_needed(wanted, kind)
    if needed is not None:
        yield f"clients: {needed}, at the rate that one client was seen to reach"
    yield from _server(case)
    if kind is not None and kind.remark:
        yield f"{kind.name}: {kind.remark}"
    rtt = case.clients.network_rtt_seconds
    if rtt and distance_advice(rtt):
        yield f"a round trip of {units.milliseconds(rtt)} ms: {distance_advice(rtt)}"
    yield from (f"client rule: {rule}" for rule in case.choice.service.client_rules)


def _job(case: ServiceCase) -> Iterator[str]:
    time = case.job_time()
    if time is None:
        yield "time: not known; give --type and --capacity, or --latency and --concurrency"
        return
    payload = case.wanted.payload / time.seconds
    yield (
        f"time: {units.duration(time.seconds)} for {units.number(time.operations)} requests, set by {time.binds.resource};"
        f" {units.number(time.operations_per_second)} IOPS, {units.megabytes(payload)} MB/s on average"
    )


def _in_flight(case: ServiceCase) -> Iterator[str]:
    found = case.in_flight(case.choice.kind)
    if found is None:
        return
    yield (
        f"in flight (Little's law): {units.number(case.wanted.operations)}/s x"
        f" {units.milliseconds(found.latency_seconds)} ms = {units.number(found.needed)} requests of"
        f" {units.kibibytes(found.size_bytes)} KiB at a time, all clients together"
    )
    if found.reachable is not None and not found.exceeded:
        yield (
            f"the service takes {found.most} at a time: {found.most} / {units.milliseconds(found.latency_seconds)} ms x"
            f" {units.kibibytes(found.size_bytes)} KiB = {units.megabytes(found.reachable.bytes_per_second)} MB/s at most"
        )


def obstacles(case: ServiceCase) -> Iterator[str]:
    """Why the load cannot be had, whatever capacity is bought. A job has none: it takes longer."""
    found = case.in_flight(case.choice.kind)
    if found is not None and found.exceeded and found.reachable is not None:
        yield (
            f"the service takes {found.most} requests at a time: {_flow(found.reachable)}. The load needs"
            f" {units.number(found.needed)} at a time"
        )
    for use in _overloaded(case):
        if use.resource == LATENCY and use.limit and found is not None:
            flow = _flow(Flow(use.limit, found.latency_seconds, found.size_bytes))
            yield f"{flow}. The load needs {units.number(use.demand)} at a time"
        else:
            yield f"{use.resource}: {amount(use.demand, use.unit)} of {amount(use.limit, use.unit)}"


def _flow(flow: Flow) -> str:
    return (
        f"{flow.in_flight:g} in flight at {units.milliseconds(flow.latency_seconds)} ms complete {units.number(flow.iops)} a"
        f" second, {units.megabytes(flow.bytes_per_second)} MB/s"
    )


def _overloaded(case: ServiceCase) -> list[Use]:
    """Bounds of the clients that the load exceeds; none for a job."""
    return [] if case.load.is_job else [use for use in _client_uses(case) if (use.ratio or 0.0) > 1 + 1e-9]


def _client_uses(case: ServiceCase) -> tuple[Use, ...]:
    """Bounds of the clients. The requests that the service takes are an obstacle of their own."""
    latency = latency_of(case.wanted, case.choice.kind, case.clients.latency_seconds)
    return client_uses(case.load.traffic, replace(case.clients, latency_seconds=latency))


def _server(case: ServiceCase) -> Iterator[str]:
    each = case.choice.ceilings.bytes_per_second
    if case.volumes is None or case.server_network is None or each is None:
        return
    gbps = case.server_network / network_bytes_per_second(1)
    bound = server_bytes_per_second([each] * case.volumes, gbps)
    servers = -(-case.wanted.payload // (bound * case.target))
    yield (
        f"a self-managed server passes on the less of {case.volumes} x {units.megabytes(each)} MB/s of volumes and"
        f" {units.megabytes(case.server_network)} MB/s of network: {units.megabytes(bound)} MB/s; it takes"
        f" {servers:.0f} such servers"
    )


def service_document(case: ServiceCase) -> dict[str, Any]:
    """The answer as JSON. Schema: docs/schemas/plan.json."""
    found, why, time = case.in_flight(case.choice.kind), list(obstacles(case)), case.job_time()
    kind, wanted, per = case.choice.kind, case.wanted, "" if case.load.is_job else "_per_second"
    return {
        "service": case.choice.service.name,
        **({"name": case.name, "source": case.load.source} if case.name else {}),
        f"operations{per}": wanted.operations,
        f"bytes{per}": wanted.payload,
        "target": case.target,
        "possible": not why,
        "obstacles": why,
        "job_seconds": time.seconds if time else None,
        "offers": [{"type": one.kind.name, "capacity_bytes": _offered(case, one)} for one in _offers(case)],
        "share": {} if case.load.is_job else {use.resource: use.ratio for use in service_uses(wanted, case.ceilings)},
        "in_flight": found and found.needed,
        "in_flight_limit": found and found.most,
        "clients": None if kind is None or case.load.is_job else clients_needed(wanted, kind),
        "sentences": list(sentences(case)),
    }


def _offered(case: ServiceCase, offer: Offer) -> float | None:
    found = case.in_flight(offer.kind)
    impossible = (found is not None and found.exceeded) or _overloaded(case)
    return None if case.load.is_job or impossible else offer.capacity_bytes


def with_stated_latency(inputs: PlanInputs, choice: ServiceChoice) -> PlanInputs:
    """The inputs with the latency that the service states, where only sizes and a concurrency are given."""
    size, kind = inputs.write_size, choice.kind
    asks_rate = inputs.concurrency is not None and not inputs.has_rates and not inputs.is_job
    if inputs.latency is not None or kind is None or size is None or not asks_rate or inputs.read_size is not None:
        return inputs
    return replace(inputs, latency=kind.stated_latency(size))
