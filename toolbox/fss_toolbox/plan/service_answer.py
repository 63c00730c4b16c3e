# SPDX-License-Identifier: Apache-2.0
"""The answer of `plan --service`: the capacity to buy of another storage service, or why no capacity helps."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from rich.console import Console

from fss_exporter.flag_records import refuse
from fss_exporter.model.limits import ROUNDING
from fss_exporter.model.service_table import GB, TB, ServiceType
from fss_toolbox import printed
from fss_toolbox.plan.inputs import PlanInputs
from fss_toolbox.plan.load import Load
from fss_toolbox.plan.service_ceilings import service_title, sold_size
from fss_toolbox.sizing import capacity, purchase
from fss_toolbox.sizing.service_choice import ServiceChoice
from fss_toolbox.sizing.uses import Use, known_uses
from fss_toolbox.sizing.workload import plain, scaled
from fss_toolbox.tables import Column, Row, say, show as show_table

MORE_AT_A_TIME: Final = (
    "latency binds: run more requests at a time, with a deeper queue or more processes. More capacity does not help"
)


@dataclass(frozen=True, slots=True)
class ServiceCase:
    """A load with a service and the clients that send the load."""

    choice: ServiceChoice  # the service
    inputs: PlanInputs  # the flags
    name: str  # address or resource of a recorded load; empty for a stated load
    load: Load  # reads and writes of the workload, with cost 1 each
    clients: capacity.ClientHosts  # the hosts, with the stated, recorded or documented latency

    @property
    def operations(self) -> float:
        """Number of reads and writes."""
        return self.load.traffic.all_operations.operations

    @property
    def uses(self) -> tuple[Use, ...]:
        """Known ceilings of the capacity the operator has, all volumes together."""
        each = known_uses(self.load.traffic, self.choice.ceilings)
        return tuple(replace(use, limit=use.limit and use.limit * (self.inputs.volumes or 1)) for use in each)

    @property
    def client_bounds(self) -> tuple[Use, ...]:
        """Return the bounds of the clients, without the requests that the service takes."""
        return capacity.client_uses(self.load.traffic, self.clients)

    @property
    def overloaded(self) -> list[Use]:
        """Bounds of the clients that a rate exceeds."""
        return [use for use in self.client_bounds if (use.ratio or 0.0) > 1 + ROUNDING]

    def in_flight(self, kind: ServiceType | None) -> purchase.InFlight | None:
        """Requests in flight of a rate. None without a latency."""
        return purchase.in_flight(self.load.traffic, kind, self.clients.latency_seconds)

    @property
    def clients_needed(self) -> int | None:
        """Return the hosts that a rate needs, by the documented throughput of one client. None without a document."""
        kind = self.choice.kind
        share = None if kind is None else purchase.clients_share(self.load.traffic, kind)
        return None if share is None else capacity.pieces_for(share)

    @property
    def too_few_clients(self) -> bool:
        """Whether fewer clients are given than a rate takes."""
        return (self.clients.count or math.inf) < (self.clients_needed or 0)

    def job_time(self) -> capacity.JobTime | None:
        """How long a job takes. None if no bound is known."""
        kind = self.choice.kind
        most = (self.clients.concurrency, kind.in_flight if kind else None)
        clients = replace(self.clients, concurrency=min(filter(None, most), default=None))
        server = Use("network of the server", "B/s", self.load.traffic.payload, self.inputs.server_network)
        return capacity.job_time(
            (*self.uses, server, *capacity.client_uses(self.load.traffic, clients)), self.operations, clients
        )

    def offers(self) -> list[purchase.Offer]:
        """Capacity of each type for the load. Of each volume where several share the load."""
        offers = purchase.offers(
            scaled(self.load.traffic, 1 / (self.inputs.volumes or 1)), self.choice.service, self.inputs.target
        )
        return [offer for offer in offers if self.choice.kind is None or offer.kind is self.choice.kind]


def service_case(choice: ServiceChoice, inputs: PlanInputs, name: str, load: Load) -> ServiceCase:
    """Return the case of a load. Without a stated latency, a recorded load contains the latency.

    Raises:
        UsageError: a flag has no effect on this service, or a figure is missing.
    """
    traffic = plain(load.traffic)
    measured = inputs.latency or traffic.all_operations.mean_rtt_seconds or None
    clients = replace(inputs.hosts, latency_seconds=purchase.latency_of(traffic, choice.kind, measured))
    load = replace(load, traffic=traffic)
    case = ServiceCase(choice, inputs, name, load, clients)
    _check(case)
    return case


def _check(case: ServiceCase) -> None:
    inputs = case.inputs
    network = inputs.client_bandwidth is not None or inputs.network_rtt is not None
    refuse(
        {
            "--tls is about mount targets of OCI File Storage: leave it out with --service": inputs.tls,
            "--mount-targets is about OCI File Storage: leave it out with --service": inputs.mount_targets is not None,
            "--volumes: say what volumes with --service block-volume --type vpu-10 --capacity 800GB": (
                inputs.volumes is not None and case.choice.ceilings.bytes_per_second is None
            ),
            "--concurrency needs --latency, because the service states no latency of this load and type": (
                inputs.concurrency is not None and case.clients.latency_seconds is None
            ),
            "--client-bandwidth and --network-rtt need --clients: how many hosts share the load": (
                network and inputs.clients is None
            ),
            "--clients has no effect here. Give --client-bandwidth or --network-rtt, or a --type with figures about one"
            " client": inputs.clients is not None and not network and (case.load.is_job or case.clients_needed is None),
            "--nconnect needs --network-rtt and --clients with --service": (
                inputs.nconnect > 1 and inputs.network_rtt is None
            ),
        }
    )


def show_service(out: Console, case: ServiceCase) -> None:
    """Print the answer."""
    if case.name:
        say(out, f"{case.name}: {case.load.source}", "bold")
    if case.load.remark:
        say(out, case.load.remark, hanging=2)
    rows = [] if case.load.is_job else [_row(case, offer) for offer in case.offers()]
    if rows:
        each = " of each" if case.inputs.volumes else ""
        titles = (f"capacity{each} to buy", "IOPS then", "MB/s then")
        columns = (Column("type", left=True), *map(Column, titles))
        show_table(out, columns, rows, f"For this load: {case.choice.service.title}")
        say(out, "")
    for line in _sentences(case):
        say(out, line, hanging=2)


def _row(case: ServiceCase, offer: purchase.Offer) -> Row:
    why, size = _why_none(case, offer), offer.capacity_bytes
    if why:
        return Row((offer.kind.name, why, "", ""))
    then = offer.kind.ceilings(size or None)
    bought = sold_size(offer.kind, _printed_up(offer.kind, size)) if size else "any"
    return Row((offer.kind.name, bought, printed.number(then.iops), printed.megabytes(then.bytes_per_second)))


def _printed_up(kind: ServiceType, size_bytes: float) -> float:
    """Return a capacity rounded up to the digits of a report, because a little less is not enough."""
    digit = TB / 100 if size_bytes >= TB else GB
    return size_bytes if kind.steps else math.ceil(size_bytes / digit - ROUNDING) * digit


def _why_none(case: ServiceCase, offer: purchase.Offer) -> str:
    """Return the reason why no capacity of a type carries the load. Empty for an offer."""
    waiting = case.in_flight(offer.kind)
    if waiting is not None and waiting.exceeded:
        return f"none: the service takes {waiting.most} requests at a time"
    if case.overloaded or case.too_few_clients:
        return "none: the clients cannot cause this load"
    return "no capacity is enough" if offer.capacity_bytes is None else ""


def _sentences(case: ServiceCase) -> Iterator[str]:
    if case.load.is_job:
        yield _job(case)
    else:
        yield from _rate(case)
        yield from _clients(case)
    yield from _server(case)
    kind, rtt = case.choice.kind, case.clients.network_rtt_seconds
    if kind is not None and kind.remark:
        yield f"{kind.name}: {kind.remark}"
    if rtt and (far := capacity.distance(rtt)):
        yield f"a round trip of {printed.milliseconds(rtt)} ms: {far.advice}"
    yield from (f"client rule: {rule}" for rule in case.choice.service.client_rules)


def _job(case: ServiceCase) -> str:
    time = case.job_time()
    if time is None:
        return "time: not known. Give --type and --capacity, or --latency and --concurrency"
    return (
        f"time: {printed.duration(time.seconds)} for {printed.number(time.operations)} requests, set by {time.binds.resource}:"
        f" {printed.number(time.operations_per_second)} IOPS, {printed.megabytes(case.load.traffic.payload / time.seconds)} MB/s on average"
    )


def _rate(case: ServiceCase) -> Iterator[str]:
    if not case.operations:
        yield f"nothing to buy: the load has no reads and writes, which are all that {case.choice.service.title} counts"
    yield (
        f"asked for: {printed.number(case.operations)} reads and writes per second, {printed.megabytes(case.load.traffic.payload)}"
        f" MB/s, with at most {printed.percent(case.inputs.target)} of each ceiling"
    )
    title = (f"{case.inputs.volumes} x " if case.inputs.volumes else "") + service_title(case.choice)
    for use in case.uses:
        what = "" if use.unit == "IOPS" else f" of {use.resource}"
        yield f"of what you have ({title}): {printed.percent(use.ratio)} of {printed.amount(use.limit, use.unit)}{what}"
    waiting = case.in_flight(case.choice.kind)
    if waiting is None:
        return
    each = f"{printed.milliseconds(waiting.latency_seconds)} ms"
    size = f"{printed.kibibytes(waiting.size_bytes)} KiB"
    yield (
        f"in flight (Little's law): {printed.number(case.operations)}/s x {each} = {printed.number(waiting.needed)} requests of"
        f" {size} at a time, all clients together"
    )
    if waiting.most is not None and not waiting.exceeded:
        most = printed.megabytes(waiting.completed(waiting.most) * waiting.size_bytes)
        yield f"the service takes {waiting.most} at a time: {waiting.most} / {each} x {size} = {most} MB/s at most"


def _clients(case: ServiceCase) -> Iterator[str]:
    """Return why a rate is impossible, and what it asks of the clients."""
    yield from (f"no: {obstacle}" for obstacle in _obstacles(case))
    if any(use.resource == capacity.LATENCY for use in case.overloaded):
        yield MORE_AT_A_TIME
    for use in case.client_bounds:
        if use.resource != capacity.LATENCY and use.limit:
            yield f"{use.resource}: {printed.amount(use.demand, use.unit)} of {printed.amount(use.limit, use.unit)}, {printed.percent(use.ratio)}"
    if case.clients_needed is not None:
        yield f"clients: {case.clients_needed}, because of the highest known rate of one client"


def _obstacles(case: ServiceCase) -> Iterator[str]:
    """Return the reasons why no capacity can carry a rate. A job has none, because it only takes longer."""
    offers, waiting = case.offers(), case.in_flight(case.choice.kind)
    if offers and all(offer.capacity_bytes is None for offer in offers):
        which = offers[0].kind.name if len(offers) == 1 else "any type"
        yield f"no capacity of {which} is enough"
    if waiting is not None and waiting.most is not None and waiting.exceeded:
        yield f"the service takes {waiting.most} requests at a time: {_reached(waiting, waiting.most, waiting.needed)}"
    if case.too_few_clients:
        yield (
            f"{case.clients.count} client(s) given, and the load takes {case.clients_needed}: one client was seen to reach no more"
        )
    for use in case.overloaded:
        if use.resource == capacity.LATENCY and use.limit and waiting is not None:
            yield _reached(waiting, use.limit, use.demand)
        else:
            yield f"{use.resource}: {printed.amount(use.demand, use.unit)} of {printed.amount(use.limit, use.unit)}"


def _reached(waiting: purchase.InFlight, requests: float, needed: float | None) -> str:
    rate = waiting.completed(requests)
    return (
        f"{requests:g} in flight at {printed.milliseconds(waiting.latency_seconds)} ms complete {printed.number(rate)} a"
        f" second, {printed.megabytes(rate * waiting.size_bytes)} MB/s. The load needs {printed.number(needed)} at a time"
    )


def _server(case: ServiceCase) -> Iterator[str]:
    each, volumes, network = case.choice.ceilings.bytes_per_second, case.inputs.volumes, case.inputs.server_network
    if volumes is None or network is None or each is None:
        return
    bound = min(each * volumes, network)
    servers = capacity.pieces_for(case.load.traffic.payload / bound, case.inputs.target)
    needed = "" if case.load.is_job else f". The load takes {servers} such server{'s' if servers > 1 else ''}"
    yield (
        f"a self-managed server passes on the lesser of {volumes} x {printed.megabytes(each)} MB/s of volumes and"
        f" {printed.megabytes(network)} MB/s of network: {printed.megabytes(bound)} MB/s{needed}"
    )


def service_document(case: ServiceCase) -> dict[str, Any]:
    """The answer as JSON. Schema: docs/schemas/plan.json."""
    is_job = case.load.is_job
    per, time = ("", case.job_time()) if is_job else ("_per_second", None)
    waiting, why = (None, []) if is_job else (case.in_flight(case.choice.kind), list(_obstacles(case)))
    return {
        "service": case.choice.service.name,
        **({"name": case.name, "source": case.load.source} if case.name else {}),
        "remark": case.load.remark or None,
        f"operations{per}": case.operations,
        f"bytes{per}": case.load.traffic.payload,
        "target": case.inputs.target,
        "possible": not why,
        "obstacles": why,
        "job_seconds": time.seconds if time else None,
        "offers": [
            {
                "type": offer.kind.name,
                "capacity_bytes": None if is_job or _why_none(case, offer) else offer.capacity_bytes,
            }
            for offer in case.offers()
        ],
        "share": {} if is_job else {use.resource: use.ratio for use in case.uses},
        "in_flight": waiting and waiting.needed,
        "in_flight_limit": waiting and waiting.most,
        "clients": None if is_job else case.clients_needed,
        "sentences": list(_sentences(case)),
    }
