# SPDX-License-Identifier: Apache-2.0
"""Read a tenancy before a plan: mount targets, replications, spellings, known event types.

A failed listing ends the run. With a part of the mount targets, the plan would delete the alarms of the others.
"""

from collections.abc import Iterable, Sequence

from fss_exporter.errors import UsageError
from fss_exporter.oci.client import SdkClient, Session
from fss_exporter.oci.cloud_client import Listing, Scope, dimensions_of
from fss_exporter.oci.iam import NAMESPACE, PUBLISHED_NAMESPACE
from fss_exporter.oci.inventory.inventory_refresh import SERVICE_OPERATIONS
from fss_exporter.oci.inventory.oci_inventory import Inventory, join
from fss_exporter.oci.inventory.selection import TagFilter
from fss_exporter.oci.metric_table import METRICS
from fss_exporter.oci.publish.published_metrics import POLLER_METRICS
from fss_toolbox.alarms.pack import EVENT_METRICS


def watched(
    session: Session, compartment_id: str, *, in_subtree: bool, tags: TagFilter, services: Iterable[str] = ()
) -> Inventory:
    """Return the mount targets, replications and resources of other services in a compartment or in the whole tenancy."""
    client = SdkClient(session)
    below = client.compartments() if in_subtree else Listing(())
    compartments = [compartment_id, *(record.id for record in below.records)]
    domains = client.availability_domains(compartment_id)
    places = [(compartment, domain) for compartment in compartments for domain in domains]
    every: list[Listing] = [
        client.resources(kind, *place) for kind in ("ListMountTargets", "ListReplications") for place in places
    ]
    every += [
        client.resources(operation, compartment)
        for service in services
        for operation in SERVICE_OPERATIONS[service]
        for compartment in compartments
    ]
    broken = sum(len(listing.broken) for listing in (below, *every))
    if broken:
        raise UsageError(f"{session.region}: {broken} listed resources are not as documented, so no plan is made")
    return join([record for listing in every for record in listing.records], tags, compartments={})


def spellings(session: Session, compartment_id: str, *, in_subtree: bool) -> dict[str, str]:
    """Return the tenancy's names of metrics by name in lower case. Of several spellings the documented spelling wins."""
    names = SdkClient(session).metric_names(Scope(compartment_id, in_subtree), NAMESPACE)
    return {name.lower(): name for name in sorted(names, key=lambda name: (name in METRICS, name))}


def publishes(session: Session, compartment_id: str, *, in_subtree: bool) -> bool:
    """Return whether a poller posted metrics for the compartment within 90 days. Those of agents know no ceiling."""
    posted = SdkClient(session).metric_names(Scope(compartment_id, in_subtree), PUBLISHED_NAMESPACE)
    return not set(POLLER_METRICS).isdisjoint(posted)


def event_types(session: Session, compartment_id: str, *, in_subtree: bool) -> dict[str, Sequence[str]]:
    """Return the event types each of `EVENT_METRICS` has been seen with in the last 90 days."""
    seen: dict[str, Sequence[str]] = {}
    for metric in EVENT_METRICS:
        wanted = {"namespace": NAMESPACE, "name": metric}
        scope = Scope(compartment_id, subtree=in_subtree)
        pages = session.pages("monitoring", "list_metrics", body=wanted, **scope.parameters)
        seen[metric] = sorted(dimensions_of(row for page in pages for row in page)["errorType"] - {""})
    return seen
