# SPDX-License-Identifier: Apache-2.0
"""Find the compartments of the settings, with the names that are their labels.

Nothing is asked of the tenancy that a compartment can answer, so that a policy on one compartment is enough.
"""

from collections.abc import Callable, Mapping
from functools import partial

from fss_exporter.errors import CloudError, NotAuthorized
from fss_exporter.oci.calls import CallsInFlight
from fss_exporter.oci.cloud_client import CloudClient, Listing
from fss_exporter.oci.inventory.selection import ROOT, CompartmentTree, InventorySelection
from fss_exporter.ocid import looks_like_ocid

# Returns the answer of a call, or after a failure the last answer, else that of the third argument. Raises CloudError without any.
Ask = Callable[[tuple[str, ...], Callable[[], Listing], Listing | None], Listing]


class CompartmentLookup:
    """The wanted compartments of one tenancy.

    Args:
        client: calls in the region.
        selection: the wanted compartments.
        calls: has questions under way at once.
        ask: makes a listing.
        report_name: called with operation and error of each question for a name, None for an answer.
    """

    def __init__(
        self,
        client: CloudClient,
        selection: InventorySelection,
        *,
        calls: CallsInFlight,
        ask: Ask,
        report_name: Callable[[str, CloudError | None], None],
    ) -> None:
        self._client = client
        self._selection = selection
        self._calls = calls
        self._ask = ask
        self._report_name = report_name
        self._names: dict[str, str] = {}  # by OCID

    def look_up(self) -> tuple[Mapping[str, str], list[str]]:
        """Return names by OCID, the OCID for an unknown name, and a line for each compartment that cannot be made out.

        Raises:
            CloudError: the compartments of the tenancy are wanted and unknown.
        """
        wanted, in_subtree = self._selection.compartments, self._selection.in_subtree
        tenancy_id = self._client.tenancy_id
        is_whole = in_subtree and tenancy_id in wanted
        if wanted and not is_whole and all(looks_like_ocid(name) for name in wanted):
            self._ask_names(wanted)
            names = {ocid: self._names.get(ocid, ocid) for ocid in wanted}
            return (self._with_those_below(names) if in_subtree else names), []
        no_answer = Listing(())
        listed = self._ask(("ListCompartments",), self._client.compartments, no_answer if wanted else None)
        tree = CompartmentTree(tenancy_id, listed.records)
        return tree.choose(wanted, in_subtree=in_subtree, is_listed=listed is not no_answer)

    def _with_those_below(self, names: Mapping[str, str]) -> Mapping[str, str]:
        """Return the compartments and those below, level by level, because OCI lists a whole subtree only of the tenancy."""
        found, level = dict(names), list(names)
        below: dict[str, str] = {}

        def ask(ocid: str) -> None:
            call = partial(self._calls.called, partial(self._client.compartments_in, ocid))
            listed = self._ask(("ListCompartments", ocid), call, Listing(()))
            below.update((record.id, record.name) for record in listed.records)

        while level:
            below.clear()
            self._calls.each(level, ask)
            level = [ocid for ocid in below if ocid not in found]
            found = below | found
        return found

    def _ask_names(self, ocids: tuple[str, ...]) -> None:
        """Ask for names. A known name outlives a failure. After another failure than a refusal the others are left for later."""
        self._names[self._client.tenancy_id] = ROOT
        works = True

        def ask(ocid: str) -> None:
            nonlocal works
            if not works:
                return
            try:
                self._names[ocid] = self._calls.called(partial(self._client.compartment_name, ocid))
            except CloudError as error:
                self._report_name("GetCompartment", error)
                works = works and isinstance(error, NotAuthorized)
            else:
                self._report_name("GetCompartment", None)

        self._calls.each([ocid for ocid in ocids if ocid != self._client.tenancy_id], ask)
