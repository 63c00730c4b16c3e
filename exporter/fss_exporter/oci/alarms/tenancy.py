"""What the provisioner asks a tenancy before it plans: mount targets, replications, spellings, event types seen.

Unlike the poller it has no earlier answer to keep: a listing that fails ends the run, because an alarm for a mount
target that was only not listed would be planned away.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from fss_exporter.errors import UsageError
from fss_exporter.oci.iam import NAMESPACE
from fss_exporter.oci.listings import Listings, build
from fss_exporter.oci.metric_table import METRICS
from fss_exporter.oci.oci_inventory import Inventory
from fss_exporter.oci.service_metrics import LISTINGS
from fss_exporter.oci.tag_filter import Tags

EVENT_METRICS: Final = ("KerberosErrors", "LdapConnectionErrors")
"""Error metrics that count successes as well, so that failures have to be selected by name."""


class Pages(Protocol):
    """The part of `oci.client.Session` that listing needs."""

    tenancy_id: str
    region: str

    def pages(self, service: str, operation: str, **options: object) -> Iterator[list[Any]]:
        """Every page of a listing."""


def watched(
    session: Pages, compartment_id: str, *, in_subtree: bool, tags: Tags, services: Iterable[str] = ()
) -> Inventory:
    """The mount targets and replications of a compartment, or of the whole tenancy, and what there is of other services."""
    compartments = [compartment_id]
    if in_subtree:
        listed = _rows(
            session,
            "identity",
            "list_compartments",
            compartment_id=compartment_id,
            compartment_id_in_subtree=True,
            lifecycle_state="ACTIVE",
        )
        compartments += [row["id"] for row in listed]
    domains = _rows(session, "identity", "list_availability_domains", compartment_id=session.tenancy_id)
    places = [(compartment, row["name"]) for compartment in compartments for row in domains]

    def listed_as(operation: str) -> tuple[Any, ...]:
        return tuple(
            row
            for compartment, domain in places
            for row in _rows(session, "file_storage", operation, compartment_id=compartment, availability_domain=domain)
        )

    others = {LISTINGS[service][0]: _of_service(session, service, compartments) for service in services}
    rows = Listings(
        mount_targets=listed_as("list_mount_targets"), replications=listed_as("list_replications"), **others
    )
    found, broken = build(rows, {}, tags)
    if broken:
        raise UsageError(f"{session.region}: {broken} listed resources are not as documented; not planning on that")
    return found


def _of_service(session: Pages, service: str, compartments: Iterable[str]) -> tuple[Any, ...]:
    _, client, operations = LISTINGS[service]
    return tuple(
        row
        for compartment in compartments
        for operation in operations
        for row in _rows(session, client, operation, compartment_id=compartment)
    )


def spellings(session: Pages, compartment_id: str, *, in_subtree: bool) -> dict[str, str]:
    """How metrics are spelled here, by name in lower case; the documented spelling where it is among several."""
    wanted = {"namespace": NAMESPACE, "groupBy": ["name"]}
    rows = _metrics(session, compartment_id, wanted, in_subtree=in_subtree)
    names = sorted((str(row["name"]) for row in rows), key=lambda name: (name in METRICS, name))
    return {name.lower(): name for name in names}


def event_types(session: Pages, compartment_id: str, *, in_subtree: bool) -> dict[str, Sequence[str]]:
    """The event types each of `EVENT_METRICS` has been seen with in the last 90 days."""
    seen: dict[str, Sequence[str]] = {}
    for metric in EVENT_METRICS:
        wanted = {"namespace": NAMESPACE, "name": metric}
        rows = _metrics(session, compartment_id, wanted, in_subtree=in_subtree)
        seen[metric] = sorted({str((row.get("dimensions") or {}).get("errorType", "")) for row in rows} - {""})
    return seen


def _metrics(session: Pages, compartment_id: str, wanted: Mapping[str, object], *, in_subtree: bool) -> list[Any]:
    options: dict[str, object] = {"compartment_id": compartment_id, "list_metrics_details": dict(wanted)}
    if in_subtree:
        options["compartment_id_in_subtree"] = True
    return _rows(session, "monitoring", "list_metrics", **options)


def _rows(session: Pages, service: str, operation: str, **options: object) -> list[Any]:
    # by keyword, because a refusal names the compartment it was about
    return [row for page in session.pages(service, operation, **options) for row in page]
