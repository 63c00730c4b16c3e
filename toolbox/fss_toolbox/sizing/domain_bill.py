# SPDX-License-Identifier: Apache-2.0
"""What Oracle bills for File Storage in an availability domain: the larger of the stored data and the entitlement.

High performance mount targets bring an entitlement ("Managing Mount Targets"). No document that this project could read states
how entitlement and stored data add up, so check a large decision with Oracle.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DomainBill:
    """The availability domain of a mount target today."""

    stored_bytes: float  # billed data of all file systems
    entitled_bytes: float = 0.0  # entitlement of all mount targets, the one to plan for included
    own_bytes: float = 0.0  # entitlement of the mount target to plan for

    def extra_bytes(self, entitlement_bytes: float) -> float:
        """Return the bytes billed more than today with this entitlement in place of the mount target's own. Negative for less."""
        entitled = self.entitled_bytes - self.own_bytes + entitlement_bytes
        return max(self.stored_bytes, entitled) - max(self.stored_bytes, self.entitled_bytes)
