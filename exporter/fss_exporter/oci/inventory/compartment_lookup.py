# SPDX-License-Identifier: Apache-2.0
"""Find the compartments of the settings, with the names that are their labels.

Nothing is asked of the tenancy that a compartment can answer, so that a policy on one compartment is enough.
"""

from collections.abc import Callable, Mapping

from fss_exporter.errors import CloudError, NotAuthorized
from fss_exporter.oci.cloud_client import CloudClient, Listing
from fss_exporter.oci.inventory.selection import ROOT, InventorySelection, choose
from fss_exporter.ocid import looks_like_ocid

Ask = Callable[[tuple[str, ...], Callable[[], Listing], Listing | None], Listing]
"""Returns the answer of a call, or after a failure the last answer, else that of the third argument. Raises CloudError without any."""


class CompartmentLookup:
    """The wanted compartments of one tenancy.

    Args:
        client: calls in the region.
        selection: the wanted compartments.
        ask: makes a listing.
        report_name: called with operation and error of each question for a name, None for an answer.
    """

    def __init__(
        self,
        client: CloudClient,
        selection: InventorySelection,
        *,
        ask: Ask,
        report_name: Callable[[str, CloudError | None], None],
    ) -> None:
        self._client = client
        self._selection = selection
        self._ask = ask
        self._report_name = report_name
        self._names: dict[str, str] = {}  # by OCID

    def look_up(self) -> tuple[Mapping[str, str], list[str]]:
        """Return names by OCID, the OCID for an unknown name, and a line for each compartment that cannot be made out.

        Raises:
            CloudError: the compartments of the tenancy are wanted and unknown.
        """
        wanted = self._selection.compartments
        if wanted and all(looks_like_ocid(name) for name in wanted):
            self._ask_names(wanted)
            return {ocid: self._names.get(ocid, ocid) for ocid in wanted}, []
        listed = self._ask(("ListCompartments",), self._client.compartments, Listing(()) if wanted else None)
        return choose(wanted, self._client.tenancy_id, {record.id: record.name for record in listed.records})

    def _ask_names(self, ocids: tuple[str, ...]) -> None:
        """Ask for names. A known name outlives a failure. After another failure than a refusal the others are left for later."""
        self._names[self._client.tenancy_id] = ROOT
        for ocid in ocids:
            if ocid == self._client.tenancy_id:
                continue
            try:
                self._names[ocid] = self._client.compartment_name(ocid)
            except CloudError as error:
                self._report_name("GetCompartment", error)
                if not isinstance(error, NotAuthorized):
                    return
            else:
                self._report_name("GetCompartment", None)
