# SPDX-License-Identifier: Apache-2.0
"""The inventory of one region: list all resources, look up addresses, and publish the result as a frozen snapshot.

A failed listing keeps the earlier records, reports the operation as failed, and lets the age grow. Resources appear before
the address lookups, so that the first metrics do not wait for the lookups.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice, product
from types import MappingProxyType
from typing import Any, Final, TypeVar

from fss_exporter.errors import BrokenAnswer, CloudError, NotAuthorized, Unreachable, UsageError
from fss_exporter.log_once import LogOnce
from fss_exporter.model.service_table import SERVICES
from fss_exporter.oci.calls import CallsInFlight
from fss_exporter.oci.cloud_client import CloudClient, LimitedKind, Listing, Scope
from fss_exporter.oci.inventory import oci_inventory as records
from fss_exporter.oci.inventory.address_lookup import AddressLookup, Report, look_ups_of
from fss_exporter.oci.inventory.compartment_lookup import CompartmentLookup
from fss_exporter.oci.inventory.inventory_snapshot import InventorySnapshot
from fss_exporter.oci.inventory.selection import InventorySelection, unused_tags

_LOOK_UPS_SHOWN: Final = 50  # mount targets whose addresses are published together

_BETWEEN_PARTS_SECONDS: Final = 10.0  # a first inventory that takes long shows what it has so far
_RESTING_ROUNDS: Final = 6  # a compartment without resources is listed in each sixth inventory, which is once an hour

_UNANSWERED_SECONDS: Final = 30.0  # three calls of the usual time-out

# API operations that list the resources of one availability domain.
_IN_DOMAINS: Final = (
    "ListMountTargets",
    "ListFileSystems",
    "ListExportSets",
    "ListReplications",
    "ListOutboundConnectors",
)

# API operations that list the resources of a service.
SERVICE_OPERATIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "lustre": ("ListLustreFileSystems",),
    "block-volume": ("ListVolumes", "ListBootVolumes"),
}

log = logging.getLogger(__name__)

_Answer = TypeVar("_Answer")


_Key = tuple[str, ...]  # API operation of a listing, with compartment and perhaps availability domain


@dataclass(slots=True)
class _Round:
    """What one inventory has met so far."""

    succeeded: dict[str, bool] = field(default_factory=dict)  # by API operation
    failed_calls: Counter[tuple[str, str]] = field(default_factory=Counter)  # by API operation and reason
    broken_rows: Counter[str] = field(default_factory=Counter)  # of the listings by API operation
    refused: set[str] = field(default_factory=set)  # API operations
    optional: set[str] = field(default_factory=set)  # refused API operations without which monitoring works
    failed_compartments: set[str] = field(default_factory=set)
    unreachable_services: set[str] = field(default_factory=set)
    used: set[_Key] = field(default_factory=set)  # listings that the round has asked for
    resting: set[str] = field(default_factory=set)  # compartments without resources that the round does not ask
    answered_at: float = 0.0  # seconds by `clock` of the last answer, or of the begin
    is_unanswered: bool = False  # whether calls have failed for too long without any answer
    mistakes: int = 0  # compartments of the settings that cannot be made out

    def outcomes(self) -> dict[str, Any]:
        """Return the fields of `InventorySnapshot` about calls."""
        return {
            "succeeded": MappingProxyType(dict(self.succeeded)),
            "refused": frozenset(self.refused),
            "optional": frozenset(self.optional),
            "failed_calls": MappingProxyType(dict(self.failed_calls)),
            "broken_rows": MappingProxyType(dict(self.broken_rows)),
        }


class InventoryRefresh:
    """Refresh the inventory of one region. Any thread may read `snapshot`, because each round replaces it as a whole.

    Attributes:
        snapshot: the newest one.
        calls: calls so far.
        listed: set once all listings were made.

    Args:
        client: calls in the region.
        selection: the resources to list.
        now: returns epoch seconds.
        clock: seconds that never go back.
        report: called after every call.
        publish: called with each new snapshot.
        look_ups: returns the number of mount targets to look up, by the number of listed mount targets.
        report_optional: called after a call that may be refused without a failure.
        calls: has some listings and look-ups under way at once.
    """

    def __init__(
        self,
        client: CloudClient,
        selection: InventorySelection,
        *,
        now: Callable[[], float],
        clock: Callable[[], float] = time.monotonic,
        report: Report,
        publish: Callable[[InventorySnapshot], None] = lambda _: None,
        look_ups: Callable[[int], int] = lambda count: count,
        report_optional: Report = lambda _operation, _error: None,
        calls: CallsInFlight | None = None,
    ) -> None:
        self.client = client
        self.selection = selection
        self._now, self._clock = now, clock
        self._report = report
        self._publish = publish
        self.look_ups = look_ups
        self._report_optional = report_optional
        self.snapshot = InventorySnapshot()
        self.calls = 0
        self.listed = threading.Event()
        self._round = _Round()
        self._last: dict[_Key, tuple[float, Any]] = {}  # answers, with their times in epoch seconds
        self._losses: set[str] = set()  # those that the log has told
        self._limits: Mapping[LimitedKind, Mapping[str, float]] = {}
        self._calls = calls or CallsInFlight()
        self._addresses = AddressLookup(self.client, self._calls, self._note)
        self._compartments = CompartmentLookup(
            self.client, self.selection, calls=self._calls, ask=self._asked, report_name=self._report_name
        )
        self._rounds = 0
        self._failed_before: set[str] = set()  # compartments of the last round
        self._shown_at = 0.0  # seconds by `clock` of the last part of the first inventory
        self._log_once = LogOnce(log)

    def run(
        self, progress: Callable[[], None] = lambda: None, *, mount_targets_first: bool = False, everywhere: bool = True
    ) -> None:
        """Make one inventory. `progress` is called after each listing and lookup.

        With `mount_targets_first`, mount targets and their addresses are published before anything else is listed, and what is
        listed is published in parts. Without `everywhere`, compartments without resources are left for a later inventory.

        Raises:
            CloudError: availability domains or compartments are unknown. The earlier snapshot stays.
            EndLoop: the exporter stops.
        """
        self._shown_at = self._clock()
        self._round, calls_before = _Round(answered_at=self._shown_at), self.calls
        self._rounds += 1
        try:
            names = self._wanted_compartments()
            domains = self._availability_domains(names) if names else ()
        except CloudError:
            self._set(replace(self.snapshot, **self._round.outcomes(), compartments_seen=0))
            raise
        scopes = scopes_of(self.selection, self.client.tenancy_id, names)
        if not everywhere and self._rounds % _RESTING_ROUNDS:
            self._round.resting = self._without_resources(names)

        def show_part(rows: Sequence[Any]) -> None:
            progress()
            if mount_targets_first and self._clock() - self._shown_at >= _BETWEEN_PARTS_SECONDS:
                part = records.join(rows, self.selection.tags, compartments=names, availability_domains=domains)
                self._show(part, scopes, is_whole=False)
                self._shown_at = self._clock()

        if mount_targets_first:
            self._publish_mount_targets(domains, names, show_part)
        listed = self._list_all(domains, tuple(names), show_part)
        self._last = {key: self._last[key] for key in self._round.used if key in self._last}
        self._failed_before = set(self._round.failed_compartments)
        self._check_tags(listed)
        limits = self._service_limits()
        inventory = records.join(
            listed, self.selection.tags, compartments=names, availability_domains=domains, service_limits=limits
        )
        self._show(inventory, scopes)
        self.listed.set()
        self._look_up_addresses(inventory, scopes, progress)
        succeeded_at = self._now() if all(self._round.succeeded.values()) else self.snapshot.succeeded_at
        self._set(replace(self.snapshot, succeeded_at=succeeded_at, calls=self.calls - calls_before))

    def _publish_mount_targets(
        self, domains: Sequence[str], names: Mapping[str, str], show_part: Callable[[Sequence[Any]], None]
    ) -> None:
        """Publish mount targets without scopes, so that no query for metrics starts before listings that take seconds."""
        targets: list[records.MountTarget] = []

        def ask(place: tuple[str, str]) -> None:
            targets.extend(self._resources("ListMountTargets", *place).records)
            show_part(targets)

        self._calls.each(list(product(names, domains)), ask)
        inventory = records.join(targets, self.selection.tags, compartments=names, availability_domains=domains)
        self._look_up_addresses(inventory, self.snapshot.scopes, lambda: show_part(targets), is_whole=False)

    def _check_tags(self, listed: Iterable[Any]) -> None:
        """Log the tags of the settings that match nothing. An `exclude` with a mistake would watch everything."""
        kinds = records.MountTarget, records.FileSystem
        targets, systems = ([record.tags for record in listed if isinstance(record, kind)] for kind in kinds)
        lines = self.selection.tags.without_match(targets)
        for line in (*lines, *unused_tags(self.selection.tags_as_labels, targets + systems)):
            self._log_once.failed(line, f"{self.client.region}: {line}")

    def _list_all(
        self, domains: Sequence[str], compartments: Sequence[str], show_part: Callable[[Sequence[Any]], None]
    ) -> list[Any]:
        """Return the records of every listing, in one order. The mount targets of all compartments are known to each part."""
        part: list[Any] = [
            record
            for key, (_, last) in self._last.items()
            if key[0] == "ListMountTargets" and key in self._round.used
            for record in last.records
        ]
        found: dict[_Key, Sequence[Any]] = {}

        def ask(listing: tuple[str, _Key]) -> None:
            service, key = listing
            answer = self._service_resources(service, key) if service else self._resources(*key)
            found[key] = answer.records
            part.extend(answer.records)
            show_part(part)

        own = [("", key) for key in _own_keys(domains, compartments)]
        of_services = [(service, key) for service in self.selection.services for key in _keys_of(service, compartments)]
        # A service that may be missing here is tried in one compartment alone.
        alone = [listing for listing in of_services if listing[1][1] == compartments[0]]
        others = [listing for listing in of_services if listing[1][1] != compartments[0]]
        for listings in (own, alone, others):
            self._calls.each(listings, ask)
        return [record for _, key in (*own, *of_services) for record in found[key]]

    def _without_resources(self, compartments: Iterable[str]) -> set[str]:
        """Return the compartments in which the last listings of all operations were answered and empty."""
        listings = {key: last for key, (_, last) in self._last.items() if len(key) > 1 and key[0] != "ListCompartments"}
        filled = {key[1] for key, last in listings.items() if last.records or last.broken}
        asked = {key[1] for key in listings}
        return (set(compartments) & asked) - filled - self._failed_before

    def _resources(self, *key: str) -> Listing:
        """Return a listing by API operation, compartment and perhaps availability domain. A round lists each once."""
        rests = key[1] in self._round.resting and key in self._last
        if rests:
            self._round.used.add(key)
            self._round.succeeded.setdefault(key[0], True)
        if key in self._round.used and key in self._last:
            listing: Listing = self._last[key][1]
            return listing
        return self._asked(key, partial(self._list, key), Listing(()))

    def _list(self, key: _Key) -> Listing:
        return self._calls.called(partial(self.client.resources, *key))

    def _service_resources(self, service: str, key: _Key) -> Listing:
        operation = key[0]
        if service not in self.selection.optional_services or key in self._last:
            return self._resources(*key)
        if service in self._round.unreachable_services:
            return Listing(())
        try:
            listing = self._list(key)
        except CloudError as error:
            if not isinstance(error, NotAuthorized):  # it may be missing here: do not wait for it in each compartment
                self._round.unreachable_services.add(service)
            self._note_optional(operation, f"{SERVICES[service].title} is not watched", error)
            return Listing(())
        if listing.records or listing.broken:  # from now on the service is watched, and its failures are failures
            self._round.used.add(key)
            return self._kept(key, listing)
        return listing

    def _service_limits(self) -> Mapping[LimitedKind, Mapping[str, float]]:
        """Return service limits. A refusal is no failure, because monitoring works without the permission."""
        try:
            self._limits = MappingProxyType(dict(self.client.service_limits()))
        except CloudError as error:
            # A policy on a compartment is enough, and only the tenancy has limits.
            is_expected = not self.selection.compartments
            loss = "the service limits of mount targets and file systems are not watched"
            self._note_optional("ListLimitValues", loss, error, is_expected=is_expected)
        else:
            self._report_optional("ListLimitValues", None)
        return self._limits

    def _report_name(self, operation: str, error: CloudError | None) -> None:
        self.calls += 1
        if error is None:
            self._report_optional(operation, None)
        else:
            self._note_optional(operation, "a compartment's OCID stands for its name", error)

    def _note_optional(self, operation: str, loss: str, error: CloudError, *, is_expected: bool = False) -> None:
        """Note a failed call without which monitoring works. `loss` says what is missing."""
        if not is_expected:
            self._round.optional.add(operation)
        if error.lacks_permission:
            self._round.refused.add(operation)
        self._report_optional(operation, error)
        if loss not in self._losses:
            self._losses.add(loss)
            log.info("%s: %s: %s", self.client.region, loss, error)

    def _wanted_compartments(self) -> Mapping[str, str]:
        """Return names of the wanted compartments by OCID."""
        names, mistakes = self._compartments.look_up()
        self._round.mistakes = len(mistakes)
        for mistake in mistakes:
            self._note("ListCompartments", UsageError(mistake))
        return names

    def _availability_domains(self, compartments: Iterable[str]) -> tuple[str, ...]:
        """Return the domains as the first compartment with a policy answers."""

        def ask() -> tuple[str, ...]:
            refused: list[NotAuthorized] = []
            for compartment_id in compartments:
                try:
                    return self.client.availability_domains(compartment_id)
                except NotAuthorized as error:
                    refused.append(error)
            raise refused[0]

        return self._asked(("ListAvailabilityDomains",), ask)

    def _asked(self, key: _Key, ask: Callable[[], _Answer], otherwise: _Answer | None = None) -> _Answer:
        """Return the answer of a call, or after a failure the last answer, else `otherwise`. A key begins with the operation.

        A listing with rows of an undocumented form is a failure too, and the last records of these rows stay. A region that does not
        answer is asked for nothing more in this round, because every call would take its whole time-out.

        Raises:
            CloudError: the call failed, and there is no other answer. The error is already reported.
        """
        self._round.used.add(key)
        try:
            if self._round.is_unanswered:
                message = f"{key[0]} in {self.client.region}: not asked, after calls without an answer"
                raise Unreachable(message, operation=key[0])
            answer = ask()
        except CloudError as error:
            self._note(key[0], error)
            self._round.failed_compartments.update(key[1:2])
            if key in self._last:
                last: _Answer = self._last[key][1]
                return last
            if otherwise is None:
                raise
            return otherwise
        return self._kept(key, answer)

    def _kept(self, key: _Key, answer: _Answer) -> _Answer:
        """Note an answer, and return it with the last records of broken rows. They keep the time of the last whole answer."""
        listed_at = self._now()
        if isinstance(answer, Listing):
            self._round.broken_rows[key[0]] += len(answer.broken)
        if isinstance(answer, Listing) and answer.broken:
            self._note_broken_rows(key, len(answer.broken))
            if key in self._last:
                listed_at, last = self._last[key]
                kept: Any = answer.with_records_of(last)
                answer = kept
        else:
            self._note(key[0], None)
        self._last[key] = listed_at, answer
        return answer

    def _note_broken_rows(self, key: _Key, rows: int) -> None:
        self._round.failed_compartments.update(key[1:2])
        message = f"{key[0]} in {self.client.region}: {rows} rows are not as documented. Their last records stay"
        self._note(key[0], BrokenAnswer(message, operation=key[0]))

    def _note(self, operation: str, error: Exception | None) -> None:
        self.calls += 1
        succeeded = self._round.succeeded
        succeeded[operation] = succeeded.get(operation, True) and error is None
        self._note_answer(error)
        if isinstance(error, CloudError):
            self._round.failed_calls[operation, error.reason] += 1
            if error.lacks_permission:
                self._round.refused.add(operation)
        self._report(operation, error)

    def _note_answer(self, error: Exception | None) -> None:
        """Note whether the region answers at all. Calls that hang side by side count as one."""
        now = self._clock()
        if not isinstance(error, Unreachable):
            self._round.answered_at, self._round.is_unanswered = now, False
        elif now - self._round.answered_at >= _UNANSWERED_SECONDS:
            self._round.is_unanswered = True

    def _look_up_addresses(
        self,
        inventory: records.Inventory,
        scopes: tuple[Scope, ...],
        progress: Callable[[], None],
        *,
        is_whole: bool = True,
    ) -> None:
        looked_up = 0

        def step() -> None:
            nonlocal looked_up
            looked_up += 1
            if looked_up % _LOOK_UPS_SHOWN == 0:
                self._show(inventory, scopes, is_whole=is_whole)
            progress()

        most = self.look_ups(len(inventory.mount_targets))
        self._addresses.look_up(islice(inventory.mount_targets.values(), most), step)
        for operation in look_ups_of(inventory.mount_targets.values()):
            if operation not in self._round.succeeded:  # all addresses were known before
                self._round.succeeded[operation] = True
                self._report(operation, None)
        self._show(inventory, scopes, is_whole=is_whole)

    def _show(self, inventory: records.Inventory, scopes: tuple[Scope, ...], *, is_whole: bool = True) -> None:
        """Publish the inventory with the known addresses."""
        located = {key: self._addresses.located(target) for key, target in inventory.mount_targets.items()}
        self._set(
            InventorySnapshot(
                inventory=replace(inventory, mount_targets=MappingProxyType(located)).of_shard(self.selection.shard),
                scopes=scopes,
                is_whole=is_whole,
                calls=self.snapshot.calls,
                compartments_expected=len(inventory.compartments) + self._round.mistakes,
                compartments_seen=len(inventory.compartments.keys() - self._round.failed_compartments),
                listed_at=min(
                    (
                        listed_at
                        for key, (listed_at, _) in self._last.items()
                        if not self._round.resting.intersection(key[1:2])
                    ),
                    default=None,
                ),
                succeeded_at=self.snapshot.succeeded_at,
                **self._round.outcomes(),
            )
        )

    def _set(self, snapshot: InventorySnapshot) -> None:
        self.snapshot = snapshot
        self._publish(snapshot)


def scopes_of(selection: InventorySelection, tenancy_id: str, names: Collection[str]) -> tuple[Scope, ...]:
    """Return one query for the whole tenancy if all compartments are selected, else one query for each compartment."""
    if not selection.compartments or (selection.in_subtree and tenancy_id in names):
        return (Scope(tenancy_id, subtree=True),)
    return tuple(Scope(compartment_id) for compartment_id in names)


def _own_keys(domains: Sequence[str], compartments: Sequence[str]) -> Iterator[_Key]:
    """Yield the key of each listing of File Storage."""
    for compartment_id in compartments:
        for domain in domains:
            for operation in _IN_DOMAINS:
                yield operation, compartment_id, domain
        yield "ListExports", compartment_id


def _keys_of(service: str, compartments: Sequence[str]) -> Iterator[_Key]:
    """Yield the key of each listing of another service."""
    yield from product(SERVICE_OPERATIONS[service], compartments)
