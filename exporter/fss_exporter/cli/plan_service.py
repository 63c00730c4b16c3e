"""The answer of `plan --service`: what to buy of another storage service, and what the clients have to do for it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from fss_exporter import units
from fss_exporter.cli.plan_case import Load
from fss_exporter.cli.plan_options import Options
from fss_exporter.cli.service_options import Chosen, capacity
from fss_exporter.errors import UsageError
from fss_exporter.model.concurrency import network_bytes_per_second, server_bytes_per_second
from fss_exporter.model.purchase import (
    Offer,
    ServiceLoad,
    clients_needed,
    offers,
    pace,
    service_load,
    service_uses,
)
from fss_exporter.model.traffic import added
from fss_exporter.tables import Column, Row, say, show as show_table


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked.

    Attributes:
        chosen: the service.
        name: address or resource the load was recorded at; empty if it was stated.
        source: where the load comes from.
        load: what it has to bear.
        target: share of its ceilings to stay at or below.
        latency_seconds: of a request; None where it is not known.
        volumes: block volumes of one self-managed server; None where there is no such server.
        server_network: its card towards the clients, bytes per second.
    """

    chosen: Chosen
    name: str
    source: str
    load: ServiceLoad
    target: float
    latency_seconds: float | None
    volumes: int | None
    server_network: float | None


def question_of(chosen: Chosen, options: Options, name: str, load: Load) -> Question:
    """What the flags ask of a load; where they state no latency it is the one that was recorded."""
    recorded = added(rate for operation, rate in load.traffic.operations.items() if chosen.service.prices(operation))
    latency = options.latency or recorded.mean_rtt_seconds or None
    asked = service_load(load.traffic)
    return Question(chosen, name, load.source, asked, options.target, latency, options.volumes, options.server_network)


def check(question: Question) -> None:
    """Refuse what cannot be answered.

    Raises:
        UsageError: the flags do not fit together.
    """
    if (question.volumes is None) != (question.server_network is None):
        raise UsageError("--volumes and --server-network speak of one self-managed server: give both")
    if question.volumes is not None and question.chosen.ceilings.bytes_per_second is None:
        raise UsageError("--volumes: say what volumes with --service block-volume --type vpu-10 --capacity 800GB")


_OFFERS = (Column("type", left=True), Column("capacity to buy"), Column("IOPS then"), Column("MB/s then"))


def show(out: Console, question: Question) -> None:
    """Print the answer."""
    if question.name:
        say(out, f"{question.name}: {question.source}", "bold")
    show_table(
        out, _OFFERS, [_row(offer) for offer in _wanted(question)], f"To bear it: {question.chosen.service.title}"
    )
    say(out, "")
    for line in sentences(question):
        say(out, line, hanging=2)


def _wanted(question: Question) -> list[Offer]:
    every = offers(question.load, question.chosen.service, question.target)
    kind = question.chosen.kind
    return [offer for offer in every if kind is None or offer.kind is kind]


def _row(offer: Offer) -> Row:
    size = offer.capacity_bytes
    if size is None:
        return Row((offer.kind.name, "no capacity bears it", "", ""))
    then = offer.kind.ceilings(size or None)
    return Row(
        (
            offer.kind.name,
            capacity(size) if size else "any",
            units.number(then.iops),
            units.megabytes(then.bytes_per_second),
        )
    )


def sentences(question: Question) -> Iterator[str]:
    """What follows, each with its numbers."""
    load, chosen = question.load, question.chosen
    yield (
        f"asked for: {units.number(load.operations)} reads and writes per second, {units.megabytes(load.payload)} MB/s;"
        f" {units.percent(question.target)} of a ceiling is aimed at"
    )
    for use in service_uses(load, chosen.ceilings):
        limit = units.number(use.limit) if use.unit == "IOPS" else f"{units.megabytes(use.limit)} MB/s"
        yield f"of what you have ({chosen.name}): {units.percent(use.ratio)} of {limit}, {use.resource}"
    yield from _pace(question)
    needed = None if chosen.kind is None else clients_needed(load, chosen.kind)
    if needed is not None:
        yield f"clients: {needed}, at what one client was seen to reach"
    yield from _server(question)


def _pace(question: Question) -> Iterator[str]:
    found = pace(question.load, question.chosen.kind, question.latency_seconds)
    if found is None:
        return
    yield (
        f"in flight (Little's law): {units.number(question.load.operations)}/s x"
        f" {units.milliseconds(found.latency_seconds)} ms = {units.number(found.needed)} requests of"
        f" {units.kibibytes(found.size_bytes)} KiB at a time, all clients together"
    )
    if found.most is not None:
        yield (
            f"the service takes {found.most} at a time: {found.most} / {units.milliseconds(found.latency_seconds)} ms x"
            f" {units.kibibytes(found.size_bytes)} KiB = {units.megabytes(found.reachable)} MB/s at most"
        )


def _server(question: Question) -> Iterator[str]:
    each = question.chosen.ceilings.bytes_per_second
    if question.volumes is None or question.server_network is None or each is None:
        return
    gbps = question.server_network / network_bytes_per_second(1)
    bound = server_bytes_per_second([each] * question.volumes, gbps)
    servers = -(-question.load.payload // (bound * question.target))
    yield (
        f"a self-managed server passes on the less of {question.volumes} x {units.megabytes(each)} MB/s of volumes and"
        f" {units.megabytes(question.server_network)} MB/s of network: {units.megabytes(bound)} MB/s; it takes"
        f" {servers:.0f} such servers"
    )


def document(question: Question) -> dict[str, Any]:
    """The answer as JSON."""
    load, chosen = question.load, question.chosen
    found = pace(load, chosen.kind, question.latency_seconds)
    return {
        "service": chosen.service.name,
        **({"name": question.name, "source": question.source} if question.name else {}),
        "operations_per_second": load.operations,
        "bytes_per_second": load.payload,
        "target": question.target,
        "offers": [{"type": one.kind.name, "capacity_bytes": one.capacity_bytes} for one in _wanted(question)],
        "share": {use.resource: use.ratio for use in service_uses(load, chosen.ceilings)},
        "in_flight": found and found.needed,
        "in_flight_limit": found and found.most,
        "clients": None if chosen.kind is None else clients_needed(load, chosen.kind),
        "sentences": list(sentences(question)),
    }
