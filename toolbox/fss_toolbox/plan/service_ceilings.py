# SPDX-License-Identifier: Apache-2.0
"""What a capacity of another storage service gives, whatever the load: the answer of `plan --service --capacity` alone."""

from typing import Any, Final, NamedTuple

from rich.console import Console

from fss_exporter.model.limits import Limits
from fss_exporter.model.service_table import TIB, ServiceType
from fss_toolbox import printed
from fss_toolbox.sizing.service_choice import ServiceChoice
from fss_toolbox.tables import Column, Figure, keyed, say, show_figures


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
    """What a type of a service gives."""

    kind: ServiceType
    size_bytes: float  # capacity on sale
    limits: Limits  # ceilings at this capacity


_GIVEN: Final = (
    Figure(Column("type", left=True), lambda given: given.kind.name, key="type"),
    Figure(Column("capacity"), lambda given: sold_size(given.kind, given.size_bytes)),
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


def show_ceilings(out: Console, choice: ServiceChoice) -> None:
    """Print what a capacity gives, by type, and the documents that say so."""
    gives = _given(choice)
    show_figures(out, _GIVEN, gives, title=f"{choice.service.title} gives at most")
    say(out, "")
    if any(given.size_bytes != choice.capacity_bytes for given in gives):
        say(out, "a capacity that is not on sale stands for the next larger one", hanging=2)
    for document, dated in sorted({source for given in gives for source in given.kind.sources}):
        say(out, f"source: {document} ({dated})", hanging=2)


def ceilings_document(choice: ServiceChoice) -> dict[str, Any]:
    """Return what a capacity gives as JSON. Schema: docs/schemas/plan.json."""
    return {"service": choice.service.name, "ceilings": [keyed(_GIVEN, given) for given in _given(choice)]}


def _given(choice: ServiceChoice) -> list[_Given]:
    """Return what the types of the choice give."""
    kinds = choice.service.kinds.values() if choice.kind is None else (choice.kind,)
    sizes = ((kind, kind.on_sale(choice.capacity_bytes or 0.0)) for kind in kinds)
    return [_Given(kind, size, kind.ceilings(size)) for kind, size in sizes]
