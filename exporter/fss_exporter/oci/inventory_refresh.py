"""The inventory of one region: lists all resources, looks up addresses, and publishes what it found as a frozen state.

A listing that fails keeps the records it had last; its operation is reported as failed and its age grows. Resources are published
before their addresses are looked up, so that the first metrics do not wait for look-ups.
"""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from types import MappingProxyType
from typing import Any, Final, TypeVar

from fss_exporter.errors import CloudError, FssError, NotAuthorized, UsageError
from fss_exporter.model.service_table import SERVICES
from fss_exporter.oci.address_lookup import LOOK_UPS, AddressLookup
from fss_exporter.oci.cloud_client import CloudClient, Listed, Listing
from fss_exporter.oci.inventory_join import join
from fss_exporter.oci.oci_inventory import (
    Connector,
    Export,
    ExportSet,
    FileSystem,
    Inventory,
    ListedResources,
    MountTarget,
    Replication,
)
from fss_exporter.oci.scopes import Scope, choose, scopes_of
from fss_exporter.oci.tag_filter import TagFilter

_LOOK_UPS_SHOWN: Final = 50  # mount targets whose addresses are published together

_IN_DOMAINS: Final[tuple[tuple[str, type, str], ...]] = (
    ("mount_targets", MountTarget, "ListMountTargets"),
    ("file_systems", FileSystem, "ListFileSystems"),
    ("export_sets", ExportSet, "ListExportSets"),
    ("replications", Replication, "ListReplications"),
    ("connectors", Connector, "ListOutboundConnectors"),
)
"""Listings of one availability domain: field of `ListedResources`, record, API operation."""

SERVICE_OPERATIONS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {"lustre": ("ListLustreFileSystems",), "block-volume": ("ListVolumes", "ListBootVolumes")}
)
"""API operations that list the resources of a service."""

log = logging.getLogger(__name__)

_Answer = TypeVar("_Answer")

Report = Callable[[str, Exception | None], None]
"""Called after every call with its API operation and its error, None where it was answered."""


@dataclass(frozen=True, slots=True)
class InventoryState:
    """What the last inventory found.

    Attributes:
        inventory: None until all listings were made once.
        scopes: compartments that metrics are asked of.
        succeeded: by API operation, whether every call of the last inventory was answered.
        listed_at: epoch seconds of the oldest listing in use; None before the first.
        succeeded_at: epoch seconds at which the last inventory ended without a failed call; None before the first.
    """

    inventory: Inventory | None = None
    scopes: tuple[Scope, ...] = ()
    succeeded: Mapping[str, bool] = field(default_factory=dict)
    listed_at: float | None = None
    succeeded_at: float | None = None


@dataclass(frozen=True, slots=True)
class InventorySelection:
    """Which resources are listed.

    Attributes:
        compartments: OCIDs or names; empty for all of the tenancy.
        tags: of the resources that are wanted.
        services: other storage services to list as well.
        optional_services: those of `services` that may be missing or forbidden without a failure.
    """

    compartments: tuple[str, ...] = ()
    tags: TagFilter = field(default_factory=TagFilter)
    services: tuple[str, ...] = ()
    optional_services: tuple[str, ...] = ()


class InventoryRefresh:
    """Keeps the inventory of one region. `state` is replaced as a whole and may be read from any thread.

    Args:
        client: calls in the region.
        selection: which resources are listed.
        now: epoch seconds.
        report: called after every call.
        publish: called with each new state.
    """

    def __init__(
        self,
        client: CloudClient,
        selection: InventorySelection,
        *,
        now: Callable[[], float],
        report: Report,
        publish: Callable[[InventoryState], None] = lambda _: None,
    ) -> None:
        self.state = InventoryState()
        self.calls = 0
        self.listed = threading.Event()
        self._client = client
        self._selection = selection
        self._now = now
        self._report = report
        self._publish = publish
        self._succeeded: dict[str, bool] = {}
        self._last: dict[tuple[str, ...], tuple[float, Any]] = {}
        self._used: set[tuple[str, ...]] = set()
        self._not_watched: set[str] = set()
        self._unreachable_services: set[str] = set()
        self._limits: Mapping[str, float] = MappingProxyType({})
        self._addresses = AddressLookup(client, self._note)

    def run(
        self,
        progress: Callable[[], None] = lambda: None,
        look_ups: Callable[[], int | None] = lambda: None,
        *,
        mount_targets_first: bool = False,
    ) -> None:
        """Make one inventory.

        Args:
            progress: called after each listing and look-up.
            mount_targets_first: publish mount targets with their addresses before anything else is listed.
            look_ups: of how many mount targets the address is looked up, asked after the listings; None for all.

        Raises:
            FssError: availability domains or compartments are not known; the state before stays.
            EndLoop: the exporter stops.
        """
        self._succeeded, self._used, self._unreachable_services = {}, set(), set()
        try:
            domains, names = self._domains(), self._compartments()
        except FssError:
            self._set(replace(self.state, succeeded=MappingProxyType(dict(self._succeeded))))
            raise
        if mount_targets_first:
            self._publish_mount_targets(domains, names, progress)
        listed = self._list_all(domains, tuple(names), progress)
        self._last = {key: self._last[key] for key in self._used if key in self._last}
        limits = self._mount_target_limits()
        inventory = join(
            listed, self._selection.tags, compartments=names, availability_domains=domains, mount_target_limits=limits
        )
        scopes = scopes_of(self._selection.compartments, self._client.tenancy_id, names)
        self._show(inventory, scopes)
        self.listed.set()
        self._look_up_addresses(inventory, scopes, progress, look_ups())
        succeeded_at = self._now() if all(self._succeeded.values()) else self.state.succeeded_at
        self._set(replace(self.state, succeeded_at=succeeded_at))

    def _publish_mount_targets(
        self, domains: Sequence[str], names: Mapping[str, str], progress: Callable[[], None]
    ) -> None:
        """The state has no scopes yet, so no metrics are asked for before the rest is listed."""
        found: list[MountTarget] = []
        for compartment_id in names:
            for domain in domains:
                found += self._resources(MountTarget, "ListMountTargets", compartment_id, domain).records
                progress()
        listed = ListedResources(mount_targets=tuple(found))
        inventory = join(listed, self._selection.tags, compartments=names, availability_domains=domains)
        self._look_up_addresses(inventory, (), progress, None)

    def _list_all(
        self, domains: Sequence[str], compartments: Sequence[str], progress: Callable[[], None]
    ) -> ListedResources:
        found: dict[str, list[Any]] = {}
        broken = 0
        for kind, listing in self._listings(domains, compartments):
            found.setdefault(kind, []).extend(listing.records)
            broken += listing.broken
            progress()
        if broken:
            log.warning("%s: %d listed resources are not as documented and are left out", self._client.region, broken)
        return ListedResources(**{kind: tuple(records) for kind, records in found.items()})

    def _listings(self, domains: Sequence[str], compartments: Sequence[str]) -> Iterator[tuple[str, Listing[Any]]]:
        """Every listing, with the field of `ListedResources` it belongs to."""
        for compartment_id in compartments:
            for domain in domains:
                for kind, record, operation in _IN_DOMAINS:
                    yield kind, self._resources(record, operation, compartment_id, domain)
            yield "exports", self._resources(Export, "ListExports", compartment_id)
            for service in self._selection.services:
                for operation in SERVICE_OPERATIONS[service]:
                    yield "service_resources", self._service_resources(service, operation, compartment_id)

    def _resources(
        self, record: type[Listed], operation: str, compartment_id: str, domain: str = ""
    ) -> Listing[Listed]:
        key = (operation, compartment_id, domain)
        if key in self._used and key in self._last:  # listed in this inventory already
            return self._last_or(key, Listing(()))
        try:
            return self._asked(key, lambda: self._client.resources(record, compartment_id, domain))
        except CloudError:
            return self._last_or(key, Listing(()))

    def _service_resources(self, service: str, operation: str, compartment_id: str) -> Listing[Any]:
        key = (operation, compartment_id)
        optional = service in self._selection.optional_services and key not in self._last
        if optional and service in self._unreachable_services:
            return Listing(())
        try:
            if not optional:
                return self._asked(key, lambda: self._client.service_resources(operation, compartment_id))
            listing = self._client.service_resources(operation, compartment_id)
        except CloudError as error:
            if optional:
                if not isinstance(
                    error, NotAuthorized
                ):  # it may be missing here: do not wait for it in each compartment
                    self._unreachable_services.add(service)
                self._say_not_watched(SERVICES[service].title, error)
            return self._last_or(key, Listing(()))
        if listing.records:  # from now on the service is watched, and its failures are failures
            self._used.add(key)
            self._last[key] = self._now(), listing
            self._note(operation, None)
        return listing

    def _mount_target_limits(self) -> Mapping[str, float]:
        """Service limits. They need a permission that monitoring does not need, so a refusal is no failure."""
        try:
            self._limits = MappingProxyType(dict(self._client.mount_target_limits()))
        except CloudError as error:
            self._say_not_watched("the service limit of mount targets", error)
        return self._limits

    def _say_not_watched(self, subject: str, error: CloudError) -> None:
        if subject not in self._not_watched:
            self._not_watched.add(subject)
            log.info("%s: %s is not watched: %s", self._client.region, subject, error)

    def _domains(self) -> tuple[str, ...]:
        return self._asked_or_last(("ListAvailabilityDomains",), self._client.availability_domains)

    def _compartments(self) -> Mapping[str, str]:
        """Names of the wanted compartments by OCID."""
        wanted = self._selection.compartments
        try:
            tree = self._asked_or_last(("ListCompartments",), self._client.compartments)
        except CloudError:
            if not wanted:
                raise
            tree = ()  # OCIDs can do without names
        chosen = choose(wanted, self._client.tenancy_id, {one.id: one.name for one in tree})
        for mistake in chosen.mistakes:
            self._note("ListCompartments", UsageError(mistake))
        return chosen.names

    def _asked(self, key: tuple[str, ...], ask: Callable[[], _Answer]) -> _Answer:
        """The answer of a call, which is kept under a key that begins with the API operation.

        Raises:
            CloudError: the call failed, which has been reported.
        """
        self._used.add(key)
        try:
            answer = ask()
        except CloudError as error:
            self._note(key[0], error)
            raise
        self._note(key[0], None)
        self._last[key] = self._now(), answer
        return answer

    def _asked_or_last(self, key: tuple[str, ...], ask: Callable[[], _Answer]) -> _Answer:
        try:
            return self._asked(key, ask)
        except CloudError:
            if key not in self._last:
                raise
            answer: _Answer = self._last[key][1]
            return answer

    def _last_or(self, key: tuple[str, ...], nothing: _Answer) -> _Answer:
        answer: _Answer = self._last[key][1] if key in self._last else nothing
        return answer

    def _note(self, operation: str, error: Exception | None) -> None:
        self.calls += 1
        self._succeeded[operation] = self._succeeded.get(operation, True) and error is None
        self._report(operation, error)

    def _look_up_addresses(
        self, inventory: Inventory, scopes: tuple[Scope, ...], progress: Callable[[], None], most: int | None
    ) -> None:
        looked_up = 0

        def step() -> None:
            nonlocal looked_up
            looked_up += 1
            if looked_up % _LOOK_UPS_SHOWN == 0:
                self._show(inventory, scopes)
            progress()

        self._addresses.look_up(islice(inventory.mount_targets.values(), most), step)
        for operation in LOOK_UPS if inventory.mount_targets else ():
            self._succeeded.setdefault(operation, True)  # all addresses were known before
        self._show(inventory, scopes)

    def _show(self, inventory: Inventory, scopes: tuple[Scope, ...]) -> None:
        """Publish the inventory with the addresses that are known."""
        located = {key: self._addresses.located(target) for key, target in inventory.mount_targets.items()}
        self._set(
            InventoryState(
                replace(inventory, mount_targets=MappingProxyType(located)),
                scopes,
                MappingProxyType(dict(self._succeeded)),
                min((listed_at for listed_at, _ in self._last.values()), default=None),
                self.state.succeeded_at,
            )
        )

    def _set(self, state: InventoryState) -> None:
        self.state = state
        self._publish(state)
