"""Listing what is there, a call at a time, so that polls can go in between.

A listing that fails keeps what it gave last; its operation is reported as failed and its age grows. Addresses are looked up after
the listings, so that the first metrics do not wait for them.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from sys import intern
from types import MappingProxyType
from typing import Any, Final, Protocol

from fss_exporter.errors import CloudError, FssError, NotAuthorized, UsageError
from fss_exporter.model.services import SERVICES
from fss_exporter.oci.address_lookup import LOOK_UPS, Addresses
from fss_exporter.oci.client.session import api_name
from fss_exporter.oci.listings import Listings, build
from fss_exporter.oci.oci_inventory import Inventory
from fss_exporter.oci.scopes import Scope, choose, scopes_of
from fss_exporter.oci.service_metrics import LISTINGS
from fss_exporter.oci.tag_filter import Row, Tags

_PAGE: Final = 1000
_LOOK_UPS_SHOWN: Final = 50  # mount targets whose addresses are shown together; a thousand take minutes

_IN_ZONE: Final = MappingProxyType(
    {
        "mount_targets": "list_mount_targets",
        "file_systems": "list_file_systems",
        "export_sets": "list_export_sets",
        "replications": "list_replications",
        "connectors": "list_outbound_connectors",
    }
)

_UNREAD: Final = frozenset(
    "isCloneParent isHydrated kmsKeyId lifecycleDetails locks nsgIds securityAttributes sourceDetails systemTags timeCreated".split()
)

log = logging.getLogger(__name__)

Complain = Callable[[str, Exception | None], None]
"""Told how something went: what, and the error, or None where it went well."""


class Calls(Protocol):
    """What is needed of a session."""

    region: str
    tenancy_id: str

    def call(self, service: str, operation: str, *arguments: object, **options: object) -> Any:
        """One operation; the answer has `data` and `headers`."""

    def pages(self, service: str, operation: str, *arguments: object, **options: object) -> Iterator[list[Any]]:
        """Every page of a listing."""


@dataclass(frozen=True, slots=True)
class InventoryState:
    """What the last survey found.

    Attributes:
        inventory: None until a survey got through its listings.
        scopes: what metrics are to be asked of.
        succeeded: by API operation, whether every call of the last survey was answered.
        listed_at: epoch seconds of the oldest listing in use; None before the first.
        succeeded_at: epoch seconds at which the last inventory ended without a failed call; None before the first.
    """

    inventory: Inventory | None = None
    scopes: tuple[Scope, ...] = ()
    succeeded: Mapping[str, bool] = field(default_factory=dict)
    listed_at: float | None = None
    succeeded_at: float | None = None


class InventoryRefresh:
    """Keeps the inventory of one region.

    Args:
        session: where to ask.
        compartments: OCIDs or names; empty for all of the tenancy.
        tags: which resources are wanted.
        now: epoch seconds.
        complain: told of every call's success or failure.
        services: other storage services to list as well.
        unasked: those of them nobody asked for: where nothing of them is known, a listing may fail.
    """

    def __init__(
        self,
        session: Calls,
        compartments: tuple[str, ...],
        tags: Tags,
        *,
        now: Callable[[], float],
        complain: Complain,
        services: tuple[str, ...] = (),
        unasked: tuple[str, ...] = (),
    ) -> None:
        self.found = InventoryState()
        self._session = session
        self._wanted = compartments
        self._tags = tags
        self._services = services
        self._unasked = frozenset(unasked)
        self._silent: set[str] = set()
        self._told: set[str] = set()
        self._now = now
        self._complain = complain
        self._succeeded: dict[str, bool] = {}
        self._succeeded_at: float | None = None
        self._kept: dict[tuple[str, ...], tuple[float, list[Row]]] = {}
        self._used: set[tuple[str, ...]] = set()
        self._addresses = Addresses(session, self._note)

    def steps(self) -> Iterator[None]:
        """One survey; each step is one listing or look-up. `found` is replaced as soon as there is something to show.

        Raises:
            FssError: it cannot even be said where to look; what was found before stays.
            Stopped: the poller is to stop.
        """
        self._succeeded, self._used, self._silent = {}, set(), set()
        try:
            zones, names = self._places()
        except FssError:
            self.found = replace(self.found, succeeded=MappingProxyType(dict(self._succeeded)))
            raise
        yield
        rows: dict[str, list[Row]] = defaultdict(list)
        for compartment_id in names:
            yield from self._list_compartment(compartment_id, zones, rows)
        inventory, broken = build(Listings(**{kind: tuple(found) for kind, found in rows.items()}), names, self._tags)
        if broken:
            log.warning("%s: %d listed resources are not as documented and are left out", self._session.region, broken)
        self._kept = {key: self._kept[key] for key in self._used if key in self._kept}
        self._publish(inventory, scopes_of(self._wanted, self._session.tenancy_id, names))
        shown = self._addresses.known
        for _ in self._addresses.look_up(inventory):
            if shown + _LOOK_UPS_SHOWN <= self._addresses.known:
                shown = self._addresses.known
                self._publish(inventory, self.found.scopes)
            yield
        for operation in LOOK_UPS if inventory.mount_targets else ():
            self._succeeded.setdefault(api_name(operation), True)  # all of it is known
        if all(self._succeeded.values()):
            self._succeeded_at = self._now()
        self._publish(inventory, self.found.scopes)

    def _list_compartment(
        self, compartment_id: str, zones: Sequence[str], rows: Mapping[str, list[Row]]
    ) -> Iterator[None]:
        for zone in zones:
            for kind, operation in _IN_ZONE.items():
                rows[kind].extend(self._listed("file_storage", operation, compartment_id, zone))
                yield
        rows["exports"].extend(self._listed("file_storage", "list_exports", compartment_id=compartment_id))
        yield
        for service in self._services:
            kind, client, operations = LISTINGS[service]
            unasked = service if service in self._unasked else ""
            for operation in operations:
                rows[kind].extend(self._listed(client, operation, compartment_id=compartment_id, unasked=unasked))
                yield

    def _places(self) -> tuple[list[str], Mapping[str, str]]:
        tenancy_id = self._session.tenancy_id
        domains = self._listed("identity", "list_availability_domains", needed=True, compartment_id=tenancy_id)
        tree = self._listed(
            "identity",
            "list_compartments",
            needed=not self._wanted,
            compartment_id=tenancy_id,
            compartment_id_in_subtree=True,
            lifecycle_state="ACTIVE",
        )
        chosen = choose(self._wanted, tenancy_id, tree)
        for mistake in chosen.mistakes:
            self._note("list_compartments", UsageError(mistake))
        return [str(row["name"]) for row in domains if "name" in row], chosen.names

    def _listed(
        self, service: str, operation: str, *arguments: str, needed: bool = False, unasked: str = "", **options: object
    ) -> list[Row]:
        key = (operation, *arguments, str(options.get("compartment_id", "")))
        self._used.add(key)
        last = self._kept.get(key, (0.0, []))[1]
        if unasked in self._silent and not last:
            return last
        if operation != "list_availability_domains":
            options["limit"] = _PAGE
        try:
            pages = self._session.pages(service, operation, *arguments, **options)
            rows: list[Row] = [_slim(row) for page in pages for row in page if isinstance(row, dict)]
        except CloudError as error:
            if unasked and not last:
                self._pass_over(unasked, error)
                self._kept.pop(key, None)  # its age is nobody's concern
                return last
            self._note(operation, error)
            if needed and key not in self._kept:
                raise
            return last
        self._note(operation, None)
        self._kept[key] = (self._now(), rows)
        return rows

    def _pass_over(self, service: str, error: CloudError) -> None:
        """A service nobody asked for may be missing here, or out of bounds: said once, and looked for in each survey."""
        if not isinstance(error, NotAuthorized):
            self._silent.add(service)
        if service not in self._told:
            self._told.add(service)
            log.info("%s: %s is not watched: %s", self._session.region, SERVICES[service].title, error)

    def _note(self, operation: str, error: Exception | None) -> None:
        name = api_name(operation)
        self._succeeded[name] = self._succeeded.get(name, True) and error is None
        self._complain(name, error)

    def _publish(self, inventory: Inventory, scopes: tuple[Scope, ...]) -> None:
        targets = inventory.mount_targets.items()
        located = MappingProxyType({key: self._addresses.located(target) for key, target in targets})
        oldest = min((listed_at for listed_at, _ in self._kept.values()), default=None)
        succeeded = MappingProxyType(dict(self._succeeded))
        self.found = InventoryState(
            replace(inventory, mount_targets=located), scopes, succeeded, oldest, self._succeeded_at
        )


def _slim(row: Row) -> Row:
    """A listed row without what nobody reads, each text once: rows are kept for as long as the exporter lives."""
    return {
        intern(key): intern(value) if type(value) is str else value
        for key, value in row.items()
        if key not in _UNREAD and value not in (None, "", [], {})
    }
