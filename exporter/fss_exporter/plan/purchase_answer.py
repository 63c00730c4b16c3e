"""The answer of `plan --service`: the capacity to buy of another storage service, or why no capacity helps."""

from collections.abc import Iterator
from typing import Any

from rich.console import Console

from fss_exporter import units
from fss_exporter.model.capacity import LATENCY, distance_advice, pieces_for
from fss_exporter.model.purchase import Offer, offers, service_uses
from fss_exporter.plan.answer_sentences import PARALLEL_TOOLS, amount
from fss_exporter.plan.service_case import ServiceCase, client_bounds, obstacles, overloaded
from fss_exporter.tables import Column, Row, say, show as show_table


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
        if rows:
            show_table(out, columns, rows, f"For this load: {case.choice.service.title}")
            say(out, "")
    for line in sentences(case):
        say(out, line, hanging=2)


def _offers(case: ServiceCase) -> list[Offer]:
    """Capacity of each type for the load. Of each volume where several share the load."""
    share = case.wanted.times(1 / (case.volumes or 1))
    every = offers(share, case.choice.service, case.target)
    return [one for one in every if case.choice.kind is None or one.kind is case.choice.kind]


def _why_none(case: ServiceCase, offer: Offer) -> str:
    """Return the reason why no capacity of a type carries the load. Empty for an offer."""
    found = case.in_flight(offer.kind)
    if found is not None and found.exceeded:
        return f"none: the service takes {found.most} requests at a time"
    if overloaded(case) or case.too_few_clients:
        return "none: the clients cannot cause this load"
    return "no capacity is enough" if offer.capacity_bytes is None else ""


def _row(case: ServiceCase, offer: Offer) -> Row:
    why, size = _why_none(case, offer), offer.capacity_bytes
    if why:
        return Row((offer.kind.name, why, "", ""))
    then = offer.kind.ceilings(size or None)
    bought = units.capacity(size) if size else "any"
    return Row((offer.kind.name, bought, units.number(then.iops), units.megabytes(then.bytes_per_second)))


def sentences(case: ServiceCase) -> Iterator[str]:
    """Return the answer, a sentence for each part."""
    wanted, kind = case.wanted, case.choice.kind
    if case.load.is_job:
        yield from _job(case)
    elif not wanted.operations:
        yield f"nothing to buy: the load has no reads and writes, which are all that {case.choice.service.title} counts"
    else:
        yield (
            f"asked for: {units.number(wanted.operations)} reads and writes per second, {units.megabytes(wanted.payload)}"
            f" MB/s, with at most {units.percent(case.target)} of each ceiling"
        )
        for use in service_uses(wanted, case.ceilings):
            what = "" if use.unit == "IOPS" else f" of {use.resource}"
            yield f"of what you have ({case.title}): {units.percent(use.ratio)} of {amount(use.limit, use.unit)}{what}"
        yield from _in_flight(case)
    yield from (f"no: {one}" for one in obstacles(case))
    if any(use.resource == LATENCY for use in overloaded(case)):
        yield PARALLEL_TOOLS
    for use in () if case.load.is_job else client_bounds(case):
        if use.resource != LATENCY and use.limit:
            yield f"{use.resource}: {amount(use.demand, use.unit)} of {amount(use.limit, use.unit)}, {units.percent(use.ratio)}"
    if case.clients_needed is not None:
        yield f"clients: {case.clients_needed}, because of the highest known rate of one client"
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
        yield "time: not known. Give --type and --capacity, or --latency and --concurrency"
        return
    payload = case.wanted.payload / time.seconds
    yield (
        f"time: {units.duration(time.seconds)} for {units.number(time.operations)} requests, set by {time.binds.resource}:"
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


def _server(case: ServiceCase) -> Iterator[str]:
    each = case.choice.ceilings.bytes_per_second
    if case.volumes is None or case.server_network is None or each is None:
        return
    bound = min(each * case.volumes, case.server_network)
    servers = pieces_for(case.wanted.payload / bound, case.target)
    needed = "" if case.load.is_job else f". The load takes {servers} such server{'s' if servers > 1 else ''}"
    yield (
        f"a self-managed server passes on the lesser of {case.volumes} x {units.megabytes(each)} MB/s of volumes and"
        f" {units.megabytes(case.server_network)} MB/s of network: {units.megabytes(bound)} MB/s{needed}"
    )


def service_document(case: ServiceCase) -> dict[str, Any]:
    """The answer as JSON. Schema: docs/schemas/plan.json."""
    found, why, time = case.in_flight(case.choice.kind), list(obstacles(case)), case.job_time()
    wanted, per = case.wanted, "" if case.load.is_job else "_per_second"
    return {
        "service": case.choice.service.name,
        **({"name": case.name, "source": case.load.source} if case.name else {}),
        f"operations{per}": wanted.operations,
        f"bytes{per}": wanted.payload,
        "target": case.target,
        "possible": not why,
        "obstacles": why,
        "job_seconds": time.seconds if time else None,
        "offers": [
            {
                "type": one.kind.name,
                "capacity_bytes": None if case.load.is_job or _why_none(case, one) else one.capacity_bytes,
            }
            for one in _offers(case)
        ],
        "share": {} if case.load.is_job else {use.resource: use.ratio for use in service_uses(wanted, case.ceilings)},
        "in_flight": found and found.needed,
        "in_flight_limit": found and found.most,
        "clients": case.clients_needed,
        "sentences": list(sentences(case)),
    }
