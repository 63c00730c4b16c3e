# SPDX-License-Identifier: Apache-2.0
"""Compare Monitoring and inventory: resources that have data, and that no listing has. Pure.

Both come from OCI, and OCI can answer a listing with fewer rows than there are, or with none. Such a resource has no series.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final, NamedTuple

KINDS: Final = ("mount_target", "file_system")  # what is compared

LASTING_SECONDS: Final = 1200  # a shorter disagreement is a listing that is late or was incomplete once


class Unlisted(NamedTuple):
    """A resource that is in no listing."""

    kind: str
    ocid: str


class ListingComparison:
    """The disagreement of Monitoring and inventory in one region."""

    def __init__(self) -> None:
        self._newest: Mapping[Unlisted, int] = {}
        self._first: dict[Unlisted, int] = {}

    def note(self, newest: Mapping[Unlisted, int]) -> None:
        """Note all unlisted resources of a poll, each with the end of the newest minute, epoch seconds."""
        self._first = {one: self._first.get(one, minute) for one, minute in newest.items()}
        self._newest = newest

    @property
    def lasting(self) -> Mapping[str, int]:
        """The number of resources by kind whose data have come for 20 minutes without a listing."""
        numbers = Counter(
            one.kind for one, minute in self._newest.items() if minute - self._first[one] >= LASTING_SECONDS
        )
        return {kind: numbers[kind] for kind in KINDS}
