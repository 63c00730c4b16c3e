"""A load, another storage service and the clients, and why a load cannot be had."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from fss_exporter import units
from fss_exporter.flag_records import refuse
from fss_exporter.model import purchase
from fss_exporter.model.capacity import LATENCY, ClientHosts, JobTime, client_uses, job_time
from fss_exporter.model.limits import Use
from fss_exporter.model.service_table import Ceilings, ServiceChoice, ServiceType
from fss_exporter.model.traffic import added
from fss_exporter.plan.answer_sentences import amount
from fss_exporter.plan.inputs import PlanInputs
from fss_exporter.plan.load import Load


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
    """A load, a service, and all the load runs on."""

    choice: ServiceChoice  # the service
    name: str  # address or resource of a recorded load; empty for a stated load
    load: Load  # the workload
    clients: ClientHosts  # the hosts, with the stated or recorded latency
    target: float  # share of a ceiling to stay at or below
    volumes: int | None  # block volumes of one self-managed server; None where there is no such server
    server_network: float | None  # network of this server towards the clients, bytes per second

    @property
    def wanted(self) -> purchase.ServiceLoad:
        """Reads and writes of the load."""
        return purchase.service_load(self.load.traffic)

    @property
    def ceilings(self) -> Ceilings:
        """Ceilings of the capacity the operator has, all volumes together."""
        return self.choice.ceilings.times(self.volumes or 1)

    @property
    def title(self) -> str:
        """Service, type, capacity and number of volumes."""
        return (f"{self.volumes} x " if self.volumes else "") + service_title(self.choice)

    @property
    def hosts(self) -> ClientHosts:
        """Return the clients with the latency of the service's type, and with no more requests than the type takes."""
        kind = self.choice.kind
        latency = purchase.latency_of(self.wanted, kind, self.clients.latency_seconds)
        asked, most = self.clients.concurrency, kind.in_flight if kind else None
        concurrency = min(filter(None, (asked, most)), default=None)
        return replace(self.clients, latency_seconds=latency, concurrency=concurrency)

    def in_flight(self, kind: ServiceType | None) -> purchase.InFlight | None:
        """Requests in flight. None for a job, or without a latency."""
        return None if self.load.is_job else purchase.in_flight(self.wanted, kind, self.clients.latency_seconds)

    @property
    def clients_needed(self) -> int | None:
        """Return the hosts that a rate needs, by the documented throughput of one client. None without a document."""
        kind = self.choice.kind
        return None if kind is None or self.load.is_job else purchase.clients_needed(self.wanted, kind)

    @property
    def too_few_clients(self) -> bool:
        """Whether fewer clients are given than the rate takes."""
        return (self.clients.count or math.inf) < (self.clients_needed or 0)

    def job_time(self) -> JobTime | None:
        """How long a job takes. None for a rate, or where no bound is known."""
        if not self.load.is_job:
            return None
        server = Use("network of the server", "B/s", self.wanted.payload, self.server_network)
        ceilings = purchase.service_uses(self.wanted, self.ceilings)
        found = (*ceilings, server, *client_uses(self.load.traffic, self.hosts))
        return job_time(found, self.wanted.operations, self.hosts)


def service_case(choice: ServiceChoice, inputs: PlanInputs, name: str, load: Load) -> ServiceCase:
    """Return the case of a load. Without a stated latency, a recorded load contains the latency.

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
    network = inputs.client_bandwidth is not None or inputs.network_rtt is not None
    no_latency = case.hosts.latency_seconds is None
    refuse(
        {
            "--tls is about mount targets of OCI File Storage: leave it out with --service": inputs.tls,
            "--mount-targets is about OCI File Storage: leave it out with --service": inputs.mount_targets is not None,
            "--volumes: say what volumes with --service block-volume --type vpu-10 --capacity 800GB": (
                case.volumes is not None and case.choice.ceilings.bytes_per_second is None
            ),
            "--concurrency needs --latency, because the service states no latency of this load and type": (
                inputs.concurrency is not None and no_latency
            ),
            "--client-bandwidth and --network-rtt need --clients: how many hosts share the load": (
                network and inputs.clients is None
            ),
            "--clients has no effect here. Give --client-bandwidth or --network-rtt, or a --type with figures about one"
            " client": inputs.clients is not None and not network and case.clients_needed is None,
            "--nconnect needs --network-rtt and --clients with --service": (
                inputs.nconnect > 1 and inputs.network_rtt is None
            ),
        }
    )


def with_stated_latency(inputs: PlanInputs, choice: ServiceChoice) -> PlanInputs:
    """Return the inputs with the service's stated latency, if the flags give sizes and a concurrency only."""
    size, kind = inputs.write_size, choice.kind
    asks_rate = inputs.concurrency is not None and not inputs.has_rates and not inputs.is_job
    if inputs.latency is not None or kind is None or size is None or not asks_rate or inputs.read_size is not None:
        return inputs
    return replace(inputs, latency=kind.stated_latency(size))


def obstacles(case: ServiceCase) -> Iterator[str]:
    """Return the reasons why no capacity can carry the load. Empty for a job, because a job only takes longer."""
    found = case.in_flight(case.choice.kind)
    if found is not None and found.exceeded and found.reachable is not None:
        yield (
            f"the service takes {found.most} requests at a time: {_flow(found.reachable)}. The load needs"
            f" {units.number(found.needed)} at a time"
        )
    if case.too_few_clients:
        yield (
            f"{case.clients.count} client(s) given, and the load takes {case.clients_needed}: one client was seen to reach no more"
        )
    for use in overloaded(case):
        if use.resource == LATENCY and use.limit and found is not None:
            flow = _flow(purchase.Flow(use.limit, found.latency_seconds, found.size_bytes))
            yield f"{flow}. The load needs {units.number(use.demand)} at a time"
        else:
            yield f"{use.resource}: {amount(use.demand, use.unit)} of {amount(use.limit, use.unit)}"


def _flow(flow: purchase.Flow) -> str:
    return (
        f"{flow.in_flight:g} in flight at {units.milliseconds(flow.latency_seconds)} ms complete {units.number(flow.iops)} a"
        f" second, {units.megabytes(flow.bytes_per_second)} MB/s"
    )


def overloaded(case: ServiceCase) -> list[Use]:
    """Bounds of the clients that the load exceeds. None for a job."""
    return [] if case.load.is_job else [use for use in client_bounds(case) if (use.ratio or 0.0) > 1 + 1e-9]


def client_bounds(case: ServiceCase) -> tuple[Use, ...]:
    """Return the bounds of the clients, without the requests that the service takes."""
    return client_uses(case.load.traffic, replace(case.clients, latency_seconds=case.hosts.latency_seconds))
