# SPDX-License-Identifier: Apache-2.0
"""The answer of `plan --service`: what a capacity of another service gives, the capacity to buy, or why no capacity helps."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from fss_exporter.flag_records import refuse
from fss_exporter.model.limits import ROUNDING, Limits
from fss_exporter.model.service_table import GB, TB, TIB, ServiceType
from fss_toolbox import printed
from fss_toolbox.plan.answer import Section
from fss_toolbox.plan.inputs import PlanInputs
from fss_toolbox.plan.load import Load
from fss_toolbox.sizing import capacity, purchase
from fss_toolbox.sizing.service_choice import ServiceChoice
from fss_toolbox.sizing.uses import Use, known_uses
from fss_toolbox.sizing.workload import plain, scaled
from fss_toolbox.tables import Column, Figure, figure_table, keyed

MORE_AT_A_TIME: Final = (
    "latency binds: run more requests at a time, with a deeper queue or more processes. More capacity does not help"
)


def service_title(choice: ServiceChoice) -> str:
    """Service, type and capacity."""
    parts = (
        choice.service.title,
        choice.kind.name if choice.kind else "",
        printed.capacity(choice.capacity_bytes) if choice.capacity_bytes else "",
    )
    return ", ".join(filter(None, parts))


def sold_size(kind: ServiceType, size_bytes: float) -> str:
    """Return a capacity in TB, or in TiB where the service sells TiB."""
    return f"{size_bytes / TIB:,.1f} TiB" if kind.steps else printed.capacity(size_bytes)


class _Given(NamedTuple):
    """What a capacity of a type gives."""

    kind: ServiceType
    size_bytes: float  # capacity on sale
    sold: str  # the capacity for people, or why no capacity is enough
    limits: Limits  # ceilings at this capacity


_GIVEN: Final = (
    Figure(Column("type", left=True), lambda given: given.kind.name, key="type"),
    Figure(Column("capacity"), lambda given: given.sold),
    Figure(None, lambda given: given.size_bytes, key="capacity_bytes"),
    Figure(Column("IOPS"), lambda given: given.limits.iops, printed.number, "iops"),
    Figure(
        Column("read MB/s"),
        lambda given: given.limits.read_bytes_per_second,
        printed.megabytes,
        "read_bytes_per_second",
    ),
    Figure(
        Column("write MB/s"),
        lambda given: given.limits.write_bytes_per_second,
        printed.megabytes,
        "written_bytes_per_second",
    ),
    Figure(Column("MB/s, both"), lambda given: given.limits.bytes_per_second, printed.megabytes, "bytes_per_second"),
    Figure(Column("requests at a time"), lambda given: given.kind.in_flight, printed.number, "in_flight"),
)


def ceiling_sections(choice: ServiceChoice) -> Iterator[Section]:
    """Yield what a capacity gives, by type, and the documents that say so."""
    gives = _given(choice)
    yield Section(f"{choice.service.title} gives at most", *figure_table(_GIVEN, gives))
    lines = [
        f"source: {document} ({dated})"
        for document, dated in sorted({source for given in gives for source in given.kind.sources})
    ]
    if any(given.size_bytes != choice.capacity_bytes for given in gives):
        lines.insert(0, "a capacity that is not on sale stands for the next larger one")
    yield Section(sentences=lines)


def ceilings_document(choice: ServiceChoice) -> dict[str, Any]:
    """Return what a capacity gives as JSON. Schema: docs/schemas/plan.json."""
    return {"service": choice.service.name, "ceilings": [keyed(_GIVEN, given) for given in _given(choice)]}


def _given(choice: ServiceChoice) -> list[_Given]:
    """Return what the types of the choice give."""
    kinds = choice.service.kinds.values() if choice.kind is None else (choice.kind,)
    sizes = ((kind, kind.on_sale(choice.capacity_bytes or 0.0)) for kind in kinds)
    return [_Given(kind, size, sold_size(kind, size), kind.ceilings(size)) for kind, size in sizes]


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
            "--stunnel is about mount targets of OCI File Storage: leave it out with --service": inputs.stunnel,
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


def service_sections(case: ServiceCase) -> Iterator[Section]:
    """Yield the answer."""
    title = f"{case.name}: {case.load.source}" if case.name else ""
    yield Section(title, sentences=list(filter(None, [case.load.remark])))
    offered = [] if case.load.is_job else [_offered(case, offer) for offer in case.offers()]
    if offered:
        each = f", each of {case.inputs.volumes}" if case.inputs.volumes else ""
        title = f"To buy for at most {printed.percent(case.inputs.target)} of each ceiling: {case.choice.service.title}{each}"
        yield Section(title, *figure_table(_GIVEN, offered))
    yield Section(sentences=list(_sentences(case)))


def _offered(case: ServiceCase, offer: purchase.Offer) -> _Given:
    why, size = _why_none(case, offer), offer.capacity_bytes
    if why:
        return _Given(offer.kind, 0.0, why, Limits())
    sold = sold_size(offer.kind, _printed_up(offer.kind, size)) if size else "any"
    return _Given(offer.kind, size or 0.0, sold, offer.kind.ceilings(size or None))


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
    return f"none: {printed.percent(offer.share_of_most)} of the most it gives" if offer.capacity_bytes is None else ""


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
        " MB/s"
    )
    title = (f"{case.inputs.volumes} x " if case.inputs.volumes else "") + service_title(case.choice)
    target = case.inputs.target
    for use in case.uses:
        what = "" if use.unit == "IOPS" else f" of {use.resource}"
        above = (use.ratio or 0.0) > target * (1 + ROUNDING)
        yield (
            f"of what you have ({title}): {printed.percent(use.ratio)} of {printed.amount(use.limit, use.unit)}{what}"
            f"{f', more than {printed.percent(target)}' if above else ''}"
        )
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
        target, (only, *others) = printed.percent(case.inputs.target), offers
        which = "any type" if others else only.kind.name
        most = "" if others else f": it is {printed.percent(only.share_of_most)} of the most that {which} gives"
        yield f"no capacity of {which} keeps the load at or below {target} of each ceiling{most}"
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
    many = (
        f"{servers} such server{'s, each' if servers > 1 else ','} at most {printed.percent(case.inputs.target)} full"
    )
    needed = "" if case.load.is_job else f". The load takes {many}, with no price known here for instance and volumes"
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
