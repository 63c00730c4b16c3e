# SPDX-License-Identifier: Apache-2.0
"""The regions that the SDK knows. A region that is younger than the SDK, or of a cloud of its own, is not among them."""

from collections.abc import Collection

from oci.regions import REGIONS


def known_regions() -> Collection[str]:
    """Return the names of the regions."""
    return frozenset(REGIONS)
